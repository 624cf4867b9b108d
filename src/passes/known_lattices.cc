// SPDX-License-Identifier: Apache-2.0
#include "passes/known_lattices.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "absl/algorithm/container.h"

namespace braze {
namespace {

constexpr int kMostSteps = 64;                  // instructions looked at for the indices
constexpr int64_t kMostLiteral = 1 << 20;       // elements of a constant looked at
constexpr int64_t kSparsest = 16;               // of so many elements one is written, or a scatter is better
constexpr int64_t kSparsestRows = 4;            // where a scatter writes whole cache lines
constexpr int64_t kLine = 64;                   // bytes

// An integer array: base + Σ step[d] · coordinate d.
struct Affine {
  int64_t base = 0;
  Dims step;
};

bool add_product(int64_t* sum, int64_t a, int64_t b) {
  int64_t p = 0;
  return !__builtin_mul_overflow(a, b, &p) && !__builtin_add_overflow(*sum, p, sum);
}

// The least and the largest element; false: one does not fit in 64 bits.
bool bounds(const Affine& a, DimSpan dims, int64_t* least, int64_t* most) {
  *least = *most = a.base;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!add_product(a.step[d] < 0 ? least : most, a.step[d], dims[d] - 1)) return false;
  return true;
}

// `a` computed in `t` wraps nowhere.
std::optional<Affine> fitting(Affine a, DimSpan dims, Dtype t) {
  const int bits = bit_size(t) - is_signed_int(t);
  const int64_t high = bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  int64_t least = 0, most = 0;
  if (!bounds(a, dims, &least, &most) || most > high || least < (is_signed_int(t) ? -high - 1 : 0)) return std::nullopt;
  return a;
}

std::optional<Affine> affine(const Instr& i, int* budget);

std::optional<Affine> of_constant(const Literal& l) {
  if (l.elements() == 0 || l.elements() > kMostLiteral) return std::nullopt;
  const Dims& dims = l.shape().dims;
  Affine a{l.get_int(0), Dims(dims.size(), 0)};
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] > 1 && __builtin_sub_overflow(l.get_int(stride), a.base, &a.step[d])) return std::nullopt;
    stride *= dims[d];
  }
  int64_t least = 0, most = 0;
  if (!bounds(a, dims, &least, &most)) return std::nullopt;
  for (int64_t k = 0; k < l.elements(); ++k) {
    int64_t v = a.base, rest = k;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) v += rest % dims[d] * a.step[d];
    if (l.get_int(k) != v) return std::nullopt;
  }
  return a;
}

std::optional<Affine> of_reshape(const Instr& i, int* budget) {
  const auto a = affine(*i.operand(0), budget);
  if (!a) return std::nullopt;
  Affine out{a->base, Dims(i.shape.dims.size(), 0)};
  const Dims &from = i.operand(0)->shape.dims, &to = i.shape.dims;
  size_t f = 0;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1) continue;
    while (f < from.size() && from[f] == 1) ++f;
    if (f == from.size() || from[f] != to[d]) return std::nullopt;
    out.step[d] = a->step[f++];
  }
  return out;
}

std::optional<Affine> of_arithmetic(const Instr& i, int* budget) {
  auto a = affine(*i.operand(0), budget), b = a ? affine(*i.operand(1), budget) : a;
  if (!a || !b) return std::nullopt;
  const auto constant = [](const Affine& x) { return absl::c_all_of(x.step, [](int64_t s) { return s == 0; }); };
  if (i.op == Op::kMultiply) {
    if (constant(*a)) std::swap(a, b);
    if (!constant(*b) || __builtin_mul_overflow(a->base, b->base, &a->base)) return std::nullopt;
    for (int64_t& s : a->step)
      if (__builtin_mul_overflow(s, b->base, &s)) return std::nullopt;
    return a;
  }
  const int64_t sign = i.op == Op::kAdd ? 1 : -1;
  if (!add_product(&a->base, sign, b->base)) return std::nullopt;
  for (size_t d = 0; d < a->step.size(); ++d)
    if (!add_product(&a->step[d], sign, b->step[d])) return std::nullopt;
  return a;
}

