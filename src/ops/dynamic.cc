// SPDX-License-Identifier: Apache-2.0
// Rows of the ops whose result shape is data, and of the two ops that read and set a dimension's size.
//
// Interface: dynamic_rows(). Each is its static sibling once the shape operands are known (dynamic.h).
// In the evaluator an array with a bounded dimension is a literal of its present size.
#include "ops/dynamic.h"

#include <algorithm>
#include <utility>

#include "ops/dim_rules.h"
#include "ops/op_def.h"
#include "ops/sampling.h"

namespace braze {
namespace {

std::string rule(const InferContext& ctx, std::string_view code) {
  return str_cat("stablehlo.", message_name(ctx.op), " (", code, ")");
}

// Operand i is a list of integers of length n (kUnknownDim: any); returns its length.
Result<int64_t> check_list(const InferContext& ctx, size_t i, std::string_view code,
                           std::string_view what, int64_t n) {
  const Shape& s = ctx.operand(i);
  if (!s.is_array() || !is_int(s.dtype) || s.rank() != 1)
    return invalid("stablehlo.", message_name(ctx.op), ": ", what,
                   " must be a 1-dimensional tensor of integers, got ", to_string(s, false));
  if (!sizes_agree(s.dims[0], n)) return check_equal(rule(ctx, code), str_cat("size(", what, ")"), s.dims[0], n);
  return s.dims[0];
}

// A shape of unknown sizes; the program's own if it states one of the right rank and type.
Result<Shape> stated_or_unknown(const InferContext& ctx, Dtype t, int64_t rank,
                                std::string_view code) {
  if (!ctx.proposed) {
    if (rank == kUnknownDim)
      return law(rule(ctx, code), "the rank of the result is unknown: state its shape");
    return Shape::array(t, Dims(rank, kUnknownDim));
  }
  if (ctx.proposed->dtype != t)
    return law(rule(ctx, "C1"), "element_type(result) must be ", name(t), ", got ",
               to_string(*ctx.proposed, false));
  if (!sizes_agree(ctx.proposed->rank(), rank))
    return law(rule(ctx, code), "rank(result) must be ", rank, ", got ",
               to_string(*ctx.proposed, false));
  return *ctx.proposed;
}

Result<Shape> infer_broadcast(const InferContext& ctx) {
  TRY(check_form<DimsAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const Shape& in = ctx.operand(0);
  const auto& dims = ctx.as<DimsAttrs>().dimensions;
  ASSIGN(const int64_t rank, check_list(ctx, 1, "C7", "output_dimensions", kUnknownDim));
  TRY(check_equal(rule(ctx, "C2"), "size(broadcast_dimensions)", dims.size(), in.rank()));
  ASSIGN(const Shape out, stated_or_unknown(ctx, in.dtype, rank, "C7"));
  TRY(check_range(rule(ctx, "C3"), "broadcast_dimensions", dims, out.rank()));
  TRY(check_unique(rule(ctx, "C4"), "broadcast_dimensions", dims));
  for (int64_t d = 0; d < in.rank(); ++d)
    if (in.dims[d] != 1 && !dims_agree(in, d, out, dims[d]))
      return law(rule(ctx, "C5"), "dim(operand, ", d, ") = ", in.dims[d], " must be 1 or ",
                 out.dims[dims[d]]);
  return out;
}

Result<Shape> infer_reshape(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  ASSIGN(const int64_t rank, check_list(ctx, 1, "C4", "output_shape", kUnknownDim));
  ASSIGN(const Shape out, stated_or_unknown(ctx, ctx.operand(0).dtype, rank, "C4"));
  const Shape& in = ctx.operand(0);
  const bool known = in.is_static() && out.is_static() && !in.has_bounded_dim() &&
                     !out.has_bounded_dim();
  if (known && in.elements() != out.elements())
    return law(rule(ctx, "C2"), "size(operand) = size(result), got ", to_string(in, false), " and ",
               to_string(out, false));
  return out;
}

Result<Shape> infer_iota(const InferContext& ctx) {
  TRY(check_form<IotaAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  ASSIGN(const int64_t rank, check_list(ctx, 0, "C2", "output_shape", kUnknownDim));
  if (!ctx.proposed) return law(rule(ctx, "C2"), "its result shape must be given");
  ASSIGN(const Shape out, stated_or_unknown(ctx, ctx.proposed->dtype, rank, "C2"));
  TRY(check_range(rule(ctx, "C1"), "iota_dimension", {ctx.as<IotaAttrs>().iota_dimension},
                  out.rank()));
  return out;
}

Result<Shape> infer_pad(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 5));
  TRY(check_arrays(ctx, 0, 5));
  const Shape& in = ctx.operand(0);
  if (ctx.operand(1).dtype != in.dtype || ctx.operand(1).rank() != 0)
    return law(rule(ctx, "C1"), "padding_value must be a scalar ", name(in.dtype), ", got ",
               to_string(ctx.operand(1), false));
  const std::string_view names[] = {"edge_padding_low", "edge_padding_high", "interior_padding"};
  for (int k = 0; k < 3; ++k) TRY(check_list(ctx, 2 + k, "C2", names[k], in.rank()).status());
  return stated_or_unknown(ctx, in.dtype, in.rank(), "C4");
}

Result<Shape> infer_real_slice(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 4));
  TRY(check_arrays(ctx, 0, 4));
  const Shape& in = ctx.operand(0);
  const std::string_view names[] = {"start_indices", "limit_indices", "strides"};
  for (int k = 0; k < 3; ++k) TRY(check_list(ctx, 1 + k, "C2", names[k], in.rank()).status());
  return stated_or_unknown(ctx, in.dtype, in.rank(), "C1");
}

