// SPDX-License-Identifier: Apache-2.0
// Rows of the ops that move elements and compute nothing. eval walks the result and copies; index
// maps a result index to operand indices with the scalar graph's arithmetic.
#include <algorithm>

#include "ops/bitcast.h"
#include "ops/elementwise.h"
#include "ops/reshape.h"

namespace braze {
namespace {

using scalar::Graph;
using scalar::Scalar;
using scalar::Value;
using Index = absl::InlinedVector<Scalar, 6>;

Shape carry(const Shape& x) {
  Shape s = x.with_dtype(x.dtype);
  s.quant = x.quant;
  return s;
}

void set_dynamic(Shape& s, int64_t i, bool dynamic) {
  if (s.dynamic.empty() && !dynamic) return;
  s.dynamic.resize(s.dims.size(), false);
  s.dynamic[i] = dynamic;
}

// Quantization along an axis that moved to `axis`.
std::shared_ptr<const Quantization> on_axis(const Shape& x, int64_t axis) {
  if (!x.quant || x.quant->axis < 0 || x.quant->axis == axis) return x.quant;
  auto q = std::make_shared<Quantization>(*x.quant);
  q->axis = axis;
  return q;
}

// `dims` holds distinct dimensions of a rank.
Status check_dims(const InferContext& c, DimSpan dims, int64_t rank, std::string_view unique,
                  std::string_view range) {
  Dims seen;
  for (int64_t d : dims) {
    if (d < 0 || d >= rank)
      return invalid(message_name(c.op), ": dimension ", d, " is not in [0, ", rank, ")",
                     constraint(c, range));
    if (std::find(seen.begin(), seen.end(), d) != seen.end())
      return invalid(message_name(c.op), ": dimension ", d, " is given twice",
                     constraint(c, unique));
    seen.push_back(d);
  }
  return absl::OkStatus();
}

// Calls f(index, position) for each element of `dims` in row-major order.
template <typename F>
void for_each_index(DimSpan dims, F f) {
  if (product(dims) == 0) return;
  Dims index(dims.size(), 0);
  int64_t i = 0;
  do f(index, i++);
  while (next_index(absl::MakeSpan(index), dims));
}

// Broadcast --------------------------------------------------------------------------------------

Result<Shape> infer_broadcast(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  const Shape& x = c.operand(0);
  const Dims& to = c.as<DimsAttrs>().dimensions;
  if (c.proposed == nullptr) return invalid("broadcast_in_dim: the result shape must be stated");
  Shape out = *c.proposed;
  if (out.dtype != x.dtype)
    return invalid("broadcast_in_dim: element types of operand ", to_string(x, false),
                   " and result ", to_string(out, false), " differ (broadcast_in_dim_c1)");
  if (static_cast<int64_t>(to.size()) != x.rank())
    return invalid("broadcast_in_dim: ", to.size(), " dimensions given for an operand of rank ",
                   x.rank(), " (broadcast_in_dim_c2)");
  TRY(check_dims(c, to, out.rank(), "c4", "c3"));
  for (int64_t i = 0; i < x.rank(); ++i) {
    const int64_t from = x.dims[i], result = out.dims[to[i]];
    if (from != 1 && from != result && from != kUnknownDim && result != kUnknownDim)
      return invalid("broadcast_in_dim: operand dimension ", i, " of size ", from,
                     " does not fit result dimension ", to[i], " of size ", result,
                     " (broadcast_in_dim_c5)");
  }
  if (!out.quant && x.quant)
    out.quant =
        x.quant->axis < 0 || x.quant->axis >= x.rank() ? x.quant : on_axis(x, to[x.quant->axis]);
  return out;
}

Result<Literal> eval_broadcast(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const Dims& to = c.as<DimsAttrs>().dimensions;
  if (!c.instr.shape.is_static()) return invalid("broadcast_in_dim: the result shape is not known");
  Dims dims = c.instr.shape.dims;
  // A bounded dimension has the size of the value at hand.
  for (size_t k = 0; k < to.size(); ++k)
    if (c.instr.operand(0)->shape.is_dynamic(static_cast<int64_t>(k))) dims[to[k]] = x.shape().dims[k];
  Literal out(eval_shape(c, dims));
  Dims at(to.size(), 0);
  for_each_index(out.shape().dims, [&](const Dims& index, int64_t i) {
    for (size_t k = 0; k < to.size(); ++k) at[k] = x.shape().dims[k] == 1 ? 0 : index[to[k]];
    out.copy_element(i, x, linear_index(at, x.shape().dims));
  });
  return out;
}

Value index_broadcast(const IndexContext& c) {
  const Dims& to = c.instr.as<DimsAttrs>().dimensions;
  const Shape& x = c.instr.operand(0)->shape;
  Index at;
  for (size_t k = 0; k < to.size(); ++k)
    at.push_back(x.dims[k] == 1 ? c.g.constant_int(c.index_type, 0) : c.index[to[k]]);
  return c.operand(0, at, c.condition);
}

std::unique_ptr<Module> sample_broadcast(std::mt19937_64& rng) {
  const Shape out = sample::shape(rng, kAnyT);
  Dims to = sample::permutation(rng, out.rank());
  to.resize(sample::pick(rng, 0, out.rank()));
  std::sort(to.begin(), to.end());
  Dims dims;
  for (int64_t d : to) dims.push_back(sample::chance(rng, 0.2) ? 1 : out.dims[d]);
  return sample::module_of(Op::kBroadcast, {Shape::array(out.dtype, dims)}, DimsAttrs{to}, &out);
}

// Concatenate ------------------------------------------------------------------------------------

Result<Shape> infer_concatenate(const InferContext& c) {
  const Dims& dims = c.as<DimsAttrs>().dimensions;
  if (c.operands.empty()) return invalid("concatenate: no operands (concatenate_c3)");
  TRY(expect_class(c, 0, kAnyT));
  Shape out = carry(c.operand(0));
  if (dims.size() != 1 || dims[0] < 0 || dims[0] >= out.rank())
    return invalid("concatenate: dimension {", join(dims), "} is not one in [0, ", out.rank(),
                   ") (concatenate_c4)");
  const int64_t d = dims[0];
  for (size_t k = 1; k < c.operands.size(); ++k) {
    TRY(expect_class(c, k, kAnyT));
    TRY(expect_same_dtype(c, 0, k, "c1"));
    Shape part = carry(c.operand(k));
    if (part.rank() != out.rank())
      return invalid("concatenate: operand shapes ", to_string(out, false), " and ",
                     to_string(part, false), " differ in rank (concatenate_c2)");
    const int64_t before = out.dims[d], size = part.dims[d];
    const bool dynamic = out.is_dynamic(d) || part.is_dynamic(d);
    part.dims[d] = before;
    ASSIGN(out, common_shape(c, out, part, "c2"));
    const bool unknown = before == kUnknownDim || size == kUnknownDim;
    if (unknown)
      out.dims[d] = kUnknownDim;
    else if (__builtin_add_overflow(before, size, &out.dims[d]))
      return invalid("concatenate: the result is too large (concatenate_c6)");
    set_dynamic(out, d, dynamic && !unknown);
  }
  return out;
}

Result<Literal> eval_concatenate(const EvalContext& c) {
  const int64_t d = c.as<DimsAttrs>().dimensions[0];
  Dims dims = c.operand(0).shape().dims;
  dims[d] = 0;
  for (const Literal& x : c.operands) dims[d] += x.shape().dims[d];
  Literal out(eval_shape(c, dims));
  int64_t offset = 0;
  for (const Literal& x : c.operands) {
    Dims at;
    for_each_index(x.shape().dims, [&](const Dims& index, int64_t i) {
      at = index;
      at[d] += offset;
      out.copy_element(linear_index(at, dims), x, i);
    });
    offset += x.shape().dims[d];
  }
  return out;
}

Value select(Graph& g, Scalar p, const Value& t, const Value& f) {
  Value out{g.select(p, t.re, f.re)};
  if (t.is_complex()) out.im = g.select(p, t.im, f.im);
  return out;
}

Scalar both(Graph& g, Scalar a, Scalar b) { return !a ? b : !b ? a : g.logical_and(a, b); }

Value zero_of(Graph& g, Dtype t) {
  const Scalar zero = is_float(real_of(t)) ? g.constant(real_of(t), 0) : g.constant_int(t, 0);
  return is_complex(t) ? Value{zero, zero} : Value{zero};
}

// A chain of selects from the last part to the first; each part is read under its condition only.
Value index_concatenate(const IndexContext& c) {
  Graph& g = c.g;
  const int64_t d = c.instr.as<DimsAttrs>().dimensions[0];
  const Scalar position = c.index[d];
  const auto& operands = c.instr.operands;
  int64_t end = c.instr.shape.dims[d];
  Value out;
  for (int64_t k = static_cast<int64_t>(operands.size()) - 1; k >= 0; --k) {
    const int64_t size = operands[k]->shape.dims[d], start = end - size;
    end = start;
    if (size == 0) continue;
    Scalar below, above;
    if (out.re) below = g.lt(position, g.constant_int(c.index_type, start + size));
    if (start > 0) above = g.le(g.constant_int(c.index_type, start), position);
    Index at(c.index.begin(), c.index.end());
    at[d] = g.sub(position, g.constant_int(c.index_type, start));
    const Value part = c.operand(k, at, both(g, both(g, below, above), c.condition));
    out = out.re ? select(g, below, part, out) : part;
  }
  return out.re ? out : zero_of(g, c.instr.shape.dtype);
}

std::unique_ptr<Module> sample_concatenate(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT, 1);
  const int64_t d = sample::pick(rng, 0, s.rank() - 1);
  std::vector<Shape> parts(sample::pick(rng, 1, 4), s);
  for (Shape& p : parts) p.dims[d] = sample::pick(rng, 0, 5);
  return sample::module_of(Op::kConcatenate, parts, DimsAttrs{{d}});
}

// Pad --------------------------------------------------------------------------------------------

Result<Shape> infer_pad(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  const auto& a = c.as<PadAttrs>();
  const Shape &x = c.operand(0), &v = c.operand(1);
  TRY(expect_same_dtype(c, 0, 1, "c1"));
  if (v.rank() != 0)
    return invalid("pad: padding_value is ", to_string(v, false), ", expected a scalar (pad_i2)");
  const size_t n = x.dims.size();
  if (a.low.size() != n || a.high.size() != n || a.interior.size() != n)
    return invalid("pad: ", a.low.size(), " low, ", a.high.size(), " high and ", a.interior.size(),
                   " interior paddings given for an operand of rank ", n, " (pad_c2)");
  Shape out = carry(x);
  for (size_t i = 0; i < n; ++i) {
    if (a.interior[i] < 0)
      return invalid("pad: interior padding ", a.interior[i], " of dimension ", i,
                     " is negative (pad_c3)");
    if (x.dims[i] == kUnknownDim) continue;
    int64_t size = 0;
    const int64_t gaps = std::max<int64_t>(x.dims[i] - 1, 0);
    if (__builtin_mul_overflow(gaps, a.interior[i], &size) ||
        __builtin_add_overflow(size, x.dims[i], &size) ||
        __builtin_add_overflow(size, a.low[i], &size) ||
        __builtin_add_overflow(size, a.high[i], &size) || size < 0)
      return invalid("pad: the padded size of dimension ", i, " (", x.dims[i], " + ", a.low[i],
                     " + ", a.high[i], ", interior ", a.interior[i],
                     ") is negative or too large (pad_c4)");
    out.dims[i] = size;
  }
  return out;
}

Result<Literal> eval_pad(const EvalContext& c) {
  const auto& a = c.as<PadAttrs>();
  const Literal& x = c.operand(0);
  Dims dims = x.shape().dims;
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = std::max<int64_t>(
        dims[i] + std::max<int64_t>(dims[i] - 1, 0) * a.interior[i] + a.low[i] + a.high[i], 0);
  Literal out(eval_shape(c, dims));
  for (int64_t i = 0; i < out.elements(); ++i) out.copy_element(i, c.operand(1), 0);
  Dims at(dims.size(), 0);
  for_each_index(x.shape().dims, [&](const Dims& index, int64_t i) {
    for (size_t k = 0; k < dims.size(); ++k) {
      at[k] = a.low[k] + (index[k] > 0 ? index[k] * (a.interior[k] + 1) : 0);  // one element: interior of any size
      if (at[k] < 0 || at[k] >= dims[k]) return;
    }
    out.copy_element(linear_index(at, dims), x, i);
  });
  return out;
}

Value index_pad(const IndexContext& c) {
  Graph& g = c.g;
  const auto& a = c.instr.as<PadAttrs>();
  const Shape& x = c.instr.operand(0)->shape;
  auto constant = [&](int64_t v) { return g.constant_int(c.index_type, v); };
  Index at;
  Scalar inside;
  for (int64_t i = 0; i < x.rank(); ++i) {
    Scalar j = g.sub(c.index[i], constant(a.low[i]));
    if (a.low[i] > 0) inside = both(g, inside, g.le(constant(0), j));
    if (a.interior[i] > 0 && x.dims[i] > 1) {
      // j + step·k with the k that keeps it just from being negative: what is divided has a proper
      // range, and where j is inside, nothing is rounded.
      const int64_t step = a.interior[i] + 1, r = a.low[i] % step, k = a.low[i] / step + (r > 0);
      const Scalar from_zero = g.add(c.index[i], constant(r > 0 ? step - r : -r));
      inside = both(g, inside, g.eq(g.rem(from_zero, constant(step)), constant(0)));
      j = g.sub(g.div(from_zero, constant(step)), constant(k));
    }
    if (a.high[i] > 0 || x.dims[i] == 0) inside = both(g, inside, g.lt(j, constant(x.dims[i])));
    at.push_back(j);
  }
  const Value v = c.operand(0, at, both(g, inside, c.condition));
  return inside ? select(g, inside, v, c.operand(1, {}, c.condition)) : v;
}

std::unique_ptr<Module> sample_pad(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT, 0, 3);
  PadAttrs a;
  for (int64_t d : s.dims) {
    a.interior.push_back(sample::chance(rng, 0.3) ? sample::pick(rng, 1, 2) : 0);
    const int64_t size = d + std::max<int64_t>(d - 1, 0) * a.interior.back();
    a.low.push_back(sample::pick(rng, std::max<int64_t>(-2, -size), 3));
    a.high.push_back(sample::pick(rng, std::max<int64_t>(-2, -size - a.low.back()), 3));
  }
  return sample::module_of(Op::kPad, {s, Shape::scalar(s.dtype)}, a);
}

