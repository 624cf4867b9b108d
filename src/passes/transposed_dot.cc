// SPDX-License-Identifier: Apache-2.0
#include "passes/transposed_dot.h"

#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

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

}  // namespace

Status transposed_dot(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    bool changed = false;
    for (Instr* i : post_order(*c)) {
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
      changed = true;
    }
    if (changed) c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
