// SPDX-License-Identifier: Apache-2.0
// Rows of batch normalisation: training, inference and gradient.
//
// Each expands to elementwise ops and reductions over all dimensions but the feature's; floats narrower
// than f32 are computed in f32 there. Variance is that of the whole batch (divided by n).
#include <cmath>

#include "ops/builder.h"
#include "ops/dim_rules.h"
#include "ops/linalg.h"
#include "ops/sampling.h"
#include "ops/wide.h"

namespace braze {
namespace {

std::string rule(const InferContext& ctx, std::string_view code) {
  return str_cat("stablehlo.", message_name(ctx.op), " (", code, ")");
}

struct Part {
  size_t operand;
  std::string_view name, code;
};

// Operand 0 is the batch; `parts` have one element per feature.
Status check_batch_norm(const InferContext& ctx, std::string_view type_code,
                        std::initializer_list<Part> parts) {
  TRY(check_arrays(ctx, 0, ctx.operands.size()));
  const Shape& x = ctx.operand(0);
  const int64_t feature = ctx.as<BatchNormAttrs>().feature_index;
  TRY(check_range(rule(ctx, "C1"), "feature_index", {feature}, x.rank()));
  if (!is_float(x.dtype))
    return invalid("stablehlo.", message_name(ctx.op), ": operand must hold floats, got ",
                   to_string(x, false));
  for (const Shape* s : ctx.operands)
    if (s->dtype != x.dtype)
      return law(rule(ctx, type_code), "all operands must have element type ", name(x.dtype),
                 ", got ", to_string(*s, false));
  for (const Part& p : parts) {
    const Shape& s = ctx.operand(p.operand);
    if (s.rank() != 1 || !dims_agree(s, 0, x, feature))
      return law(rule(ctx, p.code), "size(", p.name, ") = dim(operand, ", feature, ") = ",
                 x.dims[feature], ", got ", to_string(s, false));
  }
  return absl::OkStatus();
}

Shape bare(Shape s) {
  s.layout.clear();
  return s;
}

Result<Shape> infer_training(const InferContext& ctx) {
  TRY(check_form<BatchNormAttrs>(ctx, 3));
  TRY(check_batch_norm(ctx, "C2", {{1, "scale", "C3"}, {2, "offset", "C4"}}));
  const Shape stats = bare(ctx.operand(1));
  return Shape::tuple_of({bare(ctx.operand(0)), stats, stats});
}

Result<Shape> infer_inference(const InferContext& ctx) {
  TRY(check_form<BatchNormAttrs>(ctx, 5));
  TRY(check_batch_norm(ctx, "C2", {{1, "scale", "C3"},
                                   {2, "offset", "C4"},
                                   {3, "mean", "C5"},
                                   {4, "variance", "C6"}}));
  return bare(ctx.operand(0));
}

Result<Shape> infer_grad(const InferContext& ctx) {
  TRY(check_form<BatchNormAttrs>(ctx, 5));
  TRY(check_batch_norm(ctx, "C2",
                       {{1, "scale", "C5"}, {2, "mean", "C4"}, {3, "variance", "C4"}}));
  if (!dims_agree(ctx.operand(0), ctx.operand(4)))
    return law(rule(ctx, "C3"), "operand and grad_output must have one shape, got ",
               to_string(ctx.operand(0), false), " and ", to_string(ctx.operand(4), false));
  const Shape stats = bare(ctx.operand(1));
  return Shape::tuple_of({bare(ctx.operand(0)), stats, stats});
}

// ---- evaluation, in long double ----

using Real = long double;

struct Batch {
  int64_t features, inner, count;  // count: elements per feature
  Batch(const Shape& s, int64_t feature) : features(s.dims[feature]), inner(1) {
    for (int64_t d = feature + 1; d < s.rank(); ++d) inner *= s.dims[d];
    count = features == 0 ? 0 : s.elements() / features;
  }
  int64_t feature_of(int64_t i) const { return i / inner % features; }
};

// Sum over each feature of f(element index).
template <typename F>
std::vector<Real> sums(const Batch& b, F&& f) {
  std::vector<Real> out(b.features, 0);
  for (int64_t i = 0; i < b.features * b.count; ++i) out[b.feature_of(i)] += f(i);
  return out;
}

Literal literal_of(const Shape& s, const std::vector<Real>& v) {
  Literal out(s);
  for (size_t i = 0; i < v.size(); ++i) out.set_float(i, static_cast<double>(v[i]));
  return out;
}

Literal normalized(const EvalContext& ctx, const std::vector<Real>& mean,
                   const std::vector<Real>& variance) {
  const auto& a = ctx.as<BatchNormAttrs>();
  const Literal& x = ctx.operand(0);
  const Batch b(x.shape(), a.feature_index);
  Literal out(x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t f = b.feature_of(i);
    const Real z = (x.get_float(i) - mean[f]) / std::sqrt(variance[f] + static_cast<Real>(a.epsilon));
    out.set_float(i, static_cast<double>(z * ctx.operand(1).get_float(f) + ctx.operand(2).get_float(f)));
  }
  return out;
}

Result<Literal> eval_training(const EvalContext& ctx) {
  const Literal& x = ctx.operand(0);
  const Batch b(x.shape(), ctx.as<BatchNormAttrs>().feature_index);
  std::vector<Real> mean = sums(b, [&](int64_t i) { return static_cast<Real>(x.get_float(i)); });
  for (Real& m : mean) m /= b.count;
  std::vector<Real> variance = sums(b, [&](int64_t i) {
    const Real c = x.get_float(i) - mean[b.feature_of(i)];
    return c * c;
  });
  for (Real& v : variance) v /= b.count;
  const Shape& stats = ctx.operand(1).shape();
  return Literal::tuple(
      {normalized(ctx, mean, variance), literal_of(stats, mean), literal_of(stats, variance)});
}

std::vector<Real> values_of(const Literal& l) {
  std::vector<Real> out(l.elements());
  for (int64_t i = 0; i < l.elements(); ++i) out[i] = l.get_float(i);
  return out;
}

Result<Literal> eval_inference(const EvalContext& ctx) {
  return normalized(ctx, values_of(ctx.operand(3)), values_of(ctx.operand(4)));
}

Result<Literal> eval_grad(const EvalContext& ctx) {
  const auto& a = ctx.as<BatchNormAttrs>();
  const Literal &x = ctx.operand(0), &grad = ctx.operand(4);
  const std::vector<Real> scale = values_of(ctx.operand(1)), mean = values_of(ctx.operand(2));
  std::vector<Real> variance = values_of(ctx.operand(3));
  for (Real& v : variance) v += static_cast<Real>(a.epsilon);
  const Batch b(x.shape(), a.feature_index);
  auto g = [&](int64_t i) { return static_cast<Real>(grad.get_float(i)); };
  auto centered = [&](int64_t i) { return x.get_float(i) - mean[b.feature_of(i)]; };
  const std::vector<Real> grad_offset = sums(b, g);
  const std::vector<Real> dots = sums(b, [&](int64_t i) { return g(i) * centered(i); });
  Literal grad_operand(x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t f = b.feature_of(i);
    const Real inner = g(i) * b.count - grad_offset[f] - dots[f] * centered(i) / variance[f];
    grad_operand.set_float(
        i, static_cast<double>(scale[f] / std::sqrt(variance[f]) / b.count * inner));
  }
  std::vector<Real> grad_scale = dots;
  for (int64_t f = 0; f < b.features; ++f) grad_scale[f] /= std::sqrt(variance[f]);
  const Shape& stats = ctx.operand(1).shape();
  return Literal::tuple(
      {grad_operand, literal_of(stats, grad_scale), literal_of(stats, grad_offset)});
}

// ---- expansion ----

struct Expansion {
  Builder& b;
  const Instr& instr;
  const BatchNormAttrs& a;
  Dtype compute;
  Dims rest;  // all dimensions but the feature's

