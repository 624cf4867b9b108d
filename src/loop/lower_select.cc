// SPDX-License-Identifier: Apache-2.0
// select-and-scatter in two phases that write each element once: which element every window chooses,
// as its number in the window; then, for each element of the result, the windows over it in order,
// whose source is combined where they chose it. The order is the evaluator's, so the bits are too.
#include <algorithm>

#include "loop/lower.h"
#include "ops/op_def.h"

namespace braze::loop {
namespace {

using scalar::Value;

class SelectLowering {
 public:
  SelectLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k), op_(hero(fused)),
        window_(op_->as<WindowAttrs>().window) {}

  Status run() {
    in_ = op_->operand(0)->shape.dims;
    source_ = op_->operand(1)->shape.dims;
    for (const Instr* o : outputs(fused_))
      if (o->shape.dims != in_) return unimplemented("an epilogue of another shape");
    bind_parameters(e_, fused_);
    chosen_ = static_cast<int64_t>(k_.buffers.size());
    k_.buffers.push_back({"chosen", Dtype::kS32, std::max<int64_t>(product(source_), 1), Role::kWorkspace});
    choose();
    gather();
    return e_.status();
  }

 private:
  Scalar c(int64_t v) { return e_.index_const(v); }

  // Loops around each other, all carrying the same values.
  struct Nest {
    std::vector<std::shared_ptr<Loop>> loops;
    std::vector<Scalar> carried;
    int64_t steps = 1;
  };
  // The variable of a new innermost loop of `extent`; a constant if that is 1.
  Scalar open_loop(Nest* n, int64_t extent) {
    if (extent == 1) return c(0);
    auto l = std::make_shared<Loop>();
    l->var = k_.new_var();
    l->extent = extent;
    l->accumulators.emplace_back();
    Accumulator& a = l->accumulators[0];
    for (Scalar& s : n->carried) {
      a.var.push_back(k_.new_var());
      a.result.push_back(k_.new_var());
      a.type.push_back(g_.type(s));
      a.init.push_back(s);
      s = g_.var(g_.type(s), a.var.back());
    }
    n->steps *= extent;
    n->loops.push_back(l);
    return g_.index_var(l->var, extent);
  }
  // Ends the loops with the values after one step; what is carried then is the result.
  void close_loops(Nest* n, std::vector<Scalar> next, std::vector<Stmt>* body) {
    for (size_t d = n->loops.size(); d-- > 0;) {
      Accumulator& a = n->loops[d]->accumulators[0];
      a.next = next;
      for (size_t i = 0; i < next.size(); ++i) next[i] = g_.var(a.type[i], a.result[i]);
      (d > 0 ? n->loops[d - 1]->body : *body).push_back(make_loop(n->loops[d]));
    }
    n->carried = std::move(next);
  }
  static void append(std::vector<Scalar>* to, const Value& v) {
    to->push_back(v.re);
    if (v.im) to->push_back(v.im);
  }
  static Value value_at(const std::vector<Scalar>& from, size_t at, bool complex) {
    return complex ? Value{from[at], from[at + 1]} : Value{from[at], {}};
  }
  Value pick(Scalar p, const Value& t, const Value& f) {
    return t.im ? Value{g_.select(p, t.re, f.re), g_.select(p, t.im, f.im)}
                : Value{g_.select(p, t.re, f.re), {}};
  }
  void require(Scalar* all, Scalar one) { *all = *all ? g_.logical_and(*all, one) : one; }

