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

Instr* same_shape(Instr* i) {
  return i->operand(0)->shape == i->shape ? i->operand(0) : nullptr;
}

Instr* same_order(Instr* i) {
  const bool same = i->operand(0)->shape == i->shape && is_identity_order(i->as<DimsAttrs>().dimensions);
  return same ? i->operand(0) : nullptr;
}

Instr* tuple_element(Instr* i) {
  return i->operand(0)->op == Op::kTuple ? i->operand(0)->operand(i->as<IndexAttrs>().index) : nullptr;
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

// A broadcast of an array in memory, or of a product, that only adds dimensions of size 1: a reshape, which moves nothing.
Instr* as_reshape(Instr* i) {
  if (!i->shape.is_static() || i->shape.quant) return nullptr;
  Instr* o = i->operand(0);
  if (o->op != Op::kParameter && o->op != Op::kGetTupleElement && o->op != Op::kDot) return nullptr;
  const Dims& d = i->as<DimsAttrs>().dimensions;
  if (d.empty() || !o->shape.is_static() || o->shape.elements() != i->shape.elements() ||
      !std::is_sorted(d.begin(), d.end()))
    return nullptr;
  return i->parent->add(Op::kReshape, i->shape, {o}, Attrs(), {}, i->name);
}

bool any_order(const Computation& c) {
  switch (c.root()->op) {
    case Op::kAdd: case Op::kMultiply: case Op::kMinimum: case Op::kMaximum: case Op::kAnd: case Op::kOr: case Op::kXor:
      break;
    default: return false;
  }
  const auto& o = c.root()->operands;
  return c.params().size() == 2 && ((o[0] == c.params()[0] && o[1] == c.params()[1]) || (o[0] == c.params()[1] && o[1] == c.params()[0]));
}

// A reduction of a transpose reads what is transposed, as it lies; what remains is transposed if need be. Beside other readers
// of a product's transpose it stays: the product may store that, and the rows of a softmax are then one kernel.
Instr* reduce_in_place(Instr* i) {
  const Instr* t = i->operand(0);
  const bool of_product = t->op == Op::kTranspose && t->operand(0)->op == Op::kDot;
  if (of_product && std::any_of(t->users.begin(), t->users.end(), [](const Instr* u) { return u->op != Op::kReduce; })) return nullptr;
  if (i->operands.size() != 2 || t->op != Op::kTranspose || !i->shape.is_array() || i->shape.quant || t->shape.quant ||
      !t->shape.is_static() || t->shape.has_bounded_dim() || !any_order(*i->calls[0]))
    return nullptr;
  const Dims &from = t->as<DimsAttrs>().dimensions, &reduced = i->as<DimsAttrs>().dimensions;
  Dims dims, kept, sizes, order;
  for (int64_t d : reduced) dims.push_back(from[static_cast<size_t>(d)]);
  for (int64_t d = 0; d < t->shape.rank(); ++d)
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) kept.push_back(from[static_cast<size_t>(d)]);
  Dims in_order = kept;
  std::sort(dims.begin(), dims.end());
  std::sort(in_order.begin(), in_order.end());
  for (int64_t d : in_order) sizes.push_back(t->operand(0)->shape.dims[static_cast<size_t>(d)]);
  for (int64_t d : kept) order.push_back(std::find(in_order.begin(), in_order.end(), d) - in_order.begin());
  Instr* r = i->parent->add(Op::kReduce, Shape::array(i->shape.dtype, sizes), {t->operand(0), i->operand(1)}, DimsAttrs{dims},
                            {i->calls[0]}, i->name);
  return is_identity_order(order) ? r : i->parent->add(Op::kTranspose, i->shape, {r}, DimsAttrs{order}, {}, i->name);
}

Instr* reverse_of_one(Instr* i) {
  const Dims& d = i->as<DimsAttrs>().dimensions;
  const bool moves = std::any_of(d.begin(), d.end(), [&](int64_t k) { return i->shape.dims[k] != 1; });
  return i->shape.is_static() && !moves ? i->operand(0) : nullptr;
}

// A kernel that is reversed in memory, as gradients have it: the window is read backwards instead.
Instr* reversed_window(Instr* i) {
  Instr* r = i->operand(1);
  if (r->op != Op::kReverse || i->shape.quant || r->shape.quant) return nullptr;
  ConvAttrs a = i->as<ConvAttrs>();
  for (int64_t d : r->as<DimsAttrs>().dimensions) {
    const Dims& spatial = a.dims.kernel_spatial;
    const auto at = std::find(spatial.begin(), spatial.end(), d);
    if (at == spatial.end()) return nullptr;
    bool& reversal = a.window[static_cast<size_t>(at - spatial.begin())].reversal;
    reversal = !reversal;
  }
  return i->parent->add(Op::kConvolution, i->shape, {i->operand(0), r->operand(0)}, std::move(a), {}, i->name);
}

constexpr CleanupRule kRules[] = {
    {"copy", Op::kCopy, [](Instr* i) { return i->operand(0); }},
    {"reshape to the same shape", Op::kReshape, same_shape},
    {"conversion to the same type", Op::kConvert, same_shape},
    {"transpose in order", Op::kTranspose, same_order},
    {"reduction of a transpose", Op::kReduce, reduce_in_place},
    {"broadcast in order", Op::kBroadcast, same_order},
    {"broadcast that only adds dimensions of 1", Op::kBroadcast, as_reshape},
    {"reverse of dimensions of 1", Op::kReverse, reverse_of_one},
    {"convolution with a reversed kernel", Op::kConvolution, reversed_window},
    {"element of a tuple", Op::kGetTupleElement, tuple_element},
    {"value of constants", std::nullopt, folded},
};

Instr* simpler(Instr* i) {
  for (const CleanupRule& r : kRules)
    if (!r.op || *r.op == i->op)
      if (Instr* s = r.apply(i)) return s;
  return nullptr;
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

absl::Span<const CleanupRule> cleanup_rules() { return kRules; }

Status cleanup(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      Instr* s = simpler(i);
      if (s && take_fuel("cleanup", i->name)) c->replace_uses(i, s);
    }
    merge_equal(c);
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
