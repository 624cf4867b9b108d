// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_weights.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "ops/builder.h"
#include "passes/control.h"
#include "passes/loop_state.h"

namespace braze {
namespace {

// A layout costs a few turns of what waits for memory: a few rows, which are read as memory likes it, gain less from it than more
// of them. Loops of unknown length may be as short as none.
constexpr int64_t kFewRows = 11, kLeastTurns = 8, kLeastTurnsOfFew = 32, kMostCounted = 1 << 16;
constexpr int64_t kLeastRows = 2, kMostRows = 128;  // of the left side: one reads rows as they lie, many pay for a copy
constexpr int64_t kLeastBytes = 256 << 10, kMostBytes = 64 << 20;  // of a matrix; of all of a loop
constexpr int64_t kTileVectors = 2;                                // columns of the usual register tile

// Loops that may be given elements, by body.
using Loops = absl::flat_hash_map<const Computation*, LoopState>;

// A matrix, followed outwards through the loops that leave it as it is.
struct Source {
  Instr* matrix = nullptr;
  std::vector<LoopState*> loops;  // innermost first
  // Turns of all of them together; none: unknown.
  std::optional<int64_t> turns = 1;
};

class LoopWeights {
 public:
  LoopWeights(Loops& loops, LoopState& loop, int64_t vector_bits) : loops_(loops), state_(loop), vector_bits_(vector_bits) {}

  Status run() {
    for (Instr* i : post_order(*state_.body()))
      if (i->is(Op::kDot)) TRY(lay_out(i));
    return absl::OkStatus();
  }

 private:
  // Of an instruction of the body; no matrix: it changes.
  Source source_of(const Instr* i) {
    Source s;
    for (auto it = loops_.find(i->parent); it != loops_.end(); it = loops_.find(i->parent)) {
      LoopState& loop = it->second;
      const int64_t k = loop.unchanged(*i);
      if (k < 0) break;
      i = s.matrix = loop.before(k);
      s.loops.push_back(&loop);
      const auto turns = trip_count(loop.loop(), kMostCounted);
      if (s.turns) s.turns = turns ? std::optional(std::min(*s.turns * *turns, kMostCounted)) : std::nullopt;
    }
    return s;
  }

  int64_t panel(Dtype t) const { return kTileVectors * vector_bits_ / 8 / byte_size(t); }

  bool gains(const Instr& dot, std::optional<int64_t> turns) const {
    const auto& a = dot.as<DotAttrs>();
    const Shape &x = dot.operand(0)->shape, &w = dot.operand(1)->shape;
    const bool plain = a.lhs_batch.empty() && a.rhs_contracting.size() == 1 && w.rank() == 2 && a.algorithm.empty() &&
                       !w.quant && !x.quant && !dot.shape.quant && !dot.shape.has_bounded_dim();
    const bool real = (w.dtype == Dtype::kF32 || w.dtype == Dtype::kF64) && x.dtype == w.dtype && dot.shape.dtype == w.dtype;
    if (!plain || !real || w.elements() == 0) return false;
    const int64_t k = w.dims[a.rhs_contracting[0]], n = w.dims[1 - a.rhs_contracting[0]], rows = x.elements() / k;
    const bool few = rows <= kFewRows, often = turns ? *turns >= (few ? kLeastTurnsOfFew : kLeastTurns) : !few;
    return often && n % panel(w.dtype) == 0 && n > panel(w.dtype) && rows >= kLeastRows && rows <= kMostRows &&
           w.bytes() >= kLeastBytes && w.bytes() <= kMostBytes - bytes_;
  }

  // The product of `dot` with its right side in panels, if that is a matrix of the loop's state.
  Status lay_out(Instr* dot) {
    const Source w = source_of(dot->operand(1));
    if (!w.matrix || !gains(*dot, w.turns) || !take_fuel("loop-weights", dot->name)) return absl::OkStatus();
    DotAttrs attrs = dot->as<DotAttrs>();
    const auto [at, fresh] = panels_.try_emplace({dot->operand(1), attrs.rhs_contracting[0]}, nullptr);
    if (fresh) {
      ASSIGN(at->second, add_panels(w, attrs.rhs_contracting[0]));
    }
    attrs.rhs_contracting = {1};
    Builder b(state_.body());
    Instr* product = b.op(Op::kDot, {dot->operand(0), at->second}, attrs);
    if (dot->extras) product->extra().metadata = dot->extras->metadata;
    Instr* result = b.reshape(product, dot->shape.dims);
    state_.body()->replace_uses(dot, result);
    return b.status();
  }

  // The matrix in panels, made before the outermost of its loops, as an element of the state in the body.
  Result<Instr*> add_panels(const Source& from, int64_t contracted) {
    Builder b(from.loops.back()->outside());
    Instr* w = from.matrix;
    const Dims& d = w->shape.dims;
    const int64_t p = panel(w->shape.dtype);
    Instr* value = contracted == 0 ? b.transpose(b.reshape(w, Dims{d[0], d[1] / p, p}), Dims{1, 0, 2})
                                   : b.transpose(b.reshape(w, Dims{d[0] / p, p, d[1]}), Dims{0, 2, 1});
    TRY(b.status());
    bytes_ += w->shape.bytes();
    for (auto loop = from.loops.rbegin(); loop != from.loops.rend(); ++loop) {
      ASSIGN(value, (*loop)->add(value));
    }
    return value;
  }

  Loops& loops_;
  LoopState& state_;
  const int64_t vector_bits_;
  absl::flat_hash_map<std::pair<const Instr*, int64_t>, Instr*> panels_;  // by matrix in the body and contracted dimension
  int64_t bytes_ = 0;                                                     // of all of them
};

}  // namespace

Status loop_weights(Module& m, int64_t vector_bits) {
  const Callers callers = callers_of(m);
  Loops loops;
  std::vector<const Computation*> bodies;  // inner ones first
  for (Computation* c : computation_post_order(m))
    for (Instr* i : post_order(*c))
      if (i->is(Op::kWhile) && LoopState::may_grow(*c, *i, callers)) {
        bodies.push_back(i->calls[1]);
        loops.try_emplace(i->calls[1], c, i);
      }
  for (const Computation* body : bodies) TRY(LoopWeights(loops, loops.at(body), vector_bits).run());
  if (bodies.empty()) return absl::OkStatus();
  for (Computation* c : computation_post_order(m)) c->erase_dead();
  return absl::OkStatus();
}

}  // namespace braze
