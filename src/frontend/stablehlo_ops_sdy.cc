// SPDX-License-Identifier: Apache-2.0
// Shardy: its ops say where values lie and change none of them. They become copies that carry the
// sharding's text.
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

std::string sharding_text(OpImport& c) {
  for (std::string_view name : {"sharding", "out_sharding"})
    if (const mlir::Attr* a = c.attr(name)) return read_sharding(*a);
  return {};
}

void identity(OpImport& c) {
  if (c.op.num_results == 0) return;
  Instr* i = c.emit(Op::kCopy, {c.in(0)});
  std::string s = sharding_text(c);
  if (!s.empty()) i->extra().sharding = std::move(s);
  c.bind(i);
}

// No value changes and none is made.
void nothing(OpImport&) {}

// Item k of a list of shardings, as text.
std::string item_text(const mlir::Attr* list, size_t k) {
  if (!list) return {};
  std::span<const mlir::Attr* const> items = list->items;
  if (list->kind == mlir::AttrKind::kStruct)
    for (const mlir::NamedAttr& f : list->fields)
      if (f.value->kind == mlir::AttrKind::kArray) items = f.value->items;
  return k < items.size() ? mlir::print_attr(*items[k]) : mlir::print_attr(*list);
}

// Marks where a value becomes one per device, and one of all again. With one device there is nothing to
// mark unless the shape changes.
Instr* change_shape(OpImport& c, Instr* x, const Shape& to, std::string_view target,
                    std::string sharding) {
  const Module& m = c.scope.program.module;
  if (x->shape == to && (m.num_partitions == 1 || !to.is_array())) return x;
  CustomCallAttrs a;
  a.target = std::string(target);
  Instr* i = c.b.op_shaped(Op::kCustomCall, to, {x}, a);
  i->extra().sharding = std::move(sharding);
  if (const mlir::Attr* axes = c.attr("manual_axes"))
    i->extra().other["sdy.manual_axes"] = mlir::print_attr(*axes);
  return i;
}

// The body sees one device's part of each operand. With one device that is the operand itself; with more,
// spmd/expand makes the body's copies.
void manual_computation(OpImport& c) {
  const mlir::Block* block = c.op.block(0);
  if (!c.check(block && block->num_args == c.inputs(),
               "the body needs one argument for each operand"))
    return;
  std::vector<Instr*> arguments;
  for (size_t k = 0; k < c.inputs(); ++k)
    arguments.push_back(change_shape(c, c.in(k), c.argument_type(0, k), "SPMDFullToShardShape",
                                     item_text(c.attr("in_shardings"), k)));
  if (!c.ok()) return;
  auto values = c.inline_region(0, arguments);
  if (!c.ok() ||
      !c.check(values.size() == c.results(), "the body returns another number of values"))
    return;
  for (size_t k = 0; k < values.size(); ++k)
    c.bind(k, change_shape(c, values[k], c.type(k), "SPMDShardToFullShape",
                           item_text(c.attr("out_shardings"), k)));
}

constexpr Handler kHandlers[] = {
    {"sdy.sharding_constraint", identity, 1, 1, 0},
    {"sdy.reshard", identity, 1, 1, 0},
    {"sdy.propagation_barrier", identity, 1, 1, 0},
    {"sdy.data_flow_edge", identity, 1, 1, 0},
    {"sdy.all_gather", identity, 1, 1, 0},
    {"sdy.all_reduce", identity, 1, 1, 0},
    {"sdy.all_slice", identity, 1, 1, 0},
    {"sdy.all_to_all", identity, 1, 1, 0},
    {"sdy.collective_permute", identity, 1, 1, 0},
    {"sdy.reduce_scatter", identity, 1, 1, 0},
    {"sdy.replicated_to_unreduced", identity, 1, 1, 0},
    {"sdy.sharded_to_unreduced", identity, 1, 1, 0},
    {"sdy.sharding_group", nothing, 1, 0, 0},
    {"sdy.mesh", nothing, 0, 0, 0},
    {"sdy.manual_computation", manual_computation, kAny, kAny, 1},
};

}  // namespace

absl::Span<const Handler> sdy_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
