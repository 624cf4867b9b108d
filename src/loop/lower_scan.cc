// SPDX-License-Identifier: Apache-2.0
// Scans: reduce-windows that cover all earlier (or later) elements of one dimension, by running accumulators.
// Lanes run along the last dimension if it is another one. Otherwise an item runs several chains side by side,
// whose additions wait for each other only within a chain: of several rows, or of parts of a long row, which
// start from the reductions of the parts before.
#include <algorithm>

#include "loop/lower.h"
#include "ops/op_def.h"

namespace braze::loop {
namespace {

using scalar::Value;

constexpr int64_t kChains = 4;

class ScanLowering {
 public:
  ScanLowering(Kernel& k, const Computation& fused, const Facts& facts, const Scan& scan)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k), op_(hero(fused)), scan_(scan) {}

  Status run() {
    outs_ = outputs(fused_);
    operands_ = static_cast<int64_t>(op_->operands.size()) / 2;
    dims_ = op_->shape.is_tuple() ? op_->shape.tuple[0].dims : op_->shape.dims;
    for (const Instr* o : outs_)
      if (o->shape.dims != dims_) return unimplemented("an epilogue of another shape");
    bind_parameters(e_, fused_);
    for (int64_t d = 0; d < static_cast<int64_t>(dims_.size()); ++d)
      if (d != scan_.dim) space_.push_back(dims_[d]);
    n_ = dims_[scan_.dim];
    rows_ = product(space_);
    type_ = op_->operand(0)->shape.dtype;
    if (operands_ == 1) known_ = known_combiner(*op_->calls[0]);
    wide_ = known_ && sums_wide(*known_, type_);
    if (wide_) accumulator_ = byte_size(real_of(type_)) < 4 ? Dtype::kF32 : Dtype::kF64;
    else accumulator_ = real_of(type_);
    const bool lanes = scan_.dim + 1 < static_cast<int64_t>(dims_.size()) && dims_.back() >= 8;
    if (lanes) in_lanes();
    else if (rows_ < 2 * kChains && n_ >= 4096 && splits()) in_parts();
    else if (rows_ >= kChains) in_rows();
    else in_order();
    return e_.status();
  }

 private:
  // Parts of a row combine to the same as the whole (but for roundings); a product might overflow in a part alone.
  bool splits() const {
    return known_ && !is_complex(type_) && (!is_float(type_) || *known_ != Op::kMultiply);
  }

  // One sequence of steps: elements `first`, first + 1… of the row `rest`, in the scan's order.
  struct Chain {
    Index rest;
    Scalar first;
    std::vector<Value> start;
    Scalar exists;  // absent: it does
  };

  std::vector<Value> initial() {
    std::vector<Value> out;
    for (int64_t j = 0; j < operands_; ++j) {
      const Value v = e_.element(op_->operand(operands_ + j), {});
      out.push_back(wide_ ? cast(v, accumulator_) : v);
    }
    return out;
  }
  Value cast(Value v, Dtype real) { return {g_.cast(real, v.re), v.im ? g_.cast(real, v.im) : Scalar{}}; }

  std::vector<Value> combine(const std::vector<Value>& acc, const std::vector<Value>& x) {
    if (wide_) {
      const auto one = [&](Scalar a, Scalar b) { return combine_in(g_, *known_, accumulator_, {a, {}}, {b, {}}).re; };
      return {{one(acc[0].re, x[0].re), acc[0].im ? one(acc[0].im, x[0].im) : Scalar{}}};
    }
    std::vector<Value> args = scan_.reverse ? x : acc;
    const std::vector<Value>& rest = scan_.reverse ? acc : x;
    args.insert(args.end(), rest.begin(), rest.end());
    return e_.apply(*op_->calls[0], args);
  }

  Index index_at(const Index& rest, Scalar i) const {
    Index index;
    size_t r = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(dims_.size()); ++d)
      index.push_back(d == scan_.dim ? i : rest[r++]);
    return index;
  }
  Scalar position(Scalar step) {
    return scan_.reverse ? g_.sub(e_.index_const(n_ - 1), step) : step;
  }

