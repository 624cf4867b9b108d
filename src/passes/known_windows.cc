// SPDX-License-Identifier: Apache-2.0
#include "passes/known_windows.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "eval/evaluator.h"
#include "ops/builder.h"
#include "passes/known_lattices.h"

namespace braze {
namespace {

constexpr int64_t kMostElements = 64;  // of values computed while compiling
constexpr int kMostSteps = 64;         // per value

// Values that can be computed while compiling: of constants, and of what a loop's state holds from its start
// to its end.
class Known {
 public:
  explicit Known(const Module& m) {
    for (const auto& c : m.computations())
      for (const auto& i : c->instrs())
        for (const Computation* callee : i->calls) {
          auto [it, fresh] = caller_.try_emplace(callee, i->op == Op::kWhile ? i.get() : nullptr);
          if (!fresh && it->second != i.get()) it->second = nullptr;
        }
  }

  std::optional<Literal> value(const Instr& i) const {
    int steps = kMostSteps;
    return value(i, &steps);
  }

 private:
  std::optional<Literal> value(const Instr& i, int* steps) const {
    if (--*steps < 0 || !i.shape.is_array() || i.shape.quant || !i.shape.is_static() ||
        i.shape.has_bounded_dim() || i.shape.elements() > kMostElements)
      return std::nullopt;
    if (i.op == Op::kConstant) return i.literal();
    if (const Instr* first = unchanging(i)) return value(*first, steps);
    if (i.op != Op::kIota && i.operands.empty()) return std::nullopt;
    if (!def(i).emit && !def(i).index && i.op != Op::kReshape && i.op != Op::kReduce) return std::nullopt;
    if (has_effect(i)) return std::nullopt;
    std::vector<Literal> operands;
    for (const Instr* o : i.operands) {
      auto v = value(*o, steps);
      if (!v) return std::nullopt;
      operands.push_back(std::move(*v));
    }
    Result<Literal> found = evaluate(i, operands);
    if (!found.ok() || found->shape().dims != i.shape.dims || found->dtype() != i.shape.dtype) return std::nullopt;
    return std::move(*found);
  }

  // What an element of a loop's state starts as, if each iteration leaves it as it is.
  const Instr* unchanging(const Instr& i) const {
    if (i.op != Op::kGetTupleElement || i.operand(0)->op != Op::kParameter) return nullptr;
    auto it = caller_.find(i.parent);
    if (it == caller_.end() || !it->second) return nullptr;
    const Instr& loop = *it->second;
    const Instr *start = loop.operand(0), *end = loop.calls[1]->root();
    if (start->op != Op::kTuple || end->op != Op::kTuple) return nullptr;
    const int64_t k = i.as<IndexAttrs>().index;
    const Instr* last = end->operand(k);
    const bool same = last->op == Op::kGetTupleElement && last->operand(0)->op == Op::kParameter &&
                      last->as<IndexAttrs>().index == k;
    return same ? start->operand(k) : nullptr;
  }

