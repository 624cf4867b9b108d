// SPDX-License-Identifier: Apache-2.0
// reduce: folds the elements along some dimensions with a combiner; several arrays at once if
// variadic.
//
// Order: the reference starts from init and folds elements in row-major order. Where the combiner
// is one plain op (see plain_combiner) it accumulates in the types of wide.h.
#include <algorithm>

#include "ops/dim_rules.h"
#include "ops/reduce_window.h"
#include "ops/sampling.h"
#include "ops/scalar_function.h"
#include "ops/wide.h"
#include "ops/wide_combiner.h"

namespace braze {
namespace {

Result<Shape> infer_reduce(const InferContext& ctx) {
  TRY(check_form<DimsAttrs>(ctx, -1, 1));
  const size_t n = ctx.operands.size() / 2;
  if (n == 0 || ctx.operands.size() % 2)
    return law("stablehlo.reduce (C3)", "takes as many inputs as init values, at least one; got ",
               ctx.operands.size(), " operands");
  TRY(check_arrays(ctx, 0, 2 * n));
  const Shape& first = ctx.operand(0);
  for (size_t k = 0; k < n; ++k) {
    const Shape &in = ctx.operand(k), &init = ctx.operand(n + k);
    if (!dims_agree(first, in))
      return law("stablehlo.reduce (C1)", "inputs must have one shape, got ",
                 to_string(first, false), " and ", to_string(in, false));
    // An init value may be of the wider type of the combiner (XLA), not only the input's.
    if (!init.is_scalar() || (init.dtype != in.dtype && !promotable(in, init)))
      return law("stablehlo.reduce (C2)", "init value ", k, " must be ", name(in.dtype), "[], got ",
                 to_string(init, false));
  }
  const Dims& axes = ctx.as<DimsAttrs>().dimensions;
  TRY(check_range("stablehlo.reduce (C4)", "dimensions", axes, first.rank()));
  TRY(check_unique("stablehlo.reduce (C5)", "dimensions", axes));
  ASSIGN(std::vector<Shape> results,
         check_combiner("stablehlo.reduce (C6)", *ctx.calls[0], ctx.operands.subspan(0, n)));
  for (Shape& r : results)
    for (int64_t d : axes_except(first.rank(), axes)) append_dim(r, first, d);
  return one_or_tuple(std::move(results));
}

// Where the elements of one output lie: input offset = kept[output] + reduced[step].
struct Walk {
  std::vector<int64_t> kept, reduced;
};

Walk walk_of(const Shape& in, const Dims& axes) {
  const Dims kept = axes_except(in.rank(), axes);
  for (int64_t d : kept)
    if (in.dims[d] == 0) return {};  // no output, however many elements each would fold
  const Dims step = strides(in.dims);
  auto offsets = [&](const Dims& which) {
    Dims sizes, strides;
    for (int64_t d : which) {
      sizes.push_back(in.dims[d]);
      strides.push_back(step[d]);
    }
    return offsets_of(sizes, strides);
  };
  Dims order = axes;
  std::sort(order.begin(), order.end());
  return {offsets(kept), offsets(order)};
}

template <typename T>
void reduce_plain(Op op, const Literal& in, const Literal& init, const Walk& walk, Literal& out) {
  const std::vector<T> data = widen<T>(in);
  const T start = wide_at<T>(init, 0);
  with_combiner<T>(op, [&](auto combine) {
    for (size_t o = 0; o < walk.kept.size(); ++o) {
      T acc = start;
      for (int64_t r : walk.reduced) acc = combine(acc, data[walk.kept[o] + r]);
      store_wide<T>(out, static_cast<int64_t>(o), acc);
    }
  });
}

Status reduce_general(const EvalContext& ctx, const Walk& walk, absl::Span<Literal> outs) {
  const size_t n = outs.size();
  Module scratch("wide");
  const Computation* wide = widened(scratch, *ctx.instr.calls[0]);
  ScalarFunction body(ctx, wide ? *wide : *ctx.instr.calls[0]);
  std::vector<Cell> args(2 * n);
  for (size_t o = 0; o < walk.kept.size(); ++o) {
    for (size_t k = 0; k < n; ++k) args[k] = load_cell(ctx.operand(n + k), 0);
    for (int64_t r : walk.reduced) {
      for (size_t k = 0; k < n; ++k) args[n + k] = load_cell(ctx.operand(k), walk.kept[o] + r);
      TRY(body.call(args, absl::MakeSpan(args).subspan(0, n)));
    }
    for (size_t k = 0; k < n; ++k) store_cell(outs[k], static_cast<int64_t>(o), args[k]);
  }
  return absl::OkStatus();
}

Result<Literal> eval_reduce(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  const Walk walk = walk_of(ctx.operand(0).shape(), ctx.as<DimsAttrs>().dimensions);
  if (!shape.is_tuple()) {
    Literal out(shape);
    if (auto op = plain_combiner(*ctx.instr.calls[0])) {
      const auto terms = static_cast<int64_t>(walk.reduced.size());
      with_sum_type(shape.dtype, terms, [&](auto zero) {
        reduce_plain<decltype(zero)>(*op, ctx.operand(0), ctx.operand(1), walk, out);
      });
      return out;
    }
    TRY(reduce_general(ctx, walk, absl::MakeSpan(&out, 1)));
    return out;
  }
  std::vector<Literal> outs;
  for (const Shape& s : shape.tuple) outs.emplace_back(s);
  TRY(reduce_general(ctx, walk, absl::MakeSpan(outs)));
  return Literal::tuple(std::move(outs));
}

std::unique_ptr<Module> sample_reduce(std::mt19937_64& rng) {
  Sampler s(rng, "reduce");
  const Dims dims = s.dims(1, 4, 5);
  Dims axes;
  for (size_t d = 0; d < dims.size(); ++d)
    if (s.chance(0.5)) axes.push_back(d);
  if (s.chance(0.25)) {  // arg max: values with their positions
    const Dtype t = s.pick({Dtype::kF32, Dtype::kS32, Dtype::kBF16});
    s.root(Op::kReduce,
           {s.parameter(Shape::array(t, dims)), s.parameter(Shape::array(Dtype::kS32, dims)),
            s.parameter(Shape::scalar(t)), s.parameter(Shape::scalar(Dtype::kS32))},
           DimsAttrs{axes}, {s.arg_max(t, Dtype::kS32)});
    return s.finish();
  }
  const Dtype t = s.dtype();
  s.root(Op::kReduce, {s.parameter(Shape::array(t, dims)), s.parameter(Shape::scalar(t))},
         DimsAttrs{axes}, {s.combiner(t)});
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> reduce_rows() {
  static const OpDef rows[] = {
      {.op = Op::kReduce,
       .stablehlo = "reduce",
       .traits = kCalls,
       .attrs = attrs_index<DimsAttrs>(),
       .infer = infer_reduce,
       .eval = eval_reduce,
       .nest = Nest::kReduce,
       .sample = sample_reduce,
       .doc = "Folds the elements along `dimensions` with a combiner, starting from init values."},
      reduce_window_row(),
      select_and_scatter_row(),
  };
  return rows;
}

}  // namespace braze
