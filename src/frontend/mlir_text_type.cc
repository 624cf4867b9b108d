// SPDX-License-Identifier: Apache-2.0
// MLIR text: types.
#include <charconv>

#include "frontend/mlir_text.h"

namespace braze::mlir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "32" → 32; 0 if it is not a width.
uint32_t width(std::string_view s) {
  uint32_t n = 0;
  auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  return error == std::errc() && stop == s.data() + s.size() && n <= 4096 ? n : 0;
}

}  // namespace

const Type* TextParser::any_type() {
  Deeper d(this);
  if (too_deep()) return nullptr;
  return peek('(') ? function_type() : non_function_type();
}

const Type* TextParser::function_type() {
  std::vector<const Type*> in, out;
  auto item = [&] {
    const Type* t = type();
    return t && (in.push_back(t), true);
  };
  if (!list("(", ")", item) || !expect("->") || !result_types(&out)) return nullptr;
  return b_.make_type({.kind = TypeKind::kFunction,
                       .inputs = b_.arena().copy(in),
                       .results = b_.arena().copy(out)});
}

bool TextParser::result_types(std::vector<const Type*>* out) {
  auto item = [&] {
    const Type* t = type();
    return t && (out->push_back(t), true);
  };
  if (peek('(')) return list("(", ")", item);
  const Type* t = non_function_type();
  return t && (out->push_back(t), true);
}

bool TextParser::types(std::vector<const Type*>* out) {
  do {
    const Type* t = type();
    if (!t) return false;
    out->push_back(t);
  } while (accept(","));
  return true;
}

const Type* TextParser::non_function_type() {
  if (peek('!')) return dialect_type();
  const char* at = p_;
  std::string_view name = word();
  if (name.empty()) return fail("expected a type"), nullptr;
  return named_type(name, at);
}

const Type* TextParser::named_type(std::string_view name, const char* at) {
  if (name == "tensor" || name == "memref" || name == "vector") {
    p_ = at;
    return tensor_type();
  }
  if (const Type* f = b_.floating(name)) return f;
  if (name == "index") return b_.type(TypeKind::kIndex);
  if (name == "none") return b_.type(TypeKind::kNone);
  if (name == "complex") {
    if (!expect("<")) return nullptr;
    const Type* e = type();
    return e && expect(">") ? b_.complex(e) : nullptr;
  }
  if (name == "tuple") {
    std::vector<const Type*> members;
    auto item = [&] {
      const Type* t = type();
      return t && (members.push_back(t), true);
    };
    if (!list("<", ">", item)) return nullptr;
    return b_.make_type({.kind = TypeKind::kTuple, .inputs = b_.arena().copy(members)});
  }
  Sign sign = name.starts_with("si")   ? Sign::kSigned
              : name.starts_with("ui") ? Sign::kUnsigned
                                       : Sign::kSignless;
  if (name[0] == 'i' || sign != Sign::kSignless) {
    uint32_t bits = width(name.substr(sign == Sign::kSignless ? 1 : 2));
    if (bits) return b_.integer(bits, sign);
  }
  return fail(at, str_cat("unknown type '", name, "'")), nullptr;
}

// 2x?x3xf32, behind '<'
bool TextParser::shape(std::vector<int64_t>* dims, const Type** element) {
  skip();
  while (p_ < end_ && (is_digit(*p_) || *p_ == '?')) {
    const char* at = p_;
    int64_t n = kDynamic;
    if (*p_ == '?') {
      ++p_;
    } else if (!integer(&n)) {
      return false;
    }
    if (p_ >= end_ || *p_ != 'x') return fail("expected 'x' after a dimension");
    ++p_;
    if (dims->size() >= kMaxRank) return fail(at, "more than 64 dimensions");
    dims->push_back(n);
    skip();
  }
  *element = type();
  return *element != nullptr;
}

const Type* TextParser::tensor_type() {
  std::string_view name = word();
  TypeKind kind = name == "tensor"   ? TypeKind::kTensor
                  : name == "memref" ? TypeKind::kMemRef
                                     : TypeKind::kVector;
  if (!expect("<")) return nullptr;
  std::vector<int64_t> dims;
  const Type* element = nullptr;
  bool ranked = true;
  if (accept("*x")) {
    ranked = false;
    if (!(element = type())) return nullptr;
  } else if (!shape(&dims, &element)) {
    return nullptr;
  }
  const Attr* encoding = nullptr;
  if (accept(",") && !(encoding = attr())) return nullptr;
  if (!expect(">")) return nullptr;
  if (kind == TypeKind::kTensor && ranked) return b_.tensor(dims, element, encoding);
  return b_.make_type({.kind = kind,
                       .ranked = ranked,
                       .dims = b_.arena().copy(dims),
                       .element = element,
                       .encoding = encoding});
}

