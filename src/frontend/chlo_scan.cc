// SPDX-License-Identifier: Apache-2.0
#include "frontend/chlo_scan.h"

#include "ops/dim_rules.h"

namespace braze::chlo {
namespace {

// The loop's state is (position, inputs…, outputs…, carries…).
struct Scan {
  Builder& b;
  absl::Span<Instr* const> inputs, inits;
  absl::Span<const Shape> outputs;
  Computation* body;
  int64_t dimension, size;
  bool reverse;

  Module* module() const { return b.computation()->module(); }
};

Instr* zeros(Builder& b, const Shape& s) {
  Instr* zero = b.constant(Literal(Shape::scalar(s.dtype)));
  return s.dims.empty() ? zero : b.broadcast(zero, s.dims, {});
}

Dims without(DimSpan dims, int64_t d) {
  Dims out(dims.begin(), dims.end());
  out.erase(out.begin() + d);
  return out;
}

// One scalar index per dimension: `at` for the scanned one, zero elsewhere.
std::vector<Instr*> indices(const Scan& s, Builder& b, int64_t rank, Instr* at) {
  std::vector<Instr*> out(rank, b.constant(Literal::scalar_int(Dtype::kS32, 0)));
  out[s.dimension] = at;
  return out;
}

Instr* slice_at(const Scan& s, Builder& b, Instr* x, Instr* at) {
  Dims sizes = x->shape.dims;
  sizes[s.dimension] = 1;
  std::vector<Instr*> in = {x};
  for (Instr* i : indices(s, b, x->shape.rank(), at)) in.push_back(i);
  return b.reshape(b.op(Op::kDynamicSlice, in, DynamicSliceAttrs{sizes}),
                   without(x->shape.dims, s.dimension));
}

Instr* updated_at(const Scan& s, Builder& b, Instr* x, Instr* value, Instr* at) {
  Dims sizes = x->shape.dims;
  sizes[s.dimension] = 1;
  std::vector<Instr*> in = {x, b.reshape(value, sizes)};
  for (Instr* i : indices(s, b, x->shape.rank(), at)) in.push_back(i);
  return b.op(Op::kDynamicUpdateSlice, in);
}

Result<Computation*> make_condition(const Scan& s, const Shape& state) {
  Computation* c = s.module()->add_computation("scan_condition");
  Builder b(c);
  Instr* position = b.element(b.parameter(0, state), 0);
  Instr* end = b.constant(Literal::scalar_int(Dtype::kS32, s.size));
  c->set_root(b.compare(CompareDirection::kLt, position, end));
  TRY(b.status());
  return c;
}

Result<Computation*> make_step(const Scan& s, const Shape& state) {
  Computation* c = s.module()->add_computation("scan_step");
  Builder b(c);
  Instr* whole = b.parameter(0, state);
  const auto inputs = static_cast<int64_t>(s.inputs.size());
  const auto outputs = static_cast<int64_t>(s.outputs.size());
  const auto carries = static_cast<int64_t>(s.inits.size());
  Instr* position = b.element(whole, 0);
  Instr* one = b.constant(Literal::scalar_int(Dtype::kS32, 1));
  Instr* at = position;
  if (s.reverse) at = b.sub(b.constant(Literal::scalar_int(Dtype::kS32, s.size - 1)), position);
  std::vector<Instr*> arguments, next = {b.add(position, one)};
  for (int64_t k = 0; k < inputs; ++k) {
    next.push_back(b.element(whole, 1 + k));
    arguments.push_back(slice_at(s, b, next.back(), at));
  }
  for (int64_t k = 0; k < carries; ++k)
    arguments.push_back(b.element(whole, 1 + inputs + outputs + k));
  Instr* made = b.op(Op::kCall, arguments, NoAttrs{}, {s.body});
  TRY(b.status());
  const Shape& shape = made->shape;
  if (!shape.is_tuple() || static_cast<int64_t>(shape.tuple.size()) != outputs + carries)
    return invalid("chlo.scan: its body must give ", outputs, " outputs and ", carries,
                   " carries, gives ", to_string(shape, false));
  for (int64_t k = 0; k < outputs; ++k)
    next.push_back(
        updated_at(s, b, b.element(whole, 1 + inputs + k), b.element(made, k), at));
  for (int64_t k = 0; k < carries; ++k) next.push_back(b.element(made, outputs + k));
  c->set_root(b.tuple(next));
  TRY(b.status());
  return c;
}

// The length of the scanned dimension, which all inputs and outputs share.
Result<int64_t> scanned_size(const ChloAttrs& attrs, absl::Span<Instr* const> inputs,
                             absl::Span<const Shape> outputs) {
  int64_t size = attrs.scan_dim_size;
  auto add = [&](const Shape& s) -> Status {
    TRY(check_range("chlo.scan", "dimension", {attrs.scan_dimension}, s.rank()));
    const int64_t n = s.dims[attrs.scan_dimension];
    if (!s.is_static()) return unimplemented("chlo.scan of unknown shape ", to_string(s, false));
    if (size >= 0 && n != size)
      return invalid("chlo.scan: inputs and outputs must agree along dimension ",
                     attrs.scan_dimension, ", got ", size, " and ", n);
    size = n;
    return absl::OkStatus();
  };
  for (const Instr* i : inputs) TRY(add(i->shape));
  for (const Shape& s : outputs) TRY(add(s));
  if (size < 0) return invalid("chlo.scan: without inputs and outputs it needs scan_dim_size");
  if (size > INT32_MAX) return unimplemented("chlo.scan of more than 2^31 steps");
  return size;
}

}  // namespace

Result<std::vector<Instr*>> build_scan(Builder& b, absl::Span<Instr* const> operands,
                                       const ChloAttrs& attrs, absl::Span<const Shape> results) {
  const auto inputs = static_cast<size_t>(attrs.scan_inputs);
  if (!attrs.body || attrs.scan_inputs < 0 || inputs > operands.size())
    return invalid("chlo.scan: takes a body and at most ", operands.size(), " inputs");
  const auto inits = operands.subspan(inputs);
  if (inits.size() > results.size())
    return invalid("chlo.scan: has ", inits.size(), " inits but ", results.size(), " results");
  const auto outputs = results.first(results.size() - inits.size());
  ASSIGN(const int64_t size, scanned_size(attrs, operands.first(inputs), outputs));
  const Scan s = {b,    operands.first(inputs), inits, outputs, attrs.body, attrs.scan_dimension,
                  size, attrs.is_reverse};
  std::vector<Instr*> state = {b.constant(Literal::scalar_int(Dtype::kS32, 0))};
  state.insert(state.end(), s.inputs.begin(), s.inputs.end());
  for (const Shape& o : outputs) state.push_back(zeros(b, o));
  state.insert(state.end(), inits.begin(), inits.end());
  const auto first = static_cast<int64_t>(1 + inputs);
  if (size == 0) return std::vector<Instr*>(state.begin() + first, state.end());
  Instr* start = b.tuple(state);
  TRY(b.status());
  ASSIGN(Computation* condition, make_condition(s, start->shape));
  ASSIGN(Computation* step, make_step(s, start->shape));
  Instr* end = b.op(Op::kWhile, {start}, NoAttrs{}, {condition, step});
  TRY(b.status());
  std::vector<Instr*> out;
  for (int64_t k = first; k < static_cast<int64_t>(state.size()); ++k) out.push_back(b.element(end, k));
  return out;
}

}  // namespace braze::chlo
