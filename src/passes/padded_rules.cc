// SPDX-License-Identifier: Apache-2.0
#include "passes/padded_rules.h"

#include <algorithm>
#include <limits>

#include "loop/elements.h"

namespace braze {
namespace {

bool contains(DimSpan dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

// The op itself on the padded values.
Instr* same(PaddedContext& c) {
  std::vector<Instr*> operands;
  for (const Padded& p : c.operands) operands.push_back(p.value);
  return c.b.op_shaped(c.instr.op, static_shape(c.instr.shape), operands, c.instr.attrs,
                       c.instr.calls, c.instr.name);
}

// The dimensions of p that have padding.
Dims padded_dims(const Padded& p) {
  Dims d;
  for (int64_t k = 0; k < static_cast<int64_t>(p.size.size()); ++k)
    if (p.size[k]) d.push_back(k);
  return d;
}

Status elementwise(PaddedContext& c) {
  Padded r{same(c), {}};
  for (const Padded& p : c.operands)
    for (int64_t d : padded_dims(p)) {
      if (p.value->shape.rank() != r.value->shape.rank()) return unimplemented("operands of several ranks");
      if (!r.size_of(d)) r.set_size(d, p.size[d]);
    }
  c.results = {r};
  return absl::OkStatus();
}

Status broadcast(PaddedContext& c) {
  Padded r{same(c), {}};
  const Dims& to = c.instr.as<DimsAttrs>().dimensions;
  for (int64_t d : padded_dims(c.operands[0])) r.set_size(to[d], c.operands[0].size[d]);
  c.results = {r};
  return absl::OkStatus();
}

Status transpose(PaddedContext& c) {
  Padded r{same(c), {}};
  const Dims& from = c.instr.as<DimsAttrs>().dimensions;
  for (int64_t d = 0; d < r.value->shape.rank(); ++d) r.set_size(d, c.operands[0].size_of(from[d]));
  c.results = {r};
  return absl::OkStatus();
}

// Ops that leave every padded dimension of their operands where it is: `whole` says so of one.
template <typename F>
Status along(PaddedContext& c, F whole) {
  Padded r{same(c), {}};
  for (int64_t d : padded_dims(c.operands[0])) {
    if (!whole(d)) return unimplemented("along a padded dimension");
    r.set_size(d, c.operands[0].size[d]);
  }
  c.results = {r};
  return absl::OkStatus();
}

// Of n elements, those at start, start + stride, … that are below limit.
Status slice(PaddedContext& c) {
  const auto& a = c.instr.as<SliceAttrs>();
  const Padded& p = c.operands[0];
  Padded r{same(c), {}};
  for (int64_t d : padded_dims(p)) {
    Instr* n = p.size[d];
    if (!c.instr.shape.is_dynamic(d)) {
      // One element cut out is one element; other static sizes would claim elements that may not be there.
      if (r.value->shape.dims[d] > 1) return unimplemented("a slice of static size from a padded dimension");
      continue;
    }
    if (a.limit[d] < p.value->shape.dims[d]) n = c.b.op(Op::kMinimum, {n, size_number(c.b, a.limit[d])});
    if (a.start[d] != 0)
      n = c.b.op(Op::kMaximum, {c.b.op(Op::kSubtract, {n, size_number(c.b, a.start[d])}), size_number(c.b, 0)});
    if (a.stride[d] != 1)
      n = c.b.op(Op::kDivide, {c.b.add(n, size_number(c.b, a.stride[d] - 1)), size_number(c.b, a.stride[d])});
    r.set_size(d, n);
  }
  c.results = {r};
  return absl::OkStatus();
}

// The padding of the bound becomes what the op pads with.
Status pad(PaddedContext& c) {
  const auto& a = c.instr.as<PadAttrs>();
  const Padded& p = c.operands[0];
  if (c.operands[1].is_padded()) return unimplemented("a padded value to pad with");
  Dims changed;
  for (int64_t d : padded_dims(p)) {
    if (a.low[d] < 0 || a.high[d] < 0) return unimplemented("a padded dimension made smaller");
    if (a.low[d] || a.high[d] || a.interior[d]) changed.push_back(d);
  }
  Instr* value = changed.empty() ? p.value : fill_padding(c.b, p, changed, c.operands[1].value);
  Padded r{c.b.op_shaped(Op::kPad, static_shape(c.instr.shape), {value, c.operands[1].value}, c.instr.attrs, {},
                         c.instr.name), {}};
  for (int64_t d : padded_dims(p)) {
    Instr* n = p.size[d];
    if (a.interior[d]) {
      Instr* gaps = c.b.op(Op::kMaximum, {c.b.op(Op::kSubtract, {n, size_number(c.b, 1)}), size_number(c.b, 0)});
      n = c.b.add(n, c.b.mul(gaps, size_number(c.b, a.interior[d])));
    }
    if (a.low[d] + a.high[d]) n = c.b.add(n, size_number(c.b, a.low[d] + a.high[d]));
    r.set_size(d, n);
  }
  c.results = {r};
  return absl::OkStatus();
}
Status reverse(PaddedContext& c) {
  return along(c, [&](int64_t d) { return !contains(c.instr.as<DimsAttrs>().dimensions, d); });
}

// Each part is written over the padding of the one before it.
Status concatenate(PaddedContext& c) {
  const int64_t axis = c.instr.as<DimsAttrs>().dimensions[0];
  Builder& b = c.b;
  bool along_axis = false;
  for (const Padded& p : c.operands) along_axis |= p.size_of(axis) != nullptr;
  if (!along_axis) return elementwise(c);
  const Shape shape = static_shape(c.instr.shape);
  Instr* zero = b.constant(Literal(Shape::scalar(shape.dtype)));
  Padded r{b.op_shaped(Op::kBroadcast, shape, {zero}, Attrs(std::in_place_type<DimsAttrs>)), {}};
  Instr* at = size_number(b, 0);
  for (const Padded& p : c.operands) {
    std::vector<Instr*> operands = {r.value, p.value};
    for (int64_t d = 0; d < shape.rank(); ++d) operands.push_back(d == axis ? at : size_number(b, 0));
    r.value = b.op(Op::kDynamicUpdateSlice, operands);
    at = b.add(at, p.size_of(axis) ? p.size_of(axis) : size_number(b, p.value->shape.dims[axis]));
    for (int64_t d : padded_dims(p))
      if (d != axis && !r.size_of(d)) r.set_size(d, p.size[d]);
  }
  r.set_size(axis, at);
  c.results = {r};
  return absl::OkStatus();
}

// The value that leaves any other unchanged under a combiner.
Result<Literal> identity(Op combiner, Dtype t) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int bits = bit_size(t);
  const bool is_signed = !is_unsigned_int(t) && !is_pred(t);
  const int64_t least = !is_signed ? 0 : bits >= 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  const int64_t most = is_pred(t) ? 1 : is_signed ? ~least : bits >= 64 ? -1 : (int64_t{1} << bits) - 1;
  Literal l(Shape::scalar(t));
  switch (combiner) {
    case Op::kAdd:
      // -0: what is added to it keeps its sign.
      if (is_complex(t)) l.set_complex(0, {-0.0, -0.0});
      else if (is_float(t)) l.set_float(0, -0.0);
      return l;
    case Op::kMultiply:
      if (is_complex(t)) break;
      return is_float(t) ? Literal::scalar(t, 1) : Literal::scalar_int(t, 1);
    case Op::kMaximum:
      if (is_complex(t)) break;
      return is_float(t) ? Literal::scalar(t, -infinity) : Literal::scalar_int(t, least);
    case Op::kMinimum:
      if (is_complex(t)) break;
      return is_float(t) ? Literal::scalar(t, infinity) : Literal::scalar_int(t, most);
    case Op::kAnd: return Literal::scalar_int(t, is_pred(t) ? 1 : -1);
    case Op::kOr:
    case Op::kXor: return l;
    default: break;
  }
  return unimplemented("no value that ", name(combiner), " of ", name(t), " ignores");
}

Status reduce(PaddedContext& c) {
  const Dims& dims = c.instr.as<DimsAttrs>().dimensions;
  const int64_t count = static_cast<int64_t>(c.operands.size()) / 2;
  bool masked = false;
  for (int64_t k = 0; k < count; ++k)
    for (int64_t d : padded_dims(c.operands[k])) masked |= contains(dims, d);
  std::vector<Instr*> operands;
  for (const Padded& p : c.operands) operands.push_back(p.value);
  if (masked) {
    const auto combiner = loop::known_combiner(*c.instr.calls[0]);
    if (count != 1 || !combiner) return unimplemented("a reduction by an unknown combiner over padding");
    ASSIGN(Literal value, identity(*combiner, c.operands[0].value->shape.dtype));
    Dims padded;
    for (int64_t d : padded_dims(c.operands[0]))
      if (contains(dims, d)) padded.push_back(d);
    operands[0] = fill_padding(c.b, c.operands[0], padded, c.b.constant(std::move(value)));
  }
  Instr* r = c.b.op_shaped(Op::kReduce, static_shape(c.instr.shape), operands, c.instr.attrs,
                           c.instr.calls, c.instr.name);
  for (int64_t k = 0; k < count; ++k) {
    Padded part{c.instr.shape.is_tuple() ? c.b.element(r, k) : r, {}};
    int64_t at = 0;
    for (int64_t d = 0; d < c.operands[0].value->shape.rank(); ++d) {
      if (contains(dims, d)) continue;
      part.set_size(at, c.operands[0].size_of(d));
      ++at;
    }
    c.results.push_back(part);
  }
  return absl::OkStatus();
}

// The dimensions of the operand that windows keep, in order: those that are neither collapsed nor of a batch.
Dims window_dims(const GatherAttrs& a, int64_t rank) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(a.collapsed_slice_dims, d) && !contains(a.operand_batching_dims, d)) dims.push_back(d);
  return dims;
}