// The shape of the static sibling with the dimensions in `open` unknown, unless the program states it.
Result<Shape> opened(const InferContext& ctx, Shape s, DimSpan open) {
  for (int64_t d : open) s.dims[d] = kUnknownDim;
  if (!ctx.proposed) return s;
  if (!shapes_agree(s, *ctx.proposed))
    return invalid("stablehlo.", message_name(ctx.op), ": result shape ",
                   to_string(*ctx.proposed, false), " given, ", to_string(s, false), " inferred");
  return *ctx.proposed;
}

Result<Shape> infer_conv(const InferContext& ctx) {
  TRY(check_form<ConvAttrs>(ctx, 3));
  TRY(check_arrays(ctx, 0, 3));
  ConvAttrs a = ctx.as<ConvAttrs>();
  const auto spatial = static_cast<int64_t>(a.window.size());
  const Shape& padding = ctx.operand(2);
  if (!is_int(padding.dtype) || padding.rank() != 2 || !sizes_agree(padding.dims[0], spatial) ||
      !sizes_agree(padding.dims[1], 2))
    return law(rule(ctx, "C4"), "shape(padding) must be [", spatial, ",2], got ",
               to_string(padding, false));
  const Attrs attrs = a;
  ASSIGN(const Shape out, def(Op::kConvolution)
                              .infer({Op::kConvolution, ctx.operands.first(2), attrs, {}, ctx.proposed}));
  return opened(ctx, out, a.dims.output_spatial);
}

Result<Shape> infer_gather(const InferContext& ctx) {
  TRY(check_form<GatherAttrs>(ctx, 3));
  TRY(check_arrays(ctx, 0, 3));
  GatherAttrs a = ctx.as<GatherAttrs>();
  const Shape& in = ctx.operand(0);
  TRY(check_list(ctx, 2, "C11", "slice_sizes", in.rank()).status());
  a.slice_sizes.clear();
  for (int64_t d = 0; d < in.rank(); ++d)
    a.slice_sizes.push_back(in.dims[d] == 0 ? 0 : 1);
  const Attrs attrs = a;
  ASSIGN(const Shape out,
         def(Op::kGather).infer({Op::kGather, ctx.operands.first(2), attrs, {}, nullptr}));
  return opened(ctx, out, a.offset_dims);
}

