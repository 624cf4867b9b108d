// SPDX-License-Identifier: Apache-2.0
// Reductions to few elements, in parts. For each level of reductions a phase whose items leave partial
// results in the workspace, and one that combines them; where outputs need the results, a phase that
// stores these, in parts again. Parts depend on the shape alone, so values do not depend on threads.
#include <algorithm>

#include "absl/numeric/bits.h"
#include "loop/reduce_lowering.h"

namespace braze::loop {

namespace {

constexpr int64_t kLeadWork = 6400;  // instructions on single elements
constexpr int64_t kColumnWork = 1 << 17;  // elements

}  // namespace

ReduceLowering::Cut ReduceLowering::cut() const {
  const std::vector<int64_t> extents = loop_extents();
  Cut c{extents[0], 0, 0, 0, 1};
  const int64_t per_row = product(red_dims_) / std::max<int64_t>(c.n, 1);
  const int64_t unit = extents.size() == 1 && !column_ ? facts_.lanes(4) * 8 : 1;
  int64_t elements = 8192;  // of an item; in column form, of each of its columns
  if (column_) elements = std::min(elements, kColumnWork / static_cast<int64_t>(absl::bit_ceil(static_cast<uint64_t>(block()))));
  const int64_t want = std::max<int64_t>(unit, elements / std::max<int64_t>(per_row, 1));
  const int64_t most = column_ ? 64 : 256;  // parts
  c.chunk = (std::max(want, (c.n + most - 1) / most) + unit - 1) / unit * unit;
  c.parts = (c.n + c.chunk - 1) / c.chunk;
  if (c.parts > 1 && c.parts <= 4 && extents.size() == 1 && !column_)
    c.lead = std::min(kLeadWork / static_cast<int64_t>(fused_.instrs().size()), c.chunk / 8) / unit * unit;
  c.parts = (c.n - c.lead + c.chunk - 1) / c.chunk;
  if (!column_ && c.parts <= 16) c.apart = 16;
  return c;
}

double ReduceLowering::work_of_part(const Cut& c) const {
  return static_cast<double>(c.chunk * (product(red_dims_) / std::max<int64_t>(c.n, 1)));
}

std::vector<ReduceLowering::Range> ReduceLowering::open_parts(Frame& f, const Cut& c, Scalar* part) {
  e_.forget();
  const int32_t before = g_.size();
  open_frame(f, c.parts);
  *part = c.parts == 1 ? e_.index_const(0) : g_.rem(f.item, e_.index_const(c.parts));
  std::vector<Range> ranges = whole_ranges();
  Scalar start = g_.mul(*part, e_.index_const(c.chunk)), most = e_.index_const(c.chunk);
  if (c.lead > 0) {
    const Scalar first = g_.eq(*part, e_.index_const(0));
    start = g_.add(start, g_.select(first, e_.index_const(0), e_.index_const(c.lead)));
    most = g_.select(first, e_.index_const(c.chunk + c.lead), most);
  }
  ranges[0].extent = std::min(c.chunk + c.lead, c.n);
  ranges[0].index = g_.add(start, g_.index_var(ranges[0].var, ranges[0].extent));
  if ((c.n - c.lead) % c.chunk != 0 || c.lead > 0)
    ranges[0].count = g_.min(most, g_.sub(e_.index_const(c.n), start));
  if (column_) index_nodes_ += g_.size() - before;
  bind_held(f.kept);
  return ranges;
}

Status ReduceLowering::lower_split() {
  const Cut c = cut();
  for (size_t level = 0; level < levels_.reduces.size(); ++level) {
    Frame f;
    Scalar part;
    const std::vector<Range> ranges = open_parts(f, c, &part);
    std::vector<Group> groups;
    pass(f.body, level, f.kept, ranges, &groups);
    // Partials: [kept…, part], or [part, kept…] in column form, in one workspace buffer per accumulator.
    std::vector<std::vector<int64_t>> buffers;
    const Scalar slot = partial_slot(f, c, part);
    for (const Group& grp : groups)
      buffers.push_back(store_group(grp, "partial", product(kept_dims_) * c.parts * c.apart, slot, f.body));
    close_frame(f, work_of_part(c));
    combine_parts(groups, buffers, c, level + 1 == levels_.reduces.size());
  }
  if (!full_outputs_ || stores_in_pass_) return absl::OkStatus();
  Frame f;
  Scalar part;
  final_pass(f, open_parts(f, c, &part));
  close_frame(f, work_of_part(c));
  return absl::OkStatus();
}

// Columns lie beside each other, so that vectors of them are stored and loaded as such.
Scalar ReduceLowering::partial_slot(const Frame& f, const Cut& c, Scalar part) {
  if (column_) return g_.add(g_.mul(part, e_.index_const(product(kept_dims_))), e_.offset(kept_dims_, f.kept));
  const Scalar row = g_.mul(e_.offset(kept_dims_, f.kept), e_.index_const(c.parts));
  return g_.mul(g_.add(row, part), e_.index_const(c.apart));
}

std::vector<int64_t> ReduceLowering::store_group(const Group& grp, std::string_view name, int64_t n, Scalar slot,
                                 std::vector<Stmt>* body) {
  std::vector<int64_t> buffers;
  for (size_t j = 0; j < grp.types.size(); ++j) {
    buffers.push_back(static_cast<int64_t>(k_.buffers.size()));
    k_.buffers.push_back({std::string(name), buffer_type(grp.types[j]),
                          n * (is_complex(grp.types[j]) ? 2 : 1), Role::kWorkspace});
    store_value(k_, body, buffers[j], slot, grp.current[j]);
  }
  return buffers;
}

std::vector<Value> ReduceLowering::load_group(const std::vector<Dtype>& types, const std::vector<int64_t>& buffers,
                              int64_t n, Scalar slot) {
  std::vector<Value> out;
  for (size_t j = 0; j < types.size(); ++j)
    out.push_back(e_.load(buffers[j], Shape::array(types[j], {n}), {slot}));
  return out;
}

void ReduceLowering::combine_parts(const std::vector<Group>& first, const std::vector<std::vector<int64_t>>& buffers,
                   const Cut& c, bool last) {
  e_.forget();
  Frame f;
  open_frame(f, 1);
  bind_held(f.kept);
  auto loop = std::make_shared<Loop>();
  loop->var = k_.new_var();
  loop->extent = c.parts;
  const Scalar slot = partial_slot(f, c, g_.index_var(loop->var, c.parts));
  std::vector<Group> groups;
  for (size_t i = 0; i < first.size(); ++i) {
    Group grp = make_group(first[i].reduce);
    std::vector<Value> vars;
    Accumulator a = open(grp, grp.init, &vars);
    const auto x = load_group(grp.types, buffers[i], product(kept_dims_) * c.parts * c.apart, slot);
    flatten(combine(grp, vars, x), &a.next);
    grp.current = results(a, grp);
    loop->accumulators.push_back(std::move(a));
    groups.push_back(std::move(grp));
  }
  f.body->push_back(make_loop(loop));
  bind_results(groups, f.kept);
  if (last) store_kept_outputs(f.body, f.kept);
  if (!last || (full_outputs_ && !stores_in_pass_)) {
    const int64_t n = product(kept_dims_);
    for (const Group& grp : groups)
      held_.push_back({grp, store_group(grp, "reduced", n, e_.offset(kept_dims_, f.kept), f.body)});
  }
  close_frame(f, static_cast<double>(c.parts));
}

void ReduceLowering::bind_held(absl::Span<const Scalar> kept) {
  for (Held& h : held_) {
    h.group.current = load_group(h.group.types, h.buffers, product(kept_dims_), e_.offset(kept_dims_, kept));
    bind_results({h.group}, kept);
  }
}

}  // namespace braze::loop