// From a padded dimension single elements are gathered, or it is in each window as a whole. Indices stop at
// the last element that counts, as they stop at the last one of a dimension of fixed size.
Status gather(PaddedContext& c) {
  const auto& a = c.instr.as<GatherAttrs>();
  const Padded &from = c.operands[0], &indices = c.operands[1];
  const bool vectors = a.index_vector_dim < indices.value->shape.rank();
  if (vectors && indices.size_of(a.index_vector_dim)) return unimplemented("padded index vectors");
  const Dims& bounds = from.value->shape.dims;
  Instr* at = indices.value;
  for (int64_t d : padded_dims(from)) {
    const bool collapsed = contains(a.collapsed_slice_dims, d);
    if (!collapsed && !contains(a.operand_batching_dims, d) && a.slice_sizes[d] == bounds[d] &&
        !contains(a.start_index_map, d))
      continue;
    if (!collapsed || a.start_index_map.size() != 1 || a.start_index_map[0] != d)
      return unimplemented("a gather of windows from a padded dimension");
    const Dtype t = at->shape.dtype;
    if (bit_size(t) < 32 || is_unsigned_int(t)) return unimplemented("indices of a narrow type");
    Instr* last = c.b.op(Op::kSubtract, {from.size[d], size_number(c.b, 1)});
    if (t != Dtype::kS32) last = c.b.convert(t, last);
    at = c.b.op(Op::kMinimum, {at, c.b.broadcast(last, at->shape.dims, {})});
  }
  Padded r{c.b.op_shaped(Op::kGather, static_shape(c.instr.shape), {from.value, at}, c.instr.attrs, {},
                         c.instr.name), {}};
  const Dims windows = window_dims(a, from.value->shape.rank());
  int64_t index_dim = 0;
  size_t window = 0;
  for (int64_t d = 0; d < r.value->shape.rank(); ++d) {
    if (contains(a.offset_dims, d)) {
      const int64_t k = windows[window++];
      r.set_size(d, from.size_of(k));
      continue;
    }
    if (index_dim == a.index_vector_dim) ++index_dim;
    r.set_size(d, indices.size_of(index_dim));
    ++index_dim;
  }
  c.results = {r};
  return absl::OkStatus();
}

