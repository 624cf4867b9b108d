// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode: types of the builtin, vhlo and stablehlo dialects.
#include "frontend/mlir_bytecode.h"

namespace braze::mlir {

const Type* BytecodeReader::type(uint64_t index) {
  if (index >= types_.size()) return fail("a type index is out of range"), nullptr;
  Entry& e = types_[index];
  if (e.type) return e.type;
  if (e.open || depth_ > kMaxDepth) return fail("types are nested too deeply"), nullptr;
  e.open = true;
  ++depth_;
  const Type* t = decode_type(&e);
  --depth_;
  e.open = false;
  if (!t) return fail("a type is malformed"), nullptr;
  if (t->weight > kMaxWeight) return fail("a type is too large"), nullptr;
  return e.type = t;
}

const Type* BytecodeReader::decode_type(Entry* e) {
  std::string_view dialect = dialects_[e->dialect].name;
  if (!e->custom) {
    auto t = parse_type_text(e->data.substr(0, e->data.find('\0')), &b_);
    if (t.ok()) return *t;
    if (error_.ok()) error_ = note("MLIR bytecode", t.status());
    return nullptr;
  }
  Cursor c{e->data.data(), e->data.data() + e->data.size()};
  const Type* t = nullptr;
  if (dialect == "builtin") {
    t = builtin_type(&c);
  } else if (dialect == "vhlo") {
    t = vhlo_type(&c);
  } else if (dialect == "stablehlo") {
    uint64_t code = c.varint();
    std::vector<const Type*> members;
    if (code == 0) t = b_.type(TypeKind::kToken);
    if (code == 1 && types(&c, &members)) {
      t = b_.make_type({.kind = TypeKind::kFuture, .inputs = b_.arena().copy(members)});
    }
  } else {
    fail(str_cat("types of the dialect '", dialect, "' are not supported"));
  }
  return c.ok ? t : nullptr;
}

bool BytecodeReader::types(Cursor* c, std::vector<const Type*>* out) {
  uint64_t n = c->count();
  for (uint64_t k = 0; k < n && c->ok; ++k) {
    const Type* t = type(c);
    if (!t) return false;
    out->push_back(t);
  }
  return c->ok;
}

bool BytecodeReader::dims(Cursor* c, std::vector<int64_t>* out) {
  uint64_t n = c->count();
  for (uint64_t k = 0; k < n && c->ok; ++k) out->push_back(c->signed_varint());
  return c->ok;
}

const Type* BytecodeReader::shaped(Cursor* c, TypeKind kind, const Attr* encoding) {
  std::vector<int64_t> shape;
  if (!dims(c, &shape)) return nullptr;
  if (shape.size() > kMaxRank) return fail("a type has more than 64 dimensions"), nullptr;
  for (int64_t& d : shape) {
    if (d < 0 && d != kDynamic) return fail("a dimension is negative"), nullptr;
  }
  const Type* element = type(c);
  if (!element) return nullptr;
  if (kind == TypeKind::kTensor) return b_.tensor(shape, element, encoding);
  return b_.make_type(
      {.kind = kind, .dims = b_.arena().copy(shape), .element = element, .encoding = encoding});
}

const Type* BytecodeReader::builtin_type(Cursor* c) {
  static constexpr std::string_view kFloats[] = {"bf16", "f16", "f32", "f64", "f80", "f128"};
  uint64_t code = c->varint();
  std::vector<const Type*> in, out;
  switch (code) {
    case 0: {
      uint64_t v = c->varint();
      if ((v >> 2) == 0 || (v >> 2) > 4096 || (v & 3) == 3) return nullptr;
      return b_.integer(static_cast<uint32_t>(v >> 2), static_cast<Sign>(v & 3));
    }
    case 1:
      return b_.type(TypeKind::kIndex);
    case 2:
      if (!types(c, &in) || !types(c, &out)) return nullptr;
      return b_.make_type({.kind = TypeKind::kFunction,
                           .inputs = b_.arena().copy(in),
                           .results = b_.arena().copy(out)});
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return b_.floating(kFloats[code - 3]);
    case 9: {
      const Type* e = type(c);
      return e ? b_.complex(e) : nullptr;
    }
    case 10:
      return shaped(c, TypeKind::kMemRef, nullptr);
    case 12:
      return b_.type(TypeKind::kNone);
    case 13:
      return shaped(c, TypeKind::kTensor, nullptr);
    case 14: {
      const Attr* encoding = attr(c);
      return encoding ? shaped(c, TypeKind::kTensor, encoding) : nullptr;
    }
    case 15:
      if (!types(c, &in)) return nullptr;
      return b_.make_type({.kind = TypeKind::kTuple, .inputs = b_.arena().copy(in)});
    case 18: {
      const Type* e = type(c);
      return e ? b_.make_type({.kind = TypeKind::kTensor, .ranked = false, .element = e}) : nullptr;
    }
    case 19:
      return shaped(c, TypeKind::kVector, nullptr);
    default:
      return fail(str_cat("builtin type code ", code, " is not supported")), nullptr;
  }
}

const Type* BytecodeReader::vhlo_type(Cursor* c) {
  struct Leaf {
    std::string_view name;  // a float's; empty: an integer
    uint32_t bits;
    Sign sign;
  };
  constexpr Sign kSigned = Sign::kSignless, kUnsigned = Sign::kUnsigned;  // SI32 is i32
  static constexpr struct {
    uint8_t code;
    Leaf leaf;
  } kLeaves[] = {
      {0, {"", 1, kSigned}},
      {2, {"bf16"}},
      {3, {"f16"}},
      {4, {"f32"}},
      {5, {"f64"}},
      {6, {"f8E4M3FN"}},
      {7, {"f8E5M2"}},
      {10, {"", 4, kSigned}},
      {11, {"", 8, kSigned}},
      {12, {"", 16, kSigned}},
      {13, {"", 32, kSigned}},
      {14, {"", 64, kSigned}},
      {15, {"", 4, kUnsigned}},
      {16, {"", 8, kUnsigned}},
      {17, {"", 16, kUnsigned}},
      {18, {"", 32, kUnsigned}},
      {19, {"", 64, kUnsigned}},
      {27, {"f8E4M3FNUZ"}},
      {28, {"f8E5M2FNUZ"}},
      {29, {"f8E4M3B11FNUZ"}},
      {31, {"", 2, kSigned}},
      {32, {"", 2, kUnsigned}},
      {34, {"tf32"}},
      {35, {"f8E4M3"}},
      {36, {"f8E3M4"}},
      {37, {"f4E2M1FN"}},
      {38, {"f6E2M3FN"}},
      {39, {"f6E3M2FN"}},
      {40, {"f8E8M0FNU"}},
  };
  uint64_t code = c->varint();
  for (const auto& row : kLeaves) {
    if (row.code != code) continue;
    return row.leaf.name.empty() ? b_.integer(row.leaf.bits, row.leaf.sign)
                                 : b_.floating(row.leaf.name);
  }
  return vhlo_composite_type(code, c);
}

const Type* BytecodeReader::vhlo_composite_type(uint64_t code, Cursor* c) {
  std::vector<const Type*> in, out;
  switch (code) {
    case 1: {
      const Type* e = type(c);
      return e ? b_.complex(e) : nullptr;
    }
    case 8:
      if (!types(c, &in) || !types(c, &out)) return nullptr;
      return b_.make_type({.kind = TypeKind::kFunction,
                           .inputs = b_.arena().copy(in),
                           .results = b_.arena().copy(out)});
    case 9:
      return b_.type(TypeKind::kIndex);
    case 20:
      return shaped(c, TypeKind::kTensor, nullptr);
    case 21: {
      const Attr* encoding = attr(c);
      return encoding ? shaped(c, TypeKind::kTensor, encoding) : nullptr;
    }
    case 22:
      return b_.type(TypeKind::kToken);
    case 23:
    case 42:
      if (!types(c, &in)) return nullptr;
      return b_.make_type({.kind = code == 23 ? TypeKind::kTuple : TypeKind::kFuture,
                           .inputs = b_.arena().copy(in)});
    case 24:
      return quantized(c, false);
    case 30:
      return quantized(c, true);
    case 25: {
      const Type* e = type(c);
      return e ? b_.make_type({.kind = TypeKind::kTensor, .ranked = false, .element = e}) : nullptr;
    }
    case 26:
      return b_.make_type({.kind = TypeKind::kDialect, .name = "shape.witness"});
    case 33:
      return b_.type(TypeKind::kNone);
    case 41:
      return shaped(c, TypeKind::kMemRef, nullptr);
    default:
      return fail(str_cat("VHLO type code ", code, " is unknown")), nullptr;
  }
}

const Type* BytecodeReader::quantized(Cursor* c, bool per_axis) {
  Quant q;
  uint64_t flags = c->varint();  // bit 0: signed storage
  q.storage = type(c);
  if (!q.storage || !(q.expressed = type(c))) return nullptr;
  if (q.storage->kind != TypeKind::kInteger || q.storage->bits > 32) {
    return fail("a quantized type needs an integer storage type of at most 32 bits"), nullptr;
  }
  q.storage = b_.integer(q.storage->bits, flags & 1 ? Sign::kSignless : Sign::kUnsigned);
  const Type* f64 = b_.floating("f64");
  auto scale = [&] {
    uint64_t bits = 0;
    integer(c, 64, &bits);
    return decode_float(f64->name, bits);
  };
  std::vector<double> scales;
  std::vector<int64_t> zeros;
  if (per_axis) {
    uint64_t axis = c->varint();
    if (axis >= kMaxRank) return nullptr;
    q.axis = static_cast<int64_t>(axis);
    q.storage_min = c->signed_varint();
    q.storage_max = c->signed_varint();
    for (uint64_t n = c->count(); n > 0 && c->ok; --n) scales.push_back(scale());
    if (!dims(c, &zeros) || zeros.size() != scales.size()) return nullptr;
  } else {
    scales.push_back(scale());
    zeros.push_back(c->signed_varint());
    q.storage_min = c->signed_varint();
    q.storage_max = c->signed_varint();
  }
  q.scales = b_.arena().copy(scales);
  q.zero_points = b_.arena().copy(zeros);
  return b_.make_type(
      {.kind = TypeKind::kQuantized, .element = q.storage, .quant = b_.arena().make(q)});
}

}  // namespace braze::mlir
