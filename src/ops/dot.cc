// SPDX-License-Identifier: Apache-2.0
// dot with HLO's dimension numbers. The reference multiplies and adds in the types of wide.h.
#include "ops/contraction_rules.h"
#include "ops/dim_rules.h"
#include "ops/sampling.h"

namespace braze {

Result<Shape> contraction_element(std::string_view rule, const Shape& lhs, const Shape& rhs,
                                  const Shape* proposed) {
  Shape out = Shape::scalar(lhs.dtype);
  if (lhs.quant || rhs.quant) {
    if (proposed) {
      out.dtype = proposed->dtype;
      out.quant = proposed->quant;
    } else {
      out.dtype = rhs.quant && !lhs.quant ? lhs.dtype : rhs.dtype;
      if (lhs.quant) out.quant = lhs.quant;
    }
    return out;
  }
  const auto kind = [](Dtype t) { return is_int(t) ? 0 : is_float(t) ? 1 : is_complex(t) ? 2 : 3; };
  if (kind(lhs.dtype) != kind(rhs.dtype))
    return law(rule, "operands must have element types of one kind, got ", name(lhs.dtype), " and ",
               name(rhs.dtype));
  out.dtype = bit_size(lhs.dtype) >= bit_size(rhs.dtype) ? lhs.dtype : rhs.dtype;
  if (!proposed) return out;
  const Dtype want = proposed->dtype;
  const bool widening = kind(want) == kind(out.dtype) || (is_int(out.dtype) && is_float(want)) ||
                        (is_pred(out.dtype) && (is_int(want) || is_float(want)));
  if (!is_array(want) || !widening)
    return law(rule, "a product of ", name(lhs.dtype), " and ", name(rhs.dtype),
               " can't have element type ", name(want));
  out.dtype = want;
  return out;
}

int64_t size_of(const Shape& s, DimSpan dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= s.dims[d];
  return n;
}

Status check_dot_dims(const DotAttrs& a, const Shape& lhs, const Shape& rhs) {
  if (a.lhs_batch.size() != a.rhs_batch.size())
    return law("stablehlo.dot_general (C1)", "lhs has ", a.lhs_batch.size(),
               " batching dimensions, rhs ", a.rhs_batch.size());
  if (a.lhs_contracting.size() != a.rhs_contracting.size())
    return law("stablehlo.dot_general (C2)", "lhs has ", a.lhs_contracting.size(),
               " contracting dimensions, rhs ", a.rhs_contracting.size());
  TRY(check_unique("stablehlo.dot_general (C3)", "lhs batching and contracting dimensions",
                   joined(a.lhs_batch, a.lhs_contracting)));
  TRY(check_unique("stablehlo.dot_general (C4)", "rhs batching and contracting dimensions",
                   joined(a.rhs_batch, a.rhs_contracting)));
  TRY(check_range("stablehlo.dot_general (C5)", "lhs batching dimensions", a.lhs_batch,
                  lhs.rank()));
  TRY(check_range("stablehlo.dot_general (C6)", "lhs contracting dimensions", a.lhs_contracting,
                  lhs.rank()));
  TRY(check_range("stablehlo.dot_general (C7)", "rhs batching dimensions", a.rhs_batch,
                  rhs.rank()));
  TRY(check_range("stablehlo.dot_general (C8)", "rhs contracting dimensions", a.rhs_contracting,
                  rhs.rank()));
  auto agree = [&](std::string_view rule, std::string_view what, const Dims& l, const Dims& r) {
    for (size_t i = 0; i < l.size(); ++i)
      if (!dims_agree(lhs, l[i], rhs, r[i]))
        return law(rule, what, " dimension ", l[i], " of lhs has size ", lhs.dims[l[i]],
                   ", dimension ", r[i], " of rhs has size ", rhs.dims[r[i]]);
    return Status();
  };
  TRY(agree("stablehlo.dot_general (C9)", "batching", a.lhs_batch, a.rhs_batch));
  TRY(agree("stablehlo.dot_general (C10)", "contracting", a.lhs_contracting, a.rhs_contracting));
  if (!a.precision.empty() && a.precision.size() != 2)
    return law("stablehlo.dot_general (C11)", "precision must have 2 entries, has ",
               a.precision.size());
  if (!a.algorithm.empty())
    for (Precision p : a.precision)
      if (p != Precision::kDefault)
        return law("stablehlo.dot_general (C21)", "with an algorithm, precision must be default");
  return absl::OkStatus();
}

Dims lhs_free_dims(const DotAttrs& a, const Shape& lhs) {
  return axes_except(lhs.rank(), joined(a.lhs_batch, a.lhs_contracting));
}

Dims rhs_free_dims(const DotAttrs& a, const Shape& rhs) {
  return axes_except(rhs.rank(), joined(a.rhs_batch, a.rhs_contracting));
}

namespace {

Status check_dot_quantization(const DotAttrs& a, const Shape& lhs, const Shape& rhs,
                              const Shape& out) {
  if (!lhs.quant && !rhs.quant) return absl::OkStatus();
  if (!rhs.quant || (lhs.quant != nullptr) != (out.quant != nullptr))
    return law("stablehlo.dot_general (C14)",
               "rhs must be quantized, and lhs exactly if the result is");
  for (int64_t z : rhs.quant->zero_points)
    if (z != 0) return law("stablehlo.dot_general (C15)", "zero points of rhs must be 0");
  if (rhs.quant->axis >= 0 && contains(a.rhs_contracting, rhs.quant->axis))
    return law("stablehlo.dot_general (C16)", "rhs is quantized along its contracting dimension ",
               rhs.quant->axis);
  if (!lhs.quant) {
    if (lhs.dtype != rhs.quant->expressed || out.dtype != lhs.dtype)
      return law("stablehlo.dot_general (C20)",
                 "lhs and the result must have rhs' expressed type ", name(rhs.quant->expressed));
    return absl::OkStatus();
  }
  if (lhs.dtype != rhs.dtype)
    return law("stablehlo.dot_general (C17)", "storage types differ: ", name(lhs.dtype), " and ",
               name(rhs.dtype));
  if (lhs.quant->expressed != rhs.quant->expressed || out.quant->expressed != lhs.quant->expressed)
    return law("stablehlo.dot_general (C18)", "expressed types differ");
  if (rhs.quant->axis < 0 && out.quant->axis >= 0)
    return law("stablehlo.dot_general (C19)",
               "the result of per-tensor operands must be per-tensor");
  return absl::OkStatus();
}

Result<Shape> infer_dot(const InferContext& ctx) {
  TRY(check_form<DotAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const auto& a = ctx.as<DotAttrs>();
  const Shape &lhs = ctx.operand(0), &rhs = ctx.operand(1);
  TRY(check_dot_dims(a, lhs, rhs));
  ASSIGN(Shape out, contraction_element("stablehlo.dot_general (C13)", lhs, rhs, ctx.proposed));
  for (size_t i = 0; i < a.lhs_batch.size(); ++i) {
    const bool unknown = lhs.dims[a.lhs_batch[i]] == kUnknownDim;
    if (unknown) append_dim(out, rhs, a.rhs_batch[i]);
    else append_dim(out, lhs, a.lhs_batch[i]);
  }
  for (int64_t d : lhs_free_dims(a, lhs)) append_dim(out, lhs, d);
  for (int64_t d : rhs_free_dims(a, rhs)) append_dim(out, rhs, d);
  TRY(check_dot_quantization(a, lhs, rhs, out));
  return out;
}

Result<Literal> eval_dot(const EvalContext& ctx) {
  const auto& a = ctx.as<DotAttrs>();
  const Literal &lhs = ctx.operand(0), &rhs = ctx.operand(1);
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  if (out.elements() == 0) return out;
  const Dims lhs_free = lhs_free_dims(a, lhs.shape()), rhs_free = rhs_free_dims(a, rhs.shape());
  const int64_t batch = size_of(lhs.shape(), a.lhs_batch), rows = size_of(lhs.shape(), lhs_free);
  const int64_t columns = size_of(rhs.shape(), rhs_free);
  const int64_t depth = size_of(lhs.shape(), a.lhs_contracting);
  with_sum_type(shape.dtype, depth, [&](auto zero) {
    using T = decltype(zero);
    const auto l = packed<T>(lhs, joined(joined(a.lhs_batch, lhs_free), a.lhs_contracting));
    const auto r = packed<T>(rhs, joined(joined(a.rhs_batch, rhs_free), a.rhs_contracting));
    int64_t at = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          store_wide<T>(out, at++, dot_product<T>(l.data() + (b * rows + i) * depth,
                                                  r.data() + (b * columns + j) * depth, depth));
  });
  return out;
}

std::unique_ptr<Module> sample_dot(std::mt19937_64& rng) {
  Sampler s(rng, "dot");
  const int64_t batch = s.uniform(0, 2), contracting = s.uniform(0, 2);
  const int64_t lhs_rank = batch + contracting + s.uniform(0, 2);
  const int64_t rhs_rank = batch + contracting + s.uniform(0, 2);
  Dims l = s.dims(lhs_rank, lhs_rank, 5), r = s.dims(rhs_rank, rhs_rank, 5);
  const Dims lp = s.permutation(lhs_rank), rp = s.permutation(rhs_rank);
  DotAttrs a;
  for (int64_t i = 0; i < batch + contracting; ++i) {
    (i < batch ? a.lhs_batch : a.lhs_contracting).push_back(lp[i]);
    (i < batch ? a.rhs_batch : a.rhs_contracting).push_back(rp[i]);
    r[rp[i]] = l[lp[i]];
  }
  Dtype t = s.dtype(), u = t;
  if (s.chance(0.1)) t = Dtype::kS8, u = Dtype::kU8;
  Instr* x = s.parameter(Shape::array(t, l));
  Instr* y = s.parameter(Shape::array(u, r));
  Dtype wide = t;
  if (t == Dtype::kS8 || t == Dtype::kU8) wide = Dtype::kS32;
  if ((t == Dtype::kBF16 || t == Dtype::kF16) && s.chance(0.5)) wide = Dtype::kF32;
  if (wide == t) {
    s.root(Op::kDot, {x, y}, a);
  } else {
    Shape shape = Shape::scalar(wide);
    for (int64_t d : a.lhs_batch) shape.dims.push_back(l[d]);
    for (int64_t d : lhs_free_dims(a, x->shape)) shape.dims.push_back(l[d]);
    for (int64_t d : rhs_free_dims(a, y->shape)) shape.dims.push_back(r[d]);
    s.root_shaped(Op::kDot, shape, {x, y}, a);
  }
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> dot_rows() {
  static const OpDef rows[] = {
      {.op = Op::kDot,
       .stablehlo = "dot_general",
       .arity = 2,
       .attrs = attrs_index<DotAttrs>(),
       .infer = infer_dot,
       .eval = eval_dot,
       .nest = Nest::kDot,
       .cost = 2,
       .sample = sample_dot,
       .doc = "Sums products over the contracting dimensions, for each index of the batching "
              "dimensions; the result's dimensions are batching, then lhs free, then rhs free."},
      ragged_dot_row(),
  };
  return rows;
}

}  // namespace braze
