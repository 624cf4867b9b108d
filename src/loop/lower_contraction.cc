// SPDX-License-Identifier: Apache-2.0
// Contractions: a dot or convolution becomes a Contraction leaf with the fused ops as its epilogue;
// element types without a generated kernel get plain loops around a vector of outputs.
#include <algorithm>

#include "loop/contraction_form.h"
#include "loop/lower.h"
#include "ops/op_def.h"
#include "scalar/math.h"

namespace braze::loop {
namespace {

using scalar::Value;

// Whether an operand is read through a slice or a reshape: fused only where that is free.
bool needs_view(const Instr* i) {
  while (i->op == Op::kTranspose) i = i->operand(0);
  return i->op == Op::kSlice || i->op == Op::kDynamicSlice || i->op == Op::kReshape;
}

class ContractionLowering {
 public:
  ContractionLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k), op_(hero(fused)) {}

  Status run() {
    bind_parameters(e_, fused_);
    c_ = std::make_shared<Contraction>();
    Dtype l = op_->operand(0)->shape.dtype, r = op_->operand(1)->shape.dtype;
    View lhs, rhs;
    bool direct = has_generated_kernel(l, r, op_->shape.dtype) && view_of(op_->operand(0), lhs) &&
                  view_of(op_->operand(1), rhs) && op_->shape.elements() > 0;
    c_->lhs_starts = lhs.starts, c_->rhs_starts = rhs.starts;
    c_->lhs_buffer = lhs.buffer, c_->lhs_offset = lhs.offset;
    c_->rhs_buffer = rhs.buffer, c_->rhs_offset = rhs.offset;
    if (direct && op_->op == Op::kConvolution)
      direct = op_->operand(0)->op == Op::kParameter && op_->operand(1)->op == Op::kParameter &&
               op_->operand(0)->shape.elements() > 0 && op_->operand(1)->shape.elements() > 0;
    if (!direct) return loops_instead();
    c_->lhs = l, c_->rhs = r;
    c_->acc = accumulate_in(op_->shape.dtype);
    Index index;
    Destination to{op_, {}, strides(op_->shape.dims)};
    if (op_->op == Op::kDot) to = destination_of(op_);
    if (op_->op == Op::kDot) dot_form(k_, e_, to, lhs.strides, rhs.strides, c_.get(), &index);
    else if (is_pointwise(op_)) pointwise_form(k_, e_, op_, c_.get(), &index);
    else conv(&index);
    if (facts_.can_contract && !facts_.can_contract(*c_)) {
      c_.reset();
      return loops_instead();
    }
    TRY(epilogue_form(k_, e_, fused_, to, index, c_.get()));
    k_.contraction = c_;
    return absl::OkStatus();
  }

 private:
  Status loops_instead() {
    for (const Instr* o : outputs(fused_))
      if (o->shape.dims != op_->shape.dims) return unimplemented("an epilogue of another shape than the product");
    if (op_->op == Op::kConvolution) return conv_loops();
    if (needs_view(op_->operand(0)) || needs_view(op_->operand(1)))
      return unimplemented("an operand that is not a view of an array in memory");
    return dot_loops();
  }

  void conv(Index* index) {
    c_->is_conv = true;
    c_->conv = op_->as<ConvAttrs>();
    c_->lhs_dims = op_->operand(0)->shape.dims;
    c_->rhs_dims = op_->operand(1)->shape.dims;
    c_->out_dims = op_->shape.dims;
    const ConvDims& d = c_->conv.dims;
    index->resize(c_->out_dims.size());
    (*index)[d.output_batch] = coordinate(k_, c_.get(), c_->out_dims[d.output_batch]);
    for (int64_t s : d.output_spatial) (*index)[s] = coordinate(k_, c_.get(), c_->out_dims[s]);
    (*index)[d.output_feature] = coordinate(k_, c_.get(), c_->out_dims[d.output_feature]);
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
};

}  // namespace

Status lower_contraction(Kernel& k, const Computation& fused, const Facts& facts) {
  return ContractionLowering(k, fused, facts).run();
}

}  // namespace braze::loop
