// SPDX-License-Identifier: Apache-2.0
#include "passes/flat_tuples.h"

#include <algorithm>

#include "base/fuel.h"
#include "ops/builder.h"
#include "passes/inline_calls.h"

namespace braze {
namespace {

bool is_nested(const Shape& s) {
  return s.is_tuple() && std::any_of(s.tuple.begin(), s.tuple.end(), [](const Shape& t) { return t.is_tuple(); });
}

void add_leaves(const Shape& s, std::vector<Shape>* out) {
  if (!s.is_tuple()) return out->push_back(s);
  for (const Shape& t : s.tuple) add_leaves(t, out);
}
// A shape as one tuple of arrays, if it is a tuple of tuples; else as it is.
Shape flat(const Shape& s) {
  if (!is_nested(s)) return s;
  std::vector<Shape> leaves;
  add_leaves(s, &leaves);
  return Shape::tuple_of(std::move(leaves));
}

void add_parts(Builder& b, Instr* v, std::vector<Instr*>* out) {
  if (!v->shape.is_tuple()) return out->push_back(v);
  for (int64_t k = 0; k < static_cast<int64_t>(v->shape.tuple.size()); ++k) add_parts(b, b.element(v, k), out);
}
Instr* flatten(Builder& b, Instr* v) {
  if (!is_nested(v->shape)) return v;
  std::vector<Instr*> parts;
  add_parts(b, v, &parts);
  return b.tuple(parts);
}

Instr* nest(Builder& b, const Shape& s, Instr* v, int64_t* at) {
  if (!s.is_tuple()) return b.element(v, (*at)++);
  std::vector<Instr*> parts;
  for (const Shape& t : s.tuple) parts.push_back(nest(b, t, v, at));
  return b.tuple(parts);
}
// v, of shape flat(s), as a value of shape s.
Instr* unflatten(Builder& b, const Shape& s, Instr* v) {
  int64_t at = 0;
  return is_nested(s) ? nest(b, s, v, &at) : v;
}

// The computation on a flat argument, with a flat result.
Result<Computation*> flat_version(Module& m, const Computation& c) {
  Computation* to = m.add_computation(c.name());
  Builder b(to);
  std::vector<Instr*> arguments;
  for (const Instr* p : c.params())
    arguments.push_back(unflatten(b, p->shape, b.parameter(p->parameter_number(), flat(p->shape), p->name)));
  Instr* root = flatten(b, inline_computation(to, c, arguments));
  TRY(b.status());
  to->set_root(root);
  return to;
}

bool has_nested(const Instr& i) {
  return is_nested(i.shape) ||
         std::any_of(i.operands.begin(), i.operands.end(), [](const Instr* o) { return is_nested(o->shape); });
}

Status rewrite(Module& m, Computation* c, Instr* i) {
  std::vector<Computation*> calls;
  for (const Computation* callee : i->calls) {
    ASSIGN(Computation * version, flat_version(m, *callee));
    calls.push_back(version);
  }
  Builder b(c);
  std::vector<Instr*> operands;
  for (Instr* o : i->operands) operands.push_back(flatten(b, o));
  Instr* made = b.op_shaped(i->op, flat(i->shape), operands, i->attrs, calls, i->name);
  Instr* value = unflatten(b, i->shape, made);
  TRY(b.status());
  if (i->extras) made->extras = std::make_unique<Extras>(*i->extras);
  c->replace_uses(i, value);
  c->erase(i);
  return absl::OkStatus();
}

}  // namespace

Status flat_tuples(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> found;
    for (const auto& i : c->instrs())
      if ((i->is(Op::kWhile) || i->is(Op::kConditional)) && has_nested(*i)) found.push_back(i.get());
    for (Instr* i : found)
      if (take_fuel("flat-tuples", i->name)) TRY(rewrite(m, c, i));
  }
  m.erase_dead_computations();
  return absl::OkStatus();
}

}  // namespace braze