  // The elements that step `step` takes in. Exclusive: those that follow its output, which the last one has not.
  std::vector<Value> elements(const Index& rest, Scalar step, Scalar condition) {
    Scalar i = position(step);
    if (scan_.exclusive) {
      const Scalar some = scan_.reverse ? g_.lt(e_.index_const(0), i) : g_.lt(i, e_.index_const(n_ - 1));
      if (scan_.reverse) i = g_.sub(i, e_.index_const(1));
      condition = condition ? g_.logical_and(condition, some) : some;
    }
    std::vector<Value> out;
    for (int64_t j = 0; j < operands_; ++j) {
      const Value v = e_.element(op_->operand(j), index_at(rest, i), condition);
      out.push_back(wide_ ? cast(v, accumulator_) : v);
    }
    return out;
  }

  static void close(Accumulator* a, const std::vector<Value>& next) {
    for (const Value& v : next) {
      a->next.push_back(v.re);
      if (v.im) a->next.push_back(v.im);
    }
  }

  // A loop of `length` steps of every chain.
  std::shared_ptr<Loop> steps(const std::vector<Chain>& chains, int64_t length) {
    auto l = std::make_shared<Loop>();
    l->var = k_.new_var();
    l->extent = length;
    const Scalar t = g_.index_var(l->var, length);
    for (const Chain& chain : chains) {
      const Scalar step = chain.first ? g_.add(chain.first, t) : t;
      Scalar exists = chain.exists;
      if (chain.first && n_ % length != 0) exists = g_.lt(step, e_.index_const(n_));
      Accumulator a;
      const std::vector<Value> acc = open_accumulator(k_, &a, chain.start);
      const std::vector<Value> next = combine(acc, elements(chain.rest, step, exists));
      close(&a, next);
      l->accumulators.push_back(std::move(a));
      std::vector<Value> value = scan_.exclusive ? acc : next;
      if (wide_) value[0] = cast(value[0], real_of(type_));
      const Index index = index_at(chain.rest, position(step));
      e_.bind_value(op_, index, std::move(value));
      for (size_t o = 0; o < outs_.size(); ++o)
        store_value(k_, &l->body, first_output(fused_) + static_cast<int64_t>(o), e_.offset(dims_, index),
                    e_.element(outs_[o], index, exists), exists);
    }
    return l;
  }

  // The frame runs over all other dimensions.
  void in_lanes() {
    Frame f = open_frame(k_, e_, space_);
    auto l = steps({{f.index, {}, initial(), {}}}, n_);
    f.vector->body.push_back(make_loop(std::move(l)));
    close_frame(k_, f, static_cast<double>(f.vector->extent * n_), choose_width(k_, facts_, false));
  }

  struct Items {
    Phase phase;
    Scalar item;
  };
  Items open_items(int64_t items) {
    e_.forget();
    Items p;
    p.phase.items = items;
    p.phase.item_var = k_.new_var();
    p.item = g_.index_var(p.phase.item_var, std::max<int64_t>(items, 1));
    return p;
  }
  void close_items(Items& p, int64_t work) {
    p.phase.grain = choose_grain(k_, static_cast<double>(work));
    k_.phases.push_back(std::move(p.phase));
  }

  void in_order() {
    Items p = open_items(rows_);
    p.phase.body.push_back(make_loop(steps({{e_.delinearize(p.item, space_), {}, initial(), {}}}, n_)));
    close_items(p, n_);
  }

  void in_rows() {
    Items p = open_items((rows_ + kChains - 1) / kChains);
    const Scalar first = g_.mul(p.item, e_.index_const(kChains));
    std::vector<Chain> chains;
    for (int64_t c = 0; c < kChains; ++c) {
      const Scalar row = g_.add(first, e_.index_const(c));
      const Scalar exists = rows_ % kChains == 0 ? Scalar{} : g_.lt(row, e_.index_const(rows_));
      chains.push_back({e_.delinearize(row, space_), {}, initial(), exists});
    }
    p.phase.body.push_back(make_loop(steps(chains, n_)));
    close_items(p, n_ * kChains);
  }

