// SPDX-License-Identifier: Apache-2.0
#include "loop/contraction_form.h"

#include <algorithm>

#include "loop/lower.h"
#include "ops/reshape.h"

namespace braze::loop {
namespace {

using scalar::Value;

constexpr int64_t kLeastPositions = 64;  // with fewer, reading the kernel for each image costs more than moving the features

// The strides of `to`, the same elements in the same order as `from` with `v`; false if there are none.
bool reshape_view(View& v, const Dims& from, const Dims& to) {
  Dims old, old_strides, strides(to.size(), 0);
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1) continue;
    old.push_back(from[d]);
    old_strides.push_back(v.strides[d]);
  }
  size_t o = 0, n = 0;
  while (n < to.size()) {
    if (to[n] == 1) {
      ++n;
      continue;
    }
    // The shortest runs of dimensions of both that have as many elements.
    size_t o_end = o, n_end = n;
    int64_t o_size = 1, n_size = 1;
    do {
      if (o_size <= n_size) {
        if (o_end == old.size()) return false;
        if (o_end > o && old_strides[o_end - 1] != old_strides[o_end] * old[o_end]) return false;
        o_size *= old[o_end++];
      } else {
        if (n_end == to.size()) return false;
        n_size *= to[n_end++];
      }
    } while (o_size != n_size);
    int64_t stride = old_strides[o_end - 1];
    for (size_t d = n_end; d-- > n;) {
      strides[d] = stride;
      stride *= to[d];
    }
    o = o_end, n = n_end;
  }
  v.strides = std::move(strides);
  return o == old.size();
}

// The starts of a dynamic slice of what `v` shows: each is a constant, or a parameter of one element.
bool add_starts(const Instr* slice, View& v) {
  for (size_t d = 0; d < v.strides.size(); ++d) {
    const int64_t most = slice->operand(0)->shape.dims[d] - slice->shape.dims[d];
    const Instr* start = slice->operand(static_cast<int64_t>(d) + 1);
    if (most == 0) continue;
    if (start->op == Op::kConstant) v.offset += std::clamp<int64_t>(start->literal().get_int(0), 0, most) * v.strides[d];
    else if (start->op == Op::kParameter && bit_size(start->shape.dtype) >= 8)
      v.starts.push_back({start->parameter_number(), start->shape.dtype, most, v.strides[d]});
    else return false;
  }
  return true;
}

bool contains(const Dims& d, int64_t v) { return std::find(d.begin(), d.end(), v) != d.end(); }

// Groups the output's free dimensions of one side: those that merge with the innermost one form m
// (or n), the others become batch dimensions on which the other side does not depend.
struct Free {
  Dims dims;          // sizes, outermost first
  Dims stride, out;   // of the operand and of the output
  size_t merged = 0;  // trailing dims that merge
};

void merge(Free& f) {
  const int64_t n = static_cast<int64_t>(f.dims.size());
  auto inner = [&](const Dims& stride, int64_t d) { return stride[d + 1] * f.dims[d + 1]; };
  for (Dims* stride : {&f.stride, &f.out}) {
    // The stride of a dimension of size 1 is any: one that merges.
    for (int64_t d = 1; d < n; ++d)
      if (f.dims[d] == 1) (*stride)[d] = (*stride)[d - 1];
    for (int64_t d = n - 2; d >= 0; --d)
      if (f.dims[d] == 1) (*stride)[d] = inner(*stride, d);
  }
  f.merged = n > 0 ? 1 : 0;
  for (int64_t d = n - 2; d >= 0 && f.stride[d] == inner(f.stride, d) && f.out[d] == inner(f.out, d); --d) ++f.merged;
}

// `out`: strides of the output's dimensions, the free ones from `at` on.
Free free_dims(const Shape& s, const Dims& stride, const Dims& batch, const Dims& k, const Dims& out, size_t at) {
  Free f;
  for (int64_t d = 0; d < s.rank(); ++d) {
    if (contains(batch, d) || contains(k, d)) continue;
    f.out.push_back(out[at + f.dims.size()]);
    f.dims.push_back(s.dims[d]);
    f.stride.push_back(stride[d]);
  }
  merge(f);
  return f;
}

