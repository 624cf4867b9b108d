// SPDX-License-Identifier: Apache-2.0
// MLIR text: attributes and locations.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "frontend/mlir_text.h"

namespace braze::mlir {
namespace {

bool is_float_token(std::string_view t) { return t.find('.') != std::string_view::npos; }

bool starts_number(char c) { return (c >= '0' && c <= '9') || c == '-'; }

double to_double(std::string_view t) {
  double v = 0;
  bool negative = t.starts_with('-');
  if (negative || t.starts_with('+')) t.remove_prefix(1);
  auto [stop, error] = std::from_chars(t.data(), t.data() + t.size(), v);
  if (error == std::errc::result_out_of_range) {  // from_chars leaves v alone
    size_t e = t.find_first_of("eE");
    bool tiny = e != std::string_view::npos && t.substr(e + 1).starts_with('-');
    v = tiny ? 0 : HUGE_VAL;
  }
  return negative ? -v : v;
}

}  // namespace

const Attr* TextParser::any_attr() {
  Deeper d(this);
  if (too_deep()) return nullptr;
  skip();
  if (p_ >= end_) return fail("expected an attribute"), nullptr;
  const char* at = p_;
  char c = *p_;
  if (c == '#') return dialect_attr();
  if (c == '"') {
    std::string_view s;
    if (!string(&s)) return nullptr;
    const Type* t = nullptr;
    if (accept(":") && !(t = type())) return nullptr;
    return b_.make({.kind = AttrKind::kString, .type = t, .text = s});
  }
  if (c == '@') return symbol();
  if (c == '{') return dict();
  if (c == '[') {
    std::vector<const Attr*> items;
    auto item = [&] {
      const Attr* a = attr();
      return a && (items.push_back(a), true);
    };
    return list("[", "]", item) ? b_.array(items) : nullptr;
  }
  if (starts_number(c)) return number_attr();
  if (c == '(' || c == '!') {
    const Type* t = type();
    return t ? b_.type_attr(t) : nullptr;
  }
  std::string_view w = word();
  if (w == "dense") return dense();
  if (w == "array") return dense_array();
  if (w == "unit") return b_.unit();
  if (w == "true" || w == "false") return b_.boolean(w == "true");
  if (w == "dense_resource") return dense_resource();
  if (w == "loc") {
    const Loc* l = location();
    return l ? b_.make({.kind = AttrKind::kOpaque, .name = "loc"}) : nullptr;
  }
  if ((w == "affine_map" || w == "affine_set" || w == "sparse" || w == "strided") && accept("<")) {
    const char* body = p_;
    if (!skip_balanced('>')) return nullptr;
    std::string_view text(body, p_ - 1 - body);
    if (accept(":") && !type()) return nullptr;
    return b_.make({.kind = AttrKind::kOpaque, .name = w, .text = text});
  }
  if (w.empty()) return fail(at, "expected an attribute"), nullptr;
  p_ = at;
  const Type* t = type();
  return t ? b_.type_attr(t) : nullptr;
}

const Attr* TextParser::number_attr() {
  const char* at = p_;
  std::string_view t = number_token();
  if (t.empty()) return fail("expected a number"), nullptr;
  const Type* type_of = nullptr;
  if (accept(":") && !(type_of = type())) return nullptr;
  bool hex = t.find('x') != std::string_view::npos;
  if (!type_of) type_of = is_float_token(t) ? b_.floating("f64") : b_.integer(64);
  if (type_of->kind == TypeKind::kFloat) {
    if (!hex) return b_.float_attr(to_double(t), type_of);
    uint64_t bits = 0;
    if (t[0] == '-') return fail(at, "a hexadecimal float has no sign"), nullptr;
    auto [stop, error] = std::from_chars(t.data() + 2, t.data() + t.size(), bits, 16);
    if (error != std::errc() || (type_of->bits < 64 && bits >> type_of->bits)) {
      return fail(at, "the hexadecimal float is too wide"), nullptr;
    }
    return b_.float_bits_attr(bits, type_of);
  }
  if (type_of->kind != TypeKind::kInteger && type_of->kind != TypeKind::kIndex) {
    return fail(at, "a number needs an integer or float type"), nullptr;
  }
  if (is_float_token(t)) return fail(at, "a float literal with an integer type"), nullptr;
  bool negative = t[0] == '-';
  std::string_view digits = t.substr(negative ? 1 : 0);
  if (hex) digits.remove_prefix(2);
  uint64_t v = 0;
  auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), v, hex ? 16 : 10);
  if (error != std::errc()) return fail(at, "the integer does not fit in 64 bits"), nullptr;
  int64_t i = static_cast<int64_t>(negative ? -v : v);
  if (type_of->is_int(1)) return b_.boolean(i & 1);
  return b_.integer_attr(i, type_of);
}

