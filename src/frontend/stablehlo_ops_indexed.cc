// SPDX-License-Identifier: Apache-2.0
// Slices at computed positions, gather, scatter, sort.
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

void dynamic_slice(OpImport& c) {
  c.bind(c.emit(Op::kDynamicSlice, c.ins(), DynamicSliceAttrs{c.dims("slice_sizes")}));
}

void dynamic_update_slice(OpImport& c) { c.bind(c.emit(Op::kDynamicUpdateSlice, c.ins())); }

void gather(OpImport& c) { c.bind(c.emit(Op::kGather, c.ins(), read_gather(c))); }

// Operands: n inputs, the indices, n updates. The region may compute in a wider type.
void scatter(OpImport& c) {
  const size_t n = c.inputs() / 2;
  if (!c.check(c.inputs() == 2 * n + 1, "scatter needs as many updates as inputs")) return;
  std::vector<Instr*> operands(c.ins().begin(), c.ins().end());
  for (size_t k = 0; k < n; ++k) {
    const Dtype t = c.region_dtype(0, k);
    operands[k] = c.in_as(k, t);
    operands[n + 1 + k] = c.in_as(n + 1 + k, t);
  }
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit(Op::kScatter, operands, read_scatter(c), {body}));
}

void sort(OpImport& c) {
  SortAttrs a{c.integer("dimension", -1), c.flag("is_stable")};
  if (a.dimension < 0) a.dimension += c.in(0)->shape.rank();
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit(Op::kSort, c.ins(), a, {body}));
}

void top_k(OpImport& c) {
  TopKAttrs a{c.integer("k"), c.attr("largest") ? c.flag("largest") : true};
  c.bind_all(c.emit_typed(Op::kTopK, c.ins(), a));
}

// result[b.., i.., rest] = operand[b.., .., index[b.., i..], ..] along `dim`.
void torch_index_select(OpImport& c) {
  const int64_t dim = c.integer("dim"), batch = c.integer("batch_dims");
  const Shape& x = c.in(0)->shape;
  const Shape& index = c.in(1)->shape;
  if (!c.check(dim >= 0 && dim < x.rank() && batch >= 0 && batch <= dim && batch <= index.rank(),
               "dim or batch_dims out of range"))
    return;
  GatherAttrs g;
  g.index_vector_dim = index.rank();
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool gone = i < batch || i == dim;
    g.slice_sizes.push_back(gone ? 1 : x.dims[i]);
    // Output dims: those before `dim`, then the index's own, then those after.
    if (!gone) g.offset_dims.push_back(i < dim ? i : i + index.rank() - batch - 1);
  }
  for (int64_t i = 0; i < batch; ++i) {
    g.operand_batching_dims.push_back(i);
    g.start_indices_batching_dims.push_back(i);
  }
  g.collapsed_slice_dims = {dim};
  g.start_index_map = {dim};
  c.bind(c.emit(Op::kGather, c.ins(), g));
}

constexpr Handler kHandlers[] = {
    {"stablehlo.dynamic_slice", dynamic_slice, at_least(1), 1, 0},
    {"stablehlo.dynamic_update_slice", dynamic_update_slice, at_least(2), 1, 0},
    {"stablehlo.gather", gather, 2, 1, 0},
    {"stablehlo.scatter", scatter, at_least(3), kAny, 1},
    {"stablehlo.sort", sort, at_least(1), kAny, 1},
    {"stablehlo.torch_index_select", torch_index_select, 2, 1, 0},
    {"mhlo.topk", top_k, 1, 2, 0},
};

}  // namespace

absl::Span<const Handler> indexed_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
