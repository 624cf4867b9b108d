// SPDX-License-Identifier: Apache-2.0
// The state of a loop, as far as passes move work out of the body: which elements no turn changes, and how the loop is
// given more of them.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "ir/module.h"
#include "ops/builder.h"

namespace braze {

// How many instructions call each computation.
using Callers = absl::flat_hash_map<const Computation*, int64_t>;
Callers callers_of(const Module& m);

class LoopState {
 public:
  // `loop` is a `while` of computation `c`, and may_grow.
  LoopState(Computation* c, Instr* loop) : c_(c), loop_(loop), body_(loop->calls[1]), state_(body_->params()[0]) {}

  // Whether elements can be added: the loop's computations are its own, its state and its result are read by element, and
  // nothing in them waits for anything else than its operands.
  static bool may_grow(const Computation& c, const Instr& loop, const Callers& callers);

  const Instr& loop() const { return *loop_; }
  Computation* outside() const { return c_; }
  Computation* body() const { return body_; }
  // The element of the state that `i`, of the body, is and that no turn changes; -1: none.
  int64_t unchanged(const Instr& i) const;
  // What that element is before the loop.
  Instr* before(int64_t element) const { return loop_->operand(0)->operand(element); }
  // Makes `value`, of outside(), an unchanged element of the state; the element in the body.
  Result<Instr*> add(Instr* value);

 private:
  Computation* c_;
  Instr* loop_;
  Computation* body_;
  Instr* state_;
};

}  // namespace braze