ContractionDim merged(const Free& f, bool lhs) {
  ContractionDim d;
  if (f.merged == 0) return lhs ? d : ContractionDim{1, 0, 0, 1};
  for (size_t i = f.dims.size() - f.merged; i < f.dims.size(); ++i) d.size *= f.dims[i];
  (lhs ? d.lhs : d.rhs) = f.stride.back();
  d.out = f.out.back();
  return d;
}

// The dimensions that do not merge, as batch dimensions on which the other side does not depend.
void outer_dims(Kernel& k, Contraction* c, const Free& f, bool lhs, Index* index) {
  for (size_t d = 0; d + f.merged < f.dims.size(); ++d) {
    c->batch.push_back({f.dims[d], lhs ? f.stride[d] : 0, lhs ? 0 : f.stride[d], f.out[d]});
    index->push_back(coordinate(k, c, f.dims[d]));
  }
}

void unmerge(Kernel& k, Elements& e, Contraction* c, const Free& f, int64_t size, Index* index) {
  Scalar v = coordinate(k, c, size);
  DimSpan dims(f.dims.data() + f.dims.size() - f.merged, f.merged);
  for (Scalar s : e.delinearize(v, dims)) index->push_back(s);
}

}  // namespace

bool view_of(const Instr* i, View& v, const Instr* held, int64_t held_buffer) {
  if (i == held || i->op == Op::kParameter) {
    v = {i == held ? held_buffer : i->parameter_number(), 0, {}, strides(i->shape.dims)};
    return true;
  }
  const bool moves = i->op == Op::kTranspose || i->op == Op::kBroadcast || i->op == Op::kSlice ||
                     i->op == Op::kReshape || i->op == Op::kDynamicSlice;
  if (!moves || i->shape.elements() == 0 || !view_of(i->operand(0), v, held, held_buffer)) return false;
  const Dims inner = v.strides;
  if (i->op == Op::kReshape) return reshape_view(v, i->operand(0)->shape.dims, i->shape.dims);
  if (i->op == Op::kDynamicSlice) return add_starts(i, v);
  if (i->op == Op::kSlice) {
    const SliceAttrs& a = i->as<SliceAttrs>();
    for (size_t d = 0; d < inner.size(); ++d) {
      if (a.stride[d] != 1) return false;
      v.offset += a.start[d] * inner[d];
    }
    return true;
  }
  const Dims& d = i->as<DimsAttrs>().dimensions;
  v.strides.assign(i->shape.dims.size(), 0);
  for (size_t k = 0; k < d.size(); ++k) {
    if (i->op == Op::kTranspose) v.strides[k] = inner[d[k]];
    else v.strides[d[k]] = inner[k];
  }
  return true;
}

bool has_generated_kernel(Dtype l, Dtype r, Dtype out) {
  if (l != r) return false;
  switch (l) {
    case Dtype::kF32: return out == Dtype::kF32;
    case Dtype::kF64: return out == Dtype::kF64;
    case Dtype::kBF16: case Dtype::kF16: return out == l || out == Dtype::kF32;
    case Dtype::kS8: case Dtype::kU8: case Dtype::kS16: return out == Dtype::kS32;
    case Dtype::kS32: case Dtype::kU32: case Dtype::kS64: case Dtype::kU64: return out == l;
    default: return false;
  }
}

Scalar coordinate(Kernel& k, Contraction* c, int64_t extent) {
  c->index_vars.push_back(k.new_var());
  return k.graph.index_var(c->index_vars.back(), std::max<int64_t>(extent, 1));
}

Destination destination_of(const Instr* product) {
  Destination to{product, {}, {}};
  const Instr* at = product;
  Dims from(product->shape.dims.size());  // dimensions of the product, as transposed
  for (size_t d = 0; d < from.size(); ++d) from[d] = static_cast<int64_t>(d);
  to.strides = strides(product->shape.dims);
  bool reshaped = false;
  while (at->users.size() == 1) {
    const Instr* user = *at->users.begin();
    if (user->op != Op::kReshape && (user->op != Op::kTranspose || reshaped)) break;
    if (user->op == Op::kReshape) {
      reshaped = true;
    } else {
      const Dims& order = user->as<DimsAttrs>().dimensions;
      const Dims before = from, moved = strides(user->shape.dims);
      for (size_t d = 0; d < order.size(); ++d) {
        from[d] = before[order[d]];
        to.strides[from[d]] = moved[d];
      }
    }
    to.moves.push_back(at = user);
  }
  return to;
}

