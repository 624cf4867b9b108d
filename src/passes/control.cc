// SPDX-License-Identifier: Apache-2.0
#include "passes/control.h"

#include <algorithm>

#include "base/fuel.h"
#include "ops/op_def.h"
#include "passes/inline_calls.h"

namespace braze {
namespace {

constexpr int64_t kMaxTrips = 64;
constexpr int64_t kMaxUnrolled = 1024;  // instructions after unrolling

// State element k read from the parameter of a loop's computation, or -1.
int64_t state_element(const Instr& i) {
  if (i.op != Op::kGetTupleElement || i.operand(0)->op != Op::kParameter) return -1;
  return i.as<IndexAttrs>().index;
}

bool is_integer_constant(const Instr& i) {
  return i.op == Op::kConstant && i.shape.is_scalar() && is_int(i.shape.dtype);
}

bool holds(CompareDirection d, int64_t a, int64_t b) {
  switch (d) {
    case CompareDirection::kEq: return a == b;
    case CompareDirection::kNe: return a != b;
    case CompareDirection::kLt: return a < b;
    case CompareDirection::kLe: return a <= b;
    case CompareDirection::kGt: return a > b;
    case CompareDirection::kGe: return a >= b;
  }
  return false;
}

CompareDirection mirrored(CompareDirection d) {
  switch (d) {
    case CompareDirection::kLt: return CompareDirection::kGt;
    case CompareDirection::kLe: return CompareDirection::kGe;
    case CompareDirection::kGt: return CompareDirection::kLt;
    case CompareDirection::kGe: return CompareDirection::kLe;
    default: return d;
  }
}

// A value of the loop that is the same integer in every iteration.
std::optional<int64_t> invariant_integer(const Instr& i, const Instr& init, const Instr& next) {
  if (is_integer_constant(i)) return i.literal().get_int(0);
  int64_t k = state_element(i);
  if (k < 0 || k >= static_cast<int64_t>(init.operands.size())) return std::nullopt;
  if (state_element(*next.operand(k)) != k || !is_integer_constant(*init.operand(k))) return std::nullopt;
  return init.operand(k)->literal().get_int(0);
}

bool is_cheap_op(const Instr& i) {
  switch (i.op) {
    case Op::kParameter: case Op::kConstant: case Op::kTuple: case Op::kGetTupleElement:
      return true;
    case Op::kDynamicUpdateSlice: case Op::kConcatenate: case Op::kOptBarrier: return false;
    default: return i.calls.empty() && i.shape.is_array() && (def(i).emit || def(i).index);
  }
}

bool unroll(Instr* loop) {
  const Computation& body = *loop->calls[1];
  int64_t size = 0;
  for (auto& i : body.instrs()) {
    if (has_effect(*i) && i->op != Op::kParameter) return false;
    if (!is_cheap_op(*i)) return false;
    size += i->op != Op::kParameter && i->op != Op::kGetTupleElement;
  }
  std::optional<int64_t> trips =
      trip_count(*loop, std::min(kMaxTrips, kMaxUnrolled / std::max<int64_t>(size, 1)));
  if (!trips || !take_fuel("control", loop->name)) return false;
  Computation* c = loop->parent;
  Instr* state = loop->operand(0);
  for (int64_t t = 0; t < *trips; ++t) state = inline_computation(c, body, {&state, 1});
  c->replace_uses(loop, state);
  return true;
}

bool choose_branch(Instr* i) {
  const Instr& p = *i->operand(0);
  if (p.op != Op::kConstant || !take_fuel("control", i->name)) return false;
  int64_t last = static_cast<int64_t>(i->calls.size()) - 1, branch = p.literal().get_int(0);
  if (is_pred(p.shape.dtype)) branch = branch ? 0 : 1;
  else if (branch < 0 || branch > last) branch = last;
  Instr* argument = i->operand(branch + 1);
  Computation* c = i->parent;
  c->replace_uses(i, inline_computation(c, *i->calls[branch], {&argument, 1}));
  return true;
}

}  // namespace

std::optional<int64_t> trip_count(const Instr& loop, int64_t limit) {
  const Instr& test = *loop.calls[0]->root();
  const Instr& next = *loop.calls[1]->root();
  const Instr& init = *loop.operand(0);
  if (test.op != Op::kCompare || next.op != Op::kTuple || init.op != Op::kTuple) return std::nullopt;
  for (bool swapped : {false, true}) {
    int64_t k = state_element(*test.operand(swapped));
    std::optional<int64_t> bound = invariant_integer(*test.operand(!swapped), init, next);
    if (k < 0 || !bound || !is_integer_constant(*init.operand(k))) continue;
    const Instr& step = *next.operand(k);
    if (step.op != Op::kAdd) continue;
    bool first = state_element(*step.operand(0)) == k;
    if (!first && state_element(*step.operand(1)) != k) continue;
    const Instr& by = *step.operand(first);
    if (!is_integer_constant(by)) continue;
    CompareDirection d = test.as<CompareAttrs>().direction;
    if (swapped) d = mirrored(d);
    int64_t value = init.operand(k)->literal().get_int(0), n = 0;
    const int64_t width = 8 * byte_size(by.shape.dtype);
    if (width < 16 || (is_unsigned_int(by.shape.dtype) && (value < 0 || *bound < 0))) continue;
    const int64_t most = int64_t{1} << (width - 2);
    for (; n <= limit && holds(d, value, *bound); ++n) {
      value += by.literal().get_int(0);
      if (value < 0 && is_unsigned_int(by.shape.dtype)) return std::nullopt;
      if (value > most || value < -most) return std::nullopt;  // could wrap
    }
    if (n <= limit) return n;
  }
  return std::nullopt;
}

Status simplify_control(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (i->extras && !i->extras->control_predecessors.empty()) continue;
      if (i->op == Op::kWhile) unroll(i);
      else if (i->op == Op::kConditional) choose_branch(i);
    }
    c->erase_dead();
  }
  m.erase_dead_computations();
  return absl::OkStatus();
}

}  // namespace braze
