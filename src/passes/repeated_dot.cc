// SPDX-License-Identifier: Apache-2.0
#include "passes/repeated_dot.h"

#include "absl/algorithm/container.h"
#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

using absl::c_linear_search;

// One operand of a dot, by the roles of its dimensions.
struct Side {
  Instr* value;
  Dims batch, contracting;

  bool is_free(int64_t d) const {
    return !c_linear_search(batch, d) && !c_linear_search(contracting, d);
  }
  int64_t count_free() const {
    return value->shape.rank() - static_cast<int64_t>(batch.size()) -
           static_cast<int64_t>(contracting.size());
  }
};

Side side(const Instr& dot, int64_t k) {
  const auto& a = dot.as<DotAttrs>();
  return k == 0 ? Side{dot.operand(0), a.lhs_batch, a.lhs_contracting}
                : Side{dot.operand(1), a.rhs_batch, a.rhs_contracting};
}

// Without its dimensions `gone`, along all of which a broadcast repeats itself.
Side without(Builder& b, const Side& s, const Dims& gone) {
  Dims dims, number(s.value->shape.rank(), -1);  // of the dimensions that stay: sizes, new numbers
  for (int64_t d = 0; d < s.value->shape.rank(); ++d) {
    if (c_linear_search(gone, d)) continue;
    number[d] = static_cast<int64_t>(dims.size());
    dims.push_back(s.value->shape.dims[d]);
  }
  const auto renumbered = [&](const Dims& list) {
    Dims out;
    for (int64_t d : list) out.push_back(number[d]);
    return out;
  };
  Instr* value =
      b.broadcast(s.value->operand(0), dims, renumbered(s.value->as<DimsAttrs>().dimensions));
  return {value, renumbered(s.batch), renumbered(s.contracting)};
}

// A sum in place of the product of a scalar's copies with `other`, or null: batch and free
// dimensions must be in the order of the result.
Instr* sum(Builder& b, Dtype type, const Side& copies, const Side& other) {
  if (copies.count_free() > 0 || copies.value->op != Op::kBroadcast ||
      copies.value->operand(0)->shape.rank() > 0 || is_pred(type))
    return nullptr;
  for (size_t k = 0; k < other.batch.size(); ++k)
    if (other.batch[k] != static_cast<int64_t>(k)) return nullptr;
  Instr* wide = b.convert(type, other.value);
  Instr* factor = b.broadcast(b.convert(type, copies.value->operand(0)), wide->shape.dims, {});
  return b.reduce(Op::kAdd, b.mul(wide, factor), b.scalar(type, 0), other.contracting);
}

// The product with each different row of operand k once, broadcast; null if none are repeated.
Instr* unrepeated(Builder& b, const Instr& dot, int64_t k) {
  const Side repeated = side(dot, k), other = side(dot, 1 - k);
  if (repeated.value->op != Op::kBroadcast) return nullptr;
  const Dims& given = repeated.value->as<DimsAttrs>().dimensions;
  Dims gone, kept;  // the repeated dimensions; those of the result that stay
  const auto batches = static_cast<int64_t>(repeated.batch.size());
  int64_t at =
      batches + (k == 0 ? 0 : other.count_free());  // of the next free dimension, in the result
  for (int64_t d = 0; d < dot.shape.rank(); ++d) kept.push_back(d);
  int64_t times = 1;
  for (int64_t d = 0; d < repeated.value->shape.rank(); ++d) {
    if (!repeated.is_free(d)) continue;
    if (!c_linear_search(given, d)) {
      gone.push_back(d);
      times *= repeated.value->shape.dims[d];
      kept.erase(absl::c_find(kept, at));
    }
    ++at;
  }
  if (times <= 1) return nullptr;
  const Side once = without(b, repeated, gone);
  Instr* result = sum(b, dot.shape.dtype, once, other);
  if (!result) {
    auto attrs = dot.as<DotAttrs>();
    (k == 0 ? attrs.lhs_batch : attrs.rhs_batch) = once.batch;
    (k == 0 ? attrs.lhs_contracting : attrs.rhs_contracting) = once.contracting;
    Dims dims;
    for (int64_t d : kept) dims.push_back(dot.shape.dims[d]);
    Instr* const operands[2] = {k == 0 ? once.value : other.value,
                                k == 0 ? other.value : once.value};
    result = b.op_shaped(Op::kDot, Shape::array(dot.shape.dtype, dims), operands, attrs);
  }
  return b.broadcast(result, dot.shape.dims, kept);
}

}  // namespace

Status repeated_dot(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> found;
    for (auto& i : c->instrs())
      if (i->op == Op::kDot && !i->shape.quant && !i->shape.has_bounded_dim() &&
          !i->operand(0)->shape.quant && !i->operand(0)->shape.has_bounded_dim() &&
          !i->operand(1)->shape.has_bounded_dim() && i->shape.elements() > 0)
        found.push_back(i.get());
    for (Instr* i : found) {
      for (int64_t k = 0; k < 2; ++k) {
        Builder b(c);
        Instr* replacement = unrepeated(b, *i, k);
        TRY(b.status());
        if (!replacement || !take_fuel("repeated-dot", i->name)) continue;
        c->replace_uses(i, replacement);
        break;
      }
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
