// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode: attributes and locations.
#include <algorithm>
#include <cstring>

#include "frontend/mlir_bytecode.h"

namespace braze::mlir {
namespace {

enum BuiltinAttr : uint64_t {
  kArray = 0,
  kDictionary,
  kString,
  kStringType,
  kFlatSymbol,
  kSymbol,
  kType,
  kUnit,
  kInteger,
  kFloat,
  kCallSite,
  kFileLineCol,
  kFused,
  kFusedMeta,
  kNameLoc,
  kUnknownLoc,
  kDenseResource,
  kDenseArray,
  kDense,
  kDenseString,
  kSparse,
  kDistinct,
  kFileRange
};

Cursor over(std::string_view s) { return {s.data(), s.data() + s.size()}; }

bool is_location(uint64_t code) {
  return (code >= kCallSite && code <= kUnknownLoc) || code == kFileRange;
}

}  // namespace

const Attr* BytecodeReader::attr(uint64_t index) {
  if (index >= attrs_.size()) return fail("an attribute index is out of range"), nullptr;
  Entry& e = attrs_[index];
  if (e.attr) return e.attr;
  if (e.open || depth_ > kMaxDepth) return fail("attributes are nested too deeply"), nullptr;
  e.open = true;
  ++depth_;
  const Attr* a = decode_attr(&e);
  --depth_;
  e.open = false;
  if (!a) return fail("an attribute is malformed"), nullptr;
  if (a->weight > kMaxWeight) return fail("an attribute is too large"), nullptr;
  return e.attr = a;
}

const Attr* BytecodeReader::text_attr(std::string_view text) {
  auto a = parse_attr_text(text.substr(0, text.find('\0')), &b_);
  if (a.ok()) return *a;
  if (error_.ok()) error_ = note("MLIR bytecode", a.status());
  return nullptr;
}

const Attr* BytecodeReader::decode_attr(Entry* e) {
  std::string_view dialect = dialects_[e->dialect].name;
  if (!e->custom) return text_attr(e->data);
  Cursor c = over(e->data);
  const Attr* a = nullptr;
  if (dialect == "builtin") {
    a = builtin_attr(&c);
  } else if (dialect == "vhlo") {
    a = vhlo_attr(&c);
  } else if (dialect == "stablehlo") {
    a = stablehlo_attr(&c);
  } else if (dialect == "sdy") {
    uint64_t code = c.varint();
    const StructSpec* s = sdy_struct_by_code(code);
    if (!s) return fail(str_cat("sdy attribute code ", code, " is unknown")), nullptr;
    a = struct_attr(*s, &c, dialect);
  } else if (dialect == "chlo") {
    uint64_t code = c.varint();
    if (code > 1) return fail(str_cat("chlo attribute code ", code, " is unknown")), nullptr;
    a = enum_attr(*find_enum(code == 0 ? "chlo.comparison_direction" : "chlo.comparison_type"), &c);
  } else {
    fail(str_cat("attributes of the dialect '", dialect, "' are not supported"));
  }
  return c.ok ? a : nullptr;
}

bool BytecodeReader::string_attr(Cursor* c, std::string_view* out) {
  const Attr* a = attr(c);
  if (!a) return false;
  if (a->kind != AttrKind::kString) return fail("expected a string attribute");
  *out = a->text;
  return true;
}

// An APInt of known width: a byte up to 8 bits, a signed varint up to 64.
bool BytecodeReader::integer(Cursor* c, uint32_t bits, uint64_t* out) {
  if (bits <= 8) {
    *out = c->byte();
  } else if (bits <= 64) {
    *out = static_cast<uint64_t>(c->signed_varint());
  } else {
    return fail("integers wider than 64 bits are not supported");
  }
  return c->ok;
}

const Attr* BytecodeReader::attr_list(Cursor* c) {
  std::vector<const Attr*> items;
  uint64_t n = c->count();
  for (uint64_t k = 0; k < n && c->ok; ++k) {
    const Attr* a = attr(c);
    if (!a) return nullptr;
    items.push_back(a);
  }
  return b_.array(items);
}

const Attr* BytecodeReader::dict(Cursor* c) {
  std::vector<NamedAttr> fields;
  uint64_t n = c->count();
  for (uint64_t k = 0; k < n && c->ok; ++k) {
    NamedAttr f;
    if (!string_attr(c, &f.name) || !(f.value = attr(c))) return nullptr;
    fields.push_back(f);
  }
  return b_.dict(std::move(fields));
}

const Attr* BytecodeReader::number(Cursor* c, bool is_float) {
  const Type* t = type(c);
  if (!t) return nullptr;
  bool index = t->kind == TypeKind::kIndex;
  if (is_float ? t->kind != TypeKind::kFloat : t->kind != TypeKind::kInteger && !index) {
    return fail("a number has a type of another kind"), nullptr;
  }
  uint64_t v = 0;
  uint32_t bits = index ? 64 : t->bits;
  if (!integer(c, bits, &v)) return nullptr;
  if (is_float) return b_.float_bits_attr(bits < 64 ? v & ((uint64_t{1} << bits) - 1) : v, t);
  if (bits == 1) return b_.boolean(v & 1);
  if (bits < 64) {
    v &= (uint64_t{1} << bits) - 1;
    if (t->sign != Sign::kUnsigned) {
      v = static_cast<uint64_t>(static_cast<int64_t>(v << (64 - bits)) >> (64 - bits));
    }
  }
  return b_.integer_attr(static_cast<int64_t>(v), t);
}

const Attr* BytecodeReader::builtin_attr(Cursor* c) {
  uint64_t code = c->varint();
  if (is_location(code)) return b_.make({.kind = AttrKind::kOpaque, .name = "loc"});
  std::string_view s;
  switch (code) {
    case kArray:
      return attr_list(c);
    case kDictionary:
      return dict(c);
    case kString:
      return string(c, &s) ? b_.string(s) : nullptr;
    case kStringType: {
      if (!string(c, &s)) return nullptr;
      const Type* t = type(c);
      if (!t) return nullptr;
      return b_.make(
          {.kind = AttrKind::kString, .type = t->kind == TypeKind::kNone ? nullptr : t, .text = s});
    }
    case kFlatSymbol:
      return string_attr(c, &s) ? b_.symbol(s) : nullptr;
    case kSymbol: {
      if (!string_attr(c, &s)) return nullptr;
      const Attr* nested = attr_list(c);
      if (!nested) return nullptr;
      return b_.make({.kind = AttrKind::kSymbol, .text = s, .items = nested->items});
    }
    case kType: {
      const Type* t = type(c);
      return t ? b_.type_attr(t) : nullptr;
    }
    case kUnit:
      return b_.unit();
    case kInteger:
    case kFloat:
      return number(c, code == kFloat);
    default:
      return builtin_data_attr(code, c);
  }
}

const Attr* BytecodeReader::builtin_data_attr(uint64_t code, Cursor* c) {
  if (code == kDenseResource) return resource_attr(c);
  const Type* t = code == kDenseArray || code == kDense || code == kDenseString ? type(c) : nullptr;
  if (code == kDenseArray && t) {
    uint64_t n = c->varint();
    std::string_view blob = c->blob();
    size_t size = element_bytes(*t);
    if (size == 0 || blob.size() / size != n || blob.size() % size) {
      return fail("a dense array does not have the size it states"), nullptr;
    }
    return b_.make({.kind = AttrKind::kDenseArray, .type = t, .bytes = blob});
  }
  if (code == kDense && t) {
    const Attr* a = b_.elements(t, c->blob());
    if (!a) fail("constant data does not have the size of its type");
    return a;
  }
  if (code == kDenseString && t && t->element) {
    bool splat = c->varint();
    std::vector<const Attr*> items;
    uint64_t n = splat ? 1 : c->count();
    for (uint64_t k = 0; k < n && c->ok; ++k) {
      std::string_view s;
      if (!string(c, &s)) return nullptr;
      items.push_back(b_.string(s));
    }
    return b_.make(
        {.kind = AttrKind::kElements, .splat = splat, .type = t, .items = b_.arena().copy(items)});
  }
  if (code == kDistinct) return b_.make({.kind = AttrKind::kOpaque, .name = "distinct"});
  return fail(str_cat("builtin attribute code ", code, " is not supported")), nullptr;
}

// type, handle; the entry is alignment, size, [padding], data
const Attr* BytecodeReader::resource_attr(Cursor* c) {
  const Type* t = type(c);
  uint64_t handle = c->varint();
  if (!t) return nullptr;
  if (handle >= resources_.size()) return fail("a resource handle is out of range"), nullptr;
  Cursor r = over(resources_[handle]);
  uint64_t alignment = r.varint(), size = r.varint();
  if (!r.ok || size > r.left() || alignment > (1u << 20)) return nullptr;
  r.bytes(r.left() - size);  // the padding
  const Attr* a = b_.elements(t, r.bytes(size));
  if (!a) fail("a resource does not have the size of its type");
  return a;
}

const Attr* BytecodeReader::enum_attr(const EnumSpec& spec, Cursor* c) {
  uint64_t v = c->varint();
  if (v >= spec.cases.size() || spec.cases[v].empty()) {
    return fail(str_cat("value ", v, " of ", spec.name, " is unknown")), nullptr;
  }
  return b_.enum_case(spec.name, spec.cases[v]);
}

const Attr* BytecodeReader::stablehlo_attr(Cursor* c) {
  uint64_t code = c->varint();
  if (const EnumSpec* e = enum_by_code(code, false)) return enum_attr(*e, c);
  if (const StructSpec* s = struct_by_code(code, false)) return struct_attr(*s, c, "stablehlo");
  return fail(str_cat("StableHLO attribute code ", code, " is unknown")), nullptr;
}

const Attr* BytecodeReader::struct_attr(const StructSpec& spec, Cursor* c,
                                        std::string_view dialect) {
  std::vector<NamedAttr> fields;
  for (const FieldSpec& f : spec.fields) {
    bool absent = false;
    const Attr* v = struct_field(f, c, dialect, &absent);
    if (absent) continue;
    if (!v || !c->ok) return nullptr;
    fields.push_back({f.name, v});
  }
  if (spec.name == "sdy.sharding") {  // one canonical form for its three encodings
    if (spec.fields.size() == 3) fields.push_back({"unreduced_axes", b_.array({})});
    if (fields.back().name == "reduction_op" && fields.back().value->i == 0) fields.pop_back();
  }
  return b_.structure(spec.name, std::move(fields));
}

const Attr* BytecodeReader::struct_field(const FieldSpec& f, Cursor* c, std::string_view dialect,
                                         bool* absent) {
  bool vhlo = dialect == "vhlo";
  std::string_view s;
  switch (f.kind) {
    case FieldKind::kDims: {
      std::vector<int64_t> v;
      return dims(c, &v) ? b_.dims(v) : nullptr;
    }
    case FieldKind::kInt:
      return b_.i64(c->signed_varint());
    case FieldKind::kCount: {
      bool present;
      uint64_t v = c->flagged(&present);
      return present ? b_.i64(static_cast<int64_t>(v)) : (*absent = true, nullptr);
    }
    case FieldKind::kDouble: {
      uint64_t bits = 0;
      return integer(c, 64, &bits) ? b_.float_bits_attr(bits, b_.floating("f64")) : nullptr;
    }
    case FieldKind::kBool:
      return b_.boolean(c->byte() != 0);
    case FieldKind::kType: {
      const Type* t = type(c);
      return t ? b_.type_attr(t) : nullptr;
    }
    case FieldKind::kString:
      if (vhlo) return string_attr(c, &s) ? b_.string(s) : nullptr;
      return string(c, &s) ? b_.string(s) : nullptr;
    case FieldKind::kList:
      return vhlo ? attr(c) : attr_list(c);
    case FieldKind::kAttr:
      break;
  }
  if (f.optional) {
    if (dialect == "sdy" || (vhlo && f.name == "device_ids")) {
      bool present;
      uint64_t index = c->flagged(&present);
      return present ? attr(index) : (*absent = true, nullptr);
    }
    if ((vhlo ? c->varint() : c->byte()) == 0) return *absent = true, nullptr;
  }
  const Attr* a = attr(c);
  if (a && vhlo && f.name == "mesh" && a->kind == AttrKind::kString) return b_.symbol(a->text);
  return a;
}

const Attr* BytecodeReader::vhlo_attr(Cursor* c) {
  uint64_t code = c->varint();
  if (const EnumSpec* e = enum_by_code(code, true)) return enum_attr(*e, c);
  if (const StructSpec* s = struct_by_code(code, true)) return struct_attr(*s, c, "vhlo");
  std::string_view s;
  switch (code) {
    case 1:
      return attr_list(c);
    case 2:
      return b_.boolean(c->varint() != 0);
    case 5: {
      uint64_t v = c->varint();
      if (v > 4) return fail(str_cat("custom call API version ", v, " is unknown")), nullptr;
      return b_.i32(static_cast<int64_t>(v));
    }
    case 6:
      return dict(c);
    case 8:
    case 9:
      return number(c, code == 8);
    case 14:
      return string(c, &s) ? b_.string(s) : nullptr;
    case 15: {
      const Type* t = type(c);
      if (!t) return nullptr;
      const Attr* a = b_.elements(t, c->blob());
      if (!a) fail("constant data does not have the size of its type");
      return a;
    }
    case 17: {
      const Type* t = type(c);
      return t ? b_.type_attr(t) : nullptr;
    }
    default:
      return fail(str_cat("VHLO attribute code ", code, " is unknown")), nullptr;
  }
}

const Loc* BytecodeReader::location(uint64_t index) {
  if (index >= attrs_.size()) return fail("a location index is out of range"), nullptr;
  Entry& e = attrs_[index];
  if (e.loc) return e.loc;
  if (e.open || depth_ > kMaxDepth) return b_.arena().make(Loc{});
  e.open = true;
  ++depth_;
  Loc l;
  bool ok = true;
  if (e.custom && dialects_[e.dialect].name == "builtin") {
    Cursor c = over(e.data);
    ok = decode_location(&c, &l) && check(c, "location");
  }
  --depth_;
  e.open = false;
  return ok ? e.loc = b_.arena().make(l) : nullptr;
}

bool BytecodeReader::decode_location(Cursor* c, Loc* out) {
  uint64_t code = c->varint();
  std::vector<const Loc*> parts;
  auto child = [&] {
    const Loc* l = location(c->varint());
    return l && (parts.push_back(l), true);
  };
  switch (code) {
    case kCallSite:
      out->kind = LocKind::kCallSite;
      if (!child() || !child()) return false;
      break;
    case kFileLineCol:
      out->kind = LocKind::kFile;
      if (!string_attr(c, &out->text)) return false;
      out->line = static_cast<uint32_t>(c->varint());
      out->column = static_cast<uint32_t>(c->varint());
      break;
    case kFileRange: {
      out->kind = LocKind::kFile;
      if (!string_attr(c, &out->text)) return false;
      uint64_t n = c->count();
      for (uint64_t k = 0; k < n && c->ok; ++k) {
        uint32_t v = static_cast<uint32_t>(c->varint());
        if (k == 0) out->line = v;
        if (k == 1) out->column = v;
      }
      break;
    }
    case kNameLoc:
      out->kind = LocKind::kName;
      if (!string_attr(c, &out->text) || !child()) return false;
      break;
    case kFused:
    case kFusedMeta: {
      out->kind = LocKind::kFused;
      uint64_t n = c->count();
      for (uint64_t k = 0; k < n && c->ok; ++k) {
        if (!child()) return false;
      }
      break;
    }
    default:
      break;  // unknown
  }
  out->children = b_.arena().copy(parts);
  return c->ok;
}

}  // namespace braze::mlir
