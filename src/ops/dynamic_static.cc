// SPDX-License-Identifier: Apache-2.0
#include "ops/dynamic.h"

#include "ops/dim_rules.h"

namespace braze {
namespace {

// One conversion in progress.
struct Conversion {
  Builder& b;
  const Instr& instr;
  absl::Span<Instr* const> operands;
  OperandValue value;

  const Shape& shape(int64_t i) const { return operands[i]->shape; }
  std::string rule(std::string_view code) const {
    return str_cat("stablehlo.", message_name(instr.op), " (", code, ")");
  }
  // Integers of operand i, row-major.
  Result<Dims> ints(int64_t i, std::string_view what) const {
    const Literal* l = value(i);
    if (!l)
      return unimplemented("stablehlo.", message_name(instr.op), " '", instr.name, "': ", what,
                           " (operand ", i, ") must be known when the program is compiled");
    Dims out;
    for (int64_t k = 0; k < l->elements(); ++k) out.push_back(l->get_int(k));
    return out;
  }
};

Status check_sizes(const Conversion& c, DimSpan dims, std::string_view code) {
  for (int64_t d : dims)
    if (d < 0) return law(c.rule(code), "sizes must not be negative, got {", join(dims), "}");
  return absl::OkStatus();
}

Result<Instr*> static_broadcast(const Conversion& c) {
  ASSIGN(const Dims out, c.ints(1, "output_dimensions"));
  TRY(check_sizes(c, out, "C5"));
  const auto& dimensions = c.instr.as<DimsAttrs>().dimensions;
  TRY(check_range(c.rule("C3"), "broadcast_dimensions", dimensions, out.size()));
  const Shape& in = c.shape(0);
  TRY(check_equal(c.rule("C2"), "size(broadcast_dimensions)", dimensions.size(), in.rank()));
  Dims kept, kept_sizes;
  for (int64_t d = 0; d < in.rank(); ++d) {
    const int64_t to = out[dimensions[d]];
    if (in.dims[d] != 1 && in.dims[d] != to)
      return law(c.rule("C5"), "dim(operand, ", d, ") = ", in.dims[d], " must be 1 or ", to);
    if (in.dims[d] == 1 && to != 1) continue;  // expands: drop it first
    kept.push_back(dimensions[d]);
    kept_sizes.push_back(in.dims[d]);
  }
  Instr* x = c.operands[0];
  if (static_cast<int64_t>(kept.size()) != in.rank()) x = c.b.reshape(x, kept_sizes);
  return c.b.op_shaped(Op::kBroadcast, in.with_dims(out), {x}, DimsAttrs{kept});
}

Result<Instr*> static_reshape(const Conversion& c) {
  ASSIGN(const Dims out, c.ints(1, "output_shape"));
  TRY(check_sizes(c, out, "C4"));
  Shape shape = c.shape(0).with_dims(out);
  shape.quant = c.instr.shape.quant;
  return c.b.op_shaped(Op::kReshape, shape, {c.operands[0]});
}

Result<Instr*> static_iota(const Conversion& c) {
  ASSIGN(const Dims out, c.ints(0, "output_shape"));
  TRY(check_sizes(c, out, "C2"));
  return c.b.op_shaped(Op::kIota, c.instr.shape.with_dims(out), {},
                       IotaAttrs{c.instr.as<IotaAttrs>().iota_dimension});
}

Result<Instr*> static_pad(const Conversion& c) {
  PadAttrs a;
  ASSIGN(a.low, c.ints(2, "edge_padding_low"));
  ASSIGN(a.high, c.ints(3, "edge_padding_high"));
  ASSIGN(a.interior, c.ints(4, "interior_padding"));
  return c.b.op(Op::kPad, {c.operands[0], c.operands[1]}, a);
}

Result<Instr*> static_slice(const Conversion& c) {
  SliceAttrs a;
  ASSIGN(a.start, c.ints(1, "start_indices"));
  ASSIGN(a.limit, c.ints(2, "limit_indices"));
  ASSIGN(a.stride, c.ints(3, "strides"));
  return c.b.op(Op::kSlice, {c.operands[0]}, a);
}

Result<Instr*> static_conv(const Conversion& c) {
  ConvAttrs a = c.instr.as<ConvAttrs>();
  ASSIGN(const Dims padding, c.ints(2, "padding"));
  TRY(check_equal(c.rule("C4"), "size(padding)", padding.size(), 2 * a.window.size()));
  TRY(check_equal(c.rule("C17"), "size(kernel_spatial_dimensions)", a.dims.kernel_spatial.size(),
                  a.window.size()));
  for (size_t i = 0; i < a.window.size(); ++i) {
    a.window[i].pad_low = padding[2 * i];
    a.window[i].pad_high = padding[2 * i + 1];
    a.window[i].size = c.shape(1).dims[a.dims.kernel_spatial[i]];
  }
  Shape shape = c.instr.shape;
  Dims unknown(shape.rank(), kUnknownDim);
  shape.dims = unknown;
  const Shape* in[] = {&c.shape(0), &c.shape(1)};
  const Attrs attrs = a;
  ASSIGN(Shape inferred, def(Op::kConvolution).infer({Op::kConvolution, in, attrs, {}, &shape}));
  return c.b.op_shaped(Op::kConvolution, inferred, {c.operands[0], c.operands[1]}, a);
}

Result<Instr*> static_gather(const Conversion& c) {
  GatherAttrs a = c.instr.as<GatherAttrs>();
  ASSIGN(a.slice_sizes, c.ints(2, "slice_sizes"));
  return c.b.op(Op::kGather, {c.operands[0], c.operands[1]}, a);
}

Result<Instr*> static_reduce_window(const Conversion& c) {
  const auto last = static_cast<int64_t>(c.operands.size());
  if (last < 7) return invalid("dynamic_reduce_window: takes at least 7 operands, got ", last);
  const int64_t rank = c.shape(0).rank();
  Dims lists[5];
  const std::string_view names[] = {"window_dimensions", "window_strides", "base_dilations",
                                    "window_dilations", "padding"};
  for (int k = 0; k < 5; ++k) {
    ASSIGN(lists[k], c.ints(last - 5 + k, names[k]));
    TRY(check_equal(c.rule("C4"), names[k], lists[k].size(), k == 4 ? 2 * rank : rank));
  }
  WindowAttrs a;
  for (int64_t d = 0; d < rank; ++d)
    a.window.push_back({.size = lists[0][d],
                        .stride = lists[1][d],
                        .pad_low = lists[4][2 * d],
                        .pad_high = lists[4][2 * d + 1],
                        .window_dilation = lists[3][d],
                        .base_dilation = lists[2][d]});
  return c.b.op(Op::kReduceWindow, c.operands.first(last - 5), a, c.instr.calls);
}

Result<Instr*> static_dimension_size(const Conversion& c) {
  const int64_t d = c.instr.as<DimAttrs>().dimension;
  const Shape& in = c.shape(0);
  TRY(check_range(c.rule("C1"), "dimension", {d}, in.rank()));
  if (in.is_dynamic(d) || in.dims[d] == kUnknownDim)
    return unimplemented("stablehlo.get_dimension_size '", c.instr.name, "': dimension ", d, " of ",
                         to_string(in, false), " must be known when the program is compiled");
  return c.b.constant(Literal::scalar_int(Dtype::kS32, in.dims[d]));
}

Result<Instr*> static_set_dimension_size(const Conversion& c) {
  const int64_t d = c.instr.as<DimAttrs>().dimension;
  ASSIGN(const Dims size, c.ints(1, "size"));
  if (size.size() == 1 && size[0] == c.shape(0).dims[d] && !c.shape(0).is_dynamic(d))
    return c.operands[0];
  return unimplemented("stablehlo.set_dimension_size '", c.instr.name, "': dimension ", d, " of ",
                       to_string(c.shape(0), false), " is set to another size than its bound");
}

Result<Instr*> convert(const Conversion& c) {
  switch (c.instr.op) {
    case Op::kDynamicBroadcast: return static_broadcast(c);
    case Op::kDynamicReshape: return static_reshape(c);
    case Op::kDynamicIota: return static_iota(c);
    case Op::kDynamicPad: return static_pad(c);
    case Op::kRealDynamicSlice: return static_slice(c);
    case Op::kDynamicConv: return static_conv(c);
    case Op::kDynamicGather: return static_gather(c);
    case Op::kDynamicReduceWindow: return static_reduce_window(c);
    case Op::kGetDimensionSize: return static_dimension_size(c);
    case Op::kSetDimensionSize: return static_set_dimension_size(c);
    default: return internal(name(c.instr.op), ": not a dynamic-shape op");
  }
}

}  // namespace

Result<Instr*> build_static(Builder& b, const Instr& instr, absl::Span<Instr* const> operands,
                            OperandValue value) {
  ASSIGN(Instr* made, convert({b, instr, operands, value}));
  TRY(b.status());
  if (!shapes_agree(made->shape, instr.shape))
    return invalid("stablehlo.", message_name(instr.op), " '", instr.name, "': the result is ",
                   to_string(made->shape, false), ", declared as ", to_string(instr.shape, false));
  return made;
}

}  // namespace braze
