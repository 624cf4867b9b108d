// SPDX-License-Identifier: Apache-2.0
// Row programs that also reduce down their columns (the gradients of a normalisation's scale and shift, of
// a bias beside a softmax): what the rows read is read once. All reductions run over the same dimensions;
// those along rows reduce R, those down columns C, which R and C share nothing of.
//
// An item is a block of rows. When a row's last pass has made its values they are combined, element by
// element, into a row that stays in the first cache; at the end of the block this row is one of partial
// results in the workspace, which a second phase combines. Blocks depend on the shape alone, so values do
// not depend on threads. A long block adds up short ones, so that errors do not grow with its length.
// No dimension behind C is kept (a bias for each head and query): an item would read short pieces of memory
// far apart, which takes as long as reading all once more.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "loop/reduce_lowering.h"

namespace braze::loop {

namespace {

constexpr int64_t kItems = 64;       // wanted: enough for many threads
constexpr int64_t kLeastRows = 8;    // of a block: what is added to memory traffic is little
constexpr int64_t kMostParts = 256;  // the second phase combines so many one after the other
constexpr int64_t kFew = 16;         // after which that begins another sum
constexpr int64_t kColumns = 64;     // of an item of the second phase

}  // namespace

Status ReduceLowering::analyse_down() {
  for (const Instr* r : downs_) commutes_ &= combines_in_any_order(*r);
  if (!commutes_) return unimplemented("passes in order along rows and down columns");
  for (int64_t d : kept_)
    if (!absl::c_binary_search(down_, d)) outer_.push_back(d), outer_dims_.push_back(full_[d]);
  for (int64_t d = 0; d < static_cast<int64_t>(full_.size()); ++d)
    if (!absl::c_binary_search(down_, d)) down_kept_.push_back(d), down_kept_dims_.push_back(full_[d]);
  absl::flat_hash_set<const Instr*> after(downs_.begin(), downs_.end());
  for (const Instr* i : post_order(fused_))
    if (absl::c_any_of(i->operands, [&](const Instr* o) { return after.contains(o); })) after.insert(i);
  for (size_t o = 0; o < outs_.size(); ++o) {
    const Dims& dims = outs_[o]->shape.dims;
    if (after.contains(outs_[o]) || (dims == down_kept_dims_ && dims != kept_dims_)) {
      if (dims != down_kept_dims_) return unimplemented("values along rows after a reduction down columns");
      down_outputs_.insert(o);
    } else if (dims == full_) {
      full_outputs_ = true;
    } else if (dims != kept_dims_) {
      return unimplemented("a kernel output of neither the full nor a reduced shape");
    }
  }
  // Without a pass that needs another's result there is one pass.
  stores_in_pass_ = levels_.reduces.size() == 1;
  for (const Instr* r : downs_) stores_in_pass_ &= levels_.level[r] == 0;
  for (const Instr* o : outs_)
    if (o->shape.dims == full_ && levels_.level[o] > 0) stores_in_pass_ = false;
  if (product(red_dims_) < facts_.lanes(4)) return unimplemented("reductions along short rows and down columns");
  if (row_bytes() > facts_.l2_bytes / 8) return unimplemented("reductions along long rows and down columns");
  const Blocks b = blocks();
  if (absl::c_any_of(outer_, [&](int64_t d) { return full_[d] > 1 && d > down_[0]; }))
    return unimplemented("reductions along rows and down columns that lie apart");
  if (b.rows < kLeastRows || (b.items() < 8 && product(full_) >= (1 << 14)))
    return unimplemented("reductions along few rows and down columns");
  return absl::OkStatus();
}

int64_t ReduceLowering::row_bytes() const {
  int64_t bytes = 0;
  for (const Instr* r : downs_)
    for (size_t j = 0; j < r->operands.size() / 2; ++j)
      bytes += std::max(byte_size(r->operand(static_cast<int64_t>(j))->shape.dtype), 4);
  return bytes * product(red_dims_);
}

ReduceLowering::Blocks ReduceLowering::blocks() const {
  Blocks b;
  for (int64_t d : down_) b.rows *= full_[d];
  b.outer = product(outer_dims_);
  const int64_t parts = (kItems + b.outer - 1) / std::max<int64_t>(b.outer, 1);
  b.chunk = std::clamp(b.rows / parts, kLeastRows, kSumBlock);
  if ((b.rows + b.chunk - 1) / b.chunk > kMostParts) {
    const int64_t most = (b.rows + kMostParts - 1) / kMostParts;
    b.chunk = (most + kSumBlock - 1) / kSumBlock * kSumBlock;
  }
  b.step = std::min(b.chunk, kSumBlock);
  return b;
}

std::vector<Stmt>* ReduceLowering::along_row(std::vector<Stmt>* body, Scalar* column) {
  auto loop = std::make_shared<Loop>();
  loop->var = k_.new_var();
  loop->extent = product(red_dims_);
  loop->kind = LoopKind::kVector;
  body->push_back(make_loop(loop));
  *column = g_.index_var(loop->var, loop->extent);
  return &loop->body;
}

std::vector<std::vector<int64_t>> ReduceLowering::row_buffers(std::string_view name, int64_t rows, Role role) {
  std::vector<std::vector<int64_t>> out;
  for (const Group& grp : down_groups_) {
    out.emplace_back();
    for (Dtype t : grp.types) {
      out.back().push_back(static_cast<int64_t>(k_.buffers.size()));
      k_.buffers.push_back({std::string(name), buffer_type(t),
                            rows * product(red_dims_) * (is_complex(t) ? 2 : 1), role});
    }
  }
  return out;
}

void ReduceLowering::clear_row(std::vector<Stmt>* body, const std::vector<std::vector<int64_t>>& buffers,
                               Scalar start) {
  Scalar column;
  std::vector<Stmt>* inner = along_row(body, &column);
  for (size_t i = 0; i < down_groups_.size(); ++i)
    for (size_t j = 0; j < buffers[i].size(); ++j)
      store_value(k_, inner, buffers[i][j], g_.add(start, column), down_groups_[i].init[j]);
}

std::vector<Value> ReduceLowering::let_row(std::vector<Stmt>* body, size_t group,
                                           const std::vector<int64_t>& buffers, Scalar at) {
  const auto bind = [&](Scalar* s) {
    Stmt let;
    let.kind = Stmt::Kind::kLet;
    let.let = {k_.new_var(), g_.type(*s), *s};
    *s = g_.var(let.let.type, let.let.var);
    body->push_back(std::move(let));
  };
  std::vector<Value> out = load_group(down_groups_[group].types, buffers, 0, at);
  for (Value& v : out) {
    bind(&v.re);
    if (v.im) bind(&v.im);
  }
  return out;
}

void ReduceLowering::combine_at(std::vector<Stmt>* body, size_t group, const std::vector<int64_t>& buffers,
                                Scalar at, absl::Span<const Value> old, absl::Span<const Value> x) {
  const std::vector<Value> next = combine(down_groups_[group], old, x);
  for (size_t j = 0; j < buffers.size(); ++j) store_value(k_, body, buffers[j], at, next[j]);
}

void ReduceLowering::store_at(std::vector<Stmt>* body, const Index& full) {
  if (downs_.empty()) return store_full_outputs(body, full);
  Index red;
  for (int64_t d : reduced_) red.push_back(full[d]);
  const Scalar at = g_.add(down_start_, e_.offset(red_dims_, red));
  std::vector<std::vector<Value>> old;
  for (size_t i = 0; i < down_groups_.size(); ++i) old.push_back(let_row(body, i, down_row_[i], at));
  store_full_outputs(body, full);
  for (size_t i = 0; i < down_groups_.size(); ++i) {
    const Group& grp = down_groups_[i];
    std::vector<Value> x;
    for (size_t j = 0; j < grp.types.size(); ++j) {
      const Instr* o = grp.reduce->operand(static_cast<int64_t>(j));
      x.push_back(converted(e_.element(o, full), o->shape.dtype, grp.types[j]));
    }
    combine_at(body, i, down_row_[i], at, old[i], x);
  }
}

void ReduceLowering::row(std::vector<Stmt>* body, absl::Span<const Scalar> kept) {
  for (size_t level = 0; level < levels_.reduces.size(); ++level) {
    std::vector<Range> ranges = whole_ranges();
    rebind_scratch(kept, ranges);
    std::vector<Group> groups;
    pass(body, level, kept, ranges, &groups);
    bind_results(groups, kept);
  }
  store_kept_outputs(body, kept);
  if (stores_in_pass_) return;
  Frame f;
  f.kept.assign(kept.begin(), kept.end());
  f.body = body;
  final_pass(f, whole_ranges());
}

void ReduceLowering::rows_down(std::vector<Stmt>* body, absl::Span<const Scalar> outer, Scalar start,
                               const Blocks& b) {
  auto loop = std::make_shared<Loop>();
  loop->var = k_.new_var();
  loop->extent = b.step;
  if (b.rows % b.step != 0)
    loop->count = g_.min(e_.index_const(b.step), g_.sub(e_.index_const(b.rows), start));
  Dims down_dims;
  for (int64_t d : down_) down_dims.push_back(full_[d]);
  const Index down = e_.delinearize(g_.add(start, g_.index_var(loop->var, b.step)), down_dims);
  Index kept;
  size_t in_down = 0, in_outer = 0;
  for (int64_t d : kept_)
    kept.push_back(absl::c_binary_search(down_, d) ? down[in_down++] : outer[in_outer++]);
  row(&loop->body, kept);
  body->push_back(make_loop(loop));
}

Status ReduceLowering::lower_down() {
  const Blocks b = blocks();
  for (const Instr* r : downs_) down_groups_.push_back(make_group(r, true));
  const auto partial = row_buffers("partial", b.items(), Role::kWorkspace);
  Frame f;
  f.phase.item_var = k_.new_var();
  f.phase.items = b.items();
  f.item = g_.index_var(f.phase.item_var, std::max<int64_t>(b.items(), 1));
  const Scalar part = g_.rem(f.item, e_.index_const(b.parts()));
  const Index outer = e_.delinearize(g_.div(f.item, e_.index_const(b.parts())), outer_dims_);
  const Scalar start = g_.mul(part, e_.index_const(b.chunk));
  const Scalar slot = g_.mul(f.item, e_.index_const(product(red_dims_)));
  clear_row(&f.phase.body, partial, slot);
  down_row_ = partial, down_start_ = slot;
  if (b.steps() == 1) rows_down(&f.phase.body, outer, start, b);
  else in_steps(&f.phase.body, outer, start, b);
  close_frame(f, static_cast<double>(b.chunk * product(red_dims_)));
  combine_rows(partial, b);
  return absl::OkStatus();
}

void ReduceLowering::in_steps(std::vector<Stmt>* body, absl::Span<const Scalar> outer, Scalar start,
                              const Blocks& b) {
  auto steps = std::make_shared<Loop>();
  steps->var = k_.new_var();
  steps->extent = b.steps();
  if (b.rows % b.chunk != 0) {
    const Scalar left = g_.sub(e_.index_const(b.rows + b.step - 1), start);
    steps->count = g_.min(e_.index_const(b.steps()), g_.div(left, e_.index_const(b.step)));
  }
  const auto partial = down_row_;
  const Scalar slot = down_start_;
  down_row_ = row_buffers("step", 1, Role::kScratch), down_start_ = e_.index_const(0);
  clear_row(&steps->body, down_row_, down_start_);
  const Scalar step = g_.mul(g_.index_var(steps->var, b.steps()), e_.index_const(b.step));
  rows_down(&steps->body, outer, g_.add(start, step), b);
  Scalar column;
  std::vector<Stmt>* inner = along_row(&steps->body, &column);
  for (size_t i = 0; i < down_groups_.size(); ++i) {
    const std::vector<Value> sum = let_row(inner, i, partial[i], g_.add(slot, column));
    combine_at(inner, i, partial[i], g_.add(slot, column), sum,
               load_group(down_groups_[i].types, down_row_[i], 0, column));
  }
  body->push_back(make_loop(steps));
}

void ReduceLowering::combine_rows(const std::vector<std::vector<int64_t>>& buffers, const Blocks& b) {
  e_.forget();
  Frame f;
  open_columns(f, down_kept_dims_, kColumns, 1);
  Index outer, red;
  for (size_t i = 0; i < down_kept_.size(); ++i)
    (absl::c_binary_search(reduced_, down_kept_[i]) ? red : outer).push_back(f.kept[i]);
  // As many parts of parts as each has parts, about: sums of sums of sums.
  const int64_t parts = b.parts(), few = parts > 2 * kFew ? kFew : parts;
  auto loop = std::make_shared<Loop>(), inner = std::make_shared<Loop>();
  loop->var = k_.new_var(), inner->var = k_.new_var();
  loop->extent = (parts + few - 1) / few, inner->extent = few;
  const Scalar first = g_.mul(g_.index_var(loop->var, loop->extent), e_.index_const(few));
  if (parts % few != 0) inner->count = g_.min(e_.index_const(few), g_.sub(e_.index_const(parts), first));
  const Scalar part = g_.add(first, g_.index_var(inner->var, few));
  const Scalar item = g_.add(g_.mul(e_.offset(outer_dims_, outer), e_.index_const(parts)), part);
  const Scalar at = g_.add(g_.mul(item, e_.index_const(product(red_dims_))), e_.offset(red_dims_, red));
  std::vector<Group> groups;
  for (size_t i = 0; i < downs_.size(); ++i) {
    Group grp = make_group(downs_[i]);
    std::vector<Value> vars, inner_vars;
    Accumulator a = open(grp, grp.init, &vars), sum = open(grp, make_group(downs_[i], true).init, &inner_vars);
    flatten(combine(grp, inner_vars, load_group(grp.types, buffers[i], 0, at)), &sum.next);
    flatten(combine(grp, vars, results(sum, grp)), &a.next);
    grp.current = results(a, grp);
    inner->accumulators.push_back(std::move(sum));
    loop->accumulators.push_back(std::move(a));
    groups.push_back(std::move(grp));
  }
  loop->body.push_back(make_loop(inner));
  f.body->push_back(make_loop(loop));
  bind_results(groups, f.kept);
  for (size_t o : down_outputs_)
    store_value(k_, f.body, first_output(fused_) + static_cast<int64_t>(o),
                e_.offset(down_kept_dims_, f.kept), e_.element(outs_[o], f.kept));
  close_frame(f, static_cast<double>(b.parts()));
}

}  // namespace braze::loop