// !quant.uniform<i8<-128:127>:f32:1, {0.1:2, 0.2}>
const Type* TextParser::quantized_type() {
  const char* at = p_;
  if (!expect("<")) return nullptr;
  Quant q;
  const char* storage_at = p_;
  std::string_view storage = word();
  bool is_signed = !storage.starts_with("u");
  uint32_t bits =
      width(storage.substr(storage.starts_with("i") || storage.starts_with("u") ? 1 : 0));
  if (bits == 0 || bits > 32 || storage.empty()) {
    return fail(storage_at, "expected a storage type such as i8 or u8"), nullptr;
  }
  q.storage = b_.integer(bits, is_signed ? Sign::kSignless : Sign::kUnsigned);
  q.storage_min = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  q.storage_max = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  if (accept("<") &&
      !(integer(&q.storage_min) && expect(":") && integer(&q.storage_max) && expect(">"))) {
    return nullptr;
  }
  if (!expect(":") || !(q.expressed = type())) return nullptr;
  if (peek(":{")) return fail(at, "sub-channel quantization is not supported"), nullptr;
  if (accept(":") && !integer(&q.axis)) return nullptr;
  if (!expect(",")) return nullptr;
  std::vector<double> scales;
  std::vector<int64_t> zeros;
  auto item = [&] {
    std::string_view token = number_token();
    double scale = 0;
    if (token.empty()) return fail("expected a scale");
    bool negative = token[0] == '-';
    std::from_chars(token.data() + negative, token.data() + token.size(), scale);
    scales.push_back(negative ? -scale : scale);
    zeros.push_back(0);
    return !accept(":") || integer(&zeros.back());
  };
  if (!(peek('{') ? list("{", "}", item) : item()) || !expect(">")) return nullptr;
  q.scales = b_.arena().copy(scales);
  q.zero_points = b_.arena().copy(zeros);
  return b_.make_type(
      {.kind = TypeKind::kQuantized, .element = q.storage, .quant = b_.arena().make(q)});
}

const Type* TextParser::dialect_type() {
  const char* at = p_++;
  std::string_view name = word();
  if (name.empty()) return fail(at, "expected a type"), nullptr;
  size_t dot = name.find('.');
  if (dot == std::string_view::npos && peek('<')) {  // !dialect<body>
    ++p_;
    const char* body = p_;
    if (!skip_balanced('>')) return nullptr;
    std::string_view text(body, p_ - 1 - body);
    if (text == "token") return b_.type(TypeKind::kToken);
    return b_.make_type({.kind = TypeKind::kDialect, .name = name, .text = text});
  }
  if (dot == std::string_view::npos) {
    auto it = type_aliases_.find(name);
    if (it == type_aliases_.end()) {
      return fail(at, str_cat("the type alias '!", name, "' is not defined")), nullptr;
    }
    return it->second;
  }
  if (name == "stablehlo.token" || name == "mhlo.token") return b_.type(TypeKind::kToken);
  if (name == "quant.uniform") return quantized_type();
  if (name == "stablehlo.future") {
    std::vector<const Type*> members;
    auto item = [&] {
      const Type* t = type();
      return t && (members.push_back(t), true);
    };
    if (!list("<", ">", item)) return nullptr;
    return b_.make_type({.kind = TypeKind::kFuture, .inputs = b_.arena().copy(members)});
  }
  if (name.starts_with("vhlo.")) return vhlo_type(name);
  std::string_view text;
  if (p_ < end_ && *p_ == '<') {
    const char* body = ++p_;
    if (!skip_balanced('>')) return nullptr;
    text = {body, static_cast<size_t>(p_ - 1 - body)};
  }
  return b_.make_type({.kind = TypeKind::kDialect, .name = name, .text = text});
}

// The few VHLO types that occur in hand-written text.
const Type* TextParser::vhlo_type(std::string_view name) {
  const char* at = p_;
  size_t v = name.rfind("_v");
  std::string_view base = name.substr(5, v == std::string_view::npos ? v : v - 5);
  if (base == "tensor") {
    if (!expect("<")) return nullptr;
    std::vector<int64_t> dims;
    const Type* element = nullptr;
    return shape(&dims, &element) && expect(">") ? b_.tensor(dims, element) : nullptr;
  }
  if (base == "bool") return b_.integer(1);
  if (base == "token") return b_.type(TypeKind::kToken);
  if (base == "tf31") base = "tf32";
  if (base == "index" || base == "none" || base == "complex" || base == "tuple" ||
      base.starts_with("i") || base.starts_with("ui") || b_.floating(base)) {
    return named_type(base, at);
  }
  return fail(at, str_cat("the type '!", name, "' is not supported in text")), nullptr;
}

}  // namespace braze::mlir
