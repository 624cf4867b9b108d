// SPDX-License-Identifier: Apache-2.0
// MLIR text: dense<...> and dense_resource<...>.
#include <charconv>
#include <cmath>
#include <cstring>

#include "frontend/mlir_text.h"

namespace braze::mlir {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Signless integers may be written signed or unsigned.
bool fits(const Type& e, uint64_t magnitude, bool negative) {
  if (e.kind != TypeKind::kInteger) return true;
  uint64_t half = uint64_t{1} << (e.bits - 1);
  if (negative) return magnitude <= (e.sign == Sign::kUnsigned ? 0 : half);
  return e.sign == Sign::kSigned ? magnitude < half : e.bits >= 64 || magnitude >> e.bits == 0;
}

}  // namespace

bool TextParser::hex_bytes(std::string_view digits, std::string_view* out) {
  if (digits.size() % 2) return false;
  char* p = b_.arena().bytes(digits.size() / 2);
  for (size_t k = 0; k < digits.size(); k += 2) {
    int high = hex_digit(digits[k]), low = hex_digit(digits[k + 1]);
    if (high < 0 || low < 0) return false;
    p[k / 2] = static_cast<char>(high * 16 + low);
  }
  *out = {p, digits.size() / 2};
  return true;
}

// The type stands behind the values, so the body is skipped first and read when it is known.
const Attr* TextParser::dense() {
  if (!expect("<")) return nullptr;
  const char* body = p_;
  if (!skip_balanced('>')) return nullptr;
  const char* body_end = p_ - 1;
  if (!expect(":")) return nullptr;
  const char* at = p_;
  const Type* t = type();
  if (!t) return nullptr;
  if ((t->kind != TypeKind::kTensor && t->kind != TypeKind::kVector) || !t->ranked) {
    return fail(at, "expected a ranked tensor type"), nullptr;
  }
  if (element_count(*t) < 0) return fail(at, "expected a tensor type of static size"), nullptr;
  const char* after = p_;
  const char* end = end_;
  p_ = body;
  end_ = body_end;
  const Attr* a = dense_values(body, body_end, t);
  end_ = end;
  p_ = failed() ? end : after;
  return a;
}

const Attr* TextParser::dense_values(const char* body, const char* body_end, const Type* t) {
  const Type& element = *t->element;
  size_t size = element_bytes(element);
  skip();
  if (size == 0) {  // strings or foreign elements: kept as items
    std::vector<const Attr*> items;
    while (p_ < end_) {
      if (*p_ == '[' || *p_ == ']' || *p_ == ',') {
        ++p_;
      } else {
        std::string_view s;
        if (!string(&s)) return nullptr;
        items.push_back(b_.string(s));
      }
      skip();
    }
    bool splat = items.size() == 1 && element_count(*t) != 1;
    return b_.make(
        {.kind = AttrKind::kElements, .splat = splat, .type = t, .items = b_.arena().copy(items)});
  }
  if (peek('"')) {
    std::string_view text, bytes;
    if (!string(&text)) return nullptr;
    if (!text.starts_with("0x") || !hex_bytes(text.substr(2), &bytes)) {
      return fail(body, "expected hexadecimal digits"), nullptr;
    }
    const Attr* a = b_.elements(t, bytes);
    if (!a) fail(body, "the hexadecimal data does not have the size of the tensor type");
    return a;
  }
  int64_t count = element_count(*t);
  if (p_ >= end_) {
    if (count != 0) return fail(body, "expected the elements of the tensor"), nullptr;
    return b_.make({.kind = AttrKind::kElements, .type = t});
  }
  if (!peek('[')) {  // a splat, or the value of a scalar
    char* out = b_.arena().bytes(size);
    if (!dense_element(element, out)) return nullptr;
    skip();
    if (p_ < end_) return fail("expected '>'"), nullptr;
    return b_.canonical_elements(t, {out, size});
  }
  // Each element takes at least one character.
  if (count > body_end - body) {
    return fail(body, str_cat("expected ", count, " elements")), nullptr;
  }
  char* out = b_.arena().bytes(static_cast<size_t>(count) * size);
  char* p = out;
  if (t->dims.empty()) return fail(body, "a tensor of rank 0 has no list of elements"), nullptr;
  if (!dense_list(t, 0, &p, out + static_cast<size_t>(count) * size)) return nullptr;
  skip();
  if (p_ < end_) return fail("expected '>'"), nullptr;
  return b_.canonical_elements(t, {out, static_cast<size_t>(count) * size});
}

