// SPDX-License-Identifier: Apache-2.0
#include "frontend/stablehlo_types.h"

#include <cstring>

#include "frontend/mlir_read.h"

namespace braze {
namespace {

using mlir::AttrKind;
using mlir::Sign;
using mlir::TypeKind;

constexpr int64_t kMaxElements = int64_t{1} << 46;
constexpr int kMaxTupleDepth = 64;

Result<Dtype> int_dtype(uint32_t bits, Sign sign) {
  const bool u = sign == Sign::kUnsigned;
  switch (bits) {
    case 1: return Dtype::kPred;
    case 2: return u ? Dtype::kU2 : Dtype::kS2;
    case 4: return u ? Dtype::kU4 : Dtype::kS4;
    case 8: return u ? Dtype::kU8 : Dtype::kS8;
    case 16: return u ? Dtype::kU16 : Dtype::kS16;
    case 32: return u ? Dtype::kU32 : Dtype::kS32;
    case 64: return u ? Dtype::kU64 : Dtype::kS64;
    default: return unimplemented("integers of ", bits, " bits are not supported");
  }
}

Result<std::shared_ptr<const Quantization>> import_quant(const mlir::Quant& q) {
  auto out = std::make_shared<Quantization>();
  if (!q.expressed) return invalid("a quantized type without an expressed type");
  ASSIGN(out->expressed, import_dtype(*q.expressed));
  out->scales.assign(q.scales.begin(), q.scales.end());
  out->zero_points.assign(q.zero_points.begin(), q.zero_points.end());
  out->zero_points.resize(out->scales.size(), 0);
  if (out->scales.empty()) return invalid("a quantized type needs a scale");
  out->axis = q.axis;
  out->storage_min = q.storage_min;
  out->storage_max = q.storage_max;
  return std::shared_ptr<const Quantization>(std::move(out));
}

Status set_bounds(const mlir::Attr& encoding, Shape& s) {
  if (!encoding.is_struct("stablehlo.bounds")) return absl::OkStatus();  // sparsity, layouts: hints
  const mlir::Attr* list = encoding.field("bounds");
  if (!list) return absl::OkStatus();
  ASSIGN(std::vector<int64_t> bounds, mlir::int_list(*list));
  if (static_cast<int64_t>(bounds.size()) != s.rank())
    return invalid("#stablehlo.bounds lists ", bounds.size(), " bounds for ", s.rank(),
                   " dimensions");
  for (int64_t i = 0; i < s.rank(); ++i) {
    if (bounds[i] == mlir::kDynamic) continue;
    if (s.dims[i] != kUnknownDim)
      return invalid("#stablehlo.bounds gives dimension ", i, " a bound, but its size is static");
    if (bounds[i] < 0) return invalid("#stablehlo.bounds: negative bound ", bounds[i]);
    s.dims[i] = bounds[i];
    s.dynamic.resize(s.rank(), false);
    s.dynamic[i] = true;
  }
  return absl::OkStatus();
}

Status check_size(const Shape& s) {
  int64_t n = 1;
  bool zero = false;
  for (int64_t d : s.dims) zero |= d == 0;
  for (int64_t d : s.dims) {
    if (d == kUnknownDim) continue;
    if (d < 0) return invalid("negative dimension size ", d);
    if (!zero && __builtin_mul_overflow(n, d, &n)) n = kMaxElements + 1;
    if (n > kMaxElements) return exhausted("an array of shape [", join(s.dims), "] is too large");
  }
  return absl::OkStatus();
}

Result<Shape> import_array(const mlir::Type& t) {
  if (!t.ranked) return unimplemented("unranked tensors (tensor<*x..>) are not supported");
  if (!t.element) return invalid("a tensor type without an element type");
  Shape s;
  const mlir::Type& e = *t.element;
  ASSIGN(s.dtype, import_dtype(e));
  if (e.kind == TypeKind::kQuantized && e.quant) {
    ASSIGN(s.quant, import_quant(*e.quant));
  }
  for (int64_t d : t.dims) s.dims.push_back(d == mlir::kDynamic ? kUnknownDim : d);
  if (t.encoding) TRY(set_bounds(*t.encoding, s));
  TRY(check_size(s));
  return s;
}

Result<Shape> import_any(const mlir::Type& t, int depth) {
  switch (t.kind) {
    case TypeKind::kTensor:
    case TypeKind::kMemRef:
    case TypeKind::kVector: return import_array(t);
    case TypeKind::kToken: return Shape::token();
    case TypeKind::kTuple:
    case TypeKind::kFuture: {
      if (depth >= kMaxTupleDepth) return exhausted("tuple types nested too deeply");
      std::vector<Shape> parts;
      for (const mlir::Type* p : t.inputs) {
        ASSIGN(Shape s, import_any(*p, depth + 1));
        parts.push_back(std::move(s));
      }
      if (t.kind == TypeKind::kFuture && parts.size() == 1) return parts[0];
      return Shape::tuple_of(std::move(parts));
    }
    case TypeKind::kInteger:
    case TypeKind::kIndex:
    case TypeKind::kFloat:
    case TypeKind::kComplex: {
      ASSIGN(Dtype d, import_dtype(t));
      return Shape::scalar(d);
    }
    default: return unimplemented("type ", mlir::print_type(t), " is not supported");
  }
}

}  // namespace

Result<Dtype> import_dtype(const mlir::Type& t) {
  switch (t.kind) {
    case TypeKind::kInteger: return int_dtype(t.bits, t.sign);
    case TypeKind::kIndex: return Dtype::kS64;
    case TypeKind::kFloat:
      if (auto d = dtype_from_mlir(t.name)) return *d;
      return unimplemented("element type ", t.name, " is not supported");
    case TypeKind::kComplex:
      if (t.element && t.element->is_float("f32")) return Dtype::kC64;
      if (t.element && t.element->is_float("f64")) return Dtype::kC128;
      return unimplemented("element type ", mlir::print_type(t), " is not supported");
    case TypeKind::kQuantized:
      if (t.quant && t.quant->storage) return import_dtype(*t.quant->storage);
      break;
    default: break;
  }
  return unimplemented("element type ", mlir::print_type(t), " is not supported");
}

Result<Shape> import_type(const mlir::Type& type) { return import_any(type, 0); }

namespace {

// Checks that the attribute can fill `shape` and returns the bytes of one element.
Result<int64_t> element_size(const mlir::Attr& v, const Shape& shape) {
  if (v.kind != AttrKind::kElements || !v.type || !v.type->element)
    return invalid("expected dense elements, got ", mlir::print_attr(v));
  ASSIGN(Dtype d, import_dtype(*v.type->element));
  if (d != shape.dtype)
    return invalid("elements of type ", name(d), " for a constant of type ", to_string(shape));
  if (!shape.is_static()) return invalid("a constant needs static dimensions");
  const int64_t size = byte_size(d);
  const int64_t want = v.splat ? size : size * shape.elements();
  if (static_cast<int64_t>(v.bytes.size()) != want)
    return invalid("a constant of type ", to_string(shape), " has ", v.bytes.size(),
                   " bytes of elements, expected ", want);
  return size;
}

}  // namespace

Result<Literal> import_elements(const mlir::Attr& v, const Shape& shape) {
  ASSIGN(const int64_t size, element_size(v, shape));
  if (!v.splat) return Literal::from_bytes(shape, {v.bytes.data(), v.bytes.size()});
  Literal l(shape);
  char* out = l.elements() ? l.mutable_bytes() : nullptr;
  for (int64_t i = 0, n = l.elements(); i < n; ++i)
    std::memcpy(out + i * size, v.bytes.data(), size);
  return l;
}

Result<std::vector<Literal>> import_splat(const mlir::Attr& v, const Shape& shape) {
  ASSIGN(const int64_t size, element_size(v, shape));
  const size_t n = v.bytes.size(), one = static_cast<size_t>(size);
  if (n == 0) return std::vector<Literal>();
  if (!v.splat && std::memcmp(v.bytes.data(), v.bytes.data() + one, n - one) != 0)
    return std::vector<Literal>();
  Shape scalar = Shape::scalar(shape.dtype);
  return std::vector<Literal>{Literal::from_bytes(scalar, {v.bytes.data(), one})};
}

Result<Shape> merge_shapes(const Shape& declared, const Shape& inferred) {
  auto clash = [&] {
    return invalid("the result type ", to_string(declared, false), " does not match the inferred ",
                   to_string(inferred, false));
  };
  if (declared.dtype != inferred.dtype || declared.rank() != inferred.rank() ||
      declared.tuple.size() != inferred.tuple.size())
    return clash();
  Shape out = declared;
  out.layout.clear();
  for (size_t i = 0; i < out.tuple.size(); ++i) {
    ASSIGN(out.tuple[i], merge_shapes(declared.tuple[i], inferred.tuple[i]));
  }
  for (int64_t i = 0; i < out.rank(); ++i) {
    const bool bounded = declared.is_dynamic(i) || inferred.is_dynamic(i);
    const int64_t a = declared.dims[i], b = inferred.dims[i];
    if (a != kUnknownDim && b != kUnknownDim && a != b && !bounded) return clash();
    if (a == kUnknownDim && inferred.is_dynamic(i)) out.dims[i] = b;
    else if (a != kUnknownDim && b != kUnknownDim && bounded) out.dims[i] = std::min(a, b);
    if (bounded && out.dims[i] != kUnknownDim) {
      out.dynamic.resize(out.rank(), false);
      out.dynamic[i] = true;
    }
  }
  return out;
}

}  // namespace braze
