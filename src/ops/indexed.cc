// SPDX-License-Identifier: Apache-2.0
// dynamic-slice and dynamic-update-slice; the family's table. Start indices are clamped so that the
// slice stays inside its array.
#include <algorithm>
#include <cstring>

#include "ops/dim_rules.h"
#include "ops/gather_scatter.h"
#include "ops/sampling.h"

namespace braze {

scalar::Scalar clamped_start(scalar::Graph& g, scalar::Scalar start, int64_t limit,
                             Dtype index_type) {
  const Dtype t = g.type(start);
  // Clamped before the cast only where the cast could change the value.
  const bool exact = bit_size(t) < bit_size(index_type) ||
                     (bit_size(t) == bit_size(index_type) && is_signed_int(t));
  const Dtype work = exact ? index_type : t;
  scalar::Scalar v = g.cast(work, start);
  v = g.min(g.max(v, g.constant_int(work, 0)), g.constant_int(work, limit));
  return g.cast(index_type, v);
}

scalar::Scalar both(scalar::Graph& g, scalar::Scalar a, scalar::Scalar b) {
  if (!a) return b;
  return b ? g.logical_and(a, b) : a;
}

namespace {

// Start indices: one integer scalar per dimension, all of one type.
Status check_starts(std::string_view count_rule, std::string_view type_rule,
                    const InferContext& ctx, size_t first, int64_t rank) {
  TRY(check_equal(count_rule, "number of start indices",
                  static_cast<int64_t>(ctx.operands.size() - first), rank));
  for (size_t k = first; k < ctx.operands.size(); ++k) {
    const Shape& s = ctx.operand(k);
    if (!s.is_scalar() || !is_int(s.dtype) || s.dtype != ctx.operand(first).dtype)
      return law(type_rule, "start indices must be integer scalars of one type, got ",
                 to_string(s, false));
  }
  return absl::OkStatus();
}

Result<Shape> infer_dynamic_slice(const InferContext& ctx) {
  TRY(check_form<DynamicSliceAttrs>(ctx, -1));
  if (ctx.operands.empty()) return invalid("dynamic-slice: needs an operand");
  TRY(check_arrays(ctx, 0, 1));
  const Shape& in = ctx.operand(0);
  const Dims& sizes = ctx.as<DynamicSliceAttrs>().sizes;
  TRY(check_equal("stablehlo.dynamic_slice (C2)", "number of slice sizes",
                  static_cast<int64_t>(sizes.size()), in.rank()));
  TRY(check_starts("stablehlo.dynamic_slice (C2)", "stablehlo.dynamic_slice (C3)", ctx, 1,
                   in.rank()));
  for (int64_t d = 0; d < in.rank(); ++d)
    if (sizes[d] < 0 || (in.dims[d] != kUnknownDim && sizes[d] > in.dims[d]))
      return law("stablehlo.dynamic_slice (C4)", "slice size ", sizes[d], " of dimension ", d,
                 " is not in [0, ", in.dims[d], "]");
  return in.with_dims(sizes);
}

Dims clamped_starts(const EvalContext& ctx, size_t first, DimSpan dims, DimSpan sizes) {
  Dims starts;
  for (size_t d = 0; d < dims.size(); ++d)
    starts.push_back(clamped_index(ctx.operand(first + d), 0, dims[d] - sizes[d]));
  return starts;
}

Result<Literal> eval_dynamic_slice(const EvalContext& ctx) {
  const Literal& in = ctx.operand(0);
  const Dims &dims = in.shape().dims, &sizes = ctx.as<DynamicSliceAttrs>().sizes;
  for (size_t d = 0; d < dims.size(); ++d)
    if (sizes[d] > dims[d]) return invalid("dynamic-slice: slice size exceeds dimension ", d);
  Literal out(in.shape().with_dims(sizes));
  const Dims starts = clamped_starts(ctx, 1, dims, sizes);
  const Dims step = strides(dims);
  int64_t base = 0;
  for (size_t d = 0; d < dims.size(); ++d) base += starts[d] * step[d];
  Dims index(sizes.size(), 0);
  for (int64_t o = 0, n = out.elements(); o < n; ++o, next_index(absl::MakeSpan(index), sizes)) {
    int64_t at = base;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * step[d];
    out.copy_element(o, in, at);
  }
  return out;
}

scalar::Value index_dynamic_slice(const IndexContext& ctx) {
  const Shape& in = ctx.instr.operand(0)->shape;
  const Dims& sizes = ctx.instr.as<DynamicSliceAttrs>().sizes;
  absl::InlinedVector<scalar::Scalar, 6> at;
  for (int64_t d = 0; d < in.rank(); ++d) {
    const scalar::Scalar start = ctx.operand(d + 1, {}, ctx.condition).re;
    at.push_back(ctx.g.add(ctx.index[d],
                           clamped_start(ctx.g, start, in.dims[d] - sizes[d], ctx.index_type)));
  }
  return ctx.operand(0, at, ctx.condition);
}

Result<Shape> infer_dynamic_update_slice(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, -1));
  if (ctx.operands.size() < 2)
    return invalid("dynamic-update-slice: needs an operand and an update");
  TRY(check_arrays(ctx, 0, 2));
  const Shape &in = ctx.operand(0), &update = ctx.operand(1);
  if (update.dtype != in.dtype)
    return law("stablehlo.dynamic_update_slice (C2)",
               "operand and update must have one element type, got ", name(in.dtype), " and ",
               name(update.dtype));
  TRY(check_equal("stablehlo.dynamic_update_slice (C3)", "rank of update", update.rank(),
                  in.rank()));
  TRY(check_starts("stablehlo.dynamic_update_slice (C4)", "stablehlo.dynamic_update_slice (C5)",
                   ctx, 2, in.rank()));
  for (int64_t d = 0; d < in.rank(); ++d)
    if (update.dims[d] != kUnknownDim && in.dims[d] != kUnknownDim && update.dims[d] > in.dims[d])
      return law("stablehlo.dynamic_update_slice (C6)", "dimension ", d, " of update (",
                 update.dims[d], ") exceeds operand's (", in.dims[d], ")");
  return in;
}