// Reverse, slice, transpose
// ------------------------------------------------------------------------

Result<Shape> infer_reverse(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  TRY(check_dims(c, c.as<DimsAttrs>().dimensions, c.operand(0).rank(), "c2", "c3"));
  return carry(c.operand(0));
}

Result<Literal> eval_reverse(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const Dims& dims = x.shape().dims;
  Literal out(eval_shape(c, dims));
  Dims at;
  for_each_index(dims, [&](const Dims& index, int64_t i) {
    at = index;
    for (int64_t d : c.as<DimsAttrs>().dimensions) at[d] = dims[d] - 1 - index[d];
    out.copy_element(i, x, linear_index(at, dims));
  });
  return out;
}

Value index_reverse(const IndexContext& c) {
  Index at(c.index.begin(), c.index.end());
  for (int64_t d : c.instr.as<DimsAttrs>().dimensions)
    at[d] = c.g.sub(c.g.constant_int(c.index_type, c.instr.shape.dims[d] - 1), c.index[d]);
  return c.operand(0, at, c.condition);
}

std::unique_ptr<Module> sample_reverse(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  Dims d = sample::permutation(rng, s.rank());
  d.resize(sample::pick(rng, 0, s.rank()));
  return sample::module_of(Op::kReverse, {s}, DimsAttrs{d});
}

