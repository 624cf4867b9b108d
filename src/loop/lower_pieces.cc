// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels whose rows are put together from pieces: padded, concatenated, rolled, updated in part.
//
//   concatenate(a[n,10], b[n,20])      for each row a loop over a's columns and one over b's,
//
// rather than one that asks in each lane which of the two it is. Where it depends on the row, too, most rows
// are alike: those inside, for which nothing is asked, have loops of their own.
//
//   update(x, f(x), 1, 1)              for row 0 and the last one: each lane asks
//                                      for others: x, f(x) in a loop, x
#include <algorithm>
#include <set>

#include "loop/lower.h"

namespace braze::loop {
namespace {

constexpr int64_t kFewestRows = 64;  // fewer are cut into chunks, for the threads
constexpr int64_t kChunk = 4096;
constexpr int64_t kFewestColumns = 32;
constexpr size_t kMostPieces = 8;
constexpr int64_t kMostNodes = 1500;

// One phase's worth of nodes for elements (row, start + lane). `rows`: items, each a row or one of its parts.
struct Row {
  Row(Kernel& kernel, const Computation& fused, const Dims& dims, int64_t parts = 1)
      : k(kernel),
        e(kernel),
        outer(dims.data(), dims.size() - 1),
        rows(product(outer) * parts),
        var(kernel.new_var()) {
    bind_parameters(e, fused);
    item = k.graph.index_var(var, std::max<int64_t>(rows, 1));
  }
  // The row's index, but for the last dimension.
  Index position() { return e.delinearize(item, outer); }

  Kernel& k;
  Elements e;
  DimSpan outer;
  int64_t rows, var;
  Scalar item;
};

// Columns at which a comparison of the column's number with a constant changes.
std::set<int64_t> cuts(const scalar::Graph& graph, int64_t var, int64_t columns) {
  std::set<int64_t> out;
  scalar::Graph g = graph;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const scalar::Node n = graph[Scalar{i}];
    if (n.op != scalar::Op::kLt && n.op != scalar::Op::kLe) continue;
    for (int side = 0; side < 2; ++side) {
      const Scalar moving = n.args[side], fixed = n.args[1 - side];
      int64_t stride = 0;
      if (g.type(moving) != Dtype::kS64 || !g.is_const(fixed) ||
          !g.stride_in(moving, var, &stride) || stride != 1)
        continue;
      const Scalar zero = g.constant_int(Dtype::kS64, 0);
      const Scalar first = g.substitute(moving, {var}, {zero});
      if (!g.is_const(first)) continue;
      // lt(v, c) and le(c, v) change at c, le(v, c) and lt(c, v) behind it.
      const bool behind = (n.op == scalar::Op::kLe) == (side == 0);
      const int64_t at = g.const_int(fixed) - g.const_int(first) + (behind ? 1 : 0);
      if (at > 0 && at < columns) out.insert(at);
    }
  }
  return out;
}

bool puts_together(const Computation& fused) {
  return std::any_of(fused.instrs().begin(), fused.instrs().end(), [](const auto& i) {
    return i->op == Op::kConcatenate || i->op == Op::kPad || i->op == Op::kDynamicUpdateSlice;
  });
}

// What is asked about an index anywhere in the kernel.
struct Cuts {
  std::vector<std::pair<int64_t, int64_t>> inside;  // by outer dimension: the longest stretch without cuts
  bool all_inside = true;                           // no outer dimension has any
  std::set<int64_t> columns;
  int64_t nodes = 0;
  int width = 1;
  int64_t grain = 1;
};

using Stretch = std::pair<int64_t, int64_t>;  // [first, second)

std::vector<Stretch> stretches_between(const std::set<int64_t>& at, int64_t size) {
  std::vector<Stretch> out;
  int64_t from = 0;
  for (int64_t c : at) out.emplace_back(from, c), from = c;
  out.emplace_back(from, size);
  return out;
}

Stretch longest_stretch(const std::set<int64_t>& at, int64_t size) {
  const std::vector<Stretch> all = stretches_between(at, size);
  return *std::max_element(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) {
    return a.second - a.first < b.second - b.first;
  });
}

