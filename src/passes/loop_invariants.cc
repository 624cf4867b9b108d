// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_invariants.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/fuel.h"
#include "ops/op_def.h"
#include "passes/control.h"
#include "passes/loop_state.h"

namespace braze {
namespace {

constexpr int64_t kLeastBytes = 1024, kMostBytes = 64 << 20;  // of a value; of all of a loop

bool is_product(Op op) { return op == Op::kDot || op == Op::kConvolution; }

// Ops that cost more than to read their result.
bool is_costly(Op op) {
  switch (op) {
    case Op::kDot: case Op::kConvolution: case Op::kConcatenate: case Op::kReduce: case Op::kReduceWindow: case Op::kSort:
    case Op::kTopK: case Op::kGather: case Op::kScatter: case Op::kFft: case Op::kCholesky: case Op::kTriangularSolve:
      return true;
    default: return false;
  }
}

// Ops of which the result is their operand's memory, or none at all.
bool is_free(Op op) {
  switch (op) {
    case Op::kConstant: case Op::kIota: case Op::kBroadcast: case Op::kGetTupleElement: case Op::kParameter: return true;
    default: return false;
  }
}

class Invariants {
 public:
  // `loop` is of computation `c`.
  Invariants(Computation* c, Instr* loop) : state_(c, loop) {}

  Status run() {
    const std::vector<Instr*> order = post_order(*state_.body());
    for (Instr* i : order)
      if (is_invariant(*i)) invariant_.insert(i);
    for (Instr* i : order)
      if (is_worth(*i) && take_fuel("loop-invariants", i->name)) {
        ASSIGN(Instr* element, state_.add(outside(i)));
        bytes_ += i->shape.bytes();
        state_.body()->replace_uses(i, element);
      }
    return absl::OkStatus();
  }

 private:
  bool is_invariant(const Instr& i) const {
    if (state_.unchanged(i) >= 0 || i.is(Op::kConstant)) return true;
    const bool computes = def(i).has(kElementwise) || is_costly(i.op) || i.is(Op::kIota) || i.is(Op::kBroadcast) ||
                          i.is(Op::kReshape) || i.is(Op::kTranspose) || i.is(Op::kSlice) || i.is(Op::kPad) ||
                          i.is(Op::kReverse);
    if (!computes || !i.shape.is_array() || i.shape.has_bounded_dim() || has_effect(i)) return false;
    if (i.extras && !i.extras->control_predecessors.empty()) return false;
    return std::all_of(i.operands.begin(), i.operands.end(), [&](const Instr* o) { return invariant_.contains(o); });
  }

  // Read by what changes, costly or the operand of a product, and not larger than what it is made of.
  bool is_worth(const Instr& i) const {
    if (!invariant_.contains(&i) || is_free(i.op)) return false;
    bool read = false, multiplied = false;
    for (const Instr* u : i.users) {
      const bool changes = !invariant_.contains(u);
      read |= changes;
      multiplied |= changes && is_product(u->op);
    }
    int64_t operands = 0;
    for (const Instr* o : i.operands) operands += o->shape.bytes();
    return read && (multiplied || is_costly(i.op)) && i.shape.bytes() <= operands && i.shape.bytes() >= kLeastBytes &&
           i.shape.bytes() <= kMostBytes - bytes_;
  }

  // `i`, an invariant of the body, computed before the loop.
  Instr* outside(const Instr* i) {
    std::vector<const Instr*> open = {i};  // operands on top of what reads them
    while (!open.empty()) {
      const Instr* x = open.back();
      const size_t before = open.size();
      if (const int64_t k = copies_.contains(x) ? -1 : state_.unchanged(*x); k >= 0) copies_[x] = state_.before(k);
      if (!copies_.contains(x))
        for (const Instr* o : x->operands)
          if (!copies_.contains(o)) open.push_back(o);
      if (open.size() > before) continue;
      open.pop_back();
      if (!copies_.contains(x)) copies_[x] = copy(*x);
    }
    return copies_.at(i);
  }
  // Operands have been copied.
  Instr* copy(const Instr& i) {
    std::vector<Instr*> operands;
    for (const Instr* o : i.operands) operands.push_back(copies_.at(o));
    Instr* made = state_.outside()->add(i.op, i.shape, operands, i.attrs, i.calls, i.name);
    if (i.extras) made->extras = std::make_unique<Extras>(*i.extras);
    return made;
  }

  LoopState state_;
  absl::flat_hash_set<const Instr*> invariant_;
  absl::flat_hash_map<const Instr*, Instr*> copies_;
  int64_t bytes_ = 0;
};

}  // namespace

Status loop_invariants(Module& m) {
  const Callers callers = callers_of(m);
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (!i->is(Op::kWhile) || !LoopState::may_grow(*c, *i, callers) || trip_count(*i, 1)) continue;
      TRY(Invariants(c, i).run());
      i->calls[1]->erase_dead();
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