// select(a < b, x, y) where all a, or none, are less: how negative indices are made to count from the end.
std::optional<Affine> of_select(const Instr& i, int* budget) {
  const Instr* p = i.operand(0);
  if (p->op != Op::kCompare || p->as<CompareAttrs>().direction != CompareDirection::kLt || p->shape.dims != i.shape.dims ||
      !is_int(p->operand(0)->shape.dtype))
    return std::nullopt;
  auto a = affine(*p->operand(0), budget);
  const auto b = a ? affine(*p->operand(1), budget) : a;
  int64_t least = 0, most = 0;
  if (!a || !b || !add_product(&a->base, -1, b->base)) return std::nullopt;
  for (size_t d = 0; d < a->step.size(); ++d)
    if (!add_product(&a->step[d], -1, b->step[d])) return std::nullopt;
  if (!bounds(*a, i.shape.dims, &least, &most) || (least < 0 && most >= 0)) return std::nullopt;
  return affine(*i.operand(most < 0 ? 1 : 2), budget);
}

std::optional<Affine> unchecked(const Instr& i, int* budget) {
  const Dims& dims = i.shape.dims;
  switch (i.op) {
    case Op::kConstant: return of_constant(i.literal());
    case Op::kIota: {
      Affine a{0, Dims(dims.size(), 0)};
      a.step[static_cast<size_t>(i.as<IotaAttrs>().iota_dimension)] = 1;
      return a;
    }
    case Op::kBroadcast: {
      const auto a = affine(*i.operand(0), budget);
      if (!a) return std::nullopt;
      Affine out{a->base, Dims(dims.size(), 0)};
      const Dims& to = i.as<DimsAttrs>().dimensions;
      for (size_t d = 0; d < to.size(); ++d)
        if (i.operand(0)->shape.dims[d] > 1) out.step[static_cast<size_t>(to[d])] = a->step[d];
      return out;
    }
    case Op::kReshape: return of_reshape(i, budget);
    case Op::kCopy: case Op::kConvert: return affine(*i.operand(0), budget);
    case Op::kAdd: case Op::kSubtract: case Op::kMultiply: return of_arithmetic(i, budget);
    case Op::kSelect: return of_select(i, budget);
    default: return std::nullopt;
  }
}

std::optional<Affine> affine(const Instr& i, int* budget) {
  if (--*budget < 0 || !i.shape.is_array() || !is_int(i.shape.dtype) || i.shape.quant ||
      !i.shape.is_static() || i.shape.has_bounded_dim() || i.shape.elements() == 0)
    return std::nullopt;
  auto a = unchecked(i, budget);
  return a ? fitting(std::move(*a), i.shape.dims, i.shape.dtype) : std::nullopt;
}

// Indices along one dimension of the operand: start, start + step, … for the coordinates of a batch dimension (those
// of the indices without the vectors'); batch < 0: start alone.
struct Progression {
  int64_t start = 0, step = 1, batch = -1;
};

struct Lattice {
  std::vector<Progression> along;  // by operand dimension
  Dims batch;                      // sizes
  bool is_indexed(size_t d) const { return along[d].batch >= 0; }
};

std::optional<Progression> progression(const Affine& a, DimSpan dims, int64_t vector_dim, int64_t component,
                                       std::vector<bool>* used) {
  Progression p{a.base, 1, -1};
  if (vector_dim < static_cast<int64_t>(dims.size()) &&
      !add_product(&p.start, component, a.step[static_cast<size_t>(vector_dim)]))
    return std::nullopt;
  int64_t batch = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d == vector_dim) continue;
    const int64_t step = a.step[static_cast<size_t>(d)], at = batch++;
    if (step == 0 || dims[static_cast<size_t>(d)] == 1) continue;
    if (step < 0 || p.batch >= 0 || (*used)[static_cast<size_t>(at)]) return std::nullopt;
    (*used)[static_cast<size_t>(at)] = true;
    p.step = step;
    p.batch = at;
  }
  return p;
}