namespace {

// The index of what the moves make of the product's element at `index`.
Index moved_index(Kernel& k, const Destination& to, Index index) {
  const Instr* at = to.product;
  for (const Instr* m : to.moves) {
    Index next;
    if (m->op == Op::kReshape) next = reshape::map_index(k.graph, Dtype::kS64, index, at->shape.dims, m->shape.dims);
    else
      for (int64_t d : m->as<DimsAttrs>().dimensions) next.push_back(index[d]);
    index = std::move(next);
    at = m;
  }
  return index;
}

}  // namespace

void dot_form(Kernel& k, Elements& e, const Destination& to, const Dims& lhs, const Dims& rhs, Contraction* c, Index* index) {
  const Instr* dot = to.product;
  const DotAttrs& a = dot->as<DotAttrs>();
  const Shape &ls = dot->operand(0)->shape, &rs = dot->operand(1)->shape;
  const Dims& out = to.strides;
  size_t at = 0;
  index->clear();
  for (size_t i = 0; i < a.lhs_batch.size(); ++i, ++at) {
    c->batch.push_back({ls.dims[a.lhs_batch[i]], lhs[a.lhs_batch[i]], rhs[a.rhs_batch[i]], out[at]});
    index->push_back(coordinate(k, c, c->batch.back().size));
  }
  for (size_t i = 0; i < a.lhs_contracting.size(); ++i)
    c->k.push_back({ls.dims[a.lhs_contracting[i]], lhs[a.lhs_contracting[i]],
                     rhs[a.rhs_contracting[i]], 0});
  if (c->k.empty()) c->k.push_back({1, 0, 0, 0});
  // In memory's order, in which neighbours merge.
  std::stable_sort(c->k.begin(), c->k.end(), [](const ContractionDim& x, const ContractionDim& y) {
    return x.lhs + x.rhs > y.lhs + y.rhs;
  });
  const Free m = free_dims(ls, lhs, a.lhs_batch, a.lhs_contracting, out, at);
  const Free n = free_dims(rs, rhs, a.rhs_batch, a.rhs_contracting, out, at + m.dims.size());
  c->m = merged(m, true);
  c->n = merged(n, false);
  // Outer dimensions of both sides come before m and n among the coordinates; last those of the side that the generator
  // makes the left one, which it takes for rows.
  Index m_index, n_index;
  const bool transposed = c->is_transposed();
  if (transposed) outer_dims(k, c, m, true, &m_index);
  outer_dims(k, c, n, false, &n_index);
  if (!transposed) outer_dims(k, c, m, true, &m_index);
  unmerge(k, e, c, m, c->m.size, &m_index);
  unmerge(k, e, c, n, c->n.size, &n_index);
  index->insert(index->end(), m_index.begin(), m_index.end());
  index->insert(index->end(), n_index.begin(), n_index.end());
  *index = moved_index(k, to, std::move(*index));
}

bool is_pointwise(const Instr* conv) {
  const ConvAttrs& a = conv->as<ConvAttrs>();
  const ConvDims& d = a.dims;
  const Shape &in = conv->operand(0)->shape, &out = conv->shape;
  int64_t positions = 1;
  for (size_t i = 0; i < a.window.size(); ++i) {
    const WindowDim& w = a.window[i];
    if (w.size != 1 || w.stride != 1 || w.base_dilation != 1 || w.pad_low != 0 ||
        in.dims[d.input_spatial[i]] != out.dims[d.output_spatial[i]])
      return false;
    positions *= out.dims[d.output_spatial[i]];
  }
  if (a.batch_groups != 1 || positions < kLeastPositions) return false;
  const Dims in_at = strides(in.dims), out_at = strides(out.dims);
  return out_at[d.output_feature] != 1 && in_at[d.input_spatial.back()] == 1 && out_at[d.output_spatial.back()] == 1;
}