bool find_cuts(Kernel trial, const Computation& fused, absl::Span<const Instr* const> values,
               const Facts& facts, Cuts* out) {
  const Dims& dims = values[0]->shape.dims;
  Row row(trial, fused, dims);
  Index index;
  std::vector<int64_t> vars;
  for (int64_t d : dims) {
    vars.push_back(trial.new_var());
    index.push_back(trial.graph.index_var(vars.back(), d));
  }
  for (const Instr* o : values) row.e.element(o, index);
  if (!row.e.status().ok()) return false;
  out->columns = cuts(trial.graph, vars.back(), dims.back());
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    out->inside.push_back(longest_stretch(cuts(trial.graph, vars[d], dims[d]), dims[d]));
    out->all_inside &= out->inside.back() == std::make_pair(int64_t{0}, dims[d]);
  }
  out->nodes = trial.graph.size();
  out->width = choose_width(trial, facts, false);
  out->grain = choose_grain(trial, static_cast<double>(dims.back()));
  return true;
}

// Writes a body's rows.
struct Writer {
  Kernel& out;
  Row& row;
  absl::Span<const Instr* const> values;
  int64_t first_buffer;
  const Dims& dims;

  // Columns [from, to) of the row at `position`.
  void columns(const Index& position, int64_t from, int64_t to, std::vector<Stmt>* body) {
    columns(position, row.e.index_const(from), to - from, {}, body);
  }
  // `count` of them, at most `extent`, from `start` on.
  void columns(Index position, Scalar start, int64_t extent, Scalar count, std::vector<Stmt>* body) {
    auto loop = std::make_shared<Loop>();
    loop->var = out.new_var();
    loop->extent = extent;
    loop->count = count;
    loop->kind = LoopKind::kVector;
    position.push_back(out.graph.add(out.graph.index_var(loop->var, extent), start));
    std::vector<scalar::Value> found;
    for (const Instr* o : values) found.push_back(row.e.element(o, position));
    for (size_t o = 0; o < values.size(); ++o)
      store_value(out, &loop->body, first_buffer + static_cast<int64_t>(o), row.e.offset(dims, position),
                  found[o]);
    body->push_back(make_loop(loop));
  }
  void pieces(const Index& position, const std::set<int64_t>& cuts, std::vector<Stmt>* body) {
    int64_t from = 0;
    for (int64_t c : cuts) columns(position, from, c, body), from = c;
    columns(position, from, dims.back(), body);
  }

  // What is done if `condition` holds.
  std::vector<Stmt>* only_if(Scalar condition, std::vector<Stmt>* body) {
    auto guard = std::make_shared<Loop>();
    guard->var = out.new_var();
    guard->extent = 1;
    guard->count = out.graph.cast(Dtype::kS64, condition);
    body->push_back(make_loop(guard));
    return &guard->body;
  }

  // A variable of its own for `value`, which is in [from, to) here: the graph knows its bounds.
  Scalar bounded(Scalar value, int64_t from, int64_t to, std::vector<Stmt>* body) {
    scalar::Graph& g = out.graph;
    Stmt s;
    s.kind = Stmt::Kind::kLet;
    s.let = {out.new_var(), Dtype::kS64, g.sub(value, row.e.index_const(from))};
    const Scalar known = g.add(g.index_var(s.let.var, to - from), row.e.index_const(from));
    body->push_back(std::move(s));
    return known;
  }
  bool is_cut(const Cuts& cuts, size_t d) const { return cuts.inside[d] != std::make_pair(int64_t{0}, dims[d]); }
  Scalar is_inside(const Cuts& cuts, const Index& position) {
    scalar::Graph& g = out.graph;
    Scalar inside = g.constant_int(Dtype::kPred, 1);
    for (size_t d = 0; d < position.size(); ++d) {
      if (!is_cut(cuts, d)) continue;
      inside = g.logical_and(inside, g.le(row.e.index_const(cuts.inside[d].first), position[d]));
      inside = g.logical_and(inside, g.lt(position[d], row.e.index_const(cuts.inside[d].second)));
    }
    return inside;
  }
  Index known_inside(const Cuts& cuts, Index position, std::vector<Stmt>* body) {
    for (size_t d = 0; d < position.size(); ++d)
      if (is_cut(cuts, d)) position[d] = bounded(position[d], cuts.inside[d].first, cuts.inside[d].second, body);
    return position;
  }

  // Rows inside in pieces, others asked for each element.
  void split(const Cuts& cuts, std::vector<Stmt>* body) {
    const Index position = row.position();
    const Scalar inside = is_inside(cuts, position);
    std::vector<Stmt>* within = only_if(inside, body);
    pieces(known_inside(cuts, position, within), cuts.columns, within);
    columns(position, 0, dims.back(), only_if(out.graph.logical_not(inside), body));
  }

