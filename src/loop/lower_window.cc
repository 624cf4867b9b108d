// SPDX-License-Identifier: Apache-2.0
// Windows: reduce-window as loops over the window around a vector of outputs.
#include <algorithm>

#include "loop/lower.h"
#include "ops/op_def.h"
#include "ops/window_math.h"

namespace braze::loop {
namespace {

using scalar::Value;

class WindowLowering {
 public:
  WindowLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k), op_(hero(fused)) {}

  Status run() {
    outs_ = outputs(fused_);
    operands_ = static_cast<int64_t>(op_->operands.size()) / 2;
    dims_ = op_->shape.is_tuple() ? op_->shape.tuple[0].dims : op_->shape.dims;
    for (const Instr* o : outs_)
      if (o->shape.dims != dims_) return unimplemented("an epilogue of another shape");
    bind_parameters(e_, fused_);
    for (int64_t j = 0; j < operands_; ++j)
      init_.push_back(e_.element(op_->operand(operands_ + j), {}));
    window();
    return e_.status();
  }

 private:
  void store_outputs(std::vector<Stmt>* body, const Index& index) {
    for (size_t o = 0; o < outs_.size(); ++o)
      store_value(k_, body, first_output(fused_) + static_cast<int64_t>(o), e_.offset(dims_, index),
                  e_.element(outs_[o], index));
  }

  std::vector<Value> close(Accumulator* a, const std::vector<Value>& next) {
    std::vector<Value> out;
    size_t n = 0;
    for (const Value& v : next) {
      a->next.push_back(v.re);
      Value r{g_.var(a->type[n], a->result[n]), {}};
      ++n;
      if (v.im) {
        a->next.push_back(v.im);
        r.im = g_.var(a->type[n], a->result[n]);
        ++n;
      }
      out.push_back(r);
    }
    return out;
  }

  void window() {
    Frame f = open_frame(k_, e_, dims_);
    const Window& w = op_->as<WindowAttrs>().window;
    std::vector<std::shared_ptr<Loop>> nest;
    std::vector<Value> acc = init_;
    Index at(w.size());
    int64_t elements = 1;
    for (size_t d = 0; d < w.size(); ++d) {
      if (w[d].size == 1) {
        at[d] = e_.index_const(0);
        continue;
      }
      auto l = std::make_shared<Loop>();
      l->var = k_.new_var();
      l->extent = w[d].size;
      elements *= w[d].size;
      at[d] = g_.index_var(l->var, w[d].size);
      l->accumulators.emplace_back();
      acc = open_accumulator(k_, &l->accumulators[0], acc);
      nest.push_back(l);
    }
    std::vector<Value> next = step(acc, f.index, at);
    for (size_t d = nest.size(); d-- > 0;) {
      next = close(&nest[d]->accumulators[0], next);
      (d > 0 ? nest[d - 1]->body : f.vector->body).push_back(make_loop(nest[d]));
    }
    e_.bind_value(op_, f.index, next);
    store_outputs(&f.vector->body, f.index);
    double work = static_cast<double>(f.vector->extent * elements);
    close_frame(k_, f, work, choose_width(k_, facts_, false));
  }

  // acc combined with the operand element under window position `at` of output `index`.
  std::vector<Value> step(const std::vector<Value>& acc, const Index& index, const Index& at) {
    const Window& w = op_->as<WindowAttrs>().window;
    const Dims& in = op_->operand(0)->shape.dims;
    Index x(w.size());
    Scalar ok;
    auto require = [&](Scalar s) { ok = ok ? g_.logical_and(ok, s) : s; };
    auto c = [&](int64_t v) { return e_.index_const(v); };
    for (size_t d = 0; d < w.size(); ++d) {
      Scalar p = g_.add(g_.mul(index[d], c(w[d].stride)), g_.mul(at[d], c(w[d].window_dilation)));
      bool padded = w[d].pad_low != 0 || w[d].pad_high != 0;
      p = g_.sub(p, c(w[d].pad_low));
      if (w[d].base_dilation > 1) {
        require(g_.eq(g_.rem(p, c(w[d].base_dilation)), c(0)));
        p = g_.div(p, c(w[d].base_dilation));
      }
      if (padded) require(g_.logical_and(g_.le(c(0), p), g_.lt(p, c(in[d]))));
      x[d] = p;
    }
    std::vector<Value> args = acc;
    for (int64_t j = 0; j < operands_; ++j) args.push_back(e_.element(op_->operand(j), x, ok));
    std::vector<Value> next = e_.apply(*op_->calls[0], args);
    if (!ok) return next;
    for (size_t j = 0; j < next.size() && j < acc.size(); ++j) {
      next[j].re = g_.select(ok, next[j].re, acc[j].re);
      if (next[j].im) next[j].im = g_.select(ok, next[j].im, acc[j].im);
    }
    return next;
  }

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  const Instr* op_;
  std::vector<const Instr*> outs_;
  Dims dims_;
  int64_t operands_ = 1;
  std::vector<Value> init_;
};

}  // namespace

Status lower_window(Kernel& k, const Computation& fused, const Facts& facts) {
  if (hero(fused)->op == Op::kSelectAndScatter) return lower_select_and_scatter(k, fused, facts);
  const Instr* op = hero(fused);
  const Scan scan = find_scan(op->as<WindowAttrs>().window, op->operand(0)->shape.dims);
  return scan.dim >= 0 ? lower_scan(k, fused, facts, scan) : WindowLowering(k, fused, facts).run();
}

}  // namespace braze::loop
