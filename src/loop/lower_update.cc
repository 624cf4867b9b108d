// SPDX-License-Identifier: Apache-2.0
// Updates in place: the output buffer starts as the operand (kInOut) and only the updated elements
// are written. dynamic-update-slice writes one window, which its update may be made of; scatter walks
// the updates in order and combines each with what is there, so that the result is the same from run to
// run.
#include <algorithm>
#include <bit>

#include "absl/container/flat_hash_set.h"
#include "loop/lower.h"
#include "ops/op_def.h"

namespace braze::loop {
namespace {

using scalar::Value;

bool contains(const Dims& d, int64_t v) { return std::find(d.begin(), d.end(), v) != d.end(); }

// Element `offset` of an array in `buffer`.
Value old_value(scalar::Graph& g, Dtype type, int64_t buffer, Scalar offset) {
  const Dtype t = buffer_type(type);
  if (!is_complex(type)) return {g.load(t, buffer, offset), {}};
  const Scalar twice = g.mul(offset, g.constant_int(Dtype::kS64, 2));
  return {g.load(t, buffer, twice), g.load(t, buffer, g.add(twice, g.constant_int(Dtype::kS64, 1)))};
}

// All parts are computed before one is stored: each may read all old ones.
void keep_parts(Kernel& k, std::vector<Stmt>* body, Value* v) {
  for (Scalar* part : {&v->re, &v->im}) {
    if (!*part) continue;
    Stmt s;
    s.kind = Stmt::Kind::kLet;
    s.let = {k.new_var(), k.graph.type(*part), *part};
    *part = k.graph.var(s.let.type, s.let.var);
    body->push_back(std::move(s));
  }
}

Status update_slice(Kernel& k, const Computation& fused, const Facts& facts) {
  const Instr* op = hero(fused);
  scalar::Graph& g = k.graph;
  Elements e(k);
  bind_parameters(e, fused);
  const Instr* update = op->operand(1);
  const Dims &dims = op->shape.dims, &window = update->shape.dims;
  Index start;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Instr* s = op->operand(2 + static_cast<int64_t>(d));
    Scalar v = e.element(s, {}).re;
    // Unsigned 64-bit starts beyond the signed range clamp to the end, as large values do.
    Scalar limit = e.index_const(dims[d] - window[d]);
    if (s->shape.dtype == Dtype::kU64)
      v = g.min(v, g.constant_int(Dtype::kU64, dims[d] - window[d]));
    start.push_back(g.max(e.index_const(0), g.min(g.cast(Dtype::kS64, v), limit)));
  }
  int64_t columns = window.empty() ? 1 : window.back();
  Phase p;
  p.items = columns == 0 ? 0 : product(window) / columns;
  p.item_var = k.new_var();
  auto loop = std::make_shared<Loop>();
  loop->var = k.new_var();
  loop->extent = columns;
  loop->kind = LoopKind::kVector;
  DimSpan outer(window.data(), window.empty() ? 0 : window.size() - 1);
  Index at = e.delinearize(g.index_var(p.item_var, std::max<int64_t>(p.items, 1)), outer);
  if (!window.empty()) at.push_back(g.index_var(loop->var, std::max<int64_t>(columns, 1)));
  Dims s = strides(dims);
  Scalar offset = e.index_const(0);
  for (size_t d = 0; d < dims.size(); ++d)
    offset = g.add(offset, g.mul(g.add(start[d], at[d]), e.index_const(s[d])));
  // What the window held is read where it is about to be overwritten, by the lane that does.
  const int64_t out = first_output(fused);
  for (const Instr* u : op->operand(0)->users)
    if (u != op) e.bind_value(u, at, {old_value(g, op->shape.dtype, out, offset)});
  Value v = e.element(update, at);
  if (v.is_complex()) keep_parts(k, &loop->body, &v);
  store_value(k, &loop->body, out, offset, v);
  TRY(e.status());
  p.width = choose_width(k, facts, false);
  p.grain = choose_grain(k, static_cast<double>(columns));
  p.body.push_back(make_loop(loop));
  k.phases.push_back(std::move(p));
  return absl::OkStatus();
}

// Equal parts of a window of n elements that threads may share: whole cache lines, several of them.
int64_t window_parts(int64_t n) {
  constexpr int64_t kMostParts = 8;
  for (int64_t parts = std::min(n / 32, kMostParts); parts > 1; --parts)
    if (n % (parts * 16) == 0 && (n / parts >= 64 || parts == 2)) return parts;
  return 1;
}

// Values carried around `outer` through its body `inner`, a loop in it, from `init` on: as they are in
// `inner`, whose accumulator's `next` is left to be filled in.
std::vector<Scalar> carry(Kernel& k, Loop& outer, Loop& inner, const std::vector<Dtype>& types,
              std::vector<Scalar> init) {
  std::vector<Scalar> current;
  for (Loop* l : {&outer, &inner}) {
    Accumulator a;
    a.type = types;
    a.init = std::move(init);
    std::vector<Scalar> values;
    for (Dtype t : types) {
      a.var.push_back(k.new_var());
      a.result.push_back(k.new_var());
      values.push_back(k.graph.var(t, a.var.back()));
      if (l == &inner) outer.accumulators[0].next.push_back(k.graph.var(t, a.result.back()));
    }
    init = current = std::move(values);
    l->accumulators.push_back(std::move(a));
  }
  return current;
}

// Does the value load from `buffer`?
bool reads(const scalar::Graph& g, const Value& v, int64_t buffer) {
  std::vector<Scalar> todo{v.re};
  if (v.is_complex()) todo.push_back(v.im);
  absl::flat_hash_set<int32_t> seen;
  while (!todo.empty()) {
    const Scalar s = todo.back();
    todo.pop_back();
    if (!seen.insert(s.id).second) continue;
    if (g[s].op == scalar::Op::kLoad && g[s].imm == buffer) return true;
    for (Scalar a : g[s].args)
      if (a) todo.push_back(a);
  }
  return false;
}

Status scatter(Kernel& k, const Computation& fused, const Facts& facts) {
  const Instr* op = hero(fused);
  if (op->operands.size() != 3 || outputs(fused)[0] != op)
    return unimplemented("scatter of several operands in a kernel");
  scalar::Graph& g = k.graph;
  Elements e(k);
  bind_parameters(e, fused);
  const ScatterAttrs& a = op->as<ScatterAttrs>();
  const Shape &target = op->shape, &indices = op->operand(1)->shape, &updates = op->operand(2)->shape;
  if (updates.elements() == 0) {
    k.phases.push_back({0, k.new_var(), 1, 1, {}});
    return absl::OkStatus();
  }
  // Loops: the scatter dimensions of the updates as one, then the window ones.
  Dims walk;
  std::vector<int64_t> scatter_dims;
  for (int64_t d = 0; d < updates.rank(); ++d)
    if (!contains(a.update_window_dims, d)) {
      scatter_dims.push_back(d);
      walk.push_back(updates.dims[d]);
    }
  Phase p;
  p.item_var = k.new_var();
  auto outer = std::make_shared<Loop>();
  outer->var = k.new_var();
  outer->extent = product(walk);
  Index at(updates.dims.size());
  Index steps = e.delinearize(g.index_var(outer->var, std::max<int64_t>(outer->extent, 1)), walk);
  for (size_t i = 0; i < scatter_dims.size(); ++i) at[scatter_dims[i]] = steps[i];
  // A loop of no or one iteration: an update that would fall outside is left out, whole.
  auto guard = std::make_shared<Loop>();
  guard->var = k.new_var();
  guard->extent = 1;
  outer->body.push_back(make_loop(guard));
  std::vector<Stmt>* body = &guard->body;
  p.body.push_back(make_loop(outer));
  int64_t columns = 1;  // of a vector loop
  for (size_t w = 0; w < a.update_window_dims.size(); ++w) {
    int64_t d = a.update_window_dims[w];
    if (updates.dims[d] == 1) {
      at[d] = e.index_const(0);
      continue;
    }
    bool last = w + 1 == a.update_window_dims.size();
    // Items take a part of every window each: all walk the updates in order, and write apart.
    if (last) p.items = window_parts(updates.dims[d]);
    auto l = std::make_shared<Loop>();
    l->var = k.new_var();
    l->extent = updates.dims[d] / (last ? p.items : 1);
    // Elements of one window are distinct, so the innermost may be a vector.
    l->kind = last && l->extent >= 8 ? LoopKind::kVector : LoopKind::kSerial;
    if (l->kind == LoopKind::kVector) columns = l->extent;
    at[d] = g.index_var(l->var, l->extent);
    if (last && p.items > 1)
      at[d] = g.add(g.mul(g.index_var(p.item_var, p.items), e.index_const(l->extent)), at[d]);
    body->push_back(make_loop(l));
    body = &l->body;
  }
  // Start of the window in the target, by target dimension.
  Index start(target.dims.size(), e.index_const(0));
  auto index_at = [&](int64_t component) {
    Index i;
    size_t s = 0;
    for (int64_t d = 0; d < indices.rank(); ++d)
      i.push_back(d == a.index_vector_dim ? e.index_const(component) : steps[s++]);
    Scalar v = e.element(op->operand(1), i).re;
    return g.cast(Dtype::kS64, v);
  };
  for (size_t c = 0; c < a.scatter_dims_to_operand_dims.size(); ++c)
    start[a.scatter_dims_to_operand_dims[c]] = index_at(static_cast<int64_t>(c));
  for (size_t b = 0; b < a.input_batching_dims.size(); ++b) {
    int64_t d = a.scatter_indices_batching_dims[b];
    start[a.input_batching_dims[b]] = steps[d < a.index_vector_dim ? d : d - 1];
  }
  Dims s = strides(target.dims);
  Scalar offset = e.index_const(0), inside;
  size_t w = 0;
  for (int64_t d = 0; d < target.rank(); ++d) {
    bool windowed = !contains(a.inserted_window_dims, d) && !contains(a.input_batching_dims, d);
    int64_t size = windowed ? updates.dims[a.update_window_dims[w]] : 1;
    Scalar x = windowed ? g.add(start[d], at[a.update_window_dims[w]]) : start[d];
    if (windowed) ++w;
    offset = g.add(offset, g.mul(x, e.index_const(s[d])));
    // One comparison for both bounds: a negative start is a large unsigned one.
    Scalar ok = size > target.dims[d]
                    ? g.constant_int(Dtype::kPred, 0)
                    : g.le(g.bitcast(Dtype::kU64, start[d]),
                           g.constant_int(Dtype::kU64, target.dims[d] - size));
    inside = inside ? g.logical_and(inside, ok) : ok;
  }
  Dtype t = buffer_type(target.dtype);
  int64_t out = first_output(fused);
  const bool single = body == &guard->body;
  // Sorted updates of single elements come in runs to one place: the last element stored stays in a
  // register, and is loaded only where another place begins.
  const bool runs = a.indices_are_sorted && single && is_float(t) && !is_complex(target.dtype);
  Value old = old_value(g, target.dtype, out, offset);
  if (runs) {
    std::vector<Scalar> last = carry(k, *outer, *guard, {Dtype::kS64, t}, {e.index_const(-1), g.constant(t, 0)});
    old.re = g.select_rare(g.ne(offset, last[0]), old.re, last[1]);
  }
  Value update = e.element(op->operand(2), at);
  std::vector<Value> combined = e.apply(*op->calls[0], {old, update});
  const bool combines = reads(g, combined[0], out);
  if (runs || combined[0].is_complex()) keep_parts(k, body, &combined[0]);
  if (runs) guard->accumulators[0].next = {offset, combined[0].re};
  // Whether an element falls outside may be a matter of chance, and a branch on it slow: a plain store
  // goes elsewhere instead. What is combined with an old value is quicker behind a branch.
  Scalar condition;
  if (single && !runs && !combines) condition = inside;
  else if (inside) guard->count = g.cast(Dtype::kS64, inside);
  store_value(k, body, out, offset, combined[0], condition);
  TRY(e.status());
  // No wider than the windows: a shorter vector needs no mask.
  p.width = static_cast<int>(std::min<int64_t>(choose_width(k, facts, false), std::bit_floor(
                                 static_cast<uint64_t>(std::max<int64_t>(columns, 1)))));
  k.phases.push_back(std::move(p));
  return absl::OkStatus();
}

}  // namespace

Status lower_update(Kernel& k, const Computation& fused, const Facts& facts) {
  if (inout_parameter(fused, 0) < 0) return unimplemented("an update whose target is computed");
  return hero(fused)->op == Op::kScatter ? scatter(k, fused, facts) : update_slice(k, fused, facts);
}

}  // namespace braze::loop