Result<Shape> infer_slice(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  const auto& a = c.as<SliceAttrs>();
  const Shape& x = c.operand(0);
  const size_t n = x.dims.size();
  if (a.start.size() != n || a.limit.size() != n || a.stride.size() != n)
    return invalid("slice: ", a.start.size(), " starts, ", a.limit.size(), " limits and ",
                   a.stride.size(), " strides given for an operand of rank ", n, " (slice_c2)");
  Shape out = carry(x);
  for (size_t i = 0; i < n; ++i) {
    const bool fits = x.dims[i] == kUnknownDim || a.limit[i] <= x.dims[i];
    if (a.start[i] < 0 || a.start[i] > a.limit[i] || !fits)
      return invalid("slice: [", a.start[i], ", ", a.limit[i], ") does not lie within dimension ",
                     i, " of ", to_string(x, false), " (slice_c3)");
    if (a.stride[i] <= 0)
      return invalid("slice: stride ", a.stride[i], " of dimension ", i,
                     " is not positive (slice_c4)");
    const bool whole = a.start[i] == 0 && a.limit[i] == x.dims[i] && a.stride[i] == 1;
    if (!whole) set_dynamic(out, static_cast<int64_t>(i), false);
    const int64_t length = a.limit[i] - a.start[i];
    out.dims[i] = length / a.stride[i] + (length % a.stride[i] != 0);
  }
  return out;
}