// Updates in the padding get indices outside the operand, where they are dropped.
Status scatter(PaddedContext& c) {
  const auto& a = c.instr.as<ScatterAttrs>();
  if (c.operands.size() != 3 || c.operands[0].is_padded()) return unimplemented("a scatter into a padded array");
  const Padded &indices = c.operands[1], &updates = c.operands[2];
  for (int64_t d : padded_dims(updates))
    if (contains(a.update_window_dims, d)) return unimplemented("padded windows of updates");
  if (a.index_vector_dim < indices.value->shape.rank() && indices.size_of(a.index_vector_dim))
    return unimplemented("padded index vectors");
  // The sizes of the scattered dimensions, from the indices or the updates.
  Padded masked = indices;
  int64_t to = 0;
  for (int64_t d = 0; d < updates.value->shape.rank(); ++d) {
    if (contains(a.update_window_dims, d)) continue;
    if (to == a.index_vector_dim) ++to;
    if (updates.size_of(d) && !masked.size_of(to)) masked.set_size(to, updates.size_of(d));
    ++to;
  }
  if (masked.value->shape.rank() == 0 || a.scatter_dims_to_operand_dims.empty())
    return unimplemented("a scatter without indices");
  const Dtype t = indices.value->shape.dtype;
  // The largest number of the type; it may be inside only if the type is too narrow for the operand.
  const int64_t most = is_unsigned_int(t) ? -1 : INT64_MAX >> (64 - bit_size(t));
  if (bit_size(t) < 32) return unimplemented("indices of a narrow type");
  Instr* outside = c.b.constant(Literal::scalar_int(t, most));
  Instr* value = fill_padding(c.b, masked, padded_dims(masked), outside);
  ScatterAttrs attrs = a;
  attrs.indices_are_sorted = attrs.unique_indices = false;
  Padded r{c.b.op_shaped(Op::kScatter, static_shape(c.instr.shape),
                         {c.operands[0].value, value, updates.value}, attrs, c.instr.calls, c.instr.name), {}};
  c.results = {r};
  return absl::OkStatus();
}