bool TextParser::attr_dict(std::vector<NamedAttr>* out) {
  Deeper d(this);
  if (too_deep()) return false;
  return list("{", "}", [&] {
    skip();
    std::string_view name;
    if (!string_or_word(&name)) return false;
    const Attr* value = accept("=") ? attr() : b_.unit();
    return value && (out->push_back({name, value}), true);
  });
}

const Attr* TextParser::dict() {
  const char* at = p_;
  std::vector<NamedAttr> fields;
  if (!attr_dict(&fields)) return nullptr;
  const Attr* a = b_.dict(std::move(fields));
  if (!a) fail(at, "a name occurs twice in this dictionary");
  return a;
}

const Attr* TextParser::dense_array() {
  if (!expect("<")) return nullptr;
  const char* at = p_;
  const Type* t = type();
  if (!t) return nullptr;
  size_t size = element_bytes(*t);
  if (size == 0 || t->kind == TypeKind::kComplex) {
    return fail(at, "expected an integer or float type"), nullptr;
  }
  std::string bytes;
  if (accept(":")) {
    do {
      size_t n = bytes.size();
      bytes.resize(n + size);
      if (!dense_element(*t, bytes.data() + n)) return nullptr;
    } while (accept(","));
  }
  if (!expect(">")) return nullptr;
  return b_.make({.kind = AttrKind::kDenseArray, .type = t, .bytes = b_.arena().copy(bytes)});
}

const Attr* TextParser::dialect_attr() {
  const char* at = p_++;
  std::string_view name = word();
  if (name.empty()) return fail(at, "expected an attribute"), nullptr;
  if (name.find('.') != std::string_view::npos) return dialect_body(name);
  if (p_ < end_ && *p_ == '<') {  // #dialect<name body> or #dialect<name<body>>
    const char* open = ++p_;
    std::string_view inner = word();
    if (inner.empty()) {
      if (!skip_balanced('>')) return nullptr;
      // The '#' tells it from a builtin attribute of this name.
      return b_.make({.kind = AttrKind::kOpaque,
                      .name = {at, static_cast<size_t>(name.end() - at)},
                      .text = {open, static_cast<size_t>(p_ - 1 - open)}});
    }
    std::string_view full = b_.arena().copy(str_cat(name, ".", inner));
    if (find_enum(full) && !peek('<')) {
      const Attr* a = enum_attr(full);
      return a && expect(">") ? a : nullptr;
    }
    if (name == "sdy") {
      const Attr* a = sdy_attr(full);
      return a && expect(">") ? a : nullptr;
    }
    if (!peek('<')) {
      const char* body = p_;
      if (!skip_balanced('>')) return nullptr;
      std::string_view text(body, p_ - 1 - body);
      bool bare = !text.empty() && text.find_first_of(" <>[](){},=\"\n") == std::string_view::npos;
      return b_.make(
          {.kind = bare ? AttrKind::kEnum : AttrKind::kOpaque, .name = full, .text = text});
    }
    const Attr* a = dialect_body(full);
    return a && expect(">") ? a : nullptr;
  }
  auto it = attr_aliases_.find(name);
  if (it == attr_aliases_.end()) {
    return fail(at, str_cat("the attribute alias '#", name, "' is not defined")), nullptr;
  }
  return it->second;
}

