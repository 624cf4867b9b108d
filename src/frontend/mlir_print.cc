// SPDX-License-Identifier: Apache-2.0
// Prints the op tree as generic MLIR text.
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "frontend/mlir_build.h"
#include "frontend/mlir_read.h"

namespace braze::mlir {
namespace {

bool is_bare(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '.' || s[0] == '$') return false;
  for (char c : s) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '$') {
      return false;
    }
  }
  return true;
}

// A depth limit is not needed: the readers bound the nesting.
class Printer {
 public:
  void type(const Type& t);
  void attr(const Attr& a);
  void op(const Module& m, const Op& o, int indent);
  std::string out;

 private:
  template <typename L, typename F>
  void list(const L& items, F&& item) {
    bool first = true;
    for (const auto& x : items) {
      if (!first) out += ", ";
      first = false;
      item(x);
    }
  }
  void types(std::span<const Type* const> l) {
    list(l, [&](const Type* t) { type(*t); });
  }
  void value(ValueId v) { str_append("%", v); }
  template <typename... A>
  void str_append(const A&... a) {
    out += str_cat(a...);
  }
  void quoted(std::string_view s);
  void shape(const Type& t);
  void quant(const Quant& q);
  void number(const Type& t, const char* bytes);
  void elements(const Attr& a);
  void hex(std::string_view bytes);
  void dense(const Attr& a, size_t level, size_t* k);
  void dict(std::span<const NamedAttr> fields);
  void structure(const Attr& a);
  void symbol(const Attr& a);
  void dense_array(const Attr& a);
  void opaque(const Attr& a);
  void region(const Module& m, const Region& r, int indent);
};

void Printer::quoted(std::string_view s) {
  out += '"';
  for (char c : s) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || u < 0x20 || u >= 0x7f) {
      out += absl::StrFormat("\\%02X", u);
    } else {
      out += c;
    }
  }
  out += '"';
}

void Printer::shape(const Type& t) {
  if (!t.ranked) out += "*x";
  for (int64_t d : t.dims) d == kDynamic ? out += "?x" : out += str_cat(d, "x");
  type(*t.element);
  if (t.encoding) {
    out += ", ";
    attr(*t.encoding);
  }
}

void Printer::quant(const Quant& q) {
  str_append("!quant.uniform<", q.storage->sign == Sign::kUnsigned ? "u" : "i", q.storage->bits,
             "<", q.storage_min, ":", q.storage_max, ">:");
  type(*q.expressed);
  if (q.axis >= 0) str_append(":", q.axis);
  out += ", ";
  if (q.axis >= 0) out += "{";
  for (size_t k = 0; k < q.scales.size(); ++k) {
    if (k) out += ", ";
    std::string s = absl::StrFormat("%.17g", q.scales[k]);
    if (s.find_first_of(".ni") == std::string::npos) {
      size_t e = std::min(s.find('e'), s.size());
      s.insert(e, ".0");
    }
    str_append(s, ":", q.zero_points[k]);
  }
  out += q.axis >= 0 ? "}>" : ">";
}

void Printer::type(const Type& t) {
  switch (t.kind) {
    case TypeKind::kInteger:
      str_append(t.sign == Sign::kSigned ? "si" : t.sign == Sign::kUnsigned ? "ui" : "i", t.bits);
      break;
    case TypeKind::kIndex:
      out += "index";
      break;
    case TypeKind::kFloat:
      out += t.name;
      break;
    case TypeKind::kNone:
      out += "none";
      break;
    case TypeKind::kToken:
      out += "!stablehlo.token";
      break;
    case TypeKind::kQuantized:
      quant(*t.quant);
      break;
    case TypeKind::kComplex:
      out += "complex<";
      type(*t.element);
      out += ">";
      break;
    case TypeKind::kTensor:
    case TypeKind::kMemRef:
    case TypeKind::kVector:
      out += t.kind == TypeKind::kTensor   ? "tensor<"
             : t.kind == TypeKind::kMemRef ? "memref<"
                                           : "vector<";
      shape(t);
      out += ">";
      break;
    case TypeKind::kTuple:
    case TypeKind::kFuture:
      out += t.kind == TypeKind::kTuple ? "tuple<" : "!stablehlo.future<";
      types(t.inputs);
      out += ">";
      break;
    case TypeKind::kFunction:
      out += "(";
      types(t.inputs);
      out += ") -> (";
      types(t.results);
      out += ")";
      break;
    case TypeKind::kDialect:
      str_append("!", t.name);
      if (!t.text.empty() || t.name.find('.') == std::string_view::npos) {
        str_append("<", t.text, ">");
      }
      break;
  }
}

