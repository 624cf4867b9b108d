// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: all outputs over one iteration space. The innermost dimensions are merged
// into one vector loop as far as every access keeps a constant stride along it. Where the results
// are interleaved from arrays padded between their elements,
//
//   r[i] = a[i / 2] if i is even, else b[i / 2]     (pad(a, interior 1) + pad(b, interior 1, low 1),
//                                                    or a and b along a last dimension of 2)
//
// an iteration of the vector loop makes each of the elements between two of one array: nothing is
// divided or chosen in the lanes, and what is padded is computed only where it is not hidden.
#include <algorithm>

#include "loop/lower.h"

namespace braze::loop {
namespace {

using scalar::Value;

// True if every load of the kernel moves by a small constant along `var`, and no index needs a
// division in each lane.
bool regular(const Kernel& k, int64_t var, int64_t* irregular_loads) {
  *irregular_loads = 0;
  for (int32_t i = 0; i < k.graph.size(); ++i) {
    const scalar::Node& n = k.graph[Scalar{i}];
    bool divides = n.op == scalar::Op::kDiv || n.op == scalar::Op::kRem;
    if (divides && n.type == Dtype::kS64 && k.graph.depends_on(Scalar{i}, var)) ++*irregular_loads;
    if (n.op != scalar::Op::kLoad) continue;
    int64_t stride = 0;
    if (!k.graph.stride_in(n.args[0], var, &stride) || stride < -2 || stride > 2)
      ++*irregular_loads;
  }
  return *irregular_loads == 0;
}

// What a kernel's iterations walk: the results' dimensions, or, if all results are reshaped, those
// before: the order of elements is the same, and what is repeated or cut there needs no division
// here.
struct Space {
  std::vector<const Instr*> values;
  Dims dims;
};

Result<Space> space_of(const Computation& fused) {
  Space s{outputs(fused), {}};
  const auto equal = [&] {
    return std::all_of(s.values.begin(), s.values.end(),
                       [&](const Instr* o) { return o->shape.dims == s.values[0]->shape.dims; });
  };
  const auto reshaped = [](const Instr* o) {
    return o->op == Op::kReshape && o->operand(0)->op != Op::kParameter;
  };
  if (!equal()) return unimplemented("outputs over different iteration spaces");
  const Space given = s;
  while (std::all_of(s.values.begin(), s.values.end(), reshaped)) {
    for (const Instr*& o : s.values) o = o->operand(0);
    if (!equal()) {
      s = given;
      break;
    }
  }
  s.dims = s.values[0]->shape.dims;
  return s;
}

struct Candidate {
  Kernel kernel;
  int64_t step = 1;       // elements of an iteration
  int64_t irregular = 0;  // in it
  Status status;