const Attr* TextParser::enum_attr(std::string_view name) {
  skip();
  const char* at = p_;
  std::string_view text = word();
  const EnumSpec* spec = find_enum(name);
  if (spec && std::find(spec->cases.begin(), spec->cases.end(), text) == spec->cases.end()) {
    std::string message = str_cat("expected a ", name, ": one of");
    for (std::string_view c : spec->cases) {
      if (!c.empty()) message += str_cat(" ", c);
    }
    return fail(at, message), nullptr;
  }
  if (text.empty()) return fail(at, "expected a word"), nullptr;
  return b_.enum_case(name, text);
}

// The part from '<' on, of an attribute whose full name is known.
const Attr* TextParser::dialect_body(std::string_view name) {
  Deeper d(this);
  if (too_deep()) return nullptr;
  if (name == "stablehlo.bounds" || name == "mhlo.bounds") return bounds();
  if (name == "stablehlo.type_extensions" || name == "mhlo.type_extensions") {
    name = "stablehlo.bounds";
  }
  if (name.starts_with("sdy.")) return sdy_attr(name);
  if (name.starts_with("vhlo.")) return vhlo_attr(name);
  if (find_enum(name)) {
    if (!expect("<")) return nullptr;
    const Attr* a = enum_attr(name);
    return a && expect(">") ? a : nullptr;
  }
  if (name == "stablehlo.conv") {
    if (!expect("<")) return nullptr;
    if (accept_word("raw")) return struct_body(*find_struct(name));
    const Attr* a = conv_dims();
    return a && expect(">") ? a : nullptr;
  }
  if (const StructSpec* spec = find_struct(name)) return struct_attr(*spec);
  if (p_ >= end_ || *p_ != '<') return b_.make({.kind = AttrKind::kOpaque, .name = name});
  const char* body = ++p_;
  if (!skip_balanced('>')) return nullptr;
  std::string_view text(body, p_ - 1 - body);
  bool bare = !text.empty() && text.find_first_of(" <>[](){},=\"\n") == std::string_view::npos;
  return b_.make({.kind = bare ? AttrKind::kEnum : AttrKind::kOpaque, .name = name, .text = text});
}

// <key = value, ...> in any order; missing lists are empty, missing numbers 0.
const Attr* TextParser::struct_attr(const StructSpec& spec) {
  return expect("<") ? struct_body(spec) : nullptr;
}

const Attr* TextParser::struct_body(const StructSpec& spec) {
  const char* at = p_;
  std::vector<NamedAttr> fields;
  while (!accept(">")) {
    skip();
    const char* key_at = p_;
    std::string_view key = word();
    auto it = std::find_if(spec.fields.begin(), spec.fields.end(),
                           [&](const FieldSpec& f) { return f.name == key; });
    if (it == spec.fields.end()) {
      std::string message = str_cat("expected a field of #", spec.name, ":");
      for (const FieldSpec& f : spec.fields) message += str_cat(" ", f.name);
      return fail(key_at, message), nullptr;
    }
    if (!expect("=")) return nullptr;
    const Attr* v = struct_field(spec, *it);
    if (!v) return nullptr;
    fields.push_back({it->name, v});
    if (!accept(",") && !peek('>')) return fail("expected ',' or '>'"), nullptr;
  }
  for (const FieldSpec& f : spec.fields) {
    bool given = std::any_of(fields.begin(), fields.end(),
                             [&](const NamedAttr& a) { return a.name == f.name; });
    if (given || f.optional) continue;
    switch (f.kind) {
      case FieldKind::kDims:
        fields.push_back({f.name, b_.dims({})});
        break;
      case FieldKind::kInt:
        fields.push_back({f.name, b_.i64(0)});
        break;
      case FieldKind::kDouble:
        fields.push_back({f.name, b_.float_attr(0, b_.floating("f64"))});
        break;
      case FieldKind::kBool:
        fields.push_back({f.name, b_.boolean(false)});
        break;
      default:
        return fail(at, str_cat("#", spec.name, " needs the field ", f.name)), nullptr;
    }
  }
  const Attr* a = b_.structure(spec.name, std::move(fields));
  if (!a) fail(at, "a field is given twice");
  return a;
}

