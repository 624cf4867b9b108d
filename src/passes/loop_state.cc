// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_state.h"

#include <algorithm>

namespace braze {

Callers callers_of(const Module& m) {
  Callers out;
  for (const auto& c : m.computations())
    for (const auto& i : c->instrs())
      for (const Computation* called : i->calls) ++out[called];
  return out;
}

bool LoopState::may_grow(const Computation& c, const Instr& loop, const Callers& callers) {
  const auto waits = [](const auto& i) { return i->extras && !i->extras->control_predecessors.empty(); };
  const auto read_by_element = [](const Computation& of, const Instr* state) {
    return state != of.root() && std::all_of(state->users.begin(), state->users.end(), [](const Instr* u) {
      return u->is(Op::kGetTupleElement);
    });
  };
  const auto fits = [&](const Computation* x) {
    return callers.at(x) == 1 && read_by_element(*x, x->params()[0]) &&
           std::none_of(x->instrs().begin(), x->instrs().end(), waits);
  };
  return !waits(&loop) && read_by_element(c, &loop) && std::all_of(loop.calls.begin(), loop.calls.end(), fits) &&
         loop.operand(0)->is(Op::kTuple) && loop.calls[1]->root()->is(Op::kTuple);
}

int64_t LoopState::unchanged(const Instr& i) const {
  auto element = [&](const Instr& x) {
    return x.is(Op::kGetTupleElement) && x.operand(0) == state_ ? x.as<IndexAttrs>().index : -1;
  };
  const int64_t k = element(i);
  return k >= 0 && element(*body_->root()->operand(k)) == k ? k : -1;
}

Result<Instr*> LoopState::add(Instr* value) {
  Builder outside(c_), inside(body_);
  const auto more = [](Builder& b, const Instr& tuple, Instr* last) {
    std::vector<Instr*> parts(tuple.operands.begin(), tuple.operands.end());
    parts.push_back(last);
    return b.tuple(parts);
  };
  const int64_t at = static_cast<int64_t>(loop_->operand(0)->operands.size());
  Instr* first = more(outside, *loop_->operand(0), value);
  c_->set_operand(loop_, 0, first);
  c_->set_shape(loop_, first->shape);
  for (Computation* called : loop_->calls) called->set_shape(called->params()[0], first->shape);
  Instr* element = inside.element(state_, at);
  body_->set_root(more(inside, *body_->root(), element));
  TRY(outside.status());
  TRY(inside.status());
  return element;
}

}  // namespace braze