  Expansion(Builder& builder, const Instr& i)
      : b(builder), instr(i), a(i.as<BatchNormAttrs>()) {
    const Dtype t = i.operand(0)->shape.dtype;
    compute = t == Dtype::kF64 ? t : Dtype::kF32;
    rest = axes_except(i.operand(0)->shape.rank(), {a.feature_index});
  }
  Instr* operand(int64_t k) { return b.convert(compute, instr.operands[k]); }
  Instr* spread(Instr* per_feature) {
    return b.broadcast(per_feature, instr.operand(0)->shape.dims, {a.feature_index});
  }
  Instr* sum(Instr* x) { return b.reduce(Op::kAdd, x, b.scalar(compute, 0), rest); }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : rest) n *= instr.operand(0)->shape.dims[d];
    return n;
  }
  Instr* mean_of(Instr* x) {
    Instr* s = sum(x);
    return b.div(s, b.splat(s->shape, static_cast<double>(count())));
  }
  Instr* with_epsilon(Instr* variance) {
    return b.add(variance, b.splat(variance->shape, a.epsilon));
  }
  Instr* narrowed(Instr* x) { return b.convert(instr.operand(0)->shape.dtype, x); }
  Instr* normalized(Instr* x, Instr* mean, Instr* variance, Instr* scale, Instr* offset) {
    Instr* deviation = b.unary(Op::kSqrt, with_epsilon(variance));
    Instr* z = b.div(b.sub(x, spread(mean)), spread(deviation));
    return narrowed(b.add(b.mul(z, spread(scale)), spread(offset)));
  }
};