  // The reductions of all parts; where each part starts; the parts.
  void in_parts() {
    const int64_t groups = std::clamp<int64_t>(n_ / (kChains * 2048), 1, 16), parts = groups * kChains;
    const int64_t length = (n_ + parts - 1) / parts;
    const int64_t reduced = workspace("reduced", parts), starts = workspace("start", parts);
    reduce_parts(parts, length, reduced);
    start_parts(parts, reduced, starts);
    Items p = open_items(rows_ * groups);
    const Scalar row = g_.div(p.item, e_.index_const(groups)), group = g_.rem(p.item, e_.index_const(groups));
    std::vector<Chain> chains;
    for (int64_t c = 0; c < kChains; ++c) {
      const Scalar part = g_.add(g_.mul(group, e_.index_const(kChains)), e_.index_const(c));
      const Scalar slot = g_.add(g_.mul(row, e_.index_const(parts)), part);
      chains.push_back({e_.delinearize(row, space_), g_.mul(part, e_.index_const(length)),
                        {{g_.load(accumulator_, starts, slot), {}}}, {}});
    }
    p.phase.body.push_back(make_loop(steps(chains, length)));
    close_items(p, length * kChains);
  }

  int64_t workspace(const char* name, int64_t parts) {
    k_.buffers.push_back({name, accumulator_, rows_ * parts, Role::kWorkspace});
    return static_cast<int64_t>(k_.buffers.size()) - 1;
  }

  void reduce_parts(int64_t parts, int64_t length, int64_t to) {
    Items p = open_items(rows_ * parts);
    const Scalar first = g_.mul(g_.rem(p.item, e_.index_const(parts)), e_.index_const(length));
    auto l = std::make_shared<Loop>();
    l->kind = LoopKind::kVector;
    l->var = k_.new_var();
    l->extent = length;
    if (n_ % length != 0) {
      const Scalar left = g_.sub(e_.index_const(n_), first);
      l->count = g_.max(e_.index_const(0), g_.min(e_.index_const(length), left));
    }
    Accumulator a;
    const std::vector<Value> identity{combiner_identity(g_, *known_, accumulator_)};
    const std::vector<Value> acc = open_accumulator(k_, &a, identity);
    const Scalar step = g_.add(first, g_.index_var(l->var, length));
    const Index rest = e_.delinearize(g_.div(p.item, e_.index_const(parts)), space_);
    close(&a, combine(acc, elements(rest, step, {})));
    const auto lane = [&](std::vector<int64_t>* vars) {
      vars->push_back(k_.new_var());
      return Value{g_.var(accumulator_, vars->back()), {}};
    };
    a.identity = {identity[0].re};
    const Value lhs = lane(&a.lhs), rhs = lane(&a.rhs);
    a.combined = {combine({lhs}, {rhs})[0].re};
    const Scalar result = g_.var(accumulator_, a.result[0]);
    l->accumulators.push_back(std::move(a));
    p.phase.body.push_back(make_loop(std::move(l)));
    store_value(k_, &p.phase.body, to, p.item, {result, {}});
    p.phase.width = choose_width(k_, facts_, true);
    close_items(p, length);
  }

  void start_parts(int64_t parts, int64_t from, int64_t to) {
    Items p = open_items(rows_);
    auto l = std::make_shared<Loop>();
    l->var = k_.new_var();
    l->extent = parts;
    Accumulator a;
    const std::vector<Value> acc = open_accumulator(k_, &a, initial());
    const Scalar slot = g_.add(g_.mul(p.item, e_.index_const(parts)), g_.index_var(l->var, parts));
    store_value(k_, &l->body, to, slot, acc[0]);
    close(&a, combine(acc, {{g_.load(accumulator_, from, slot), {}}}));
    l->accumulators.push_back(std::move(a));
    p.phase.body.push_back(make_loop(std::move(l)));
    close_items(p, parts);
  }

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  const Instr* op_;
  const Scan scan_;
  std::vector<const Instr*> outs_;
  Dims dims_, space_;
  int64_t operands_ = 1, n_ = 0, rows_ = 1;
  Dtype type_ = Dtype::kF32, accumulator_ = Dtype::kF32;
  std::optional<Op> known_;
  bool wide_ = false;  // accumulators are wider than elements
};

}  // namespace

Status lower_scan(Kernel& k, const Computation& fused, const Facts& facts, const Scan& scan) {
  return ScanLowering(k, fused, facts, scan).run();
}

}  // namespace braze::loop
