// SPDX-License-Identifier: Apache-2.0
#include "passes/loop_weights.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "ops/builder.h"
#include "passes/control.h"

namespace braze {
namespace {

constexpr int64_t kLeastTurns = 4;                 // of a loop whose length is known
constexpr int64_t kLeastRows = 2, kMostRows = 128;  // of the left side: one reads rows as they lie, many pay for a copy
constexpr int64_t kLeastBytes = 256 << 10, kMostBytes = 64 << 20;  // of a matrix; of all of a loop
constexpr int64_t kTileVectors = 2;                // columns of the usual register tile

using Callers = absl::flat_hash_map<const Computation*, int64_t>;

class LoopWeights {
 public:
  // `loop` is of computation `c`.
  LoopWeights(Computation* c, Instr* loop, int64_t vector_bits)
      : c_(c), loop_(loop), vector_bits_(vector_bits), body_(loop->calls[1]), state_(body_->params()[0]) {}

  Status run() {
    for (Instr* i : post_order(*body_))
      if (i->is(Op::kDot)) TRY(lay_out(i));
    return absl::OkStatus();
  }

 private:
  // The element of the state that `i` is and that no turn changes; -1: none.
  int64_t unchanged(const Instr* i) const {
    auto element = [&](const Instr* x) {
      return x->is(Op::kGetTupleElement) && x->operand(0) == state_ ? x->as<IndexAttrs>().index : -1;
    };
    const int64_t k = element(i);
    return k >= 0 && element(body_->root()->operand(k)) == k ? k : -1;
  }

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
    const int64_t k = unchanged(dot->operand(1));
    if (k < 0 || !gains(*dot) || !take_fuel("loop-weights", dot->name)) return absl::OkStatus();
    DotAttrs attrs = dot->as<DotAttrs>();
    const auto [at, fresh] = panels_.try_emplace({k, attrs.rhs_contracting[0]}, nullptr);
    if (fresh) {
      ASSIGN(at->second, add_panels(k, attrs.rhs_contracting[0]));
    }
    attrs.rhs_contracting = {1};
    Builder b(body_);
    Instr* product = b.op(Op::kDot, {dot->operand(0), at->second}, attrs);
    if (dot->extras) product->extra().metadata = dot->extras->metadata;
    Instr* result = b.reshape(product, dot->shape.dims);
    body_->replace_uses(dot, result);
    return b.status();
  }

  // Element k of the state in panels, as a new element of the state.
  Result<Instr*> add_panels(int64_t k, int64_t contracted) {
    Builder outside(c_), inside(body_);
    Instr* init = loop_->operand(0);
    Instr* w = init->operand(k);
    const Dims& d = w->shape.dims;
    const int64_t p = panel(w->shape.dtype);
    Instr* panels = contracted == 0 ? outside.transpose(outside.reshape(w, Dims{d[0], d[1] / p, p}), Dims{1, 0, 2})
                                    : outside.transpose(outside.reshape(w, Dims{d[0] / p, p, d[1]}), Dims{0, 2, 1});
    bytes_ += w->shape.bytes();
    std::vector<Instr*> first(init->operands.begin(), init->operands.end());
    first.push_back(panels);
    Instr* state = outside.tuple(first);
    c_->set_operand(loop_, 0, state);
    c_->set_shape(loop_, state->shape);
    for (Computation* called : loop_->calls) called->set_shape(called->params()[0], state->shape);
    Instr* element = inside.element(state_, static_cast<int64_t>(first.size()) - 1);
    std::vector<Instr*> next(body_->root()->operands.begin(), body_->root()->operands.end());
    next.push_back(element);
    body_->set_root(inside.tuple(next));
    TRY(outside.status());
    TRY(inside.status());
    return element;
  }

  Computation* c_;
  Instr* loop_;
  const int64_t vector_bits_;
  Computation* body_;
  Instr* state_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, Instr*> panels_;  // by element of the state and contracted dimension
  int64_t bytes_ = 0;                                                // of all of them
};

// Whether elements can be added to the loop's state.
bool may_grow(const Computation& c, const Instr& loop, const Callers& callers) {
  if (loop.extras && !loop.extras->control_predecessors.empty()) return false;
  const bool own = std::all_of(loop.calls.begin(), loop.calls.end(), [&](const Computation* x) { return callers.at(x) == 1; });
  const bool read_by_element = &loop != c.root() && std::all_of(loop.users.begin(), loop.users.end(), [](const Instr* u) {
    return u->is(Op::kGetTupleElement);
  });
  return own && read_by_element && loop.operand(0)->is(Op::kTuple) && loop.calls[1]->root()->is(Op::kTuple);
}

}  // namespace

Status loop_weights(Module& m, int64_t vector_bits) {
  Callers callers;
  for (const auto& c : m.computations())
    for (const auto& i : c->instrs())
      for (const Computation* called : i->calls) ++callers[called];
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (!i->is(Op::kWhile) || !may_grow(*c, *i, callers)) continue;
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
