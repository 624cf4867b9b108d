// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels whose rows are put together from pieces: padded, concatenated, rolled.
//
//   concatenate(a[n,10], b[n,20])      for each row a loop over a's columns and one over b's,
//
// rather than one that asks in each lane which of the two it is.
#include <algorithm>
#include <set>

#include "loop/lower.h"

namespace braze::loop {
namespace {

constexpr int64_t kFewestRows = 64;  // fewer are cut into chunks, for the threads
constexpr int64_t kFewestColumns = 32;
constexpr size_t kMostPieces = 8;
constexpr int64_t kMostNodes = 1500;

// One phase's worth of nodes for elements (row, start + lane).
struct Row {
  Row(Kernel& kernel, const Computation& fused, const Dims& dims)
      : k(kernel),
        e(kernel),
        outer(dims.data(), dims.size() - 1),
        rows(product(outer)),
        var(kernel.new_var()) {
    bind_parameters(e, fused);
    item = k.graph.index_var(var, std::max<int64_t>(rows, 1));
  }
  Index index(Scalar column) {
    Index out = e.delinearize(item, outer);
    out.push_back(column);
    return out;
  }

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
  return std::any_of(fused.instrs().begin(), fused.instrs().end(),
                     [](const auto& i) { return i->op == Op::kConcatenate || i->op == Op::kPad; });
}

}  // namespace

bool lower_pieces(Kernel& k, const Computation& fused, absl::Span<const Instr* const> values,
                  const Facts& facts) {
  const Dims& dims = values[0]->shape.dims;
  if (dims.empty() || dims.back() < kFewestColumns || product(dims) / dims.back() < kFewestRows ||
      !puts_together(fused))
    return false;
  const int64_t columns = dims.back();
  std::set<int64_t> starts;
  {
    Kernel trial = k;
    Row row(trial, fused, dims);
    const int64_t var = trial.new_var();
    for (const Instr* o : values) row.e.element(o, row.index(trial.graph.index_var(var, columns)));
    if (!row.e.status().ok()) return false;
    starts = cuts(trial.graph, var, columns);
    if (starts.empty() || starts.size() >= kMostPieces ||
        trial.graph.size() * static_cast<int64_t>(starts.size() + 1) > kMostNodes)
      return false;
  }
  starts.insert(0);
  Kernel out = k;
  Row row(out, fused, dims);
  Phase p;
  p.items = row.rows;
  p.item_var = row.var;
  for (auto it = starts.begin(); it != starts.end(); ++it) {
    const int64_t end = std::next(it) == starts.end() ? columns : *std::next(it);
    auto loop = std::make_shared<Loop>();
    loop->var = out.new_var();
    loop->extent = end - *it;
    loop->kind = LoopKind::kVector;
    const Scalar column =
        out.graph.add(out.graph.index_var(loop->var, loop->extent), row.e.index_const(*it));
    const Index index = row.index(column);
    std::vector<scalar::Value> found;
    for (const Instr* o : values) found.push_back(row.e.element(o, index));
    for (size_t o = 0; o < values.size(); ++o)
      store_value(out, &loop->body, first_output(fused) + static_cast<int64_t>(o),
                  row.e.offset(dims, index), found[o]);
    p.body.push_back(make_loop(loop));
  }
  if (!row.e.status().ok()) return false;
  p.width = choose_width(out, facts, false);
  p.grain = choose_grain(out, static_cast<double>(columns));
  out.phases.push_back(std::move(p));
  k = std::move(out);
  return true;
}

}  // namespace braze::loop
