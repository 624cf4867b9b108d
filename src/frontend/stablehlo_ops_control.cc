// SPDX-License-Identifier: Apache-2.0
// Control flow, calls, tuples, tokens.
#include "frontend/chlo.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {
namespace {

// Values that regions capture, beside their shapes.
struct Captured {
  RegionShape shape;
  std::vector<Instr*> values;
};

Captured capture(OpImport& c, std::initializer_list<size_t> regions) {
  Captured out;
  for (size_t k : regions) c.captures(k, out.shape.captures);
  for (mlir::ValueId id : out.shape.captures) {
    auto it = c.scope.values.find(id);
    if (it == c.scope.values.end()) {
      c.fail(unimplemented("a region uses a value that its computation can't see"));
      break;
    }
    out.values.push_back(it->second);
    out.shape.captured_shapes.push_back(it->second->shape);
  }
  out.shape.tuple_parameter = true;
  return out;
}

// The state is one tuple: the operands, then what the regions capture.
void while_loop(OpImport& c) {
  Captured captured = capture(c, {0, 1});
  if (!c.ok()) return;
  Computation* condition = c.region(0, captured.shape);
  captured.shape.tuple_result = captured.shape.hands_on_captures = true;
  Computation* body = c.region(1, captured.shape);
  if (!c.ok()) return;
  std::vector<Instr*> state(c.ins().begin(), c.ins().end());
  state.insert(state.end(), captured.values.begin(), captured.values.end());
  // The loop's state has the types that the regions declare.
  const Shape declared = condition->params()[0]->shape;
  Instr* init = c.b.tuple(state);
  if (!c.ok()) return;
  c.take(merge_shapes(declared, init->shape));
  if (!c.ok()) return;
  if (!(init->shape == declared)) c.b.computation()->set_shape(init, declared);
  Instr* loop = c.b.op(Op::kWhile, {init}, NoAttrs{}, {condition, body});
  if (!c.ok() || !c.check(c.results() <= state.size(), "more results than operands")) return;
  for (size_t k = 0; k < c.results(); ++k) c.bind(k, c.b.element(loop, static_cast<int64_t>(k)));
}

// What the body captures is carried along unchanged.
void scan(OpImport& c) {
  const mlir::Attr* sizes = c.attr("operandSegmentSizes");
  if (!sizes) sizes = c.attr("operand_segment_sizes");
  const Dims segments = read_dims(c, sizes);
  if (!c.check(segments.size() == 2, "needs the numbers of inputs and inits")) return;
  Captured captured = capture(c, {0});
  captured.shape.tuple_parameter = false;
  captured.shape.tuple_result = captured.shape.hands_on_captures = true;
  ChloAttrs a;
  if (c.ok()) a.body = c.region(0, captured.shape);
  a.scan_inputs = segments[0];
  a.scan_dimension = c.integer("dimension");
  a.scan_dim_size = c.integer("scan_dim_size", -1);
  a.is_reverse = c.flag("is_reverse");
  if (!c.ok()) return;
  std::vector<Instr*> operands(c.ins().begin(), c.ins().end());
  operands.insert(operands.end(), captured.values.begin(), captured.values.end());
  std::vector<Shape> results;
  for (size_t k = 0; k < c.results(); ++k) results.push_back(c.type(k));
  results.insert(results.end(), captured.shape.captured_shapes.begin(),
                 captured.shape.captured_shapes.end());
  auto values = c.take(build_chlo(c.b, c.op.name, operands, a, results));
  if (!c.ok() || !c.check(values.size() == results.size(), "wrong number of results")) return;
  for (size_t k = 0; k < c.results(); ++k) c.bind(k, values[k]);
}

// Each branch takes a tuple of what it captures.
void conditional(OpImport& c) {
  std::vector<Instr*> operands = {c.in(0)};
  std::vector<Computation*> branches;
  for (size_t k = 0; k < c.op.regions.size() && c.ok(); ++k) {
    Captured captured = capture(c, {k});
    if (!c.ok()) return;
    captured.shape.tuple_result = c.results() != 1;
    operands.push_back(c.b.tuple(captured.values));
    branches.push_back(c.region(k, captured.shape));
  }
  if (c.ok()) c.bind_all(c.b.op(Op::kConditional, operands, NoAttrs{}, branches));
}

Computation* callee(OpImport& c, std::string_view attr) {
  const std::string name = c.text(attr);
  auto it = c.scope.program.functions.find(name);
  if (it != c.scope.program.functions.end()) return it->second;
  c.fail(not_found("there is no function @", name, " with a body"));
  return nullptr;
}

void call(OpImport& c) {
  Computation* f = callee(c, "callee");
  if (f) c.bind_all(c.emit(Op::kCall, c.ins(), NoAttrs{}, {f}));
}

void bind_list(OpImport& c, absl::Span<Instr* const> values) {
  if (!c.ok() || !c.check(values.size() == c.results(), "expected another number of values"))
    return;
  for (size_t k = 0; k < values.size(); ++k) c.bind(k, values[k]);
}

// What the composite stands for: its decomposition.
void composite(OpImport& c) {
  if (!c.op.regions.empty()) return bind_list(c, c.inline_region(0, c.ins()));
  Computation* f = callee(c, "decomposition");
  if (!f) return;
  Instr* i = c.emit(Op::kCall, c.ins(), NoAttrs{}, {f});
  i->extra().other["composite"] = c.text("name");
  if (const mlir::Attr* a = c.attr("composite_attributes"))
    i->extra().other["composite_attributes"] = mlir::print_attr(*a);
  c.bind_all(i);
}

// An async region runs at once; its future is its results.
void async_start(OpImport& c) {
  auto values = c.inline_region(0, c.ins());
  if (c.ok()) c.bind(values.size() == 1 ? values[0] : c.b.tuple(values));
}

void async_done(OpImport& c) { c.bind_all(c.in(0)); }

// Single-block ops that only group their body.
void inlined(OpImport& c) { bind_list(c, c.inline_region(0, c.ins())); }

void tuple(OpImport& c) { c.bind(c.b.tuple(c.ins())); }

void get_tuple_element(OpImport& c) {
  const int64_t k = c.integer("index");
  const Shape& s = c.in(0)->shape;
  if (c.check(s.is_tuple() && k >= 0 && k < static_cast<int64_t>(s.tuple.size()),
              "index out of range"))
    c.bind(c.b.element(c.in(0), k));
}

void optimization_barrier(OpImport& c) {
  if (c.inputs() == 0) return;
  Instr* x = c.inputs() == 1 ? c.in(0) : c.b.tuple(c.ins());
  c.bind_all(c.emit(Op::kOptBarrier, {x}));
}

void after_all(OpImport& c) { c.bind(c.emit(Op::kAfterAll, c.ins())); }

// Types of two dialects for the same values.
void cast(OpImport& c) { bind_list(c, c.ins()); }

constexpr Handler kHandlers[] = {
    {"builtin.unrealized_conversion_cast", cast, kAny, kAny, 0},
    {"stablehlo.while", while_loop, kAny, kAny, 2},
    {"chlo.scan", scan, kAny, kAny, 1},
    {"stablehlo.if", conditional, 1, kAny, 2},
    {"stablehlo.case", conditional, 1, kAny, kAny},
    {"func.call", call, kAny, kAny, 0},
    {"stablehlo.composite", composite, kAny, kAny, kAny},
    {"stablehlo.async_start", async_start, kAny, 1, 1},
    {"stablehlo.async_done", async_done, 1, kAny, 0},
    {"sdy.named_computation", inlined, kAny, kAny, 1},
    {"stablehlo.tuple", tuple, kAny, 1, 0},
    {"stablehlo.get_tuple_element", get_tuple_element, 1, 1, 0},
    {"stablehlo.optimization_barrier", optimization_barrier, kAny, kAny, 0},
    {"stablehlo.after_all", after_all, kAny, 1, 0},
    {"stablehlo.create_token", after_all, 0, 1, 0},
};

}  // namespace

absl::Span<const Handler> control_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