std::optional<Lattice> lattice_of(const Instr& indices, int64_t vector_dim, DimSpan index_map, int64_t rank) {
  Lattice out;
  out.along.resize(static_cast<size_t>(rank));
  const Dims& dims = indices.shape.dims;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (d != vector_dim) out.batch.push_back(dims[static_cast<size_t>(d)]);
  std::vector<bool> used(out.batch.size(), false);
  int budget = kMostSteps;
  const bool parts = indices.op == Op::kConcatenate && indices.as<DimsAttrs>().dimensions == Dims{vector_dim};
  int64_t component = 0;
  std::vector<const Instr*> list{&indices};
  if (parts) list.assign(indices.operands.begin(), indices.operands.end());
  for (const Instr* part : list) {
    const auto a = affine(*part, &budget);
    if (!a) return std::nullopt;
    const int64_t n = vector_dim < static_cast<int64_t>(dims.size()) ? part->shape.dims[static_cast<size_t>(vector_dim)] : 1;
    for (int64_t k = 0; k < n; ++k) {
      if (component >= static_cast<int64_t>(index_map.size())) return std::nullopt;
      const auto p = progression(*a, part->shape.dims, vector_dim, k, &used);
      if (!p) return std::nullopt;
      out.along[static_cast<size_t>(index_map[static_cast<size_t>(component++)])] = *p;
    }
  }
  if (component != static_cast<int64_t>(index_map.size())) return std::nullopt;
  for (size_t j = 0; j < used.size(); ++j)
    if (!used[j] && out.batch[j] != 1) return std::nullopt;  // places named several times
  return out;
}

// How many places there are along each dimension of the operand; empty: some lie outside, or windows overlap.
Dims counts(const Lattice& l, DimSpan dims, DimSpan window) {
  Dims out;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Progression& p = l.along[d];
    if (l.is_indexed(d) && window[d] != 1) return {};
    const int64_t n = l.is_indexed(d) ? l.batch[static_cast<size_t>(p.batch)] : window[d];
    int64_t last = p.start;
    if (n < 1 || p.start < 0 || !add_product(&last, n - 1, p.step) || last >= dims[d]) return {};
    out.push_back(n);
  }
  return out;
}

// Dimensions of `other` (a scatter's updates, a gather's result) in the order of the operand's that they go along;
// those of one place come last. window: which dimensions of `other` are those of windows, in order.
Dims in_operand_order(const Lattice& l, DimSpan window_dims, DimSpan single, int64_t rank) {
  std::vector<int64_t> batch;
  for (int64_t d = 0; d < rank; ++d)
    if (!absl::c_linear_search(window_dims, d)) batch.push_back(d);
  Dims order;
  size_t w = 0;
  for (size_t d = 0; d < l.along.size(); ++d) {
    if (l.is_indexed(d)) order.push_back(batch[static_cast<size_t>(l.along[d].batch)]);
    if (!absl::c_linear_search(single, static_cast<int64_t>(d))) {
      if (!l.is_indexed(d)) order.push_back(window_dims[w]);
      ++w;
    }
  }
  for (int64_t d = 0; d < rank; ++d)
    if (!absl::c_linear_search(order, d)) order.push_back(d);
  return order;
}

Instr* transposed(Builder& b, Instr* x, const Dims& permutation) {
  return absl::c_is_sorted(permutation) ? x : b.transpose(x, permutation);
}

Instr* reshaped(Builder& b, Instr* x, const Dims& dims) { return x->shape.dims == dims ? x : b.reshape(x, dims); }

Instr* slice_of(Builder& b, Instr* x, const Lattice& l, const Dims& n) {
  Dims start, limit, step;
  for (size_t d = 0; d < n.size(); ++d) {
    start.push_back(l.along[d].start);
    limit.push_back(l.along[d].start + (n[d] - 1) * l.along[d].step + 1);
    step.push_back(l.along[d].step);
  }
  return b.slice(x, start, limit, step);
}

// Every update is a pass over the whole operand: not if few places are written, or cache lines of their own.
bool is_dense(const Instr& i, const Lattice& l, const Dims& n) {
  const Instr& x = *i.operand(0);
  int64_t places = 1, run = byte_size(x.shape.dtype);
  for (int64_t k : n) places *= k;
  for (size_t d = n.size(); d-- > 0 && l.along[d].step == 1;) run *= n[d];
  if (run < kLine) return x.shape.elements() / places <= kSparsest;
  const Module& m = *i.parent->module();
  const bool copied = i.parent == m.entry() && m.aliases.empty() && m.buffer_donors.empty();
  return (copied || x.op == Op::kBroadcast) && x.shape.elements() / places <= kSparsestRows;
}

}  // namespace