Result<Literal> eval_slice(const EvalContext& c) {
  const auto& a = c.as<SliceAttrs>();
  const Literal& x = c.operand(0);
  Dims dims;
  for (size_t i = 0; i < a.start.size(); ++i) {
    // A bounded dimension may end before the limit.
    const int64_t limit = std::min(a.limit[i], x.shape().dims[i]);
    dims.push_back(std::max<int64_t>(limit - a.start[i] + a.stride[i] - 1, 0) / a.stride[i]);
  }
  Literal out(eval_shape(c, dims));
  Dims at(dims.size(), 0);
  for_each_index(dims, [&](const Dims& index, int64_t i) {
    for (size_t k = 0; k < dims.size(); ++k) at[k] = a.start[k] + index[k] * a.stride[k];
    out.copy_element(i, x, linear_index(at, x.shape().dims));
  });
  return out;
}

Value index_slice(const IndexContext& c) {
  const auto& a = c.instr.as<SliceAttrs>();
  Index at;
  for (size_t i = 0; i < a.start.size(); ++i) {
    const Scalar scaled = c.g.mul(c.index[i], c.g.constant_int(c.index_type, a.stride[i]));
    at.push_back(c.g.add(scaled, c.g.constant_int(c.index_type, a.start[i])));
  }
  return c.operand(0, at, c.condition);
}

