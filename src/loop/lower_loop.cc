// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: all outputs over one iteration space. The innermost dimensions are merged into
// one vector loop as far as every access keeps a constant stride along it.
#include <algorithm>

#include "loop/lower.h"

namespace braze::loop {
namespace {

using scalar::Value;

// True if every load of the kernel moves by a small constant along `var`, and no index needs a division
// in each lane.
bool regular(const Kernel& k, int64_t var, int64_t* irregular_loads) {
  *irregular_loads = 0;
  for (int32_t i = 0; i < k.graph.size(); ++i) {
    const scalar::Node& n = k.graph[Scalar{i}];
    bool divides = n.op == scalar::Op::kDiv || n.op == scalar::Op::kRem;
    if (divides && n.type == Dtype::kS64 && k.graph.depends_on(Scalar{i}, var)) ++*irregular_loads;
    if (n.op != scalar::Op::kLoad) continue;
    int64_t stride = 0;
    if (!k.graph.stride_in(n.args[0], var, &stride) || stride < -2 || stride > 2) ++*irregular_loads;
  }
  return *irregular_loads == 0;
}

struct Candidate {
  Kernel kernel;
  int64_t irregular = 0;
  Status status;
};

// The kernel with dimensions [split, rank) merged into the vector loop.
Candidate build(const Kernel& base, const Computation& fused, const Facts& facts, int64_t split) {
  Candidate c{base, 0, absl::OkStatus()};
  Kernel& k = c.kernel;
  scalar::Graph& g = k.graph;
  std::vector<const Instr*> outs = outputs(fused);
  const Dims& dims = outs[0]->shape.dims;
  DimSpan outer(dims.data(), split), inner(dims.data() + split, dims.size() - split);
  int64_t rows = product(outer), columns = product(inner);
  int64_t bytes = 0;
  for (const Buffer& b : k.buffers) bytes = std::max<int64_t>(bytes, byte_size(b.dtype));

  // Long rows are cut into chunks, so that one row still keeps all threads busy.
  int64_t chunk = columns;
  if (rows < 64 && columns > 8192) {
    chunk = 4096;
    while (columns / chunk > 4096) chunk *= 2;
  }
  int64_t chunks = columns == 0 ? 1 : (columns + chunk - 1) / chunk;
  Phase p;
  p.items = rows * chunks;
  p.item_var = k.new_var();
  int64_t v = k.new_var();
  Elements e(k);
  bind_parameters(e, fused);
  Scalar item = g.index_var(p.item_var, std::max<int64_t>(p.items, 1));
  Scalar row = chunks == 1 ? item : g.div(item, e.index_const(chunks));
  Scalar start = chunks == 1 ? e.index_const(0)
                             : g.mul(g.rem(item, e.index_const(chunks)), e.index_const(chunk));
  Scalar lane = g.index_var(v, std::max<int64_t>(chunk, 1));
  Scalar column = g.add(start, lane);
  Index index = e.delinearize(row, outer);
  for (Scalar s : e.delinearize(column, inner)) index.push_back(s);

  auto loop = std::make_shared<Loop>();
  loop->var = v;
  loop->extent = chunk;
  loop->kind = LoopKind::kVector;
  if (columns % std::max<int64_t>(chunk, 1) != 0)
    loop->count = g.min(e.index_const(chunk), g.sub(e.index_const(columns), start));
  std::vector<Value> values;
  for (const Instr* o : outs) values.push_back(e.element(o, index));
  Scalar at = e.offset(dims, index);
  if (split == 0) at = column;
  else at = g.add(g.mul(row, e.index_const(columns)), column);
  for (size_t o = 0; o < outs.size(); ++o)
    store_value(k, &loop->body, first_output(fused) + static_cast<int64_t>(o), at, values[o]);
  c.status = e.status();
  if (!c.status.ok()) return c;
  regular(k, v, &c.irregular);
  // Short rows need no wider vectors than they are long.
  int64_t longest = 1;
  while (longest < chunk) longest *= 2;
  p.width = static_cast<int>(std::min<int64_t>(choose_width(k, facts, false), longest));
  p.grain = choose_grain(k, static_cast<double>(chunk));
  p.body.push_back(make_loop(loop));
  k.phases.push_back(std::move(p));
  return c;
}

}  // namespace

Status lower_loop(Kernel& k, const Computation& fused, const Facts& facts) {
  std::vector<const Instr*> outs = outputs(fused);
  const Dims& dims = outs[0]->shape.dims;
  for (const Instr* o : outs)
    if (o->shape.dims != dims) return unimplemented("outputs over different iteration spaces");
  int64_t rank = static_cast<int64_t>(dims.size());
  Candidate best;
  bool have = false;
  // Merged dimensions first; short innermost dimensions make poor vectors.
  for (int64_t split = 0; split <= std::max<int64_t>(rank - 1, 0); ++split) {
    if (split > 0 && dims[split - 1] == 1) continue;
    Candidate c = build(k, fused, facts, split);
    if (!c.status.ok()) return c.status;
    DimSpan inner(dims.data() + split, dims.size() - split);
    bool too_short = product(inner) < 8 && have;
    if (too_short) break;
    if (!have || c.irregular < best.irregular) {
      best = std::move(c);
      have = true;
    }
    if (best.irregular == 0) break;
  }
  k = std::move(best.kernel);
  return absl::OkStatus();
}

}  // namespace braze::loop