Instr* gather_on_lattice(Builder& b, Instr* i) {
  const auto& a = i->as<GatherAttrs>();
  Instr* x = i->operand(0);
  if (!a.operand_batching_dims.empty() || i->shape.elements() == 0 || !absl::c_is_sorted(a.offset_dims)) return nullptr;
  const auto l = lattice_of(*i->operand(1), a.index_vector_dim, a.start_index_map, x->shape.rank());
  if (!l) return nullptr;
  const Dims n = counts(*l, x->shape.dims, a.slice_sizes);
  if (n.empty()) return nullptr;
  for (size_t d = 0; d < n.size(); ++d)  // no place in the result for it
    if (l->is_indexed(d) && !absl::c_linear_search(a.collapsed_slice_dims, static_cast<int64_t>(d))) return nullptr;
  const Dims order = in_operand_order(*l, a.offset_dims, a.collapsed_slice_dims, i->shape.rank());
  Dims sizes, back(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    sizes.push_back(i->shape.dims[static_cast<size_t>(order[k])]);
    back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  }
  return transposed(b, reshaped(b, slice_of(b, x, *l, n), sizes), back);
}

Instr* scatter_on_lattice(Builder& b, Instr* i, bool replaces) {
  const auto& a = i->as<ScatterAttrs>();
  Instr *x = i->operand(0), *updates = i->operand(2);
  if (!a.input_batching_dims.empty() || updates->shape.elements() == 0 || !absl::c_is_sorted(a.update_window_dims)) return nullptr;
  const auto l = lattice_of(*i->operand(1), a.index_vector_dim, a.scatter_dims_to_operand_dims, x->shape.rank());
  if (!l) return nullptr;
  Dims window;
  size_t w = 0;
  for (int64_t d = 0; d < x->shape.rank(); ++d) {
    const bool single = absl::c_linear_search(a.inserted_window_dims, d);
    if (!single && l->is_indexed(static_cast<size_t>(d))) return nullptr;
    window.push_back(single ? 1 : updates->shape.dims[static_cast<size_t>(a.update_window_dims[w++])]);
  }
  const Dims n = counts(*l, x->shape.dims, window);
  if (n.empty()) return nullptr;
  const bool contiguous = absl::c_all_of(l->along, [](const Progression& p) { return p.step == 1; });
  if (!contiguous && !is_dense(*i, *l, n)) return nullptr;
  const Dims order = in_operand_order(*l, a.update_window_dims, a.inserted_window_dims, updates->shape.rank());
  Instr* u = reshaped(b, transposed(b, updates, order), n);
  const auto combined = [&](Instr* old, Instr* update) {
    if (replaces) return update;
    const Instr* r = i->calls[0]->root();
    const auto value = [&](const Instr* o) { return o == i->calls[0]->params()[0] ? old : update; };
    return b.op(r->op, {value(r->operand(0)), value(r->operand(1))}, r->attrs);
  };
  if (contiguous) {
    if (n == x->shape.dims) return combined(x, u);
    std::vector<Instr*> operands{x, replaces ? u : combined(slice_of(b, x, *l, n), u)};
    for (const Progression& p : l->along) operands.push_back(b.constant(Literal::scalar_int(Dtype::kS64, p.start)));
    return b.op(Op::kDynamicUpdateSlice, operands);
  }
  PadAttrs pad;
  for (size_t d = 0; d < n.size(); ++d) {
    const Progression& p = l->along[d];
    pad.low.push_back(p.start);
    pad.high.push_back(x->shape.dims[d] - (p.start + (n[d] - 1) * p.step + 1));
    pad.interior.push_back(p.step - 1);
  }
  Instr* zero = b.constant(Literal(Shape::array(x->shape.dtype, {})));
  Instr* there = b.splat(Shape::array(Dtype::kPred, n), 1);
  Instr* mask = b.op(Op::kPad, {there, b.scalar(Dtype::kPred, 0)}, pad);
  return b.select(mask, combined(x, b.op(Op::kPad, {u, zero}, pad)), x);
}

}  // namespace braze