  bool is_better_than(const Candidate& other) const { return irregular * other.step < other.irregular * step; }
};

// How many neighbours of `i`, of as many elements as the kernel's results, come from as many
// arrays.
int64_t period(const Instr& i, const Dims& dims) {
  if (i.op == Op::kPad && !i.shape.dims.empty() && i.shape.dims.back() == dims.back())
    return std::min<int64_t>(i.as<PadAttrs>().interior.back(), INT64_MAX - 1) + 1;
  if (i.op != Op::kConcatenate || i.shape.elements() != product(dims)) return 1;
  const auto d = static_cast<size_t>(i.as<DimsAttrs>().dimensions[0]);
  const bool single = std::all_of(i.operands.begin(), i.operands.end(),
                                  [&](const Instr* o) { return o->shape.dims[d] == 1; });
  const DimSpan after(i.shape.dims.data() + d + 1, i.shape.dims.size() - d - 1);
  return single && product(after) == 1 ? i.shape.dims[d] : 1;
}

// How many neighbours along the last dimension an iteration should make: 1 if nothing is
// interleaved.
constexpr int64_t kMostNeighbours = 8;

int64_t interleaved(const Computation& fused, const Dims& dims) {
  constexpr int64_t kFewest = 8;  // iterations of a row, or of all rows of one
  int64_t step = 1;
  for (auto& i : fused.instrs()) {
    const int64_t s = period(*i, dims);
    if (s == 1) continue;
    if (s > kMostNeighbours || (step != 1 && s != step)) return 1;
    step = s;
  }
  const int64_t iterations = dims.back() == step ? product(dims) / step : dims.back() / step;
  return dims.back() % step == 0 && iterations >= kFewest ? step : 1;
}

// The kernel with dimensions [split, rank) merged into the vector loop, an iteration of which makes
// `step` neighbours.
Candidate build(const Kernel& base, const Computation& fused, const Space& space,
                const Facts& facts, int64_t split, int64_t step) {
  Candidate c{base, step, 0, absl::OkStatus()};
  Kernel& k = c.kernel;
  scalar::Graph& g = k.graph;
  const std::vector<const Instr*>& outs = space.values;
  const Dims& dims = space.dims;
  DimSpan outer(dims.data(), split), inner(dims.data() + split, dims.size() - split);
  int64_t rows = product(outer), columns = product(inner);
  int64_t bytes = 0;
  for (const Buffer& b : k.buffers) bytes = std::max<int64_t>(bytes, byte_size(b.dtype));

  // Long rows are cut into chunks, so that one row still keeps all threads busy.
  int64_t chunk = columns;
  if (rows < 64 && columns > 8192) {
    chunk = 4096;
    while (columns / chunk > 4096) chunk *= 2;
    chunk -= chunk % step;
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
  const int64_t iterations = chunk / step;
  Scalar lane = g.index_var(v, std::max<int64_t>(iterations, 1));
  auto loop = std::make_shared<Loop>();
  loop->var = v;
  loop->extent = iterations;
  loop->kind = LoopKind::kVector;
  if (columns % std::max<int64_t>(chunk, 1) != 0) {
    const Scalar rest = g.sub(e.index_const(columns), start);
    loop->count = g.min(e.index_const(iterations), g.div(rest, e.index_const(step)));
  }
  std::vector<Scalar> at;
  std::vector<std::vector<Value>> values(outs.size());
  for (int64_t neighbour = 0; neighbour < step; ++neighbour) {
    const Scalar along = g.add(g.mul(lane, e.index_const(step)), e.index_const(neighbour));
    const Scalar column = g.add(start, along);
    Index index = e.delinearize(row, outer);
    for (Scalar s : e.delinearize(column, inner)) index.push_back(s);
    for (size_t o = 0; o < outs.size(); ++o) values[o].push_back(e.element(outs[o], index));
    at.push_back(split == 0 ? column : g.add(g.mul(row, e.index_const(columns)), column));
  }
  for (size_t o = 0; o < outs.size(); ++o)
    for (int64_t neighbour = 0; neighbour < step; ++neighbour)
      store_value(k, &loop->body, first_output(fused) + static_cast<int64_t>(o), at[neighbour],
                  values[o][neighbour]);
  c.status = e.status();
  if (!c.status.ok()) return c;
  regular(k, v, &c.irregular);
  // Short rows need no wider vectors than they are long.
  int64_t longest = 1;
  while (longest < iterations) longest *= 2;
  p.width = static_cast<int>(std::min<int64_t>(choose_width(k, facts, false), longest));
  p.grain = choose_grain(k, static_cast<double>(chunk));
  p.body.push_back(make_loop(loop));
  k.phases.push_back(std::move(p));
  return c;
}

}  // namespace

Status lower_loop(Kernel& k, const Computation& fused, const Facts& facts) {
  ASSIGN(const Space space, space_of(fused));
  const Dims& dims = space.dims;
  const int64_t rank = static_cast<int64_t>(dims.size());
  const int64_t step = dims.empty() ? 1 : interleaved(fused, dims);
  Candidate best;
  bool have = false;
  const auto consider = [&](int64_t split, int64_t neighbours) {
    Candidate c = build(k, fused, space, facts, split, neighbours);
    if (c.status.ok() && (!have || c.is_better_than(best))) {
      best = std::move(c);
      have = true;
    }
    return c.status;
  };
  // Merged dimensions first; short innermost dimensions make poor vectors.
  for (int64_t split = 0; split <= std::max<int64_t>(rank - 1, 0); ++split) {
    if (split > 0 && dims[split - 1] == 1) continue;
    if (have && product(DimSpan(dims.data() + split, dims.size() - split)) < 8 * step) break;
    TRY(consider(split, step));
    if (best.irregular == 0 || facts.trial) break;
  }
  // A few elements that come from different places, or several times from one: an iteration makes
  // all of them.
  constexpr int32_t kMostNodes = 400;
  if (!facts.trial && step == 1 && rank > 0 && dims.back() > 1 && dims.back() <= kMostNeighbours &&
      best.kernel.graph.size() < kMostNodes) {
    for (int64_t split = 0; split < std::max<int64_t>(rank - 1, 1) && best.irregular > 0; ++split) {
      if (product(DimSpan(dims.data() + split, dims.size() - split)) < 8 * dims.back()) break;
      TRY(consider(split, dims.back()));
    }
  }
  if (best.kernel.phases[0].width > 1 && step == 1 && !facts.trial &&
      lower_pieces(k, fused, space.values, facts))
    return absl::OkStatus();
  if (best.irregular > 0 && !facts.trial && lower_transpose(k, fused, facts))
    return absl::OkStatus();
  k = std::move(best.kernel);
  return absl::OkStatus();
}

}  // namespace braze::loop