Result<Literal> eval_dynamic_update_slice(const EvalContext& ctx) {
  Literal out = ctx.operand(0);
  const Literal& update = ctx.operand(1);
  const Dims &dims = out.shape().dims, &sizes = update.shape().dims;
  for (size_t d = 0; d < dims.size(); ++d)
    if (sizes[d] > dims[d]) return invalid("dynamic-update-slice: update exceeds dimension ", d);
  const Dims starts = clamped_starts(ctx, 2, dims, sizes);
  const Dims step = strides(dims);
  Dims index(sizes.size(), 0);
  for (int64_t u = 0, n = update.elements(); u < n; ++u, next_index(absl::MakeSpan(index), sizes)) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += (starts[d] + index[d]) * step[d];
    out.copy_element(at, update, u);
  }
  return out;
}

scalar::Value index_dynamic_update_slice(const IndexContext& ctx) {
  scalar::Graph& g = ctx.g;
  const Shape &in = ctx.instr.operand(0)->shape, &update = ctx.instr.operand(1)->shape;
  absl::InlinedVector<scalar::Scalar, 6> at;
  scalar::Scalar inside = g.constant_int(Dtype::kPred, 1);
  for (int64_t d = 0; d < in.rank(); ++d) {
    const scalar::Scalar start = clamped_start(g, ctx.operand(d + 2, {}, ctx.condition).re,
                                               in.dims[d] - update.dims[d], ctx.index_type);
    at.push_back(g.sub(ctx.index[d], start));
    inside = g.logical_and(inside, g.le(start, ctx.index[d]));
    const scalar::Scalar end = g.constant_int(ctx.index_type, update.dims[d]);
    inside = g.logical_and(inside, g.lt(at.back(), end));
  }
  const scalar::Value fresh = ctx.operand(1, at, both(g, ctx.condition, inside));
  const scalar::Value old =
      ctx.operand(0, ctx.index, both(g, ctx.condition, g.logical_not(inside)));
  scalar::Value out;
  out.re = g.select(inside, fresh.re, old.re);
  if (fresh.is_complex()) out.im = g.select(inside, fresh.im, old.im);
  return out;
}

std::unique_ptr<Module> sample_dynamic_slice(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_slice");
  const Dims dims = s.dims(0, 4, 6);
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(s.uniform(s.chance(0.1) ? 0 : 1, d));
  std::vector<Instr*> operands{s.parameter(Shape::array(s.dtype(), dims))};
  const Shape start = Shape::scalar(s.index_dtype());
  for (size_t d = 0; d < dims.size(); ++d) operands.push_back(s.parameter(start));
  s.root(Op::kDynamicSlice, absl::MakeConstSpan(operands), DynamicSliceAttrs{sizes});
  return s.finish();
}

std::unique_ptr<Module> sample_dynamic_update_slice(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_update_slice");
  const Dims dims = s.dims(0, 4, 6);
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(s.uniform(s.chance(0.1) ? 0 : 1, d));
  const Dtype t = s.dtype();
  std::vector<Instr*> operands{s.parameter(Shape::array(t, dims)),
                               s.parameter(Shape::array(t, sizes))};
  const Shape start = Shape::scalar(s.index_dtype());
  for (size_t d = 0; d < dims.size(); ++d) operands.push_back(s.parameter(start));
  s.root(Op::kDynamicUpdateSlice, absl::MakeConstSpan(operands));
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> indexed_rows() {
  static const OpDef rows[] = {
      {.op = Op::kDynamicSlice,
       .stablehlo = "dynamic_slice",
       .traits = kMovement,
       .attrs = attrs_index<DynamicSliceAttrs>(),
       .infer = infer_dynamic_slice,
       .eval = eval_dynamic_slice,
       .index = index_dynamic_slice,
       .sample = sample_dynamic_slice,
       .doc = "A slice of static size at indices computed at run time, clamped into the array."},
      {.op = Op::kDynamicUpdateSlice,
       .stablehlo = "dynamic_update_slice",
       .traits = kMovement,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_dynamic_update_slice,
       .eval = eval_dynamic_update_slice,
       .index = index_dynamic_update_slice,
       .nest = Nest::kDynamicUpdateSlice,
       .sample = sample_dynamic_update_slice,
       .doc = "The operand with a slice at clamped run-time indices replaced by the update."},
      gather_row(),
      scatter_row(),
  };
  return rows;
}

}  // namespace braze