  absl::flat_hash_map<const Computation*, const Instr*> caller_;  // the one loop that runs it, or null
};

bool is_plain(const Instr& i) {
  const auto plain = [](const Shape& s) { return s.is_array() && s.is_static() && !s.quant && !s.has_bounded_dim(); };
  return plain(i.shape) && absl::c_all_of(i.operands, [&](const Instr* o) { return plain(o->shape); });
}

// An index as a number: those of unsigned 64 bits beyond the signed range are the largest.
int64_t index_at(const Literal& l, int64_t k) {
  const int64_t v = l.get_int(k);
  return l.dtype() == Dtype::kU64 && v < 0 ? INT64_MAX : v;
}

Dims clamped(DimSpan start, DimSpan dims, DimSpan sizes) {
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) out.push_back(std::clamp<int64_t>(start[d], 0, dims[d] - sizes[d]));
  return out;
}

Instr* slice_at(Builder& b, Instr* x, const Dims& start, const Dims& sizes) {
  Dims limit;
  for (size_t d = 0; d < start.size(); ++d) limit.push_back(start[d] + sizes[d]);
  return b.slice(x, start, limit);
}

Instr* reshaped(Builder& b, Instr* x, const Dims& dims) { return x->shape.dims == dims ? x : b.reshape(x, dims); }

Instr* update_at(Builder& b, Instr* x, Instr* update, const Dims& start) {
  if (update->shape.dims == x->shape.dims) return update;
  std::vector<Instr*> operands{x, update};
  for (int64_t s : start) operands.push_back(b.constant(Literal::scalar_int(Dtype::kS64, s)));
  return b.op(Op::kDynamicUpdateSlice, operands);
}

// Starts of the one window, by dimension of the array it is in; nullopt: not known, or there are several.
std::optional<Dims> window_start(const Known& known, const Instr& indices, DimSpan index_map, int64_t rank) {
  if (indices.shape.elements() != static_cast<int64_t>(index_map.size())) return std::nullopt;
  Dims start(static_cast<size_t>(rank), 0);
  if (index_map.empty()) return start;
  const auto v = known.value(indices);
  if (!v) return std::nullopt;
  for (size_t k = 0; k < index_map.size(); ++k)
    start[static_cast<size_t>(index_map[k])] = index_at(*v, static_cast<int64_t>(k));
  return start;
}

// What a combiner of (old, update) makes: the update, the old value, or one operation on them.
enum class Combines : uint8_t { kUnknown, kUpdate, kOld, kOperation };
Combines kind_of(const Computation& c) {
  const auto& p = c.params();
  const Instr* r = c.root();
  if (p.size() != 2) return Combines::kUnknown;
  if (r == p[1]) return Combines::kUpdate;
  if (r == p[0]) return Combines::kOld;
  switch (r->op) {
    case Op::kAdd: case Op::kSubtract: case Op::kMultiply: case Op::kMinimum: case Op::kMaximum:
    case Op::kAnd: case Op::kOr: case Op::kXor:
      break;
    default: return Combines::kUnknown;
  }
  const bool both = r->operands.size() == 2 && absl::c_all_of(r->operands, [&](const Instr* o) { return o == p[0] || o == p[1]; });
  return both ? Combines::kOperation : Combines::kUnknown;
}

Instr* scatter(const Known& known, Builder& b, Instr* i) {
  if (i->operands.size() != 3 || !i->shape.is_array()) return nullptr;
  const auto& a = i->as<ScatterAttrs>();
  Instr *x = i->operand(0), *indices = i->operand(1), *updates = i->operand(2);
  const Combines combines = kind_of(*i->calls[0]);
  if (combines == Combines::kUnknown || updates->shape.dtype != x->shape.dtype) return nullptr;
  if (combines != Combines::kOld)
    if (Instr* s = scatter_on_lattice(b, i, combines == Combines::kUpdate)) return s;
  int64_t windows = 1;
  for (int64_t d = 0; d < updates->shape.rank(); ++d)
    if (!absl::c_linear_search(a.update_window_dims, d)) windows *= updates->shape.dims[static_cast<size_t>(d)];
  if (windows != 1 || !absl::c_is_sorted(a.update_window_dims)) return nullptr;
  const auto start = window_start(known, *indices, a.scatter_dims_to_operand_dims, x->shape.rank());
  if (!start) return nullptr;
  Dims sizes;
  size_t w = 0;
  for (int64_t d = 0; d < x->shape.rank(); ++d) {
    const bool single = absl::c_linear_search(a.inserted_window_dims, d) || absl::c_linear_search(a.input_batching_dims, d);
    sizes.push_back(single ? 1 : updates->shape.dims[static_cast<size_t>(a.update_window_dims[w++])]);
  }
  for (size_t d = 0; d < sizes.size(); ++d)
    if ((*start)[d] < 0 || (*start)[d] > x->shape.dims[d] - sizes[d]) return x;
  if (combines == Combines::kOld || updates->shape.elements() == 0) return x;
  Instr* update = reshaped(b, updates, sizes);
  if (combines == Combines::kOperation) {
    const Instr* r = i->calls[0]->root();
    Instr* old = sizes == x->shape.dims ? x : slice_at(b, x, *start, sizes);
    const auto value = [&](const Instr* o) { return o == i->calls[0]->params()[0] ? old : update; };
    update = b.op(r->op, {value(r->operand(0)), value(r->operand(1))}, r->attrs);
  }
  return update_at(b, x, update, *start);
}

Instr* gather(const Known& known, Builder& b, Instr* i) {
  if (Instr* s = gather_on_lattice(b, i)) return s;
  const auto& a = i->as<GatherAttrs>();
  Instr *x = i->operand(0), *indices = i->operand(1);
  int64_t windows = 1;
  for (int64_t d = 0; d < i->shape.rank(); ++d)
    if (!absl::c_linear_search(a.offset_dims, d)) windows *= i->shape.dims[static_cast<size_t>(d)];
  if (windows != 1 || i->shape.elements() == 0 || !absl::c_is_sorted(a.offset_dims)) return nullptr;
  const auto start = window_start(known, *indices, a.start_index_map, x->shape.rank());
  if (!start) return nullptr;
  return reshaped(b, slice_at(b, x, clamped(*start, x->shape.dims, a.slice_sizes), a.slice_sizes), i->shape.dims);
}

std::optional<Dims> known_starts(const Known& known, const Instr& i, size_t first) {
  Dims start;
  for (size_t k = first; k < i.operands.size(); ++k) {
    const auto v = known.value(*i.operands[k]);
    if (!v) return std::nullopt;
    start.push_back(index_at(*v, 0));
  }
  return start;
}

Instr* dynamic_slice(const Known& known, Builder& b, Instr* i) {
  const auto start = known_starts(known, *i, 1);
  if (!start) return nullptr;
  return slice_at(b, i->operand(0), clamped(*start, i->operand(0)->shape.dims, i->shape.dims), i->shape.dims);
}

Instr* dynamic_update(const Known& known, Builder& b, Instr* i) {
  const auto start = known_starts(known, *i, 2);
  if (!start) return nullptr;
  const Dims inside = clamped(*start, i->shape.dims, i->operand(1)->shape.dims);
  const bool same = inside == *start && std::all_of(i->operands.begin() + 2, i->operands.end(),
                                                    [](const Instr* o) { return o->op == Op::kConstant; });
  return same && i->operand(1)->shape.dims != i->shape.dims ? nullptr : update_at(b, i->operand(0), i->operand(1), inside);
}

Instr* select(const Known& known, Instr* i) {
  const Instr* p = i->operand(0);
  while (p->op == Op::kBroadcast) p = p->operand(0);
  const auto v = known.value(*p);
  if (!v || v->elements() == 0) return nullptr;
  for (int64_t k = 1; k < v->elements(); ++k)
    if (v->get_bool(k) != v->get_bool(0)) return nullptr;
  return i->operand(v->get_bool(0) ? 1 : 2);
}

Instr* simpler(const Known& known, Builder& b, Instr* i) {
  if (!is_plain(*i)) return nullptr;
  switch (i->op) {
    case Op::kScatter: return scatter(known, b, i);
    case Op::kGather: return gather(known, b, i);
    case Op::kDynamicSlice: return dynamic_slice(known, b, i);
    case Op::kDynamicUpdateSlice: return dynamic_update(known, b, i);
    case Op::kSelect: return select(known, i);
    default: return nullptr;
  }
}

}  // namespace

Status known_windows(Module& m) {
  const Known known(m);
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      Builder b(c);
      Instr* s = simpler(known, b, i);
      TRY(b.status());
      if (s && s != i && take_fuel("known-windows", i->name)) c->replace_uses(i, s);
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