Result<Instr*> expand_training(Builder& b, const Instr& instr) {
  Expansion e(b, instr);
  Instr* x = e.operand(0);
  Instr* mean = e.mean_of(x);
  Instr* centered = b.sub(x, e.spread(mean));
  Instr* variance = e.mean_of(b.mul(centered, centered));
  Instr* out = b.tuple({e.normalized(x, mean, variance, e.operand(1), e.operand(2)),
                        e.narrowed(mean), e.narrowed(variance)});
  TRY(b.status());
  return out;
}

Result<Instr*> expand_inference(Builder& b, const Instr& instr) {
  Expansion e(b, instr);
  Instr* out =
      e.normalized(e.operand(0), e.operand(3), e.operand(4), e.operand(1), e.operand(2));
  TRY(b.status());
  return out;
}

Result<Instr*> expand_grad(Builder& b, const Instr& instr) {
  Expansion e(b, instr);
  Instr *scale = e.operand(1), *grad = e.operand(4);
  Instr* centered = b.sub(e.operand(0), e.spread(e.operand(2)));
  Instr* variance = e.with_epsilon(e.operand(3));
  Instr* deviation = b.unary(Op::kSqrt, variance);
  Instr* grad_offset = e.sum(grad);
  Instr* dots = e.sum(b.mul(grad, centered));
  Instr* inner = b.mul(grad, b.splat(grad->shape, static_cast<double>(e.count())));
  inner = b.sub(inner, e.spread(grad_offset));
  inner = b.sub(inner, b.mul(e.spread(b.div(dots, variance)), centered));
  Instr* factor = b.div(scale, deviation);
  factor = b.div(factor, b.splat(factor->shape, static_cast<double>(e.count())));
  Instr* out = b.tuple({e.narrowed(b.mul(e.spread(factor), inner)),
                        e.narrowed(b.div(dots, deviation)), e.narrowed(grad_offset)});
  TRY(b.status());
  return out;
}

std::unique_ptr<Module> sample_batch_norm(std::mt19937_64& rng, Op op) {
  Sampler s(rng, "batch_norm");
  const Dims dims = s.dims(1, 4, 4);
  BatchNormAttrs a;
  a.epsilon = 0.125;
  a.feature_index = s.uniform(0, static_cast<int64_t>(dims.size()) - 1);
  const Dtype t = s.pick({Dtype::kF32, Dtype::kF64, Dtype::kF16});
  const Shape batch = Shape::array(t, dims), feature = Shape::array(t, {dims[a.feature_index]});
  Instr* x = s.parameter(batch);
  Instr* scale = s.parameter(feature);
  Instr* second = s.parameter(feature);
  if (op == Op::kBatchNormTraining) {
    s.root(op, {x, scale, second}, a);
  } else {
    Literal ones(feature);
    for (int64_t i = 0; i < ones.elements(); ++i) ones.set_float(i, 0.5 + static_cast<double>(i));
    Instr* variance = s.builder().constant(ones);
    if (op == Op::kBatchNormInference)
      s.root(op, {x, scale, second, s.parameter(feature), variance}, a);
    else
      s.root(op, {x, scale, second, variance, s.parameter(batch)}, a);
  }
  return s.finish();
}

template <Op op>
std::unique_ptr<Module> sample(std::mt19937_64& rng) {
  return sample_batch_norm(rng, op);
}

OpDef row(Op op, std::string_view spelling, int arity, std::string_view doc) {
  return {.op = op,
          .stablehlo = spelling,
          .arity = arity,
          .attrs = attrs_index<BatchNormAttrs>(),
          .cost = 20,
          .doc = doc};
}

}  // namespace

OpDef batch_norm_training_row() {
  OpDef r = row(Op::kBatchNormTraining, "batch_norm_training", 3,
                "Normalises a batch per feature: (output, mean, variance).");
  r.infer = infer_training;
  r.eval = eval_training;
  r.expand = expand_training;
  r.sample = sample<Op::kBatchNormTraining>;
  return r;
}

OpDef batch_norm_inference_row() {
  OpDef r = row(Op::kBatchNormInference, "batch_norm_inference", 5,
                "Normalises a batch per feature with given mean and variance.");
  r.infer = infer_inference;
  r.eval = eval_inference;
  r.expand = expand_inference;
  r.sample = sample<Op::kBatchNormInference>;
  return r;
}

OpDef batch_norm_grad_row() {
  OpDef r = row(Op::kBatchNormGrad, "batch_norm_grad", 5,
                "Gradients of batch_norm_training: (grad_operand, grad_scale, grad_offset).");
  r.infer = infer_grad;
  r.eval = eval_grad;
  r.expand = expand_grad;
  r.sample = sample<Op::kBatchNormGrad>;
  return r;
}

}  // namespace braze