bool TextParser::dense_list(const Type* t, size_t level, char** out, const char* out_end) {
  int64_t n = t->dims[level], k = 0;
  const char* at = p_;
  size_t size = element_bytes(*t->element);
  bool ok = list("[", "]", [&] {
    if (k++ >= n) return fail(str_cat("expected ", n, " elements in dimension ", level));
    if (level + 1 < t->dims.size()) return dense_list(t, level + 1, out, out_end);
    if (*out + size > out_end) return fail("too many elements");
    char* slot = *out;
    *out += size;
    return dense_element(*t->element, slot);
  });
  if (ok && k != n) {
    return fail(at, str_cat("expected ", n, " elements in dimension ", level, ", not ", k));
  }
  return ok;
}

bool TextParser::dense_element(const Type& element, char* out) {
  if (element.kind == TypeKind::kQuantized) return dense_element(*element.element, out);
  if (element.kind != TypeKind::kComplex) return dense_number(element, out);
  const Type& part = *element.element;
  if (part.kind == TypeKind::kComplex) return fail("a complex number of complex numbers");
  return expect("(") && dense_number(part, out) && expect(",") &&
         dense_number(part, out + element_bytes(part)) && expect(")");
}

bool TextParser::dense_number(const Type& e, char* out) {
  skip();
  const char* at = p_;
  size_t size = element_bytes(e);
  if (size == 0) return fail("elements of this type are not supported");
  std::memset(out, 0, size);
  if (size > 8) return fail("elements wider than 64 bits are not supported");
  uint64_t bits = 0;
  std::string_view t = number_token();
  if (t.empty()) {
    std::string_view w = word();
    if ((w != "true" && w != "false") || !e.is_int(1)) return fail(at, "expected a number");
    out[0] = w == "true";
    return true;
  }
  bool hex = t.find('x') != std::string_view::npos;
  bool negative = t[0] == '-';
  std::string_view digits = t.substr(negative || t[0] == '+' ? 1 : 0);
  if (e.kind == TypeKind::kFloat && !hex) {
    double v = 0;
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error == std::errc::result_out_of_range) {
      size_t x = digits.find_first_of("eE");
      v = x != std::string_view::npos && digits.substr(x + 1).starts_with('-') ? 0 : HUGE_VAL;
    }
    bits = encode_float(e.name, negative ? -v : v);
  } else {
    if (digits.find('.') != std::string_view::npos) return fail(at, "expected an integer");
    if (hex) digits.remove_prefix(2);
    auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), bits, hex ? 16 : 10);
    if (error != std::errc()) return fail(at, "the number does not fit in 64 bits");
    if (e.kind == TypeKind::kFloat && e.bits < 64 && bits >> e.bits) {
      return fail(at, "the hexadecimal float is too wide");
    }
    if (!fits(e, bits, negative)) return fail(at, "the number does not fit in its type");
    if (negative) bits = -bits;
    if (e.is_int(1)) bits &= 1;
  }
  std::memcpy(out, &bits, size);
  return true;
}

// The blob follows at the end of the file.
const Attr* TextParser::dense_resource() {
  std::string_view key;
  if (!expect("<") || !string_or_word(&key) || !expect(">") || !expect(":")) return nullptr;
  const char* at = p_;
  const Type* t = type();
  if (!t) return nullptr;
  if (t->kind != TypeKind::kTensor || !t->ranked || element_bytes(*t->element) == 0) {
    return fail(at, "expected a tensor type"), nullptr;
  }
  Attr* a = b_.arena().make(Attr{.kind = AttrKind::kElements, .type = t});
  pending_resources_[key].push_back(a);
  return a;
}

}  // namespace braze::mlir