Result<Shape> infer_reduce_window(const InferContext& ctx) {
  TRY(check_form<WindowAttrs>(ctx, -1, 1));
  if (ctx.operands.size() < 7 || ctx.operands.size() % 2 == 0)
    return invalid("dynamic_reduce_window: takes inputs, as many init_values and 5 lists, got ",
                   ctx.operands.size(), " operands");
  TRY(check_arrays(ctx, 0, ctx.operands.size()));
  const Shape& in = ctx.operand(0);
  const size_t lists = ctx.operands.size() - 5;
  for (size_t k = 0; k < 4; ++k)
    TRY(check_list(ctx, lists + k, "C4", "window parameters", in.rank()).status());
  const Shape& padding = ctx.operand(lists + 4);
  if (!is_int(padding.dtype) || padding.rank() != 2 || !sizes_agree(padding.dims[0], in.rank()) ||
      !sizes_agree(padding.dims[1], 2))
    return invalid("dynamic_reduce_window: shape(padding) must be [", in.rank(), ",2], got ",
                   to_string(padding, false));
  WindowAttrs a;
  a.window.resize(in.rank());
  const Attrs attrs = a;
  ASSIGN(Shape out, def(Op::kReduceWindow)
                        .infer({Op::kReduceWindow, ctx.operands.first(lists), attrs, ctx.calls}));
  Dims all = axes_except(in.rank(), {});
  if (!out.is_tuple()) return opened(ctx, out, all);
  for (Shape& part : out.tuple)
    for (int64_t d : all) part.dims[d] = kUnknownDim;
  return opened(ctx, out, {});
}

