// SPDX-License-Identifier: Apache-2.0
// Reductions and row programs. All reductions of the kernel run over the same dimensions D, reducing
// the same ones R and keeping K. For each index of K, one pass over R per level of dependence
// (softmax: maximum, then sum of exponentials), then a pass that stores the full-size outputs.
//
// Where the innermost dimension is reduced, vectors run along it and lanes are combined at the end of
// a pass (row form). Where it is kept, vectors run along it around the passes and each lane has
// accumulators of its own (column form). When K has too few elements to keep the threads busy, R is
// cut into parts by its size alone: parts leave partial results in the workspace, a second phase
// combines them (lower_reduce_split.cc). A row program may also reduce down its columns, over rows
// (lower_reduce_down.cc).
#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "loop/reduce_lowering.h"
#include "ops/op_def.h"

namespace braze::loop {
namespace {

// `apart`: reductions that no level waits for.
Levels find_levels(const Computation& fused, const std::vector<const Instr*>& apart) {
  Levels out;
  for (const Instr* i : post_order(fused)) {
    int level = 0;
    for (const Instr* o : i->operands) level = std::max(level, out.level[o]);
    if (i->op == Op::kReduce && !is_tiny_reduction(*i) && !absl::c_linear_search(apart, i)) {
      if (out.reduces.size() <= static_cast<size_t>(level)) out.reduces.resize(level + 1);
      out.reduces[level].push_back(i);
      ++level;
    }
    out.level[i] = level;
  }
  return out;
}

// Accumulating 16-bit and narrower floats is done in f32.
Dtype accumulator_type(Dtype t, bool known) {
  return known && is_float(t) && byte_size(t) < 4 ? Dtype::kF32 : t;
}

}  // namespace

Status ReduceLowering::run() {
  TRY(analyse());
  bind_parameters(e_, fused_);
  if (!downs_.empty()) TRY(lower_down());
  else if (split_) TRY(lower_split());
  else TRY(lower_whole());
  return e_.status();
}

Status ReduceLowering::analyse() {
  outs_ = outputs(fused_);
  TRY(find_reduced());
  levels_ = find_levels(fused_, downs_);
  for (int64_t d = 0; d < static_cast<int64_t>(full_.size()); ++d)
    if (!std::binary_search(reduced_.begin(), reduced_.end(), d)) kept_.push_back(d);
  for (int64_t d : kept_) kept_dims_.push_back(full_[d]);
  for (int64_t d : reduced_) red_dims_.push_back(full_[d]);
  column_ = !absl::c_binary_search(reduced_, last_dim());
  commutes_ = true;
  for (auto& level : levels_.reduces)
    for (const Instr* r : level) commutes_ &= combines_in_any_order(*r);
  if (!downs_.empty()) return analyse_down();
  for (const Instr* o : outs_) {
    if (o->shape.dims == full_) full_outputs_ = true;
    else if (o->shape.dims != kept_dims_)
      return unimplemented("a kernel output of neither the full nor the reduced shape");
  }
  // A full shape equal to the kept one cannot be told apart, but then nothing is reduced.
  // Outputs that need no reduction are stored by the only pass. Where passes follow, they may yet read
  // what the outputs are stored over.
  stores_in_pass_ = full_outputs_ && levels_.reduces.size() == 1;
  for (const Instr* o : outs_)
    if (o->shape.dims == full_ && levels_.level[o] > 0) stores_in_pass_ = false;
  int64_t work = product(full_), items = product(kept_dims_);
  if (column_) items = (items + block() - 1) / block();
  // Outputs after passes down columns of rows that collide are a phase of their own, which writes a few rows at a time.
  // What comes from memory is rather read once.
  const bool near = product(full_) * byte_size(outs_[0]->shape.dtype) <= facts_.l3_bytes / 2;
  const bool apart = near && column_ && full_outputs_ && !stores_in_pass_ && rows_collide();
  const bool splits = (items < 8 || apart) && product(red_dims_) >= 64;
  split_ = commutes_ && splits && work >= (1 << 14);
  // Passes down a few long columns would leave all but one core idle.
  if (column_ && !commutes_ && splits && work >= (1 << 18))
    return unimplemented("passes over too few columns");
  return absl::OkStatus();
}

int64_t ReduceLowering::last_dim() const {
  // Size-1 dimensions don't decide the form.
  int64_t last = static_cast<int64_t>(full_.size()) - 1;
  while (last > 0 && full_[last] == 1) --last;
  return last;
}

Status ReduceLowering::find_reduced() {
  std::vector<const Instr*> rows, downs;
  Dims down;
  for (const Instr* i : post_order(fused_)) {
    if (i->op != Op::kReduce || is_tiny_reduction(*i)) continue;
    if (rows.empty() && downs.empty()) full_ = i->operand(0)->shape.dims;
    Dims red = i->as<DimsAttrs>().dimensions;
    std::sort(red.begin(), red.end());
    const bool along = absl::c_binary_search(red, last_dim());
    Dims& same = along ? reduced_ : down;
    auto& list = along ? rows : downs;
    if (list.empty()) same = red;
    if (i->operand(0)->shape.dims != full_ || red != same)
      return unimplemented("reductions of different shapes in one kernel");
    list.push_back(i);
  }
  if (rows.empty()) {
    reduced_ = down;
    return absl::OkStatus();
  }
  downs_ = std::move(downs);
  down_ = std::move(down);
  for (int64_t d : down_)
    if (absl::c_binary_search(reduced_, d)) return unimplemented("reductions of different shapes in one kernel");
  return absl::OkStatus();
}

bool ReduceLowering::combines_in_any_order(const Instr& r) {
  if (r.operands.size() == 2) return known_combiner(*r.calls[0]).has_value();
  return is_arg_extreme(*r.calls[0]);
}

bool ReduceLowering::is_arg_extreme(const Computation& c) {
  if (c.params().size() != 4 || c.root()->op != Op::kTuple || c.root()->operands.size() != 2)
    return false;
  if (!is_int(c.params()[1]->shape.dtype)) return false;
  bool breaks_ties = false;
  for (auto& i : c.instrs()) {
    switch (i->op) {
      case Op::kParameter: case Op::kSelect: case Op::kOr: case Op::kAnd: case Op::kTuple: break;
      case Op::kCompare: {
        const CompareAttrs& a = i->as<CompareAttrs>();
        bool on_index = i->operand(0) == c.params()[1] && i->operand(1) == c.params()[3];
        breaks_ties |= on_index && a.direction == CompareDirection::kLt;
        break;
      }
      default: return false;
    }
  }
  return breaks_ties;
}

int64_t ReduceLowering::block() const {
  int64_t minor = kept_dims_.empty() ? 1 : kept_dims_.back();
  return std::min<int64_t>(std::max<int64_t>(minor, 1), 256);
}

std::vector<int64_t> ReduceLowering::loop_extents() const {
  for (size_t i = 1; i < reduced_.size(); ++i)
    if (reduced_[i] != reduced_[i - 1] + 1) return {red_dims_.begin(), red_dims_.end()};
  const int64_t n = product(red_dims_);
  if (column_ || red_dims_.size() < 2 || red_dims_.back() < 128 || n / red_dims_.back() < 64 || !indexed())
    return {n};
  return {n / red_dims_.back(), red_dims_.back()};
}

bool ReduceLowering::indexed() const {
  return std::any_of(fused_.instrs().begin(), fused_.instrs().end(), [&](const auto& i) {
    return i->shape.dims == full_ && i->op != Op::kReshape && def(*i).index && !i->operands.empty() &&
           i->operand(0)->shape.rank() > 0;
  });
}

Index ReduceLowering::reduced_index(absl::Span<const Scalar> loops) {
  if (loops.size() == red_dims_.size()) return Index(loops.begin(), loops.end());
  if (loops.size() == 1) return e_.delinearize(loops[0], red_dims_);
  Index out = e_.delinearize(loops[0], DimSpan(red_dims_.data(), red_dims_.size() - 1));
  out.push_back(loops[1]);
  return out;
}

Index ReduceLowering::full_index(absl::Span<const Scalar> kept, absl::Span<const Scalar> red) {
  Index out(full_.size());
  for (size_t i = 0; i < kept_.size(); ++i) out[kept_[i]] = kept[i];
  for (size_t i = 0; i < reduced_.size(); ++i) out[reduced_[i]] = red[i];
  return out;
}

ReduceLowering::Group ReduceLowering::make_group(const Instr* r, bool partial) {
  Group grp;
  grp.reduce = r;
  int64_t n = static_cast<int64_t>(r->operands.size()) / 2;
  if (n == 1) grp.known = known_combiner(*r->calls[0]);
  for (int64_t j = 0; j < n; ++j) {
    Dtype t = r->operand(j)->shape.dtype;
    grp.types.push_back(accumulator_type(t, grp.known.has_value()));
    grp.init.push_back(partial && grp.known
                           ? combiner_identity(g_, *grp.known, grp.types[j])
                           : converted(e_.element(r->operand(n + j), {}), t, grp.types[j]));
  }
  return grp;
}

Value ReduceLowering::converted(Value v, Dtype from, Dtype to) {
  if (from == to || is_complex(from)) return v;
  return {g_.cast(to, v.re), {}};
}

std::vector<Value> ReduceLowering::combine(const Group& grp, absl::Span<const Value> a, absl::Span<const Value> b) {
  if (grp.known && grp.types[0] != grp.reduce->operand(0)->shape.dtype) {
    return {combine_in(g_, *grp.known, grp.types[0], a[0], b[0])};
  }
  std::vector<Value> args(a.begin(), a.end());
  args.insert(args.end(), b.begin(), b.end());
  return e_.apply(*grp.reduce->calls[0], args);
}

Accumulator ReduceLowering::open(const Group& grp, absl::Span<const Value> start, std::vector<Value>* vars) {
  Accumulator a;
  auto part = [&](Dtype t, Scalar init) {
    a.var.push_back(k_.new_var());
    a.result.push_back(k_.new_var());
    a.type.push_back(t);
    a.init.push_back(init);
    return g_.var(t, a.var.back());
  };
  for (size_t j = 0; j < grp.types.size(); ++j) {
    Dtype t = real_of(grp.types[j]);
    Value v{part(t, start[j].re), {}};
    if (start[j].im) v.im = part(t, start[j].im);
    vars->push_back(v);
  }
  return a;
}

std::vector<Value> ReduceLowering::results(const Accumulator& a, const Group& grp) {
  std::vector<Value> out;
  size_t n = 0;
  for (Dtype t : grp.types) {
    Value v{g_.var(real_of(t), a.result[n++]), {}};
    if (is_complex(t)) v.im = g_.var(real_of(t), a.result[n++]);
    out.push_back(v);
  }
  return out;
}

void ReduceLowering::flatten(absl::Span<const Value> v, std::vector<Scalar>* out) {
  for (const Value& x : v) {
    out->push_back(x.re);
    if (x.im) out->push_back(x.im);
  }
}

void ReduceLowering::close_vector(Accumulator& a, const Group& grp) {
  std::vector<Value> identity, lhs, rhs;
  auto param = [&](std::vector<int64_t>& ids, Dtype t) {
    ids.push_back(k_.new_var());
    return g_.var(t, ids.back());
  };
  for (size_t j = 0; j < grp.types.size(); ++j) {
    Dtype t = grp.types[j], r = real_of(t);
    identity.push_back(grp.known ? combiner_identity(g_, *grp.known, t) : grp.init[j]);
    for (auto [side, ids] : {std::pair{&lhs, &a.lhs}, std::pair{&rhs, &a.rhs}}) {
      Value v{param(*ids, r), {}};
      if (is_complex(t)) v.im = param(*ids, r);
      side->push_back(v);
    }
  }
  flatten(identity, &a.identity);
  if (!grp.known) {
    // The position of an extreme: of two NaNs the combiner keeps the left one, which is to be the earlier one.
    const Scalar swapped = g_.lt(rhs[1].re, lhs[1].re);
    for (size_t j = 0; j < lhs.size(); ++j) {
      const Scalar x = lhs[j].re, y = rhs[j].re;
      lhs[j].re = g_.select(swapped, y, x);
      rhs[j].re = g_.select(swapped, x, y);
    }
  }
  flatten(combine(grp, lhs, rhs), &a.combined);
}

void ReduceLowering::pass(std::vector<Stmt>* body, size_t level, absl::Span<const Scalar> kept,
          std::vector<Range> ranges, std::vector<Group>* groups_out) {
  std::vector<Group> groups;
  for (const Instr* r : levels_.reduces[level]) groups.push_back(make_group(r, split_));
  std::vector<std::vector<Value>> start;
  for (Group& grp : groups) start.push_back(grp.init);
  std::vector<Scalar> at;
  Index red;
  {
    const Range blocks = sums_long_columns(groups, ranges) ? cut_in_blocks(&ranges.back(), kSumBlock) : Range();
    for (Range& r : ranges) at.push_back(r.index);
    red = reduced_index(at);
    blocked_ = blocks.extent > 1;
    if (blocked_) ranges.insert(ranges.end() - 1, blocks);
  }
  Index full = full_index(kept, red);
  auto done = nest(body, ranges, 0, groups, start, full, level);
  for (size_t i = 0; i < groups.size(); ++i) groups[i].current = done[i];
  *groups_out = std::move(groups);
}

bool ReduceLowering::sums_long_columns(const std::vector<Group>& groups, const std::vector<Range>& ranges) const {
  if (!column_) return false;
  for (const Group& grp : groups)
    if (grp.known != Op::kAdd || !is_float(real_of(grp.types[0]))) return false;
  return ranges.back().extent >= 4 * kSumBlock;
}

ReduceLowering::Range ReduceLowering::cut_in_blocks(Range* r, int64_t size) {
  Range blocks;
  blocks.var = k_.new_var();
  blocks.extent = (r->extent + size - 1) / size;
  const Scalar start = g_.mul(g_.index_var(blocks.var, blocks.extent), e_.index_const(size));
  if (r->count)
    blocks.count = g_.div(g_.add(r->count, e_.index_const(size - 1)), e_.index_const(size));
  if (r->count || r->extent % size != 0)
    r->count = g_.min(e_.index_const(size), g_.sub(r->count ? r->count : e_.index_const(r->extent), start));
  const int64_t var = r->var;
  const Scalar inside = g_.add(start, g_.index_var(var, size));
  r->index = g_.substitute(r->index, {var}, {inside});
  r->extent = size;
  return blocks;
}

std::vector<std::vector<Value>> ReduceLowering::nest(std::vector<Stmt>* body, const std::vector<Range>& ranges,
                                     size_t depth, const std::vector<Group>& groups,
                                     const std::vector<std::vector<Value>>& start,
                                     const Index& full, size_t level) {
  auto loop = std::make_shared<Loop>();
  loop->var = ranges[depth].var;
  loop->extent = ranges[depth].extent;
  loop->count = ranges[depth].count;
  bool innermost = depth + 1 == ranges.size();
  bool vector = innermost && !column_ && commutes_;
  loop->kind = vector ? LoopKind::kVector : LoopKind::kSerial;
  std::vector<std::vector<Value>> vars(groups.size()), next(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    loop->accumulators.push_back(open(groups[i], start[i], &vars[i]));
  if (blocked_ && depth + 2 == ranges.size()) {
    std::vector<std::vector<Value>> zero;
    for (const Group& grp : groups) zero.push_back({combiner_identity(g_, *grp.known, grp.types[0])});
    const auto sums = nest(&loop->body, ranges, depth + 1, groups, zero, full, level);
    for (size_t i = 0; i < groups.size(); ++i) next[i] = combine(groups[i], vars[i], sums[i]);
  } else if (!innermost) {
    next = nest(&loop->body, ranges, depth + 1, groups, vars, full, level);
  } else {
    keep_in_scratch(&loop->body, level, full);
    if (stores_in_pass_) store_at(&loop->body, full);
    for (size_t i = 0; i < groups.size(); ++i) {
      const Instr* r = groups[i].reduce;
      std::vector<Value> x;
      for (size_t j = 0; j < groups[i].types.size(); ++j)
        x.push_back(converted(e_.element(r->operand(j), full), r->operand(j)->shape.dtype,
                              groups[i].types[j]));
      next[i] = combine(groups[i], vars[i], x);
    }
  }
  std::vector<std::vector<Value>> out;
  for (size_t i = 0; i < groups.size(); ++i) {
    Accumulator& a = loop->accumulators[i];
    flatten(next[i], &a.next);
    if (vector) close_vector(a, groups[i]);
    out.push_back(results(a, groups[i]));
  }
  body->push_back(make_loop(loop));
  return out;
}

void ReduceLowering::keep_in_scratch(std::vector<Stmt>* body, size_t level, const Index& full) {
  if (column_ || split_ || stores_in_pass_ || product(red_dims_) * 8 > facts_.l2_bytes / 2) return;
  for (const Instr* i : expensive_at(level)) {
    Value v = e_.element(i, full);
    if (v.is_complex()) continue;
    Dtype t = g_.type(v.re);
    int64_t id = static_cast<int64_t>(k_.buffers.size());
    k_.buffers.push_back({i->name, t, product(red_dims_), Role::kScratch});
    Index red;
    for (int64_t d : reduced_) red.push_back(full[d]);
    store_value(k_, body, id, e_.offset(red_dims_, red), v);
    scratch_.emplace_back(i, id);
  }
}

std::vector<const Instr*> ReduceLowering::expensive_at(size_t level) {
  std::vector<const Instr*> out;
  for (const Instr* i : post_order(fused_)) {
    if (i->shape.dims != full_ || !i->shape.is_array() || i->op == Op::kReduce) continue;
    if (!def(*i).has(kExpensive) || levels_.level[i] != static_cast<int>(level)) continue;
    bool now = false, later = false;
    absl::flat_hash_set<const Instr*> seen;
    std::vector<const Instr*> stack{i};
    while (!stack.empty()) {
      const Instr* s = stack.back();
      stack.pop_back();
      for (const Instr* u : s->users) {
        if (u->op == Op::kReduce && !is_tiny_reduction(*u)) {
          if (absl::c_linear_search(downs_, u)) later = true;
          else if (levels_.level[u] - 1 == static_cast<int>(level)) now = true;
          else later = true;
        } else if (u->op == Op::kTuple) {
          later = true;
        } else if (seen.insert(u).second) {
          stack.push_back(u);
        }
      }
      if (s == fused_.root()) later = true;
    }
    if (now && later) out.push_back(i);
  }
  return out;
}

void ReduceLowering::bind_scratch(absl::Span<const Scalar> full) {
  Index red;
  for (int64_t d : reduced_) red.push_back(full[d]);
  for (auto& [i, id] : scratch_)
    e_.bind_value(i, full, {{g_.load(k_.buffers[id].dtype, id, e_.offset(red_dims_, red)), {}}});
}

void ReduceLowering::bind_results(const std::vector<Group>& groups, absl::Span<const Scalar> kept) {
  for (const Group& grp : groups) {
    std::vector<Value> parts;
    for (size_t j = 0; j < grp.types.size(); ++j)
      parts.push_back(converted(grp.current[j], grp.types[j], grp.reduce->operand(j)->shape.dtype));
    e_.bind_value(grp.reduce, kept, std::move(parts));
  }
}

std::vector<ReduceLowering::Range> ReduceLowering::whole_ranges() {
  std::vector<Range> out;
  for (int64_t n : loop_extents()) {
    Range r;
    r.var = k_.new_var();
    r.extent = n;
    r.index = g_.index_var(r.var, std::max<int64_t>(n, 1));
    out.push_back(r);
  }
  return out;
}

void ReduceLowering::open_frame(Frame& f, int64_t parts) {
  if (!column_) {
    f.phase.item_var = k_.new_var();
    f.phase.items = product(kept_dims_) * parts;
    f.item = g_.index_var(f.phase.item_var, std::max<int64_t>(f.phase.items, 1));
    Scalar row = parts == 1 ? f.item : g_.div(f.item, e_.index_const(parts));
    f.kept = e_.delinearize(row, kept_dims_);
    f.body = &f.phase.body;
    return;
  }
  open_columns(f, kept_dims_, 256, parts);
}

void ReduceLowering::open_columns(Frame& f, const Dims& kept, int64_t most, int64_t parts) {
  f.phase.item_var = k_.new_var();
  // Trailing size-1 kept dimensions have no columns of their own.
  size_t minor = kept.size() - 1;
  while (minor > 0 && kept[minor] == 1) --minor;
  int64_t columns = kept[minor], b = std::min(columns, most);
  if (b == 0) b = 1;
  int64_t blocks = (columns + b - 1) / b;
  DimSpan outer(kept.data(), minor);
  f.phase.items = product(outer) * blocks * parts;
  f.item = g_.index_var(f.phase.item_var, std::max<int64_t>(f.phase.items, 1));
  Scalar rest = parts == 1 ? f.item : g_.div(f.item, e_.index_const(parts));
  Scalar block = blocks == 1 ? e_.index_const(0) : g_.rem(rest, e_.index_const(blocks));
  Scalar row = blocks == 1 ? rest : g_.div(rest, e_.index_const(blocks));
  f.kept = e_.delinearize(row, outer);
  f.columns = std::make_shared<Loop>();
  f.columns->var = k_.new_var();
  f.columns->extent = b;
  f.columns->kind = LoopKind::kVector;
  Scalar start = g_.mul(block, e_.index_const(b));
  if (columns % b != 0)
    f.columns->count = g_.min(e_.index_const(b), g_.sub(e_.index_const(columns), start));
  f.kept.push_back(g_.add(start, g_.index_var(f.columns->var, b)));
  while (f.kept.size() < kept.size()) f.kept.push_back(e_.index_const(0));
  f.body = &f.columns->body;
}

// Lanes beside each other are all that a pass down columns has at once, and all that it reads of a row: twice as
// many as elsewhere where registers are narrow, and at least four registers, unless many of them would be idle.
int ReduceLowering::column_width(int width, int64_t columns) const {
  const int lanes = facts_.lanes(4);
  int wide = std::max(width * 2, lanes * 4);
  while (wide > lanes && columns < 4 * wide && (wide - columns % wide) % wide >= wide / 2) wide /= 2;
  return wide;
}

void ReduceLowering::close_frame(Frame& f, double work) {
  if (f.columns) {
    work *= static_cast<double>(f.columns->extent);
    if (f.blocks) f.blocks->body.push_back(make_loop(f.columns));
    f.phase.body.push_back(make_loop(f.blocks ? f.blocks : f.columns));
  }
  f.phase.width = commutes_ || column_ ? choose_width(k_, facts_, true, index_nodes_) : 1;
  // Of rows shorter than a vector no more lanes than they have elements are combined.
  while (!column_ && !split_ && f.phase.width / 2 >= loop_extents().back() && f.phase.width > 1) f.phase.width /= 2;
  if (column_ && facts_.vector_bits < 512) f.phase.width = column_width(f.phase.width, f.columns->extent);
  f.phase.grain = choose_grain(k_, work);
  f.phase.group = choose_group(k_, f.phase, facts_);
  k_.phases.push_back(std::move(f.phase));
}

void ReduceLowering::store_kept_outputs(std::vector<Stmt>* body, absl::Span<const Scalar> kept) {
  for (size_t o = 0; o < outs_.size(); ++o)
    if (outs_[o]->shape.dims == kept_dims_ && outs_[o]->shape.dims != full_ && !down_outputs_.contains(o))
      store_value(k_, body, first_output(fused_) + static_cast<int64_t>(o),
                  e_.offset(kept_dims_, kept), e_.element(outs_[o], kept));
}

Status ReduceLowering::lower_whole() {
  Frame f;
  open_frame(f, 1);
  for (size_t level = 0; level < levels_.reduces.size(); ++level) {
    std::vector<Range> ranges = whole_ranges();
    rebind_scratch(f.kept, ranges);
    std::vector<Group> groups;
    pass(f.body, level, f.kept, ranges, &groups);
    bind_results(groups, f.kept);
  }
  store_kept_outputs(f.body, f.kept);
  if (full_outputs_ && !stores_in_pass_) final_pass(f, whole_ranges());
  close_frame(f, static_cast<double>(product(red_dims_)));
  return absl::OkStatus();
}

void ReduceLowering::rebind_scratch(absl::Span<const Scalar> kept, const std::vector<Range>& ranges) {
  std::vector<Scalar> at;
  for (const Range& r : ranges) at.push_back(r.index);
  bind_scratch(full_index(kept, reduced_index(at)));
}

bool ReduceLowering::rows_collide() const {
  if (!column_) return false;
  int64_t bytes = 1;
  for (const Instr* o : outs_)
    if (o->shape.dims == full_) bytes = std::max<int64_t>(bytes, byte_size(o->shape.dtype));
  return product(DimSpan(full_).subspan(static_cast<size_t>(reduced_.back()) + 1)) * bytes % kCollision == 0;
}

void ReduceLowering::final_pass(Frame& f, std::vector<Range> ranges) {
  if (split_ && ranges.size() == 1 && rows_collide() && ranges[0].extent > kRowsAtATime) {
    const Range blocks = cut_in_blocks(&ranges[0], kRowsAtATime);
    f.blocks = std::make_shared<Loop>();
    f.blocks->var = blocks.var;
    f.blocks->extent = blocks.extent;
    f.blocks->count = blocks.count;
  }
  rebind_scratch(f.kept, ranges);
  std::vector<Scalar> at;
  for (const Range& r : ranges) at.push_back(r.index);
  Index full = full_index(f.kept, reduced_index(at));
  std::vector<Stmt>* body = f.body;
  for (size_t d = 0; d < ranges.size(); ++d) {
    auto loop = std::make_shared<Loop>();
    loop->var = ranges[d].var;
    loop->extent = ranges[d].extent;
    loop->count = ranges[d].count;
    loop->kind = d + 1 == ranges.size() && !column_ ? LoopKind::kVector : LoopKind::kSerial;
    body->push_back(make_loop(loop));
    body = &loop->body;
  }
  store_at(body, full);
}

void ReduceLowering::store_full_outputs(std::vector<Stmt>* body, const Index& full) {
  for (size_t o = 0; o < outs_.size(); ++o)
    if (outs_[o]->shape.dims == full_)
      store_value(k_, body, first_output(fused_) + static_cast<int64_t>(o),
                  e_.offset(full_, full), e_.element(outs_[o], full));
}

Status lower_reduce(Kernel& k, const Computation& fused, const Facts& facts) {
  return ReduceLowering(k, fused, facts).run();
}

}  // namespace braze::loop
