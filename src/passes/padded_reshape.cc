// SPDX-License-Identifier: Apache-2.0
// Reshapes of operands that are padded to their bounds.
//
// The elements that count keep their row-major order. They stay where they are if only major dimensions are
// padded, where they are in front of the padding; otherwise they are gathered.
#include <algorithm>

#include "passes/padded_rules.h"

namespace braze {
namespace {

// How many elements count along dimension d of p, whose bounds are `dims`.
Instr* size_along(Builder& b, const Padded& p, DimSpan dims, int64_t d) {
  return p.size_of(d) ? p.size_of(d) : size_number(b, dims[d]);
}

// The number of elements that count.
Instr* count(Builder& b, const Padded& p, DimSpan dims) {
  Instr* n = size_number(b, 1);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) n = b.mul(n, size_along(b, p, dims, d));
  return n;
}

// The elements that count are in front of all others.
bool in_front(const Padded& p, DimSpan dims) {
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (!p.size_of(d)) continue;
    if (std::any_of(dims.begin(), dims.begin() + d, [](int64_t n) { return n != 1; })) return false;
  }
  return true;
}

// flat[index], where flat is of rank 1; indices outside stop at its ends.
Instr* take(Builder& b, Instr* flat, Instr* index) {
  GatherAttrs a;
  a.collapsed_slice_dims = {0};
  a.start_index_map = {0};
  a.index_vector_dim = index->shape.rank();
  a.slice_sizes = {1};
  return b.op(Op::kGather, {flat, index}, a);
}

// All elements in one dimension, those that count in front in row-major order.
Instr* flatten(Builder& b, const Padded& p) {
  const Dims& dims = p.value->shape.dims;
  Instr* flat = b.reshape(p.value, {product(dims)});
  if (in_front(p, dims)) return flat;
  const Dims to = {product(dims)};
  Instr* rest = b.iota(Shape::array(Dtype::kS32, to), 0);
  Instr* index = nullptr;
  int64_t step = 1;
  for (int64_t d = p.value->shape.rank() - 1; d >= 0; --d) {
    // Neighbours without padding are as one dimension.
    int64_t size = dims[d];
    while (!p.size_of(d) && d > 0 && !p.size_of(d - 1)) size *= dims[--d];
    Instr* n = p.size_of(d) ? b.op(Op::kMaximum, {p.size_of(d), size_number(b, 1)}) : size_number(b, size);
    n = b.broadcast(n, to, {});
    Instr* here = b.op(Op::kRemainder, {rest, n});
    if (step != 1) here = b.mul(here, b.broadcast(size_number(b, step), to, {}));
    index = index ? b.add(index, here) : here;
    rest = b.div(rest, n);
    step *= size;
  }
  return take(b, flat, index);
}

// r's value, of dims `dims`, from `flat`, whose elements that count are in front; r has its sizes already.
Instr* unflatten(Builder& b, Instr* flat, const Padded& r, DimSpan dims) {
  const int64_t have = flat->shape.dims[0], want = product(dims);
  if (in_front(r, dims)) {
    if (have > want) flat = b.slice(flat, {0}, {want});
    if (have < want) {
      PadAttrs a;
      a.low = {0}, a.high = {want - have}, a.interior = {0};
      flat = b.op(Op::kPad, {flat, b.constant(Literal(Shape::scalar(flat->shape.dtype)))}, a);
    }
    return b.reshape(flat, dims);
  }
  Instr* index = nullptr;
  Instr* step = size_number(b, 1);
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    Instr* here = b.mul(b.iota(Shape::array(Dtype::kS32, dims), d), b.broadcast(step, dims, {}));
    index = index ? b.add(index, here) : here;
    step = b.mul(step, size_along(b, r, dims, d));
  }
  return take(b, flat, index);
}

