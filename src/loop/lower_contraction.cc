// SPDX-License-Identifier: Apache-2.0
// Contractions: a dot or convolution becomes a Contraction leaf with the fused ops as its epilogue;
// element types without a generated kernel get plain loops around a vector of outputs.
#include <algorithm>

#include "loop/lower.h"
#include "ops/op_def.h"
#include "scalar/math.h"

namespace braze::loop {
namespace {

using scalar::Value;

Dtype accumulate_in(Dtype t) { return is_float(t) && byte_size(t) < 4 ? Dtype::kF32 : t; }

// Where an operand's elements are in the parameter that it is read from.
struct View {
  int64_t buffer = 0, offset = 0;
  Dims strides;
};

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

// Follows transposes, broadcasts, slices and reshapes; false if the operand is none of a parameter.
bool view_of(const Instr* i, View& v) {
  if (i->op == Op::kParameter) {
    v = {i->parameter_number(), 0, strides(i->shape.dims)};
    return true;
  }
  const bool moves = i->op == Op::kTranspose || i->op == Op::kBroadcast || i->op == Op::kSlice ||
                     i->op == Op::kReshape;
  if (!moves || i->shape.elements() == 0 || !view_of(i->operand(0), v)) return false;
  const Dims inner = v.strides;
  if (i->op == Op::kReshape) return reshape_view(v, i->operand(0)->shape.dims, i->shape.dims);
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

// Whether an operand is read through a slice or a reshape: fused only where that is free.
bool needs_view(const Instr* i) {
  while (i->op == Op::kTranspose) i = i->operand(0);
  return i->op == Op::kSlice || i->op == Op::kReshape;
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

bool contains(const Dims& d, int64_t v) { return std::find(d.begin(), d.end(), v) != d.end(); }

class ContractionLowering {
 public:
  ContractionLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k), op_(hero(fused)) {}

  Status run() {
    for (const Instr* o : outputs(fused_))
      if (o->shape.dims != op_->shape.dims)
        return unimplemented("an epilogue of another shape than the product");
    bind_parameters(e_, fused_);
    c_ = std::make_shared<Contraction>();
    Dtype l = op_->operand(0)->shape.dtype, r = op_->operand(1)->shape.dtype;
    View lhs, rhs;
    bool direct = has_generated_kernel(l, r, op_->shape.dtype) && view_of(op_->operand(0), lhs) &&
                  view_of(op_->operand(1), rhs) && op_->shape.elements() > 0;
    lhs_ = lhs.strides, rhs_ = rhs.strides;
    c_->lhs_buffer = lhs.buffer, c_->lhs_offset = lhs.offset;
    c_->rhs_buffer = rhs.buffer, c_->rhs_offset = rhs.offset;
    if (direct && op_->op == Op::kConvolution)
      direct = op_->operand(0)->op == Op::kParameter && op_->operand(1)->op == Op::kParameter &&
               op_->operand(0)->shape.elements() > 0 && op_->operand(1)->shape.elements() > 0;
    if (!direct) return loops_instead();
    c_->lhs = l, c_->rhs = r;
    c_->acc = accumulate_in(op_->shape.dtype);
    Index index;
    if (op_->op == Op::kDot) TRY(dot(&index));
    else conv(&index);
    if (facts_.can_contract && !facts_.can_contract(*c_)) {
      c_.reset();
      return loops_instead();
    }
    return epilogue(index);
  }

 private:
  Status loops_instead() {
    if (op_->op == Op::kConvolution) return conv_loops();
    if (needs_view(op_->operand(0)) || needs_view(op_->operand(1)))
      return unimplemented("an operand that is not a view of an array in memory");
    return dot_loops();
  }

  Scalar coordinate(int64_t extent) {
    c_->index_vars.push_back(k_.new_var());
    return g_.index_var(c_->index_vars.back(), std::max<int64_t>(extent, 1));
  }

  // Groups the output's free dimensions of one side: those that merge with the innermost one form m
  // (or n), the others become batch dimensions on which the other side does not depend.
  struct Free {
    Dims dims;     // sizes, outermost first
    Dims stride;   // of the operand
    size_t merged = 0;  // trailing dims that merge
  };
  static Free free_dims(const Shape& s, const Dims& stride, const Dims& batch, const Dims& k) {
    Free f;
    for (int64_t d = 0; d < s.rank(); ++d) {
      if (contains(batch, d) || contains(k, d)) continue;
      f.dims.push_back(s.dims[d]);
      f.stride.push_back(stride[d]);
    }
    int64_t n = static_cast<int64_t>(f.dims.size());
    f.merged = n > 0 ? 1 : 0;
    for (int64_t d = n - 2; d >= 0; --d) {
      if (f.stride[d] != f.stride[d + 1] * f.dims[d + 1]) break;
      ++f.merged;
    }
    return f;
  }

  Status dot(Index* index) {
    const DotAttrs& a = op_->as<DotAttrs>();
    const Shape &ls = op_->operand(0)->shape, &rs = op_->operand(1)->shape;
    Dims out = strides(op_->shape.dims);
    size_t at = 0;
    index->clear();
    for (size_t i = 0; i < a.lhs_batch.size(); ++i, ++at) {
      c_->batch.push_back({ls.dims[a.lhs_batch[i]], lhs_[a.lhs_batch[i]], rhs_[a.rhs_batch[i]], out[at]});
      index->push_back(coordinate(c_->batch.back().size));
    }
    for (size_t i = 0; i < a.lhs_contracting.size(); ++i)
      c_->k.push_back({ls.dims[a.lhs_contracting[i]], lhs_[a.lhs_contracting[i]],
                       rhs_[a.rhs_contracting[i]], 0});
    if (c_->k.empty()) c_->k.push_back({1, 0, 0, 0});
    Free m = free_dims(ls, lhs_, a.lhs_batch, a.lhs_contracting);
    Free n = free_dims(rs, rhs_, a.rhs_batch, a.rhs_contracting);
    // Unmerged outer dimensions of both sides come before m and n among the coordinates.
    Index m_index, n_index;
    for (size_t d = 0; d + m.merged < m.dims.size(); ++d) {
      c_->batch.push_back({m.dims[d], m.stride[d], 0, out[at + d]});
      m_index.push_back(coordinate(m.dims[d]));
    }
    size_t n_at = at + m.dims.size();
    for (size_t d = 0; d + n.merged < n.dims.size(); ++d) {
      c_->batch.push_back({n.dims[d], 0, n.stride[d], out[n_at + d]});
      n_index.push_back(coordinate(n.dims[d]));
    }
    c_->m = merged(m, out, at, true);
    c_->n = merged(n, out, n_at, false);
    unmerge(m, c_->m.size, &m_index);
    unmerge(n, c_->n.size, &n_index);
    index->insert(index->end(), m_index.begin(), m_index.end());
    index->insert(index->end(), n_index.begin(), n_index.end());
    return absl::OkStatus();
  }

  static ContractionDim merged(const Free& f, const Dims& out, size_t at, bool lhs) {
    ContractionDim d;
    if (f.merged == 0) return lhs ? d : ContractionDim{1, 0, 0, 1};
    for (size_t i = f.dims.size() - f.merged; i < f.dims.size(); ++i) d.size *= f.dims[i];
    (lhs ? d.lhs : d.rhs) = f.stride.back();
    d.out = out[at + f.dims.size() - 1];
    return d;
  }
  void unmerge(const Free& f, int64_t size, Index* index) {
    Scalar v = coordinate(size);
    DimSpan dims(f.dims.data() + f.dims.size() - f.merged, f.merged);
    for (Scalar s : e_.delinearize(v, dims)) index->push_back(s);
  }

  void conv(Index* index) {
    c_->is_conv = true;
    c_->conv = op_->as<ConvAttrs>();
    c_->lhs_dims = op_->operand(0)->shape.dims;
    c_->rhs_dims = op_->operand(1)->shape.dims;
    c_->out_dims = op_->shape.dims;
    const ConvDims& d = c_->conv.dims;
    index->resize(c_->out_dims.size());
    (*index)[d.output_batch] = coordinate(c_->out_dims[d.output_batch]);
    for (int64_t s : d.output_spatial) (*index)[s] = coordinate(c_->out_dims[s]);
    (*index)[d.output_feature] = coordinate(c_->out_dims[d.output_feature]);
  }

  Status epilogue(const Index& index) {
    std::vector<const Instr*> outs = outputs(fused_);
    c_->out_buffer = first_output(fused_);
    c_->out = outs[0]->shape.dtype;
    bool storable = c_->out == op_->shape.dtype || (is_float(c_->out) && byte_size(c_->out) == 4) ||
                    (is_float(op_->shape.dtype) && (c_->out == Dtype::kBF16 || c_->out == Dtype::kF16));
    if (!storable) return unimplemented("an epilogue of type ", name(c_->out));
    c_->acc_var = k_.new_var();
    Value acc{g_.cast(op_->shape.dtype, g_.var(c_->acc, c_->acc_var)), {}};
    e_.bind_value(op_, index, {acc});
    if (outs.size() > 1 || outs[0] != op_ || c_->acc != c_->out) {
      std::vector<Stmt> stmts;
      for (size_t o = 0; o < outs.size(); ++o)
        store_value(k_, &stmts, c_->out_buffer + static_cast<int64_t>(o),
                    e_.offset(op_->shape.dims, index), e_.element(outs[o], index));
      for (Stmt& s : stmts) c_->epilogue.push_back(s.store);
    }
    TRY(e_.status());
    k_.contraction = c_;
    return absl::OkStatus();
  }

  // Plain loops ----------------------------------------------------------------------------------

  Value operation(Op op, Dtype t, Value a, Value b) {
    Instr i, p;
    i.op = op;
    i.shape = p.shape = Shape::scalar(t);
    i.operands = {&p, &p};
    return def(op).emit(g_, i, {a, b});
  }
  Value converted(Value v, Dtype from, Dtype to) {
    return from == to ? v : scalar::math::convert(g_, from, to, {&v, 1});
  }

  // items × a vector loop along the last output dimension × serial loops over `extents`, in which
  // `term(reduced indices, output index)` gives what is added (and its condition).
  template <typename F>
  Status loops(DimSpan extents, F term) {
    const Dims& dims = op_->shape.dims;
    Dtype t = op_->shape.dtype, acc = accumulate_in(t);
    int64_t columns = dims.empty() ? 1 : dims.back();
    Phase p;
    p.items = columns == 0 ? 0 : product(dims) / columns;
    p.item_var = k_.new_var();
    auto vector = std::make_shared<Loop>();
    vector->var = k_.new_var();
    vector->extent = columns;
    vector->kind = LoopKind::kVector;
    DimSpan outer(dims.data(), dims.empty() ? 0 : dims.size() - 1);
    Index index = e_.delinearize(g_.index_var(p.item_var, std::max<int64_t>(p.items, 1)), outer);
    if (!dims.empty()) index.push_back(g_.index_var(vector->var, std::max<int64_t>(columns, 1)));
    Value zero{is_float(real_of(acc)) ? g_.constant(real_of(acc), 0) : g_.constant_int(acc, 0), {}};
    if (is_complex(acc)) zero.im = zero.re;

    std::vector<Stmt>* body = &vector->body;
    std::vector<std::shared_ptr<Loop>> nest;
    Index reduced;
    Value current = zero;
    for (int64_t n : extents) {
      auto l = std::make_shared<Loop>();
      l->var = k_.new_var();
      l->extent = n;
      reduced.push_back(g_.index_var(l->var, std::max<int64_t>(n, 1)));
      Accumulator a;
      auto part = [&](Scalar init) {
        a.var.push_back(k_.new_var());
        a.result.push_back(k_.new_var());
        a.type.push_back(real_of(acc));
        a.init.push_back(init);
        return g_.var(real_of(acc), a.var.back());
      };
      Value v{part(current.re), {}};
      if (current.im) v.im = part(current.im);
      current = v;
      l->accumulators.push_back(std::move(a));
      nest.push_back(l);
    }
    Scalar condition;
    Value x = term(reduced, index, acc, &condition);
    Value next = operation(Op::kAdd, acc, current, x);
    if (condition) {
      next.re = g_.select(condition, next.re, current.re);
      if (next.im) next.im = g_.select(condition, next.im, current.im);
    }
    for (size_t d = nest.size(); d-- > 0;) {
      Accumulator& a = nest[d]->accumulators[0];
      a.next.push_back(next.re);
      if (next.im) a.next.push_back(next.im);
      next = {g_.var(real_of(acc), a.result[0]), {}};
      if (is_complex(acc)) next.im = g_.var(real_of(acc), a.result[1]);
      if (d > 0) nest[d - 1]->body.push_back(make_loop(nest[d]));
      else body->push_back(make_loop(nest[d]));
    }
    Value result = nest.empty() ? operation(Op::kAdd, acc, zero, x) : next;
    e_.bind_value(op_, index, {converted(result, acc, t)});
    std::vector<const Instr*> outs = outputs(fused_);
    for (size_t o = 0; o < outs.size(); ++o)
      store_value(k_, body, first_output(fused_) + static_cast<int64_t>(o), e_.offset(dims, index),
                  e_.element(outs[o], index));
    TRY(e_.status());
    p.width = choose_width(k_, facts_, true);
    p.grain = choose_grain(k_, static_cast<double>(columns * product(extents)));
    p.body.push_back(make_loop(vector));
    k_.phases.push_back(std::move(p));
    return absl::OkStatus();
  }

  Status dot_loops() {
    const DotAttrs& a = op_->as<DotAttrs>();
    const Shape &ls = op_->operand(0)->shape, &rs = op_->operand(1)->shape;
    Dims extents;
    for (int64_t d : a.lhs_contracting) extents.push_back(ls.dims[d]);
    return loops(extents, [&](const Index& red, const Index& index, Dtype acc, Scalar*) {
      Index l(ls.dims.size()), r(rs.dims.size());
      size_t at = 0;
      for (size_t i = 0; i < a.lhs_batch.size(); ++i)
        l[a.lhs_batch[i]] = r[a.rhs_batch[i]] = index[at++];
      for (size_t i = 0; i < red.size(); ++i)
        l[a.lhs_contracting[i]] = r[a.rhs_contracting[i]] = red[i];
      for (Scalar& s : l)
        if (!s) s = index[at++];
      for (Scalar& s : r)
        if (!s) s = index[at++];
      Value x = converted(e_.element(op_->operand(0), l), ls.dtype, acc);
      Value y = converted(e_.element(op_->operand(1), r), rs.dtype, acc);
      return operation(Op::kMultiply, acc, x, y);
    });
  }

  Status conv_loops() {
    const ConvAttrs& a = op_->as<ConvAttrs>();
    const ConvDims& d = a.dims;
    const Shape &ls = op_->operand(0)->shape, &rs = op_->operand(1)->shape;
    int64_t features = rs.dims[d.kernel_input];
    Dims extents;
    for (int64_t s : d.kernel_spatial) extents.push_back(rs.dims[s]);
    extents.push_back(features);
    return loops(extents, [&](const Index& red, const Index& out, Dtype acc, Scalar* condition) {
      auto c = [&](int64_t v) { return e_.index_const(v); };
      Index l(ls.dims.size()), r(rs.dims.size());
      Scalar ok;
      auto require = [&](Scalar s) { ok = ok ? g_.logical_and(ok, s) : s; };
      for (size_t i = 0; i < a.window.size(); ++i) {
        const WindowDim& w = a.window[i];
        Scalar k = red[i];
        r[d.kernel_spatial[i]] = w.reversal ? g_.sub(c(w.size - 1), k) : k;
        Scalar x = g_.add(g_.mul(out[d.output_spatial[i]], c(w.stride)),
                          g_.mul(k, c(w.window_dilation)));
        x = g_.sub(x, c(w.pad_low));
        int64_t extent = ls.dims[d.input_spatial[i]];
        if (w.base_dilation > 1) {
          require(g_.eq(g_.rem(x, c(w.base_dilation)), c(0)));
          x = g_.div(x, c(w.base_dilation));
        }
        require(g_.logical_and(g_.le(c(0), x), g_.lt(x, c(extent))));
        l[d.input_spatial[i]] = x;
      }
      Scalar o = out[d.output_feature], b = out[d.output_batch], f = red.back();
      if (a.feature_groups > 1) {
        int64_t per_group = op_->shape.dims[d.output_feature] / a.feature_groups;
        f = g_.add(f, g_.mul(g_.div(o, c(per_group)), c(features)));
      }
      if (a.batch_groups > 1) {
        int64_t per_group = op_->shape.dims[d.output_feature] / a.batch_groups;
        int64_t batch = ls.dims[d.input_batch] / a.batch_groups;
        b = g_.add(b, g_.mul(g_.div(o, c(per_group)), c(batch)));
      }
      l[d.input_batch] = b, l[d.input_feature] = f;
      r[d.kernel_input] = red.back(), r[d.kernel_output] = o;
      Value x = converted(e_.element(op_->operand(0), l, ok), ls.dtype, acc);
      Value y = converted(e_.element(op_->operand(1), r), rs.dtype, acc);
      *condition = ok;
      return operation(Op::kMultiply, acc, x, y);
    });
  }

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  const Instr* op_;
  std::shared_ptr<Contraction> c_;
  Dims lhs_, rhs_;
};

}  // namespace

Status lower_contraction(Kernel& k, const Computation& fused, const Facts& facts) {
  return ContractionLowering(k, fused, facts).run();
}

}  // namespace braze::loop