const Attr* TextParser::struct_field(const StructSpec& spec, const FieldSpec& f) {
  switch (f.kind) {
    case FieldKind::kDims: {
      std::vector<int64_t> v;
      return int_dims(&v) ? b_.dims(v) : nullptr;
    }
    case FieldKind::kInt:
    case FieldKind::kCount: {
      int64_t v;
      return integer(&v) ? b_.i64(v) : nullptr;
    }
    case FieldKind::kDouble: {
      std::string_view t = number_token();
      if (t.empty()) return fail("expected a number"), nullptr;
      return b_.float_attr(to_double(t), b_.floating("f64"));
    }
    case FieldKind::kBool: {
      if (accept_word("true")) return b_.boolean(true);
      return expect_word("false") ? b_.boolean(false) : nullptr;
    }
    case FieldKind::kType: {
      const Type* t = type();
      return t ? b_.type_attr(t) : nullptr;
    }
    case FieldKind::kString: {
      std::string_view s;
      return string_or_word(&s) ? b_.string(s) : nullptr;
    }
    case FieldKind::kAttr:
    case FieldKind::kList:
      break;
  }
  if (f.name == "sub_axis_info" && peek('(')) return sdy_sub_axis("stablehlo");
  if (f.name == "mode" && !peek('#')) return enum_attr("stablehlo.result_accuracy_mode");
  if (f.name == "mesh" && peek('<')) return struct_attr(*find_struct("stablehlo.mesh"));
  if (f.name == "axes" && peek('[')) {  // elements may come without their name: <name = "x", ..>
    std::string_view element =
        spec.name == "stablehlo.mesh" ? "stablehlo.mesh_axis" : "stablehlo.axis_ref";
    std::vector<const Attr*> items;
    auto item = [&] {
      const Attr* a = peek('<') ? struct_attr(*find_struct(element)) : attr();
      return a && (items.push_back(a), true);
    };
    return list("[", "]", item) ? b_.array(items) : nullptr;
  }
  return attr();
}

// #stablehlo.bounds<3, ?>
const Attr* TextParser::bounds() {
  std::vector<int64_t> v;
  auto item = [&] {
    v.push_back(kDynamic);
    return accept("?") || integer(&v.back());
  };
  if (!list("<", ">", item)) return nullptr;
  return b_.structure("stablehlo.bounds", {{"bounds", b_.dims(v)}});
}