// The rule of a reshape whose padded dimensions are the major ones of their groups: dimensions fall into
// groups of equal products, and a padded one that is the major one on both sides keeps its elements where they
// are. False: it is another reshape.
Result<bool> reshape_by_groups(PaddedContext& c, Padded& r) {
  const Padded& p = c.operands[0];
  const Dims from = p.value->shape.dims, to = c.instr.shape.dims;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
    if (a == 0 || b == 0) return unimplemented("a reshape of no elements");
    while (a != b) {
      if (a < b && i < from.size()) a *= from[i++];
      else if (a > b && j < to.size()) b *= to[j++];
      else return internal("reshape of ", to_string(p.value->shape), " to ", to_string(c.instr.shape));
    }
    Instr* size = nullptr;
    int64_t inner = 1;
    for (size_t k = i0; k < i; ++k) {
      if (size) inner *= from[k];
      if (!p.size_of(k)) continue;
      const bool major = std::all_of(from.begin() + i0, from.begin() + k, [](int64_t n) { return n == 1; });
      if (size || !major) return false;
      size = p.size[k];
    }
    if (!size) continue;
    // The first dimension of the group that is not 1 takes the size, scaled by what is inside it.
    size_t k = j0;
    while (k + 1 < j && to[k] == 1) ++k;
    if (k >= j) return unimplemented("a padded dimension that disappears");
    int64_t rest = 1;
    for (size_t q = k + 1; q < j; ++q) rest *= to[q];
    if (inner != rest) {
      if (inner % rest != 0) return unimplemented("a padded dimension that is split");
      size = c.b.mul(size, size_number(c.b, inner / rest));
    }
    r.set_size(static_cast<int64_t>(k), size);
  }
  return true;
}

}  // namespace

Status padded_reshape(PaddedContext& c) {
  const Shape to = static_shape(c.instr.shape);
  const Padded& p = c.operands[0];
  Padded r{c.b.op_shaped(Op::kReshape, to, {p.value}, NoAttrs{}, {}, c.instr.name), {}};
  ASSIGN(const bool done, reshape_by_groups(c, r));
  if (!done) {
    // Everything in one dimension: the elements that count come first.
    int64_t larger = 0, at = 0;
    for (int64_t d = 0; d < to.rank(); ++d)
      if (to.dims[d] != 1) ++larger, at = d;
    if (larger != 1) return unimplemented("a padded dimension merged into a larger one");
    if (product(to.dims) > INT32_MAX) return unimplemented("a padded reshape of over 2^31 elements");
    r = {c.b.reshape(flatten(c.b, p), to.dims), {}};
    r.set_size(at, count(c.b, p, p.value->shape.dims));
  }
  c.results = {r};
  return absl::OkStatus();
}

// The sizes stand in a list. As many elements count as before.
Status padded_dynamic_reshape(PaddedContext& c) {
  const Shape to = static_shape(c.instr.shape);
  const Padded &p = c.operands[0], &list = c.operands[1];
  if (list.is_padded()) return unimplemented("a padded list of sizes");
  if (!to.is_static()) return unimplemented("a result without bounds");
  if (p.value->shape.elements() > INT32_MAX || to.elements() > INT32_MAX)
    return unimplemented("a padded reshape of over 2^31 elements");
  Padded r;
  for (int64_t d = 0; d < to.rank(); ++d) {
    if (!c.instr.shape.is_dynamic(d)) continue;
    Instr* size = c.b.reshape(c.b.slice(list.value, {d}, {d + 1}), {});
    if (size->shape.dtype != Dtype::kS32) size = c.b.convert(Dtype::kS32, size);
    r.size.resize(to.rank(), nullptr);
    r.size[d] = c.legal.within(size, to.dims[d]);
  }
  c.legal.demand(c.b.compare(CompareDirection::kEq, count(c.b, r, to.dims), count(c.b, p, p.value->shape.dims)));
  r.value = unflatten(c.b, flatten(c.b, p), r, to.dims);
  c.results = {r};
  return absl::OkStatus();
}

}  // namespace braze
