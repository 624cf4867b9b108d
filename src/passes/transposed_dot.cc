// SPDX-License-Identifier: Apache-2.0
#include "passes/transposed_dot.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

constexpr int64_t kMostShared = 4 << 20;  // bytes of a transposed operand to read in place

// The dimensions of dot(a, b) are [batch, a's free, b's free]; exchanged: [batch, b's free, a's free].
bool exchanges_free_dimensions(const Instr& transpose, const Instr& dot) {
  const auto& a = dot.as<DotAttrs>();
  const int64_t batch = static_cast<int64_t>(a.lhs_batch.size());
  const int64_t of_lhs = dot.operand(0)->shape.rank() - batch - static_cast<int64_t>(a.lhs_contracting.size());
  const int64_t rank = dot.shape.rank();
  const Dims& order = transpose.as<DimsAttrs>().dimensions;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t want = d < batch                 ? d
                         : d < rank - of_lhs       ? d + of_lhs
                                                   : d - (rank - of_lhs) + batch;
    if (order[d] != want) return false;
  }
  return true;
}

DotAttrs exchanged(const DotAttrs& a) {
  DotAttrs out = a;
  std::swap(out.lhs_batch, out.rhs_batch);
  std::swap(out.lhs_contracting, out.rhs_contracting);
  if (out.precision.size() == 2) std::swap(out.precision[0], out.precision[1]);
  return out;
}

// The dimensions of operand `k` in the dot's attributes.
struct OperandDims {
  Dims* batch;
  Dims* contracting;
};
OperandDims operand_dims(DotAttrs& a, int64_t k) {
  return k == 0 ? OperandDims{&a.lhs_batch, &a.lhs_contracting} : OperandDims{&a.rhs_batch, &a.rhs_contracting};
}

// Makes `a` name the dimensions of the transpose's operand in place of those of its result; false if
// that would put the free dimensions into another order.
bool see_through(const Instr& transpose, int64_t k, DotAttrs& a) {
  const Dims& order = transpose.as<DimsAttrs>().dimensions;
  const OperandDims d = operand_dims(a, k);
  int64_t before = -1;
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
    if (absl::c_linear_search(*d.batch, i) || absl::c_linear_search(*d.contracting, i)) continue;
    if (order[i] < before) return false;
    before = order[i];
  }
  for (Dims* list : {d.batch, d.contracting})
    for (int64_t& i : *list) i = order[i];
  return true;
}

// dot(transpose(a), b) → dot(a, b) with other dimension numbers. A batch dimension must not become the
// innermost one: rows would be read with gaps.
void read_untransposed(Computation* c, Instr* dot, const absl::flat_hash_set<const Instr*>& transposes) {
  for (int64_t k = 0; k < 2; ++k) {
    const Instr* t = dot->operand(k);
    if (!transposes.contains(t)) continue;
    DotAttrs attrs = dot->as<DotAttrs>();
    if (!see_through(*t, k, attrs)) continue;
    if (absl::c_linear_search(*operand_dims(attrs, k).batch, t->shape.rank() - 1)) continue;
    if (!take_fuel("transposed-dot", dot->name)) continue;
    c->set_operand(dot, k, t->operand(0));
    c->set_attrs(dot, std::move(attrs));
  }
}

}  // namespace

Status transposed_dot(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    // A transpose of one reader joins its kernel anyway; of a large matrix, one transpose is less work
    // than a packed copy for each product.
    absl::flat_hash_set<const Instr*> shared;
    for (const auto& i : c->instrs())
      if (i->is(Op::kTranspose) && i->users.size() > 1 && !i->shape.quant && !i->shape.has_bounded_dim() &&
          i->shape.bytes() <= kMostShared)
        shared.insert(i.get());
    for (Instr* i : post_order(*c)) {
      if (i->is(Op::kDot)) read_untransposed(c, i, shared);
      if (!i->is(Op::kTranspose) || !i->operand(0)->is(Op::kDot)) continue;
      Instr* dot = i->operand(0);
      const bool plain = dot->users.size() == 1 && dot != c->root() && dot->as<DotAttrs>().algorithm.empty() &&
                         !dot->shape.quant && !dot->operand(0)->shape.quant &&
                         !dot->operand(1)->shape.quant && !dot->shape.has_bounded_dim();
      if (!plain || !exchanges_free_dimensions(*i, *dot) || !take_fuel("transposed-dot", i->name)) continue;
      Builder b(c);
      Instr* other = b.op_shaped(Op::kDot, i->shape, {dot->operand(1), dot->operand(0)},
                                 exchanged(dot->as<DotAttrs>()));
      TRY(b.status());
      c->replace_uses(i, other);
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