  // For each window: the number of the element it chooses, -1 if it lies on padding.
  void choose() {
    Frame f = open_frame(k_, e_, source_);
    const Dtype t = op_->operand(0)->shape.dtype;
    const bool complex = is_complex(t);
    const Scalar zero = g_.constant(real_of(t), 0), none = g_.constant_int(Dtype::kS32, -1);
    Nest n;
    n.carried = {none, zero};
    if (complex) n.carried.push_back(zero);
    Index x;
    Scalar tap = c(0), ok;
    for (size_t d = 0; d < window_.size(); ++d) {
      const WindowDim& w = window_[d];
      const Scalar at = open_loop(&n, w.size);
      const Scalar p = g_.sub(g_.add(g_.mul(f.index[d], c(w.stride)), at), c(w.pad_low));
      if (w.pad_low != 0 || w.pad_high != 0)
        require(&ok, g_.logical_and(g_.le(c(0), p), g_.lt(p, c(in_[d]))));
      tap = g_.add(g_.mul(tap, c(w.size)), at);
      x.push_back(p);
    }
    const Value before = value_at(n.carried, 1, complex), here = e_.element(op_->operand(0), x, ok);
    const Scalar keep = e_.apply(*op_->calls[0], {before, here})[0].re;
    Scalar take = g_.logical_or(g_.lt(n.carried[0], g_.constant_int(Dtype::kS32, 0)), g_.logical_not(keep));
    if (ok) take = g_.logical_and(ok, take);
    std::vector<Scalar> next = {g_.select(take, g_.cast(Dtype::kS32, tap), n.carried[0])};
    append(&next, pick(take, here, before));
    close_loops(&n, std::move(next), &f.vector->body);
    store_value(k_, &f.vector->body, chosen_, e_.offset(source_, f.index), {n.carried[0], {}});
    close_frame(k_, f, static_cast<double>(f.vector->extent * n.steps), choose_width(k_, facts_, false));
  }

  // For each element: the initial value combined with the sources of the windows that chose it.
  void gather() {
    Frame f = open_frame(k_, e_, in_);
    const bool complex = is_complex(op_->shape.dtype);
    Nest n;
    append(&n.carried, e_.element(op_->operand(2), {}));
    Index s;
    Scalar tap = c(0), ok;
    for (size_t d = 0; d < window_.size(); ++d) {
      const WindowDim& w = window_[d];
      const bool plain = w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0;
      if (plain) {
        s.push_back(f.index[d]);
        continue;
      }
      // Windows that reach p = position + pad_low: the last starts at or before it.
      const int64_t reach = (w.size + w.stride - 1) / w.stride;
      const Scalar j = open_loop(&n, reach), p = g_.add(f.index[d], c(w.pad_low));
      const Scalar at = g_.add(g_.sub(g_.div(p, c(w.stride)), c(reach - 1)), j);
      const Scalar inside = g_.sub(p, g_.mul(at, c(w.stride)));
      if (w.pad_low < 0) require(&ok, g_.le(c(0), p));
      require(&ok, g_.logical_and(g_.le(c(0), at), g_.lt(at, c(source_[d]))));
      require(&ok, g_.lt(inside, c(w.size)));
      tap = g_.add(g_.mul(tap, c(w.size)), inside);
      s.push_back(at);
    }
    const Shape numbers = Shape::array(Dtype::kS32, source_);
    const Scalar chosen = e_.load(chosen_, numbers, s, ok).re;
    Scalar hit = g_.eq(chosen, g_.cast(Dtype::kS32, tap));
    if (ok) hit = g_.logical_and(ok, hit);
    const Value acc = value_at(n.carried, 0, complex);
    const Value combined = e_.apply(*op_->calls[1], {acc, e_.element(op_->operand(1), s, ok)})[0];
    std::vector<Scalar> next;
    append(&next, pick(hit, combined, acc));
    close_loops(&n, std::move(next), &f.vector->body);
    e_.bind_value(op_, f.index, {value_at(n.carried, 0, complex)});
    const std::vector<const Instr*> outs = outputs(fused_);
    for (size_t o = 0; o < outs.size(); ++o)
      store_value(k_, &f.vector->body, first_output(fused_) + static_cast<int64_t>(o),
                  e_.offset(in_, f.index), e_.element(outs[o], f.index));
    close_frame(k_, f, static_cast<double>(f.vector->extent * n.steps), choose_width(k_, facts_, false));
  }

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  const Instr* op_;
  const Window& window_;
  Dims in_, source_;
  int64_t chosen_ = -1;
};

}  // namespace

Status lower_select_and_scatter(Kernel& k, const Computation& fused, const Facts& facts) {
  return SelectLowering(k, fused, facts).run();
}

}  // namespace braze::loop
