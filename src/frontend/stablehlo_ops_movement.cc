// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, and those with shapes known only when they run.
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

// HLO's broadcast takes no size-1 dimensions that grow: those are dropped first.
void broadcast_in_dim(OpImport& c) {
  Instr* x = c.in(0);
  Dims map = c.dims("broadcast_dimensions");
  if (x->shape.quant || c.type().quant || !x->shape.is_static() || !c.type().is_static())
    return c.bind(c.emit_typed(Op::kBroadcast, {x}, DimsAttrs{map}));
  const Shape& in = x->shape;
  const Shape& out = c.type();
  if (!c.check(static_cast<int64_t>(map.size()) == in.rank(),
               "broadcast_dimensions needs one value for each operand dimension"))
    return;
  Dims kept, kept_map;
  for (int64_t i = 0; i < in.rank(); ++i) {
    if (!c.check(map[i] >= 0 && map[i] < out.rank(), "broadcast_dimensions out of range")) return;
    if (in.dims[i] == 1 && out.dims[map[i]] != 1) continue;
    kept.push_back(in.dims[i]);
    kept_map.push_back(map[i]);
  }
  if (static_cast<int64_t>(kept.size()) != in.rank()) x = c.b.reshape(x, kept);
  c.bind(c.b.broadcast(x, out.dims, kept_map));
}

// Deprecated: new dimensions in front.
void broadcast(OpImport& c) {
  Dims sizes = c.dims("broadcast_sizes");
  const Shape& in = c.in(0)->shape;
  Dims out(sizes), map;
  for (int64_t i = 0; i < in.rank(); ++i) {
    out.push_back(in.dims[i]);
    map.push_back(static_cast<int64_t>(sizes.size()) + i);
  }
  c.bind(c.b.broadcast(c.in(0), out, map));
}

void reshape(OpImport& c) { c.bind(c.emit_typed(Op::kReshape, c.ins())); }

void transpose(OpImport& c) {
  c.bind(c.emit(Op::kTranspose, c.ins(), DimsAttrs{c.dims("permutation")}));
}

void reverse(OpImport& c) {
  c.bind(c.emit(Op::kReverse, c.ins(), DimsAttrs{c.dims("dimensions")}));
}

void concatenate(OpImport& c) {
  c.bind(c.emit(Op::kConcatenate, c.ins(), DimsAttrs{{c.integer("dimension")}}));
}

void slice(OpImport& c) {
  SliceAttrs a{c.dims("start_indices"), c.dims("limit_indices"), {}};
  a.stride = c.dims_or("strides", a.start.size(), 1);
  c.bind(c.emit(Op::kSlice, c.ins(), a));
}

void pad(OpImport& c) {
  PadAttrs a{c.dims("edge_padding_low"), c.dims("edge_padding_high"), c.dims("interior_padding")};
  c.bind(c.emit(Op::kPad, c.ins(), a));
}

constexpr Handler kMovement[] = {
    {"stablehlo.broadcast_in_dim", broadcast_in_dim, 1, 1, 0},
    {"stablehlo.broadcast", broadcast, 1, 1, 0},
    {"stablehlo.reshape", reshape, 1, 1, 0},
    {"stablehlo.transpose", transpose, 1, 1, 0},
    {"stablehlo.reverse", reverse, 1, 1, 0},
    {"stablehlo.concatenate", concatenate, at_least(1), 1, 0},
    {"stablehlo.slice", slice, 1, 1, 0},
    {"stablehlo.pad", pad, 2, 1, 0},
};

void dynamic_broadcast(OpImport& c) {
  c.bind(c.emit_typed(Op::kDynamicBroadcast, c.ins(), DimsAttrs{c.dims("broadcast_dimensions")}));
}

void dynamic_iota(OpImport& c) {
  c.bind(c.emit_typed(Op::kDynamicIota, c.ins(), IotaAttrs{c.integer("iota_dimension")}));
}

void dynamic_reshape(OpImport& c) { c.bind(c.emit_typed(Op::kDynamicReshape, c.ins())); }
void dynamic_pad(OpImport& c) { c.bind(c.emit_typed(Op::kDynamicPad, c.ins())); }
void real_dynamic_slice(OpImport& c) { c.bind(c.emit_typed(Op::kRealDynamicSlice, c.ins())); }

void dynamic_gather(OpImport& c) {
  c.bind(c.emit_typed(Op::kDynamicGather, c.ins(), read_gather(c)));
}

void dynamic_conv(OpImport& c) {
  c.bind(c.emit_typed(Op::kDynamicConv, c.ins(), read_conv(c)));
}

void get_dimension_size(OpImport& c) {
  c.bind(c.emit(Op::kGetDimensionSize, c.ins(), DimAttrs{c.integer("dimension")}));
}

void set_dimension_size(OpImport& c) {
  c.bind(c.emit_typed(Op::kSetDimensionSize, c.ins(), DimAttrs{c.integer("dimension")}));
}

constexpr Handler kDynamic[] = {
    {"stablehlo.dynamic_broadcast_in_dim", dynamic_broadcast, 2, 1, 0},
    {"stablehlo.dynamic_iota", dynamic_iota, 1, 1, 0},
    {"stablehlo.dynamic_reshape", dynamic_reshape, 2, 1, 0},
    {"stablehlo.dynamic_pad", dynamic_pad, 5, 1, 0},
    {"stablehlo.real_dynamic_slice", real_dynamic_slice, 4, 1, 0},
    {"stablehlo.dynamic_gather", dynamic_gather, 3, 1, 0},
    {"stablehlo.dynamic_conv", dynamic_conv, 3, 1, 0},
    {"stablehlo.get_dimension_size", get_dimension_size, 1, 1, 0},
    {"stablehlo.set_dimension_size", set_dimension_size, 2, 1, 0},
};

}  // namespace

absl::Span<const Handler> movement_handlers() { return kMovement; }
absl::Span<const Handler> dynamic_handlers() { return kDynamic; }

}  // namespace braze::stablehlo