  // An item a chunk of `size` columns of a row: chunks inside one of `stretches` ask nothing.
  void chunk(const Cuts& cuts, const std::vector<Stretch>& stretches, int64_t size, int64_t chunks,
             std::vector<Stmt>* body) {
    scalar::Graph& g = out.graph;
    const Index position = row.e.delinearize(g.div(row.item, row.e.index_const(chunks)), row.outer);
    const Scalar start = g.mul(g.rem(row.item, row.e.index_const(chunks)), row.e.index_const(size));
    Scalar others = g.constant_int(Dtype::kPred, 1);
    for (const auto& [from, to] : stretches) {
      Scalar inside = is_inside(cuts, position);
      inside = g.logical_and(inside, g.le(row.e.index_const(from), start));
      inside = g.logical_and(inside, g.le(start, row.e.index_const(to - size)));
      std::vector<Stmt>* within = only_if(inside, body);
      const Index known = known_inside(cuts, position, within);
      columns(known, bounded(start, from, to - size + 1, within), size, {}, within);
      others = g.logical_and(others, g.logical_not(inside));
    }
    Scalar count;
    if (dims.back() % size != 0)
      count = g.min(row.e.index_const(size), g.sub(row.e.index_const(dims.back()), start));
    columns(position, start, size, count, only_if(others, body));
  }
};

// Few long rows, in chunks.
bool lower_chunks(Kernel& k, const Computation& fused, absl::Span<const Instr* const> values, const Cuts& cuts) {
  const Dims& dims = values[0]->shape.dims;
  const int64_t columns = dims.back();
  int64_t size = kChunk, inside = 1;
  while (columns / size > kChunk) size *= 2;
  int64_t fast = 0;
  std::vector<Stretch> stretches = stretches_between(cuts.columns, columns);
  std::erase_if(stretches, [&](const Stretch& s) { return s.second - s.first < 4 * size; });
  for (const Stretch& s : stretches) fast += s.second - s.first;
  for (auto [from, to] : cuts.inside) inside *= to - from;
  const auto loops = static_cast<int64_t>(stretches.size()) + 1;
  if ((cuts.all_inside && cuts.columns.empty()) || loops == 1 || inside * fast * 2 < product(dims) ||
      stretches.size() > kMostPieces || cuts.nodes * loops > kMostNodes)
    return false;
  Kernel out = k;
  const int64_t chunks = (columns + size - 1) / size;
  Row row(out, fused, dims, chunks);
  Phase p;
  p.items = row.rows;
  p.item_var = row.var;
  p.width = cuts.width;
  Writer writer{out, row, values, first_output(fused), dims};
  writer.chunk(cuts, stretches, size, chunks, &p.body);
  p.grain = choose_grain(out, static_cast<double>(size));
  if (!row.e.status().ok()) return false;
  out.phases.push_back(std::move(p));
  k = std::move(out);
  return true;
}

}  // namespace

bool lower_pieces(Kernel& k, const Computation& fused, absl::Span<const Instr* const> values,
                  const Facts& facts) {
  const Dims& dims = values[0]->shape.dims;
  if (dims.empty() || dims.back() < kFewestColumns || !puts_together(fused)) return false;
  const bool long_rows = product(dims) / dims.back() < kFewestRows;
  if (long_rows && dims.back() < 8 * kChunk) return false;
  Cuts cuts;
  if (!find_cuts(k, fused, values, facts, &cuts)) return false;
  if (long_rows) return lower_chunks(k, fused, values, cuts);
  int64_t inside = 1;
  for (auto [from, to] : cuts.inside) inside *= to - from;
  const bool splits = !cuts.all_inside && inside * 2 >= product(dims) / dims.back();
  const int64_t loops = static_cast<int64_t>(cuts.columns.size()) + 1 + (splits ? 1 : 0);
  if (loops == 1 || cuts.columns.size() >= kMostPieces || cuts.nodes * loops > kMostNodes) return false;
  Kernel out = k;
  Row row(out, fused, dims);
  Phase p;
  p.items = row.rows;
  p.item_var = row.var;
  p.width = cuts.width;
  p.grain = cuts.grain;
  Writer writer{out, row, values, first_output(fused), dims};
  if (splits) writer.split(cuts, &p.body);
  else writer.pieces(row.position(), cuts.columns, &p.body);
  if (!row.e.status().ok()) return false;
  out.phases.push_back(std::move(p));
  k = std::move(out);
  return true;
}

}  // namespace braze::loop