void Printer::hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  out.reserve(out.size() + 2 * bytes.size() + 4);
  out += "\"0x";
  for (unsigned char c : bytes) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  out += '"';
}

void Printer::number(const Type& t, const char* bytes) {
  if (t.kind == TypeKind::kComplex) {
    out += "(";
    number(*t.element, bytes);
    out += ", ";
    number(*t.element, bytes + element_bytes(*t.element));
    out += ")";
    return;
  }
  if (t.kind == TypeKind::kQuantized) return number(*t.element, bytes);
  size_t n = element_bytes(t);
  uint64_t raw = 0;
  std::memcpy(&raw, bytes, std::min<size_t>(n, 8));
  if (t.kind == TypeKind::kFloat) {
    double v = decode_float(t.name, raw);
    if (!std::isfinite(v)) {
      out += absl::StrFormat("0x%0*X", static_cast<int>((t.bits + 3) / 4), raw);
    } else {
      out += t.bits > 32 ? absl::StrFormat("%.16e", v) : absl::StrFormat("%.8e", v);
    }
    return;
  }
  if (t.is_int(1)) {
    out += raw & 1 ? "true" : "false";
    return;
  }
  Attr one{.kind = AttrKind::kDenseArray, .type = &t, .bytes = {bytes, n}};
  int64_t v = int_at(one, 0);
  t.sign == Sign::kUnsigned ? str_append(static_cast<uint64_t>(v)) : str_append(v);
}

void Printer::dense(const Attr& a, size_t level, size_t* k) {
  const Type& t = *a.type;
  if (level == t.dims.size()) {
    size_t n = element_bytes(*t.element);
    number(*t.element, a.bytes.data() + n * (*k)++);
    return;
  }
  out += "[";
  for (int64_t i = 0; i < t.dims[level]; ++i) {
    if (i) out += ", ";
    dense(a, level + 1, k);
  }
  out += "]";
}

void Printer::elements(const Attr& a) {
  constexpr size_t kMaxBytes = 800;
  out += "dense<";
  size_t k = 0;
  if (!a.items.empty()) {
    if (!a.splat && !a.type->dims.empty()) out += "[";
    list(a.items, [&](const Attr* x) { attr(*x); });
    if (!a.splat && !a.type->dims.empty()) out += "]";
  } else if (a.bytes.size() > kMaxBytes) {
    hex(a.bytes);
  } else if (a.splat) {
    number(*a.type->element, a.bytes.data());
  } else if (!a.bytes.empty()) {
    dense(a, 0, &k);
  }
  out += "> : ";
  type(*a.type);
}

void Printer::dict(std::span<const NamedAttr> fields) {
  out += "{";
  list(fields, [&](const NamedAttr& f) {
    is_bare(f.name) ? out += f.name : (quoted(f.name), out);
    if (f.value->kind == AttrKind::kUnit) return;
    out += " = ";
    attr(*f.value);
  });
  out += "}";
}

// #name<key = value, ...>; dimension lists as [..]
void Printer::structure(const Attr& a) {
  str_append("#", a.name, "<");
  if (a.name.starts_with("sdy.")) {
    out += print_sdy_body(a);
    out += ">";
    return;
  }
  if (a.name == "stablehlo.bounds") {
    auto dims = int_list(*a.field("bounds"));
    if (dims.ok()) list(*dims, [&](int64_t d) { d == kDynamic ? out += "?" : out += str_cat(d); });
    out += ">";
    return;
  }
  if (a.name == "stablehlo.conv") out += "raw ";
  list(a.fields, [&](const NamedAttr& f) {
    str_append(f.name, " = ");
    if (f.value->kind == AttrKind::kDenseArray) {
      auto dims = int_list(*f.value);
      out += "[";
      if (dims.ok()) list(*dims, [&](int64_t d) { str_append(d); });
      out += "]";
    } else if (f.value->is_struct("stablehlo.sub_axis_info")) {
      str_append("(", f.value->field("pre_size")->i, ")", f.value->field("size")->i);
    } else if (f.value->kind == AttrKind::kInt) {
      str_append(f.value->i);
    } else if (f.value->kind == AttrKind::kFloat) {
      out += absl::StrFormat("%.16e", f.value->f);
    } else {
      attr(*f.value);
    }
  });
  out += ">";
}

