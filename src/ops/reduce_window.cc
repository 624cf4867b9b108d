// SPDX-License-Identifier: Apache-2.0
// reduce-window and select-and-scatter. Window elements on padding or between dilated inputs take
// no part, as in XLA: where init is the combiner's neutral element that is what StableHLO's padding
// says.
#include "ops/reduce_window.h"

#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/scalar_function.h"
#include "ops/wide.h"
#include "ops/wide_combiner.h"
#include "ops/window_math.h"

namespace braze {
namespace {

Result<Shape> infer_reduce_window(const InferContext& ctx) {
  TRY(check_form<WindowAttrs>(ctx, -1, 1));
  const size_t n = ctx.operands.size() / 2;
  if (n == 0 || ctx.operands.size() % 2)
    return law("stablehlo.reduce_window (C1)",
               "takes as many inputs as init values, at least one; got ", ctx.operands.size(),
               " operands");
  TRY(check_arrays(ctx, 0, 2 * n));
  const Shape& first = ctx.operand(0);
  for (size_t k = 0; k < n; ++k) {
    const Shape &in = ctx.operand(k), &init = ctx.operand(n + k);
    if (!dims_agree(first, in))
      return law("stablehlo.reduce_window (C2)", "inputs must have one shape, got ",
                 to_string(first, false), " and ", to_string(in, false));
    if (!init.is_scalar() || (init.dtype != in.dtype && !promotable(in, init)))
      return law("stablehlo.reduce_window (C3)", "init value ", k, " must be ", name(in.dtype),
                 "[], got ", to_string(init, false));
  }
  const Window& window = ctx.as<WindowAttrs>().window;
  TRY(check_equal("stablehlo.reduce_window (C4)", "rank of the window",
                  static_cast<int64_t>(window.size()), first.rank()));
  ASSIGN(std::vector<Shape> results, check_combiner("stablehlo.reduce_window (C13)", *ctx.calls[0],
                                                    ctx.operands.subspan(0, n)));
  for (int64_t d = 0; d < first.rank(); ++d) {
    const WindowDim& w = window[d];
    if (w.size <= 0)
      return law("stablehlo.reduce_window (C5)", "window sizes must be positive, got ", w.size);
    ASSIGN(const int64_t out,
           window_positions("stablehlo.reduce_window (C7, C9, C11)", first.dims[d], w, w.size));
    for (Shape& r : results) {
      append_dim(r, first, d);
      r.dims.back() = out;
    }
  }
  return one_or_tuple(std::move(results));
}

// For each dimension and output position the input elements its window meets.
using AllTaps = std::vector<std::vector<Taps>>;

AllTaps taps_of(DimSpan in, DimSpan out, const Window& window) {
  AllTaps all(in.size());
  for (size_t d = 0; d < in.size(); ++d)
    for (int64_t o = 0; o < out[d]; ++o)
      all[d].push_back(taps_at(o, in[d], window[d], window[d].size));
  return all;
}

// Calls f(offset) for the offset in the input of each element of the window at `index`, row-major;
// stops when f returns false.
template <typename F>
void for_each_tap(const AllTaps& taps, DimSpan index, DimSpan steps, F&& f) {
  const size_t rank = index.size();
  Dims sizes(rank), at(rank, 0), step(rank);
  int64_t base = 0;
  for (size_t d = 0; d < rank; ++d) {
    const Taps& t = taps[d][index[d]];
    if (t.count == 0) return;
    sizes[d] = t.count;
    step[d] = t.dj * steps[d];
    base += t.j0 * steps[d];
  }
  if (rank == 0) {
    f(base);
    return;
  }
  while (true) {
    const int64_t n = sizes[rank - 1], s = step[rank - 1];
    for (int64_t i = 0; i < n; ++i)
      if (!f(base + i * s)) return;
    int64_t d = static_cast<int64_t>(rank) - 2;
    for (; d >= 0; --d) {
      base += step[d];
      if (++at[d] < sizes[d]) break;
      base -= step[d] * sizes[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

Result<Literal> eval_reduce_window(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  const bool many = shape.is_tuple();
  std::vector<Literal> outs;
  if (many)
    for (const Shape& s : shape.tuple) outs.emplace_back(s);
  else
    outs.emplace_back(shape);
  const size_t n = outs.size();
  const Dims& in = ctx.operand(0).shape().dims;
  const Dims out_dims = outs[0].shape().dims, step = strides(in);
  if (outs[0].elements() == 0) return one_or_tuple(std::move(outs));
  const AllTaps taps = taps_of(in, out_dims, ctx.as<WindowAttrs>().window);
  Dims index(out_dims.size(), 0);
  const int64_t count = product(out_dims);
  int64_t o = 0;
  // Every step rounds to the element type, as in the kernels; but for running sums.
  auto op = many ? std::nullopt : plain_combiner(*ctx.instr.calls[0]);
  const bool narrow = op && is_float(shape.dtype) && bit_size(shape.dtype) < 32;
  const bool wide = op && find_scan(ctx.as<WindowAttrs>().window, in).dim >= 0 && sums_wide(*op, shape.dtype);
  if (!wide && narrow && (*op == Op::kAdd || *op == Op::kMultiply)) op.reset();
  if (op) {
    const auto in_type = [&](auto f) {
      if (wide) with_wide(shape.dtype, f);
      else with_native(shape.dtype, f);
    };
    in_type([&](auto zero) {
      using T = decltype(zero);
      const std::vector<T> data = widen<T>(ctx.operand(0));
      const T init = wide_at<T>(ctx.operand(1), 0);
      with_combiner<T>(*op, [&](auto combine) {
        for (; o < count; ++o, next_index(absl::MakeSpan(index), out_dims)) {
          T acc = init;
          for_each_tap(taps, index, step,
                       [&](int64_t at) { return acc = combine(acc, data[at]), true; });
          store_wide<T>(outs[0], o, acc);
        }
      });
    });
    return std::move(outs[0]);
  }
  Module scratch("wide");
  const bool scan = find_scan(ctx.as<WindowAttrs>().window, in).dim >= 0;
  const Computation* wider = scan ? widened(scratch, *ctx.instr.calls[0]) : nullptr;
  ScalarFunction body(ctx, wider ? *wider : *ctx.instr.calls[0]);
  std::vector<Cell> args(2 * n);
  for (; o < count; ++o, next_index(absl::MakeSpan(index), out_dims)) {
    for (size_t k = 0; k < n; ++k) args[k] = load_cell(ctx.operand(n + k), 0);
    Status status;
    for_each_tap(taps, index, step, [&](int64_t at) {
      for (size_t k = 0; k < n; ++k) args[n + k] = load_cell(ctx.operand(k), at);
      status = body.call(args, absl::MakeSpan(args).subspan(0, n));
      return status.ok();
    });
    TRY(status);
    for (size_t k = 0; k < n; ++k) store_cell(outs[k], o, args[k]);
  }
  return many ? Literal::tuple(std::move(outs)) : std::move(outs[0]);
}

Result<Shape> infer_select_and_scatter(const InferContext& ctx) {
  TRY(check_form<WindowAttrs>(ctx, 3, 2));
  TRY(check_arrays(ctx, 0, 3));
  const Shape &in = ctx.operand(0), &source = ctx.operand(1), &init = ctx.operand(2);
  if (source.dtype != in.dtype)
    return law("stablehlo.select_and_scatter (C1)",
               "operand and source must have one element type, got ", name(in.dtype), " and ",
               name(source.dtype));
  if (!init.is_scalar() || init.dtype != in.dtype)
    return law("stablehlo.select_and_scatter (C3)", "init value must be ", name(in.dtype),
               "[], got ", to_string(init, false));
  const Window& window = ctx.as<WindowAttrs>().window;
  TRY(check_equal("stablehlo.select_and_scatter (C4)", "rank of the window",
                  static_cast<int64_t>(window.size()), in.rank()));
  TRY(check_equal("stablehlo.select_and_scatter (C2)", "rank of source", source.rank(), in.rank()));
  for (int64_t d = 0; d < in.rank(); ++d) {
    const WindowDim& w = window[d];
    if (w.size <= 0)
      return law("stablehlo.select_and_scatter (C5)", "window sizes must be positive, got ",
                 w.size);
    if (w.base_dilation != 1 || w.window_dilation != 1)
      return law("stablehlo.select_and_scatter (C4)", "windows can't be dilated");
    ASSIGN(const int64_t out,
           window_positions("stablehlo.select_and_scatter (C7)", in.dims[d], w, w.size));
    if (!sizes_agree(source.dims[d], out) && !source.is_dynamic(d) && !in.is_dynamic(d))
      return law("stablehlo.select_and_scatter (C2)", "dimension ", d, " of source must be ", out,
                 ", is ", source.dims[d]);
  }
  const Shape* pair[] = {&in, &in};
  TRY(check_predicate("stablehlo.select_and_scatter (C9)", *ctx.calls[0], pair));
  ASSIGN(std::vector<Shape> results,
         check_combiner("stablehlo.select_and_scatter (C10)", *ctx.calls[1],
                        ctx.operands.subspan(0, 1)));
  Shape out = in.with_dtype(results[0].dtype);
  out.quant = results[0].quant;
  return out;
}

Result<Literal> eval_select_and_scatter(const EvalContext& ctx) {
  const Literal &in = ctx.operand(0), &source = ctx.operand(1);
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  const Cell init = load_cell(ctx.operand(2), 0);
  for (int64_t i = 0, n = out.elements(); i < n; ++i) store_cell(out, i, init);
  const Dims &dims = in.shape().dims, &source_dims = source.shape().dims;
  const Dims step = strides(dims);
  if (source.elements() == 0) return out;
  const AllTaps taps = taps_of(dims, source_dims, ctx.as<WindowAttrs>().window);
  ScalarFunction select(ctx, *ctx.instr.calls[0]), scatter(ctx, *ctx.instr.calls[1]);
  Dims index(source_dims.size(), 0);
  for (int64_t o = 0, n = source.elements(); o < n;
       ++o, next_index(absl::MakeSpan(index), source_dims)) {
    int64_t chosen = -1;
    Cell args[2], result;
    Status status;
    for_each_tap(taps, index, step, [&](int64_t at) {
      args[1] = load_cell(in, at);
      if (chosen >= 0) {
        status = select.call(args, absl::MakeSpan(&result, 1));
        if (!status.ok()) return false;
        if (result.i) return true;  // keeps the one chosen before
      }
      chosen = at;
      args[0] = args[1];
      return true;
    });
    TRY(status);
    if (chosen < 0) continue;  // the window lies on padding alone
    args[0] = load_cell(out, chosen);
    args[1] = load_cell(source, o);
    TRY(scatter.call(args, absl::MakeSpan(&result, 1)));
    store_cell(out, chosen, result);
  }
  return out;
}

WindowDim random_window(Sampler& s, bool dilations) {
  WindowDim w;
  w.size = s.uniform(1, 3);
  w.stride = s.uniform(1, 3);
  w.pad_low = s.uniform(-1, 2);
  w.pad_high = s.uniform(-1, 2);
  if (dilations && s.chance(0.4)) w.window_dilation = s.uniform(1, 3);
  if (dilations && s.chance(0.4)) w.base_dilation = s.uniform(1, 3);
  return w;
}

std::unique_ptr<Module> sample_reduce_window(std::mt19937_64& rng) {
  Sampler s(rng, "reduce_window");
  const Dims dims = s.dims(1, 4, 6);
  WindowAttrs a;
  for (size_t d = 0; d < dims.size(); ++d)
    a.window.push_back(s.chance(0.7) ? random_window(s, true) : WindowDim());
  if (s.chance(0.2)) {
    const Dtype t = s.pick({Dtype::kF32, Dtype::kS32});
    s.root(Op::kReduceWindow,
           {s.parameter(Shape::array(t, dims)), s.parameter(Shape::array(Dtype::kS32, dims)),
            s.parameter(Shape::scalar(t)), s.parameter(Shape::scalar(Dtype::kS32))},
           a, {s.arg_max(t, Dtype::kS32)});
    return s.finish();
  }
  const Dtype t = s.dtype();
  s.root(Op::kReduceWindow, {s.parameter(Shape::array(t, dims)), s.parameter(Shape::scalar(t))}, a,
         {s.combiner(t)});
  return s.finish();
}

std::unique_ptr<Module> sample_select_and_scatter(std::mt19937_64& rng) {
  Sampler s(rng, "select_and_scatter");
  const Dims dims = s.dims(1, 4, 6);
  const Dtype t = s.number();
  WindowAttrs a;
  Dims source;
  for (int64_t size : dims) {
    WindowDim w = s.chance(0.7) ? random_window(s, false) : WindowDim();
    auto n = window_positions("", size, w, w.size);
    source.push_back(n.ok() ? *n : 0);
    a.window.push_back(w);
  }
  Computation* select = s.computation("select", {Shape::scalar(t), Shape::scalar(t)});
  Builder b(select);
  select->set_root(b.compare(s.pick({CompareDirection::kGe, CompareDirection::kLe}),
                             select->params()[0], select->params()[1]));
  s.root(Op::kSelectAndScatter,
         {s.parameter(Shape::array(t, dims)), s.parameter(Shape::array(t, source)),
          s.parameter(Shape::scalar(t))},
         a, {select, s.builder().combiner(Op::kAdd, t)});
  return s.finish();
}

}  // namespace

OpDef reduce_window_row() {
  return {.op = Op::kReduceWindow,
          .stablehlo = "reduce_window",
          .traits = kCalls,
          .attrs = attrs_index<WindowAttrs>(),
          .infer = infer_reduce_window,
          .eval = eval_reduce_window,
          .nest = Nest::kReduceWindow,
          .sample = sample_reduce_window,
          .doc = "Folds the elements under each position of a window with a combiner."};
}

OpDef select_and_scatter_row() {
  return {.op = Op::kSelectAndScatter,
          .stablehlo = "select_and_scatter",
          .arity = 3,
          .traits = kCalls,
          .attrs = attrs_index<WindowAttrs>(),
          .infer = infer_select_and_scatter,
          .eval = eval_select_and_scatter,
          .nest = Nest::kSelectAndScatter,
          .sample = sample_select_and_scatter,
          .doc =
              "Adds each element of source to the element of operand that its window selects: the "
              "gradient of max pooling."};
}

}  // namespace braze