std::unique_ptr<Module> sample_slice(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  SliceAttrs a;
  for (int64_t d : s.dims) {
    a.start.push_back(sample::pick(rng, 0, d));
    a.limit.push_back(sample::pick(rng, a.start.back(), d));
    a.stride.push_back(sample::pick(rng, 1, 3));
  }
  return sample::module_of(Op::kSlice, {s}, a);
}

Result<Shape> infer_transpose(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  const Dims& p = c.as<DimsAttrs>().dimensions;
  const Shape& x = c.operand(0);
  if (static_cast<int64_t>(p.size()) != x.rank())
    return invalid("transpose: {", join(p), "} is not a permutation of the dimensions of ",
                   to_string(x, false), " (transpose_c2)");
  TRY(check_dims(c, p, x.rank(), "c2", "c2"));
  Shape out = carry(x);
  for (int64_t i = 0; i < x.rank(); ++i) {
    out.dims[i] = x.dims[p[i]];
    set_dynamic(out, i, x.is_dynamic(p[i]));
    if (x.quant && x.quant->axis == p[i]) out.quant = on_axis(x, i);
  }
  return out;
}

Result<Literal> eval_transpose(const EvalContext& c) {
  const Dims& p = c.as<DimsAttrs>().dimensions;
  const Literal& x = c.operand(0);
  Dims dims;
  for (int64_t d : p) dims.push_back(x.shape().dims[d]);
  Literal out(eval_shape(c, dims));
  Dims at(p.size(), 0);
  for_each_index(dims, [&](const Dims& index, int64_t i) {
    for (size_t k = 0; k < p.size(); ++k) at[p[k]] = index[k];
    out.copy_element(i, x, linear_index(at, x.shape().dims));
  });
  return out;
}

