// SPDX-License-Identifier: Apache-2.0
#include "passes/cleanup.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "eval/evaluator.h"
#include "ops/op_def.h"

namespace braze {
namespace {

bool is_identity_order(const Dims& d) {
  for (size_t i = 0; i < d.size(); ++i)
    if (d[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// What `i` is equal to among its operands (and theirs), or null.
Instr* simpler(Instr* i) {
  switch (i->op) {
    case Op::kCopy:
      return i->operand(0);
    case Op::kReshape:
      if (i->operand(0)->shape == i->shape) return i->operand(0);
      return nullptr;
    case Op::kConvert:
      return i->operand(0)->shape == i->shape ? i->operand(0) : nullptr;
    case Op::kTranspose: case Op::kBroadcast:
      if (i->operand(0)->shape == i->shape && is_identity_order(i->as<DimsAttrs>().dimensions))
        return i->operand(0);
      return nullptr;
    case Op::kGetTupleElement:
      if (i->operand(0)->op == Op::kTuple) return i->operand(0)->operand(i->as<IndexAttrs>().index);
      return nullptr;
    default: return nullptr;
  }
}

constexpr int64_t kFoldElements = 64;

// Elementwise and movement operations on small constants, computed now. A broadcast stays: kernels read
// it as a scalar.
Instr* folded(Instr* i) {
  if (i->operands.empty() || !i->shape.is_array() || i->shape.quant || !i->calls.empty()) return nullptr;
  if (i->op == Op::kBroadcast || i->shape.elements() > kFoldElements) return nullptr;
  if (!def(*i).emit && !def(*i).index && i->op != Op::kReshape) return nullptr;
  std::vector<Literal> operands;
  for (const Instr* o : i->operands) {
    if (o->op != Op::kConstant || o->shape.elements() > kFoldElements) return nullptr;
    operands.push_back(o->literal());
  }
  if (has_effect(*i)) return nullptr;
  Result<Literal> value = evaluate(*i, operands);
  if (!value.ok() || value->shape() != i->shape) return nullptr;
  return i->parent->add(Op::kConstant, i->shape, {}, ConstantAttrs{std::move(*value)}, {}, i->name);
}

// Instructions that may be merged when equal.
bool mergeable(const Instr& i) {
  return i.op != Op::kParameter && i.op != Op::kRng && i.op != Op::kOptBarrier && i.op != Op::kCustomCall &&
         i.op != Op::kAfterAll && !has_effect(i) && i.op != Op::kWhile && i.op != Op::kConditional;
}

struct Key {
  Op op;
  std::vector<int64_t> operands;
  std::vector<const Computation*> calls;
  bool operator==(const Key&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.op, k.operands, k.calls);
  }
};

void merge_equal(Computation* c) {
  absl::flat_hash_map<Key, std::vector<Instr*>> seen;
  for (Instr* i : post_order(*c)) {
    if (!mergeable(*i)) continue;
    Key k{i->op, {}, {i->calls.begin(), i->calls.end()}};
    for (Instr* o : i->operands) k.operands.push_back(o->id);
    std::vector<Instr*>& same = seen[k];
    bool merged = false;
    for (Instr* other : same) {
      if (other->shape == i->shape && other->attrs == i->attrs) {
        if (!take_fuel("cleanup", i->name)) break;
        c->replace_uses(i, other);
        merged = true;
        break;
      }
    }
    // Constants of one shape would make this quadratic: a bounded number of candidates is enough.
    if (!merged && same.size() < 64) same.push_back(i);
  }
}

}  // namespace

Status cleanup(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      Instr* s = simpler(i);
      if (!s) s = folded(i);
      if (s && take_fuel("cleanup", i->name)) c->replace_uses(i, s);
    }
    merge_equal(c);
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
