// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_weights.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "ops/builder.h"
#include "passes/control.h"
#include "passes/loop_state.h"

namespace braze {
namespace {

constexpr int64_t kLeastTurns = 4;                 // of a loop whose length is known
constexpr int64_t kLeastRows = 2, kMostRows = 128;  // of the left side: one reads rows as they lie, many pay for a copy
constexpr int64_t kLeastBytes = 256 << 10, kMostBytes = 64 << 20;  // of a matrix; of all of a loop
constexpr int64_t kTileVectors = 2;                // columns of the usual register tile

class LoopWeights {
 public:
  // `loop` is of computation `c`.
  LoopWeights(Computation* c, Instr* loop, int64_t vector_bits) : state_(c, loop), vector_bits_(vector_bits) {}

  Status run() {
    for (Instr* i : post_order(*state_.body()))
      if (i->is(Op::kDot)) TRY(lay_out(i));
    return absl::OkStatus();
  }

 private:
  int64_t panel(Dtype t) const { return kTileVectors * vector_bits_ / 8 / byte_size(t); }

  bool gains(const Instr& dot) const {
    const auto& a = dot.as<DotAttrs>();
    const Shape &x = dot.operand(0)->shape, &w = dot.operand(1)->shape;
    const bool plain = a.lhs_batch.empty() && a.rhs_contracting.size() == 1 && w.rank() == 2 && a.algorithm.empty() &&
                       !w.quant && !x.quant && !dot.shape.quant && !dot.shape.has_bounded_dim();
    const bool real = (w.dtype == Dtype::kF32 || w.dtype == Dtype::kF64) && x.dtype == w.dtype && dot.shape.dtype == w.dtype;
    if (!plain || !real || w.elements() == 0) return false;
    const int64_t k = w.dims[a.rhs_contracting[0]], n = w.dims[1 - a.rhs_contracting[0]], rows = x.elements() / k;
    return n % panel(w.dtype) == 0 && n > panel(w.dtype) && rows >= kLeastRows && rows <= kMostRows &&
           w.bytes() >= kLeastBytes && w.bytes() <= kMostBytes - bytes_;
  }

  // The product of `dot` with its right side in panels, if that is a matrix of the loop's state.
  Status lay_out(Instr* dot) {
    const int64_t k = state_.unchanged(*dot->operand(1));
    if (k < 0 || !gains(*dot) || !take_fuel("loop-weights", dot->name)) return absl::OkStatus();
    DotAttrs attrs = dot->as<DotAttrs>();
    const auto [at, fresh] = panels_.try_emplace({k, attrs.rhs_contracting[0]}, nullptr);
    if (fresh) {
      ASSIGN(at->second, add_panels(k, attrs.rhs_contracting[0]));
    }
    attrs.rhs_contracting = {1};
    Builder b(state_.body());
    Instr* product = b.op(Op::kDot, {dot->operand(0), at->second}, attrs);
    if (dot->extras) product->extra().metadata = dot->extras->metadata;
    Instr* result = b.reshape(product, dot->shape.dims);
    state_.body()->replace_uses(dot, result);
    return b.status();
  }

  // Element k of the state in panels, as a new element of the state.
  Result<Instr*> add_panels(int64_t k, int64_t contracted) {
    Builder b(state_.outside());
    Instr* w = state_.before(k);
    const Dims& d = w->shape.dims;
    const int64_t p = panel(w->shape.dtype);
    Instr* panels = contracted == 0 ? b.transpose(b.reshape(w, Dims{d[0], d[1] / p, p}), Dims{1, 0, 2})
                                    : b.transpose(b.reshape(w, Dims{d[0] / p, p, d[1]}), Dims{0, 2, 1});
    TRY(b.status());
    bytes_ += w->shape.bytes();
    return state_.add(panels);
  }

  LoopState state_;
  const int64_t vector_bits_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, Instr*> panels_;  // by element of the state and contracted dimension
  int64_t bytes_ = 0;                                                // of all of them
};

}  // namespace

Status loop_weights(Module& m, int64_t vector_bits) {
  const Callers callers = callers_of(m);
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (!i->is(Op::kWhile) || !LoopState::may_grow(*c, *i, callers)) continue;
      const auto turns = trip_count(*i, kLeastTurns - 1);
      if (turns) continue;  // few
      TRY(LoopWeights(c, i, vector_bits).run());
      i->calls[1]->erase_dead();
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