// [b, 0, 1, f]: positions of the two letters, and of 0, 1, ... in `spatial`.
bool TextParser::conv_side(std::string_view letters, int64_t* out, std::vector<int64_t>* spatial) {
  const char* at = p_;
  out[0] = out[1] = -1;
  int64_t position = 0;
  bool ok = list("[", "]", [&] {
    skip();
    if (p_ < end_ && letters.find(*p_) != std::string_view::npos) {
      int64_t& slot = out[letters.find(*p_++)];
      if (slot >= 0) return fail(p_ - 1, "this dimension occurs twice");
      slot = position++;
      return true;
    }
    uint64_t k;
    if (!unsigned_integer(&k)) return false;
    if (k >= kMaxRank) return fail("more than 64 dimensions");
    if (spatial->size() <= k) spatial->resize(k + 1, -1);
    if ((*spatial)[k] >= 0) return fail("this dimension occurs twice");
    (*spatial)[k] = position++;
    return true;
  });
  if (!ok) return false;
  if (out[0] < 0 || out[1] < 0 ||
      std::find(spatial->begin(), spatial->end(), -1) != spatial->end()) {
    return fail(at, str_cat("expected the dimensions ", letters.substr(0, 1), ", ",
                            letters.substr(1), " and 0, 1, ..."));
  }
  return true;
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
const Attr* TextParser::conv_dims() {
  int64_t in[2], kernel[2], result[2];
  std::vector<int64_t> in_spatial, kernel_spatial, out_spatial;
  if (!conv_side("bf", in, &in_spatial) || !expect("x") ||
      !conv_side("io", kernel, &kernel_spatial) || !expect("->") ||
      !conv_side("bf", result, &out_spatial)) {
    return nullptr;
  }
  return b_.structure("stablehlo.conv", {{"input_batch_dimension", b_.i64(in[0])},
                                         {"input_feature_dimension", b_.i64(in[1])},
                                         {"input_spatial_dimensions", b_.dims(in_spatial)},
                                         {"kernel_input_feature_dimension", b_.i64(kernel[0])},
                                         {"kernel_output_feature_dimension", b_.i64(kernel[1])},
                                         {"kernel_spatial_dimensions", b_.dims(kernel_spatial)},
                                         {"output_batch_dimension", b_.i64(result[0])},
                                         {"output_feature_dimension", b_.i64(result[1])},
                                         {"output_spatial_dimensions", b_.dims(out_spatial)}});
}

// The few VHLO attributes that occur in hand-written text.
const Attr* TextParser::vhlo_attr(std::string_view name) {
  const char* at = p_;
  std::string_view base = name.substr(5, name.rfind("_v") - 5);
  if (base == "result_accuracy") return struct_attr(*find_struct("stablehlo.result_accuracy"));
  if (base == "array" || base == "bool" || base == "dict" || base == "string" || base == "type" ||
      base == "tensor" || base == "integer" || base == "float") {
    if (!expect("<")) return nullptr;
    const Attr* a = attr();
    return a && expect(">") ? a : nullptr;
  }
  return fail(at, str_cat("the attribute '#", name, "' is not supported in text")), nullptr;
}

const Loc* TextParser::optional_location() {
  if (!peek("loc(")) return nullptr;
  p_ += 3;
  return location();
}

// (body), behind `loc`
const Loc* TextParser::location() {
  if (!expect("(")) return nullptr;
  const Loc* l = location_body();
  return l && expect(")") ? l : nullptr;
}

const Loc* TextParser::location_body() {
  Deeper d(this);
  if (too_deep()) return nullptr;
  skip();
  Loc l;
  if (peek('"')) {
    if (!string(&l.text)) return nullptr;
    int64_t line = 0, column = 0, unused;
    if (accept(":")) {
      l.kind = LocKind::kFile;
      if (!integer(&line) || (accept(":") && !integer(&column))) return nullptr;
      if (accept_word("to") &&
          !((peek(':') || integer(&unused)) && expect(":") && integer(&unused))) {
        return nullptr;
      }
      l.line = static_cast<uint32_t>(line);
      l.column = static_cast<uint32_t>(column);
      return b_.arena().make(l);
    }
    l.kind = LocKind::kName;
    if (accept("(")) {
      const Loc* child = location_body();
      if (!child || !expect(")")) return nullptr;
      l.children = b_.arena().copy(&child, 1);
    }
    return b_.arena().make(l);
  }
  if (peek('#')) {
    const char* at = p_++;
    std::string_view name = word();
    if (name.empty()) return fail(at, "expected a location"), nullptr;
    Loc*& slot = loc_aliases_[name];
    if (!slot) slot = b_.arena().make(Loc{});
    return slot;
  }
  if (accept_word("unknown") || accept("?")) return b_.arena().make(l);
  std::vector<const Loc*> parts;
  if (accept_word("callsite")) {
    l.kind = LocKind::kCallSite;
    if (!expect("(")) return nullptr;
    const Loc* callee = location_body();
    if (!callee || !expect_word("at")) return nullptr;
    const Loc* caller = location_body();
    if (!caller || !expect(")")) return nullptr;
    parts = {callee, caller};
  } else if (accept_word("fused")) {
    l.kind = LocKind::kFused;
    if (accept("<") && !(attr() && expect(">"))) return nullptr;
    auto item = [&] {
      const Loc* x = location_body();
      return x && (parts.push_back(x), true);
    };
    if (!list("[", "]", item)) return nullptr;
  } else {
    return fail("expected a location"), nullptr;
  }
  l.children = b_.arena().copy(parts);
  return b_.arena().make(l);
}

}  // namespace braze::mlir