Status dot(PaddedContext& c) {
  const auto& a = c.instr.as<DotAttrs>();
  std::vector<Instr*> operands;
  for (int64_t k = 0; k < 2; ++k) {
    const Padded& p = c.operands[k];
    const Dims& contracted = k == 0 ? a.lhs_contracting : a.rhs_contracting;
    const Dims& others = k == 0 ? a.rhs_contracting : a.lhs_contracting;
    // Both sides are zero in the padding, so that no infinity or NaN meets a zero.
    Padded all = p;
    Dims padded;
    for (size_t j = 0; j < contracted.size(); ++j) {
      Instr* size = p.size_of(contracted[j]);
      if (!size) size = c.operands[1 - k].size_of(others[j]);
      if (!size) continue;
      all.set_size(contracted[j], size);
      padded.push_back(contracted[j]);
    }
    operands.push_back(padded.empty() ? p.value
                                      : fill_padding(c.b, all, padded,
                                                     c.b.constant(Literal(Shape::scalar(p.value->shape.dtype)))));
  }
  Padded r{c.b.op_shaped(Op::kDot, static_shape(c.instr.shape), operands, c.instr.attrs, {}, c.instr.name), {}};
  int64_t at = 0;
  for (size_t j = 0; j < a.lhs_batch.size(); ++j, ++at) {
    Instr* size = c.operands[0].size_of(a.lhs_batch[j]);
    r.set_size(at, size ? size : c.operands[1].size_of(a.rhs_batch[j]));
  }
  for (int64_t k = 0; k < 2; ++k)
    for (int64_t d = 0; d < c.operands[k].value->shape.rank(); ++d) {
      if (contains(k == 0 ? a.lhs_contracting : a.rhs_contracting, d) ||
          contains(k == 0 ? a.lhs_batch : a.rhs_batch, d))
        continue;
      r.set_size(at++, c.operands[k].size_of(d));
    }
  c.results = {r};
  return absl::OkStatus();
}

Status sort(PaddedContext& c) {
  const int64_t axis = c.instr.as<SortAttrs>().dimension;
  Padded sizes = c.operands[0];
  for (const Padded& p : c.operands)
    for (int64_t d : padded_dims(p)) {
      if (d == axis) return unimplemented("along a padded dimension");
      if (!sizes.size_of(d)) sizes.set_size(d, p.size[d]);
    }
  Instr* r = same(c);
  for (size_t k = 0; k < c.operands.size(); ++k)
    c.results.push_back({c.instr.shape.is_tuple() ? c.b.element(r, static_cast<int64_t>(k)) : r, sizes.size});
  return absl::OkStatus();
}

}  // namespace

Shape static_shape(const Shape& s) {
  Shape out = s;
  out.dynamic.clear();
  for (Shape& t : out.tuple) t = static_shape(t);
  return out;
}

Instr* fill_padding(Builder& b, const Padded& p, DimSpan dims, Instr* fill) {
  const Shape& s = p.value->shape;
  Instr* inside = nullptr;
  for (int64_t d : dims) {
    Instr* position = b.iota(Shape::array(Dtype::kS32, s.dims), d);
    Instr* here = b.compare(CompareDirection::kLt, position, b.broadcast(p.size_of(d), s.dims, {}));
    inside = inside ? b.binary(Op::kAnd, inside, here) : here;
  }
  return inside ? b.select(inside, p.value, b.broadcast(fill, s.dims, {})) : p.value;
}

Instr* size_number(Builder& b, int64_t v) { return b.constant(Literal::scalar_int(Dtype::kS32, v)); }

Instr* Legality::within(Instr* size, int64_t bound) {
  Instr* stays = b.op(Op::kClamp, {size_number(b, 0), size, size_number(b, bound)});
  const bool known = size->is_constant() && size->literal().get_int(0) >= 0 && size->literal().get_int(0) <= bound;
  if (!known) demand(b.compare(CompareDirection::kEq, size, stays));
  return stays;
}

PaddedRule padded_rule(const Instr& instr) {
  switch (instr.op) {
    case Op::kBroadcast: return broadcast;
    case Op::kTranspose: return transpose;
    case Op::kReshape: return padded_reshape;
    case Op::kDynamicReshape: return padded_dynamic_reshape;
    case Op::kSlice: return slice;
    case Op::kPad: return pad;
    case Op::kReverse: return reverse;
    case Op::kConcatenate: return concatenate;
    case Op::kReduce: return reduce;
    case Op::kGather: return gather;
    case Op::kScatter: return scatter;
    case Op::kDot: return dot;
    case Op::kSort: return sort;
    case Op::kCopy: return elementwise;
    default: return def(instr).has(kElementwise) && instr.shape.is_array() ? elementwise : nullptr;
  }
}

}  // namespace braze