Result<Shape> infer_get_size(const InferContext& ctx) {
  TRY(check_form<DimAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  TRY(check_range(rule(ctx, "C1"), "dimension", {ctx.as<DimAttrs>().dimension},
                  ctx.operand(0).rank()));
  return Shape::scalar(Dtype::kS32);
}

Result<Shape> infer_set_size(const InferContext& ctx) {
  TRY(check_form<DimAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const int64_t d = ctx.as<DimAttrs>().dimension;
  const Shape& in = ctx.operand(0);
  TRY(check_range(rule(ctx, "C1"), "dimension", {d}, in.rank()));
  if (ctx.operand(1).dtype != Dtype::kS32 || ctx.operand(1).rank() != 0)
    return invalid("stablehlo.set_dimension_size: size must be a scalar s32, got ",
                   to_string(ctx.operand(1), false));
  if (ctx.proposed && shapes_agree(in, *ctx.proposed)) return *ctx.proposed;
  Shape out = in;
  out.dynamic.resize(in.rank(), false);
  out.dynamic[d] = in.dims[d] != kUnknownDim;
  return out;
}

// ---- evaluation: the static ops, run in a module of their own; their sizes come from data, so each goes
// through the evaluator, which looks whether there is memory for it ----

Result<Literal> eval_dynamic(const EvalContext& ctx) {
  Module scratch("dynamic");
  Computation* c = scratch.add_computation("static");
  Builder b(c);
  std::vector<Instr*> operands;
  for (size_t i = 0; i < ctx.operands.size(); ++i)
    operands.push_back(b.parameter(static_cast<int64_t>(i), ctx.operand(i).shape()));
  TRY(b.status());
  ASSIGN(Instr* root, build_static(b, ctx.instr, operands, [&](int64_t i) {
           return i < static_cast<int64_t>(ctx.operands.size()) ? &ctx.operands[i] : nullptr;
         }));
  c->set_root(root);
  return ctx.run(*c, ctx.operands);
}

Result<Literal> eval_get_size(const EvalContext& ctx) {
  return Literal::scalar_int(Dtype::kS32,
                             ctx.operand(0).shape().dims[ctx.as<DimAttrs>().dimension]);
}

// The operand cut to the new size, or filled up with zeros.
Result<Literal> eval_set_size(const EvalContext& ctx) {
  const int64_t d = ctx.as<DimAttrs>().dimension, size = ctx.operand(1).get_int(0);
  const Literal& in = ctx.operand(0);
  const int64_t declared = ctx.instr.operand(0)->shape.dims[d];
  const int64_t bound = declared == kUnknownDim ? in.shape().dims[d] : declared;
  if (size < 0 || size > bound)
    return invalid("stablehlo.set_dimension_size: 0 <= size <= ", bound, ", got ", size);
  Shape shape = in.shape();
  shape.dynamic.clear();
  shape.dims[d] = size;
  Literal out(shape);
  Dims box = shape.dims;
  box[d] = std::min(size, in.shape().dims[d]);
  if (product(box) == 0) return out;
  Dims at(box.size(), 0);
  do {
    out.copy_element(linear_index(at, shape.dims), in, linear_index(at, in.shape().dims));
  } while (next_index(absl::MakeSpan(at), box));
  return out;
}

Result<Instr*> expand_dynamic(Builder& b, const Instr& instr) {
  return build_static(b, instr, instr.operands, [&](int64_t i) {
    return instr.operand(i)->is_constant() ? &instr.operand(i)->literal() : nullptr;
  });
}

// ---- random instances: shape operands are constants ----

Instr* list(Sampler& s, DimSpan values) {
  Literal l(Shape::array(Dtype::kS64, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) l.set_int(i, values[i]);
  return s.builder().constant(std::move(l));
}

std::unique_ptr<Module> sample_broadcast(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_broadcast");
  const Dims out = s.dims(1, 4, 4);
  Dims dims, in;
  for (int64_t d = 0; d < static_cast<int64_t>(out.size()); ++d)
    if (s.chance(0.6)) {
      dims.push_back(d);
      in.push_back(s.chance(0.3) ? 1 : out[d]);
    }
  const Dtype t = s.dtype();
  s.root_shaped(Op::kDynamicBroadcast, Shape::array(t, out),
                {s.parameter(Shape::array(t, in)), list(s, out)}, DimsAttrs{dims});
  return s.finish();
}

std::unique_ptr<Module> sample_reshape(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_reshape");
  Dims dims = s.dims(1, 4, 4);
  const Dtype t = s.dtype();
  Instr* x = s.parameter(Shape::array(t, dims));
  if (dims.size() > 1 && s.chance(0.5)) {
    dims[0] *= dims.back();
    dims.pop_back();
  } else {
    dims.push_back(1);
  }
  s.root_shaped(Op::kDynamicReshape, Shape::array(t, dims), {x, list(s, dims)});
  return s.finish();
}

std::unique_ptr<Module> sample_iota(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_iota");
  const Dims dims = s.dims(1, 4, 5);
  s.root_shaped(Op::kDynamicIota, Shape::array(s.number(), dims), {list(s, dims)},
                IotaAttrs{s.uniform(0, static_cast<int64_t>(dims.size()) - 1)});
  return s.finish();
}

std::unique_ptr<Module> sample_pad(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_pad");
  const Dims dims = s.dims(1, 3, 4);
  Dims low, high, interior, out;
  for (int64_t d : dims) {
    low.push_back(s.uniform(0, 2));
    high.push_back(s.uniform(-1, 2));
    interior.push_back(s.uniform(0, 2));
    out.push_back(low.back() + high.back() + d + std::max<int64_t>(d - 1, 0) * interior.back());
  }
  const Dtype t = s.dtype();
  Instr* x = s.parameter(Shape::array(t, dims));
  Instr* v = s.parameter(Shape::scalar(t));
  s.root_shaped(Op::kDynamicPad, Shape::array(t, out),
                {x, v, list(s, low), list(s, high), list(s, interior)});
  return s.finish();
}

std::unique_ptr<Module> sample_real_slice(std::mt19937_64& rng) {
  Sampler s(rng, "real_dynamic_slice");
  const Dims dims = s.dims(1, 3, 6);
  Dims start, limit, stride, out;
  for (int64_t d : dims) {
    start.push_back(s.uniform(0, d));
    limit.push_back(s.uniform(start.back(), d));
    stride.push_back(s.uniform(1, 3));
    out.push_back((limit.back() - start.back() + stride.back() - 1) / stride.back());
  }
  const Dtype t = s.dtype();
  Instr* x = s.parameter(Shape::array(t, dims));
  s.root_shaped(Op::kRealDynamicSlice, Shape::array(t, out),
                {x, list(s, start), list(s, limit), list(s, stride)});
  return s.finish();
}

std::unique_ptr<Module> sample_get_size(std::mt19937_64& rng) {
  Sampler s(rng, "get_dimension_size");
  const Dims dims = s.dims(1, 3, 6);
  s.root(Op::kGetDimensionSize, {s.parameter(Shape::array(s.dtype(), dims))},
         DimAttrs{s.uniform(0, static_cast<int64_t>(dims.size()) - 1)});
  return s.finish();
}

std::unique_ptr<Module> sample_set_size(std::mt19937_64& rng) {
  Sampler s(rng, "set_dimension_size");
  const Dims dims = s.dims(1, 3, 6);
  const int64_t d = s.uniform(0, static_cast<int64_t>(dims.size()) - 1);
  Instr* size = s.builder().constant(Literal::scalar_int(Dtype::kS32, dims[d]));
  const Shape shape = Shape::array(s.dtype(), dims);
  s.root_shaped(Op::kSetDimensionSize, shape, {s.parameter(shape), size}, DimAttrs{d});
  return s.finish();
}

// A random instance of the static sibling gives shapes and attributes.
struct Sibling {
  std::unique_ptr<Module> module;
  const Instr* root() const { return module->entry()->root(); }
};

std::unique_ptr<Module> sample_conv(std::mt19937_64& rng) {
  const Sibling like{def(Op::kConvolution).sample(rng)};
  if (!like.module) return nullptr;
  const Instr& conv = *like.root();
  Sampler s(rng, "dynamic_conv");
  ConvAttrs a = conv.as<ConvAttrs>();
  Literal padding(Shape::array(Dtype::kS64, {static_cast<int64_t>(a.window.size()), 2}));
  for (size_t i = 0; i < a.window.size(); ++i) {
    padding.set_int(2 * i, std::exchange(a.window[i].pad_low, 0));
    padding.set_int(2 * i + 1, std::exchange(a.window[i].pad_high, 0));
  }
  Instr* x = s.parameter(conv.operand(0)->shape);
  Instr* y = s.parameter(conv.operand(1)->shape);
  s.root_shaped(Op::kDynamicConv, conv.shape, {x, y, s.builder().constant(padding)}, a);
  return s.finish();
}

std::unique_ptr<Module> sample_gather(std::mt19937_64& rng) {
  const Sibling like{def(Op::kGather).sample(rng)};
  if (!like.module) return nullptr;
  const Instr& gather = *like.root();
  Sampler s(rng, "dynamic_gather");
  GatherAttrs a = gather.as<GatherAttrs>();
  Instr* x = s.parameter(gather.operand(0)->shape);
  Instr* at = s.parameter(gather.operand(1)->shape);
  Instr* sizes = list(s, std::exchange(a.slice_sizes, {}));
  s.root_shaped(Op::kDynamicGather, gather.shape, {x, at, sizes}, a);
  return s.finish();
}

std::unique_ptr<Module> sample_reduce_window(std::mt19937_64& rng) {
  Sampler s(rng, "dynamic_reduce_window");
  const Dims dims = s.dims(1, 3, 5);
  const Dtype t = s.number();
  Dims size, ones(dims.size(), 1), out;
  Literal padding(Shape::array(Dtype::kS64, {static_cast<int64_t>(dims.size()), 2}));
  for (size_t d = 0; d < dims.size(); ++d) {
    size.push_back(s.uniform(1, dims[d]));
    padding.set_int(2 * d, s.uniform(0, 2));
    out.push_back(dims[d] + padding.get_int(2 * d) - size[d] + 1);
  }
  Instr* x = s.parameter(Shape::array(t, dims));
  Instr* init = s.parameter(Shape::scalar(t));
  Computation* body = s.combiner(t);
  Instr* r = s.builder().op_shaped(Op::kDynamicReduceWindow, Shape::array(t, out),
                                   {x, init, list(s, size), list(s, ones), list(s, ones),
                                    list(s, ones), s.builder().constant(padding)},
                                   WindowAttrs{}, {body});
  s.builder().computation()->set_root(r);
  return s.finish();
}

using Infer = Result<Shape> (*)(const InferContext&);
using Sample = std::unique_ptr<Module> (*)(std::mt19937_64&);

template <typename A>
OpDef row(Op op, std::string_view spelling, int arity, Infer infer, Sample sample,
          std::string_view doc) {
  return {.op = op,
          .stablehlo = spelling,
          .arity = arity,
          .traits = op == Op::kDynamicReduceWindow ? uint32_t{kCalls} : 0,
          .attrs = attrs_index<A>(),
          .infer = infer,
          .eval = op == Op::kGetDimensionSize   ? eval_get_size
                  : op == Op::kSetDimensionSize ? eval_set_size
                                                : eval_dynamic,
          .expand = expand_dynamic,
          .sample = sample,
          .doc = doc};
}

}  // namespace

absl::Span<const OpDef> dynamic_rows() {
  static const OpDef rows[] = {
      row<DimsAttrs>(Op::kDynamicBroadcast, "dynamic_broadcast_in_dim", 2, infer_broadcast,
                     sample_broadcast, "broadcast_in_dim to a shape held in operand 1."),
      row<ConvAttrs>(Op::kDynamicConv, "dynamic_conv", 3, infer_conv, sample_conv,
                     "convolution whose padding is operand 2."),
      row<GatherAttrs>(Op::kDynamicGather, "dynamic_gather", 3, infer_gather, sample_gather,
                       "gather whose slice sizes are operand 2."),
      row<IotaAttrs>(Op::kDynamicIota, "dynamic_iota", 1, infer_iota, sample_iota,
                     "iota of a shape held in operand 0."),
      row<NoAttrs>(Op::kDynamicPad, "dynamic_pad", 5, infer_pad, sample_pad,
                   "pad by amounts held in operands 2 (low), 3 (high) and 4 (interior)."),
      row<NoAttrs>(Op::kDynamicReshape, "dynamic_reshape", 2, infer_reshape, sample_reshape,
                   "reshape to a shape held in operand 1."),
      row<WindowAttrs>(Op::kDynamicReduceWindow, "dynamic_reduce_window", -1, infer_reduce_window,
                       sample_reduce_window,
                       "reduce_window whose sizes, strides, base and window dilations and padding "
                       "are the last five operands."),
      row<NoAttrs>(Op::kRealDynamicSlice, "real_dynamic_slice", 4, infer_real_slice,
                   sample_real_slice, "slice whose starts, limits and strides are operands 1 to 3."),
      row<DimAttrs>(Op::kGetDimensionSize, "get_dimension_size", 1, infer_get_size, sample_get_size,
                    "Present size of a dimension."),
      row<DimAttrs>(Op::kSetDimensionSize, "set_dimension_size", 2, infer_set_size, sample_set_size,
                    "Sets the present size of a dimension, within its bound."),
  };
  return rows;
}

}  // namespace braze