void pointwise_form(Kernel& k, Elements& e, const Instr* conv, Contraction* c, Index* index) {
  const ConvAttrs& a = conv->as<ConvAttrs>();
  const ConvDims& d = a.dims;
  const Dims &out = conv->shape.dims, &in = conv->operand(0)->shape.dims, &kernel = conv->operand(1)->shape.dims;
  const Dims out_at = strides(out), in_at = strides(in), kernel_at = strides(kernel);
  std::swap(c->lhs_buffer, c->rhs_buffer);
  std::swap(c->lhs_offset, c->rhs_offset);
  std::swap(c->lhs_starts, c->rhs_starts);
  const int64_t groups = a.feature_groups, features = kernel[d.kernel_input], results = out[d.output_feature] / groups;
  index->resize(out.size());
  c->batch.push_back({groups, results * kernel_at[d.kernel_output], features * in_at[d.input_feature],
                      results * out_at[d.output_feature]});
  const Scalar group = coordinate(k, c, groups);
  c->batch.push_back({out[d.output_batch], 0, in_at[d.input_batch], out_at[d.output_batch]});
  (*index)[d.output_batch] = coordinate(k, c, out[d.output_batch]);
  c->k.push_back({features, kernel_at[d.kernel_input], in_at[d.input_feature], 0});
  Free n;
  for (size_t i = 0; i < a.window.size(); ++i) {
    n.dims.push_back(out[d.output_spatial[i]]);
    n.stride.push_back(in_at[d.input_spatial[i]]);
    n.out.push_back(out_at[d.output_spatial[i]]);
  }
  merge(n);
  Index positions;
  outer_dims(k, c, n, false, &positions);
  c->m = {results, kernel_at[d.kernel_output], 0, out_at[d.output_feature]};
  const Scalar result = coordinate(k, c, results);
  c->n = merged(n, false);
  unmerge(k, e, c, n, c->n.size, &positions);
  scalar::Graph& g = k.graph;
  (*index)[d.output_feature] = g.add(g.mul(group, e.index_const(results)), result);
  for (size_t i = 0; i < positions.size(); ++i) (*index)[d.output_spatial[i]] = positions[i];
}

Status epilogue_form(Kernel& k, Elements& e, const Computation& fused, const Destination& to, const Index& index,
                     Contraction* c) {
  scalar::Graph& g = k.graph;
  const Instr* op = to.value();
  std::vector<const Instr*> outs = outputs(fused);
  for (const Instr* o : outs)
    if (o->shape.dims != op->shape.dims) return unimplemented("an epilogue of another shape than the product");
  const bool transposed = to.strides != strides(to.product->shape.dims);
  const int64_t columns = c->n.out == 1 ? c->n.size : c->m.out == 1 ? c->m.size : 1;
  if (transposed && columns < kLeastStoredColumns) return unimplemented("a product whose elements would lie apart");
  c->out_buffer = first_output(fused);
  c->out = outs[0]->shape.dtype;
  bool storable = c->out == op->shape.dtype || (is_float(c->out) && byte_size(c->out) == 4) ||
                  (is_float(op->shape.dtype) && (c->out == Dtype::kBF16 || c->out == Dtype::kF16));
  if (!storable) return unimplemented("an epilogue of type ", name(c->out));
  c->acc_var = k.new_var();
  Value acc{g.cast(op->shape.dtype, g.var(c->acc, c->acc_var)), {}};
  e.bind_value(op, index, {acc});
  if (outs.size() > 1 || outs[0] != op || c->acc != c->out) {
    std::vector<Stmt> stmts;
    for (size_t o = 0; o < outs.size(); ++o)
      store_value(k, &stmts, c->out_buffer + static_cast<int64_t>(o),
                  e.offset(op->shape.dims, index), e.element(outs[o], index));
    for (Stmt& s : stmts) c->epilogue.push_back(s.store);
  }
  return e.status();
}

}  // namespace braze::loop
