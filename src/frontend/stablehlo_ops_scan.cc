// SPDX-License-Identifier: Apache-2.0
// chlo.scan: a loop over one dimension.
//
//   for i: (outputs[i].., carries..) = body(inputs[i].., carries..)
//
// becomes a while whose state is (i, inputs.., carries.., outputs.., what the body captures..).
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

struct Scan {
  size_t inputs = 0, carries = 0, outputs = 0;
  int64_t dimension = 0, count = 0;
  bool reverse = false;
  Computation* body = nullptr;
  std::vector<Instr*> captured;
};

bool read_scan(OpImport& c, Scan& s) {
  const mlir::Attr* sizes = c.attr("operandSegmentSizes");
  if (!sizes) sizes = c.attr("operand_segment_sizes");
  Dims segments = read_dims(c, sizes);
  const mlir::Block* block = c.op.block(0);
  if (!c.check(segments.size() == 2 && segments[0] >= 0 && segments[1] >= 0 &&
                   segments[0] + segments[1] == static_cast<int64_t>(c.inputs()),
               "needs the numbers of inputs and inits") ||
      !c.check(block && block->num_args == c.inputs(), "the body takes a slice or carry for each operand"))
    return false;
  s.inputs = static_cast<size_t>(segments[0]);
  s.carries = static_cast<size_t>(segments[1]);
  if (!c.check(c.results() >= s.carries, "has fewer results than inits")) return false;
  s.outputs = c.results() - s.carries;
  s.dimension = c.integer("dimension");
  s.reverse = c.flag("is_reverse");
  s.count = c.integer("scan_dim_size", -1);
  for (size_t k = 0; k < s.inputs + s.outputs; ++k) {
    const Shape& x = k < s.inputs ? c.in(k)->shape : c.type(k - s.inputs);
    if (!c.check(s.dimension >= 0 && s.dimension < x.rank(), "dimension out of range")) return false;
    if (s.count < 0) s.count = x.dims[s.dimension];
    if (!c.check(s.count == x.dims[s.dimension], "inputs and outputs differ in the scanned dimension"))
      return false;
  }
  return c.check(s.count >= 0, "the number of steps is not known");
}

Dims without(DimSpan dims, int64_t d) {
  Dims out(dims.begin(), dims.end());
  out.erase(out.begin() + d);
  return out;
}

// Indices of element `at` along the scanned dimension, zero elsewhere.
std::vector<Instr*> position(Builder& b, Instr* at, const Scan& s, int64_t rank) {
  std::vector<Instr*> out(static_cast<size_t>(rank), nullptr);
  for (int64_t d = 0; d < rank; ++d) out[d] = d == s.dimension ? at : b.constant(Literal::scalar_int(Dtype::kS64, 0));
  return out;
}

Computation* build_condition(OpImport& c, const Scan& s, const Shape& state) {
  Module& m = c.scope.program.module;
  Computation* f = m.add_computation(m.unique_name("scan_condition"));
  Builder b(f);
  Instr* i = b.element(b.parameter(0, state), 0);
  f->set_root(b.compare(CompareDirection::kLt, i, b.constant(Literal::scalar_int(Dtype::kS64, s.count))));
  c.fail(b.status());
  return f;
}

Computation* build_step(OpImport& c, const Scan& s, const Shape& state) {
  Module& m = c.scope.program.module;
  Computation* f = m.add_computation(m.unique_name("scan_step"));
  Builder b(f);
  Instr* all = b.parameter(0, state);
  std::vector<Instr*> next;
  for (size_t k = 0; k < state.tuple.size(); ++k) next.push_back(b.element(all, static_cast<int64_t>(k)));
  Instr* i = next[0];
  Instr* at = s.reverse ? b.sub(b.constant(Literal::scalar_int(Dtype::kS64, s.count - 1)), i) : i;
  std::vector<Instr*> arguments;
  for (size_t k = 0; k < s.inputs; ++k) {
    Instr* x = next[1 + k];
    std::vector<Instr*> operands = {x};
    for (Instr* p : position(b, at, s, x->shape.rank())) operands.push_back(p);
    DynamicSliceAttrs sizes{x->shape.dims};
    sizes.sizes[s.dimension] = 1;
    Instr* slice = b.op(Op::kDynamicSlice, operands, sizes);
    arguments.push_back(b.reshape(slice, without(x->shape.dims, s.dimension)));
  }
  const size_t carry = 1 + s.inputs, output = carry + s.carries;
  arguments.insert(arguments.end(), next.begin() + carry, next.begin() + output);
  arguments.insert(arguments.end(), next.begin() + output + s.outputs, next.end());
  Instr* values = b.op(Op::kCall, arguments, NoAttrs{}, {s.body});
  for (size_t k = 0; k < s.outputs && b.status().ok(); ++k) {
    Instr* whole = next[output + k];
    Dims dims = whole->shape.dims;
    dims[s.dimension] = 1;
    std::vector<Instr*> operands = {whole, b.reshape(b.element(values, static_cast<int64_t>(k)), dims)};
    for (Instr* p : position(b, at, s, whole->shape.rank())) operands.push_back(p);
    next[output + k] = b.op(Op::kDynamicUpdateSlice, operands);
  }
  for (size_t k = 0; k < s.carries && b.status().ok(); ++k)
    next[carry + k] = b.element(values, static_cast<int64_t>(s.outputs + k));
  next[0] = b.add(i, b.constant(Literal::scalar_int(Dtype::kS64, 1)));
  f->set_root(b.tuple(next));
  c.fail(b.status());
  return f;
}

void scan(OpImport& c) {
  Scan s;
  if (!read_scan(c, s)) return;
  RegionShape region;
  region.tuple_result = true;
  c.captures(0, region.captures);
  for (mlir::ValueId id : region.captures) {
    auto it = c.scope.values.find(id);
    if (!c.check(it != c.scope.values.end(), "the body uses a value that it can't see")) return;
    s.captured.push_back(it->second);
    region.captured_shapes.push_back(it->second->shape);
  }
  s.body = c.region(0, region);
  if (!c.ok() || !c.check(s.body->root()->shape.tuple.size() == c.results(),
                          "the body returns another number of values"))
    return;
  std::vector<Instr*> init = {c.b.constant(Literal::scalar_int(Dtype::kS64, 0))};
  init.insert(init.end(), c.ins().begin(), c.ins().end());
  for (size_t k = 0; k < s.outputs; ++k) init.push_back(c.b.splat(c.type(k), 0));
  init.insert(init.end(), s.captured.begin(), s.captured.end());
  Instr* state = c.b.tuple(init);
  if (!c.ok()) return;
  Computation* condition = build_condition(c, s, state->shape);
  Computation* step = build_step(c, s, state->shape);
  if (!c.ok()) return;
  Instr* loop = c.b.op(Op::kWhile, {state}, NoAttrs{}, {condition, step});
  if (!c.ok()) return;
  const size_t carry = 1 + s.inputs, output = carry + s.carries;
  for (size_t k = 0; k < c.results(); ++k) {
    const size_t at = k < s.outputs ? output + k : carry + (k - s.outputs);
    c.bind(k, c.b.element(loop, static_cast<int64_t>(at)));
  }
}

constexpr Handler kHandlers[] = {{"chlo.scan", scan, kAny, kAny, 1}};

}  // namespace

absl::Span<const Handler> scan_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
