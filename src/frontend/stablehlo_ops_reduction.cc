// SPDX-License-Identifier: Apache-2.0
// Reductions, windows, map. Their regions may compute in a wider type than the operands: those are
// converted first.
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

// n inputs and n initial values, all in the element types of the region's arguments.
std::vector<Instr*> widened(OpImport& c) {
  const size_t n = c.inputs() / 2;
  std::vector<Instr*> out(c.ins().begin(), c.ins().end());
  if (!c.check(c.inputs() == 2 * n && n > 0, "needs as many initial values as inputs")) return out;
  for (size_t k = 0; k < n; ++k) {
    const Dtype t = c.region_dtype(0, k);
    out[k] = c.in_as(k, t);
    out[n + k] = c.in_as(n + k, t);
  }
  return out;
}

void reduce(OpImport& c) {
  auto operands = widened(c);
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit(Op::kReduce, operands, DimsAttrs{c.dims("dimensions")}, {body}));
}

void reduce_window(OpImport& c) {
  auto operands = widened(c);
  WindowAttrs a{read_window(c, c.in(0)->shape.rank())};
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit(Op::kReduceWindow, operands, a, {body}));
}

// Regions: select over the operand's type, scatter over perhaps a wider one.
void select_and_scatter(OpImport& c) {
  WindowAttrs a{read_window(c, c.in(0)->shape.rank())};
  const Dtype t = c.region_dtype(1, 0);
  const Dtype both[] = {t, t};
  Computation* select = c.region(0, both);
  Computation* scatter = c.region(1);
  if (!c.ok()) return;
  c.bind(c.emit(Op::kSelectAndScatter, {c.in_as(0, t), c.in_as(1, t), c.in_as(2, t)}, a,
                {select, scatter}));
}

void map(OpImport& c) {
  Dims dims = c.dims("dimensions");
  Computation* body = c.region(0);
  if (c.ok()) c.bind(c.emit(Op::kMap, c.ins(), DimsAttrs{dims}, {body}));
}

constexpr Handler kHandlers[] = {
    {"stablehlo.reduce", reduce, at_least(2), kAny, 1},
    {"stablehlo.reduce_window", reduce_window, at_least(2), kAny, 1},
    {"stablehlo.select_and_scatter", select_and_scatter, 3, 1, 2},
    {"stablehlo.map", map, at_least(1), 1, 1},
};

}  // namespace

absl::Span<const Handler> reduction_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