Value index_transpose(const IndexContext& c) {
  const Dims& p = c.instr.as<DimsAttrs>().dimensions;
  Index at(p.size());
  for (size_t k = 0; k < p.size(); ++k) at[p[k]] = c.index[k];
  return c.operand(0, at, c.condition);
}

std::unique_ptr<Module> sample_transpose(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  return sample::module_of(Op::kTranspose, {s}, DimsAttrs{sample::permutation(rng, s.rank())});
}

// Copy -------------------------------------------------------------------------------------------

// Arrays, and in HLO tuples and tokens too.
Result<Shape> infer_copy(const InferContext& c) {
  Shape out = c.operand(0);
  out.layout.clear();
  return out;
}

Result<Literal> eval_copy(const EvalContext& c) { return c.operand(0); }

Value index_copy(const IndexContext& c) { return c.operand(0, c.index, c.condition); }

std::unique_ptr<Module> sample_copy(std::mt19937_64& rng) {
  return sample::module_of(Op::kCopy, {sample::shape(rng, kAnyT)});
}

// Rows -------------------------------------------------------------------------------------------

constexpr OpDef movement(Op op, std::string_view stablehlo, int arity, int attrs,
                         Result<Shape> (*infer)(const InferContext&),
                         Result<Literal> (*eval)(const EvalContext&),
                         Value (*index)(const IndexContext&),
                         std::unique_ptr<Module> (*sample)(std::mt19937_64&),
                         std::string_view doc) {
  OpDef row{op, stablehlo, arity, kMovement, attrs};
  row.infer = infer;
  row.eval = eval;
  row.index = index;
  row.sample = sample;
  row.doc = doc;
  return row;
}

constexpr int kNone = attrs_index<NoAttrs>(), kDims = attrs_index<DimsAttrs>();

constexpr OpDef kRows[] = {
    movement(Op::kBitcast, "", 1, kNone, reshape::infer_bitcast, reshape::eval_bitcast,
             reshape::index_bitcast, reshape::sample_bitcast,
             "The same bytes in row-major order under another shape, of any type of that size."),
    movement(Op::kBroadcast, "broadcast_in_dim", 1, kDims, infer_broadcast, eval_broadcast,
             index_broadcast, sample_broadcast,
             "Operand dimension i becomes result dimension dimensions[i]; size 1 expands, and the "
             "other result dimensions repeat the operand."),
    movement(Op::kConcatenate, "concatenate", -1, kDims, infer_concatenate, eval_concatenate,
             index_concatenate, sample_concatenate, "Operands side by side along a dimension."),
    movement(Op::kCopy, "", 1, kNone, infer_copy, eval_copy, index_copy, sample_copy,
             "The operand's value, in memory of its own."),
    movement(Op::kPad, "pad", 2, attrs_index<PadAttrs>(), infer_pad, eval_pad, index_pad,
             sample_pad,
             "Padding before, after and between elements; negative padding crops after interior "
             "padding is in."),
    movement(Op::kReshape, "reshape", 1, kNone, reshape::infer, reshape::eval, reshape::index,
             reshape::sample_reshape,
             "The same elements in row-major order under other dimensions."),
    movement(Op::kReverse, "reverse", 1, kDims, infer_reverse, eval_reverse, index_reverse,
             sample_reverse, "Elements in reverse order along the dimensions."),
    movement(Op::kSlice, "slice", 1, attrs_index<SliceAttrs>(), infer_slice, eval_slice,
             index_slice, sample_slice, "Elements start, start + stride … below limit."),
    movement(Op::kTranspose, "transpose", 1, kDims, infer_transpose, eval_transpose,
             index_transpose, sample_transpose,
             "Result dimension i is operand dimension permutation[i]."),
};

}  // namespace

absl::Span<const OpDef> movement_rows() { return kRows; }

}  // namespace braze