void Printer::symbol(const Attr& a) {
  out += "@";
  is_bare(a.text) ? out += a.text : (quoted(a.text), out);
  for (const Attr* x : a.items) {
    out += "::";
    symbol(*x);
  }
}

void Printer::dense_array(const Attr& a) {
  out += "array<";
  type(*a.type);
  size_t n = element_bytes(*a.type);
  for (size_t k = 0; n && k + n <= a.bytes.size(); k += n) {
    out += k ? ", " : ": ";
    number(*a.type, a.bytes.data() + k);
  }
  out += ">";
}

void Printer::opaque(const Attr& a) {
  if (a.name == "loc") {
    out += "loc(unknown)";
    return;
  }
  bool builtin = a.name.find('.') == std::string_view::npos && !a.text.empty();
  str_append(builtin ? "" : "#", a.name);
  if (!a.text.empty()) str_append("<", a.text, ">");
}

void Printer::attr(const Attr& a) {
  auto typed = [&] {
    out += " : ";
    type(*a.type);
  };
  switch (a.kind) {
    case AttrKind::kUnit: out += "unit"; break;
    case AttrKind::kBool: out += a.i ? "true" : "false"; break;
    case AttrKind::kInt:
      a.type->sign == Sign::kUnsigned ? str_append(static_cast<uint64_t>(a.i)) : str_append(a.i);
      typed();
      break;
    case AttrKind::kFloat: {
      uint64_t raw = static_cast<uint64_t>(a.i);
      number(*a.type, reinterpret_cast<const char*>(&raw));
      typed();
      break;
    }
    case AttrKind::kString:
      quoted(a.text);
      if (a.type) typed();
      break;
    case AttrKind::kArray:
      out += "[";
      list(a.items, [&](const Attr* x) { attr(*x); });
      out += "]";
      break;
    case AttrKind::kDict: dict(a.fields); break;
    case AttrKind::kSymbol: symbol(a); break;
    case AttrKind::kType: type(*a.type); break;
    case AttrKind::kElements: elements(a); break;
    case AttrKind::kDenseArray: dense_array(a); break;
    case AttrKind::kEnum: str_append("#", a.name, "<", a.text, ">"); break;
    case AttrKind::kStruct: structure(a); break;
    case AttrKind::kOpaque: opaque(a); break;
  }
}

void Printer::region(const Module& m, const Region& r, int indent) {
  out += "{\n";
  for (size_t k = 0; k < r.blocks.size(); ++k) {
    const Block& b = r.blocks[k];
    if (b.num_args || k) {
      out.append(indent - 1, ' ');
      str_append("^bb", k);
      if (b.num_args) out += "(";
      for (uint32_t i = 0; i < b.num_args; ++i) {
        if (i) out += ", ";
        value(b.arg(i));
        out += ": ";
        type(m.type(b.arg(i)));
      }
      out += b.num_args ? "):\n" : ":\n";
    }
    for (const Op* o : b.ops) op(m, *o, indent);
  }
  out.append(indent - 2, ' ');
  out += "}";
}

void Printer::op(const Module& m, const Op& o, int indent) {
  out.append(indent, ' ');
  if (o.num_results) {
    for (uint32_t k = 0; k < o.num_results; ++k) {
      if (k) out += ", ";
      value(o.result(k));
    }
    out += " = ";
  }
  quoted(o.name);
  out += "(";
  list(o.operands, [&](ValueId v) { value(v); });
  out += ")";
  if (!o.regions.empty()) {
    out += " (";
    list(o.regions, [&](const Region& r) { region(m, r, indent + 2); });
    out += ")";
  }
  if (!o.attrs.empty()) {
    out += " ";
    dict(o.attrs);
  }
  out += " : (";
  list(o.operands, [&](ValueId v) { type(m.type(v)); });
  out += ") -> (";
  for (uint32_t k = 0; k < o.num_results; ++k) {
    if (k) out += ", ";
    type(m.type(o.result(k)));
  }
  out += ")\n";
}

}  // namespace

std::string print_mlir(const Module& module) {
  Printer p;
  p.op(module, *module.op, 0);
  return std::move(p.out);
}

std::string print_type(const Type& type) {
  Printer p;
  p.type(type);
  return std::move(p.out);
}

std::string print_attr(const Attr& attr) {
  Printer p;
  p.attr(attr);
  return std::move(p.out);
}

}  // namespace braze::mlir
