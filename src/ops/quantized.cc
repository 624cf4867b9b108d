// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ir/float_format.h"
#include "ops/dim_rules.h"
#include "ops/sampling.h"

namespace braze {
namespace {

// The same array without its quantization: plain stored integers.
Shape stored_shape(const Shape& s) {
  Shape out = s;
  out.quant.reset();
  for (Shape& t : out.tuple) t = stored_shape(t);
  return out;
}

// Which scale holds for element i of an array of `dims`.
class ScaleOf {
 public:
  ScaleOf(const Quantization& q, DimSpan dims) {
    if (q.axis < 0 || q.axis >= static_cast<int64_t>(dims.size()) || q.scales.size() <= 1) return;
    size_ = dims[q.axis];
    for (size_t d = q.axis + 1; d < dims.size(); ++d) inner_ *= dims[d];
  }
  size_t operator()(int64_t i) const { return static_cast<size_t>(i / inner_ % size_); }

 private:
  int64_t inner_ = 1, size_ = 1;
};

bool consistent(const Quantization& q, const Shape& s) {
  const size_t n = q.scales.size();
  if (n == 0 || q.zero_points.size() != n) return false;
  if (n == 1) return true;
  return q.axis >= 0 && q.axis < s.rank() && static_cast<int64_t>(n) == s.dims[q.axis];
}

Status check_consistent(const Shape& s, std::string_view op) {
  if (!s.quant || consistent(*s.quant, s)) return absl::OkStatus();
  return invalid(op, ": the quantization of ", to_string(s, false), " has ", s.quant->scales.size(),
                 " scales and ", s.quant->zero_points.size(), " zero points along axis ",
                 s.quant->axis);
}

// A computation with every quantized type replaced by its expressed type, in `module`.
Computation* expressed_computation(const Computation& from, Module& module) {
  Computation* to = module.add_computation(from.name());
  std::map<const Instr*, Instr*> made;
  for (const Instr* i : from.params())
    made[i] = to->add(i->op, expressed_shape(i->shape), {}, i->attrs);
  for (const Instr* i : post_order(from)) {
    if (made.count(i)) continue;
    std::vector<Instr*> operands;
    for (const Instr* o : i->operands) operands.push_back(made[o]);
    Attrs attrs = i->attrs;
    if (i->is_constant() && i->shape.quant)
      attrs = ConstantAttrs{dequantize(i->literal(), *i->shape.quant)};
    made[i] = to->add(i->op, expressed_shape(i->shape), operands, std::move(attrs), i->calls);
  }
  to->set_root(made[from.root()]);
  return to;
}

Literal quantized_parts(Literal l, const Shape& shape) {
  if (shape.is_tuple()) {
    std::vector<Literal> parts;
    for (size_t i = 0; i < shape.tuple.size(); ++i)
      parts.push_back(quantized_parts(l.parts()[i], shape.tuple[i]));
    return Literal::tuple(std::move(parts));
  }
  return shape.quant ? quantize(l, shape) : l;
}

// Moves elements without looking at them; operands of other types (indices, predicates) stay plain.
bool only_moves(Op op) {
  switch (op) {
    case Op::kGather:
    case Op::kDynamicGather:
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kSelect:
    case Op::kPad:
    case Op::kDynamicPad:
    case Op::kConcatenate:
    case Op::kRealDynamicSlice:
    case Op::kDynamicReshape:
    case Op::kDynamicBroadcast:
    case Op::kAllGather:
    case Op::kAllToAll:
    case Op::kCollectiveBroadcast:
    case Op::kCollectivePermute:
    case Op::kBitcastConvert:
    case Op::kOptBarrier:
    case Op::kSort: return true;
    default: return def(op).has(kMovement);
  }
}

// All quantized operands and the result have one scale and zero point; bitcasts change the type alone.
bool shares_one_type(const Instr& i) {
  if (i.is(Op::kBitcastConvert)) return true;
  const Quantization* one = nullptr;
  auto same = [&](const Shape& s) {
    if (!s.quant) return true;
    if (!one) one = s.quant.get();
    return one->expressed == s.quant->expressed && one->scales == s.quant->scales &&
           one->zero_points == s.quant->zero_points;
  };
  bool all = same(i.shape);
  for (const Shape& t : i.shape.tuple) all = all && same(t);
  for (const Instr* o : i.operands) all = all && same(o->shape);
  return all;
}

// Runs the op on stored integers, in a module of its own so that no shape is quantized.
Result<Literal> eval_stored(const EvalContext& ctx) {
  Module m("stored");
  Builder b(m.add_computation("main"));
  std::vector<Instr*> operands;
  std::vector<Literal> values;
  for (size_t i = 0; i < ctx.operands.size(); ++i) {
    values.push_back(ctx.operand(i).shape().quant
                         ? ctx.operand(i).reshaped(stored_shape(ctx.operand(i).shape()))
                         : ctx.operand(i));
    operands.push_back(b.parameter(static_cast<int64_t>(i), values[i].shape()));
  }
  Instr* i = b.computation()->add(ctx.instr.op, stored_shape(ctx.instr.shape), operands,
                                  ctx.instr.attrs, ctx.instr.calls);
  TRY(b.status());
  return def(*i).eval({*i, values, ctx.run, ctx.world});
}

Result<Literal> eval_uniform(const EvalContext& ctx) {
  const Shape &from = ctx.instr.operand(0)->shape, &to = ctx.instr.shape;
  TRY(check_consistent(from, message_name(ctx.instr.op)));
  TRY(check_consistent(to, message_name(ctx.instr.op)));
  const Literal real = from.quant ? dequantize(ctx.operand(0), *from.quant) : ctx.operand(0);
  return to.quant ? quantize(real, to) : real;
}

Result<Shape> infer_quantize(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  const Shape& in = ctx.operand(0);
  if (!ctx.proposed || !ctx.proposed->quant)
    return invalid("stablehlo.uniform_quantize: its result must have a quantized element type");
  const Shape& out = *ctx.proposed;
  if (!dims_agree(in, out))
    return law("stablehlo.uniform_quantize (C1)", "shape(operand) = shape(result), got ",
               to_string(in, false), " and ", to_string(out, false));
  const Dtype real = in.quant ? in.quant->expressed : in.dtype;
  if (!is_float(real) || out.quant->expressed != real)
    return law("stablehlo.uniform_quantize (C2)", "expressed_type(result) must be the operand's float "
               "type ", name(real), ", got ", name(out.quant->expressed));
  TRY(check_consistent(out, "stablehlo.uniform_quantize"));
  return out;
}

Result<Shape> infer_dequantize(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 1));
  const Shape& in = ctx.operand(0);
  if (!in.quant)
    return law("stablehlo.uniform_dequantize (C2)", "the operand must have a quantized element type, "
               "got ", to_string(in, false));
  TRY(check_consistent(in, "stablehlo.uniform_dequantize"));
  return expressed_shape(in);
}

// ---- expansion ----

// Scales or zero points as an array of s' dims.
Instr* spread(Builder& b, const Shape& s, const Quantization& q, Dtype t, bool zero_points) {
  const auto n = static_cast<int64_t>(q.scales.size());
  const bool per_axis = q.axis >= 0 && n > 1;
  Literal l(per_axis ? Shape::array(t, {n}) : Shape::scalar(t));
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (zero_points) is_float(t) ? l.set_float(i, static_cast<double>(q.zero_points[i]))
                                 : l.set_int(i, q.zero_points[i]);
    else l.set_float(i, q.scales[i]);
  }
  Instr* c = b.constant(std::move(l));
  if (s.dims.empty()) return c;
  return per_axis ? b.broadcast(c, s.dims, {q.axis}) : b.broadcast(c, s.dims, {});
}

Instr* dequantized(Builder& b, Instr* x) {
  const Quantization& q = *x->shape.quant;
  Instr* stored = b.op_shaped(Op::kBitcastConvert, stored_shape(x->shape), {x});
  stored = b.convert(Dtype::kS64, stored);
  stored = b.sub(stored, spread(b, stored->shape, q, Dtype::kS64, true));
  Instr* real = b.convert(q.expressed, stored);
  return b.mul(real, spread(b, real->shape, q, q.expressed, false));
}

Instr* quantized(Builder& b, Instr* real, const Shape& shape) {
  const Quantization& q = *shape.quant;
  Instr* x = b.div(real, spread(b, real->shape, q, q.expressed, false));
  x = b.unary(Op::kRoundEven, x);
  x = b.add(x, spread(b, x->shape, q, q.expressed, true));
  x = b.op(Op::kClamp, {b.scalar(q.expressed, static_cast<double>(q.storage_min)), x,
                        b.scalar(q.expressed, static_cast<double>(q.storage_max))});
  x = b.convert(shape.dtype, x);
  return b.op_shaped(Op::kBitcastConvert, shape, {x});
}

Result<Instr*> expand_uniform(Builder& b, const Instr& instr) {
  TRY(check_consistent(instr.operand(0)->shape, message_name(instr.op)));
  TRY(check_consistent(instr.shape, message_name(instr.op)));
  Instr* x = instr.operands[0];
  if (x->shape.quant) x = dequantized(b, x);
  if (instr.shape.quant) x = quantized(b, x, instr.shape);
  TRY(b.status());
  return x;
}

Shape quantized_sample_shape(Sampler& s) {
  Shape shape = Shape::array(s.pick({Dtype::kS8, Dtype::kU8, Dtype::kS16}), s.dims(0, 3, 4));
  Quantization q;
  const bool per_axis = shape.rank() > 0 && s.chance(0.4);
  q.axis = per_axis ? s.uniform(0, shape.rank() - 1) : -1;
  for (int64_t i = 0; i < (per_axis ? shape.dims[q.axis] : 1); ++i) {
    q.scales.push_back(0.25 * static_cast<double>(s.uniform(1, 8)));
    q.zero_points.push_back(s.uniform(0, 20));
  }
  const bool is_signed = is_signed_int(shape.dtype);
  const int bits = bit_size(shape.dtype);
  q.storage_min = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  q.storage_max = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  shape.quant = std::make_shared<Quantization>(std::move(q));
  return shape;
}

std::unique_ptr<Module> sample_quantize(std::mt19937_64& rng) {
  Sampler s(rng, "uniform_quantize");
  const Shape out = quantized_sample_shape(s);
  s.root_shaped(Op::kUniformQuantize, out, {s.parameter(expressed_shape(out))});
  return s.finish();
}

std::unique_ptr<Module> sample_dequantize(std::mt19937_64& rng) {
  Sampler s(rng, "uniform_dequantize");
  s.root(Op::kUniformDequantize, {s.parameter(quantized_sample_shape(s))});
  return s.finish();
}

}  // namespace

Shape expressed_shape(const Shape& s) {
  Shape out = s;
  for (Shape& t : out.tuple) t = expressed_shape(t);
  if (!s.quant) return out;
  out.dtype = s.quant->expressed;
  out.quant.reset();
  return out;
}

Literal dequantize(const Literal& stored, const Quantization& q) {
  Shape shape = stored.shape();
  shape.dtype = q.expressed;
  shape.quant.reset();
  Literal out(shape);
  const ScaleOf scale_of(q, shape.dims);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const size_t k = scale_of(i);
    const double real = round_to(q.expressed, static_cast<double>(stored.get_int(i) - q.zero_points[k]));
    out.set_float(i, real * round_to(q.expressed, q.scales[k]));
  }
  return out;
}

Literal quantize(const Literal& real, const Shape& shape) {
  const Quantization& q = *shape.quant;
  Shape present = shape;  // of the size at hand
  present.dims = real.shape().dims;
  present.dynamic.clear();
  Literal out(present);
  const ScaleOf scale_of(q, present.dims);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const size_t k = scale_of(i);
    const double scaled =
        round_to(q.expressed, real.get_float(i) / round_to(q.expressed, q.scales[k]));
    const double moved = std::nearbyint(scaled) + static_cast<double>(q.zero_points[k]);
    const double low = static_cast<double>(q.storage_min), high = static_cast<double>(q.storage_max);
    out.set_int(i, std::isnan(moved) ? 0 : static_cast<int64_t>(std::clamp(moved, low, high)));
  }
  return out;
}

Result<Literal> eval_quantized(const EvalContext& ctx) {
  const Instr& instr = ctx.instr;
  if (instr.is(Op::kUniformQuantize) || instr.is(Op::kUniformDequantize)) return eval_uniform(ctx);
  if (only_moves(instr.op) && shares_one_type(instr)) return eval_stored(ctx);
  TRY(check_consistent(instr.shape, message_name(instr.op)));
  Module m("expressed");
  Builder b(m.add_computation("main"));
  std::vector<Instr*> operands;
  std::vector<Literal> values;
  for (size_t i = 0; i < ctx.operands.size(); ++i) {
    const Shape& declared = instr.operand(i)->shape;
    TRY(check_consistent(declared, message_name(instr.op)));
    values.push_back(declared.quant ? dequantize(ctx.operand(i), *declared.quant) : ctx.operand(i));
    operands.push_back(b.parameter(static_cast<int64_t>(i), values[i].shape()));
  }
  std::vector<Computation*> calls;
  for (const Computation* c : instr.calls) calls.push_back(expressed_computation(*c, m));
  const Shape shape = expressed_shape(instr.shape);
  Instr* i = b.op_shaped(instr.op, shape, operands, instr.attrs, calls);
  TRY(b.status());
  ASSIGN(Literal real, def(*i).eval({*i, values, ctx.run, ctx.world}));
  return quantized_parts(std::move(real), instr.shape);
}

Result<Instr*> expand_quantized(Builder& b, const Instr& instr) {
  if (instr.is(Op::kUniformQuantize) || instr.is(Op::kUniformDequantize))
    return expand_uniform(b, instr);
  std::vector<Instr*> operands;
  for (Instr* o : instr.operands)
    operands.push_back(o->shape.quant ? dequantized(b, o) : o);
  std::vector<Computation*> calls;
  for (const Computation* c : instr.calls)
    calls.push_back(expressed_computation(*c, *b.computation()->module()));
  Instr* real = b.op_shaped(instr.op, expressed_shape(instr.shape), operands, instr.attrs, calls);
  TRY(b.status());
  if (instr.shape.quant) real = quantized(b, real, instr.shape);
  if (instr.shape.is_tuple()) {
    std::vector<Instr*> parts;
    for (size_t k = 0; k < instr.shape.tuple.size(); ++k) {
      Instr* part = b.element(real, static_cast<int64_t>(k));
      parts.push_back(instr.shape.tuple[k].quant ? quantized(b, part, instr.shape.tuple[k]) : part);
    }
    real = b.tuple(parts);
  }
  TRY(b.status());
  return real;
}

absl::Span<const OpDef> quantized_rows() {
  static const OpDef rows[] = {
      {.op = Op::kUniformQuantize,
       .stablehlo = "uniform_quantize",
       .arity = 1,
       .traits = kElementwise,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_quantize,
       .eval = eval_uniform,
       .expand = expand_uniform,
       .cost = 15,
       .sample = sample_quantize,
       .doc = "Floats, or integers of another scale, to the stored integers of a quantized type."},
      {.op = Op::kUniformDequantize,
       .stablehlo = "uniform_dequantize",
       .arity = 1,
       .traits = kElementwise,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_dequantize,
       .eval = eval_uniform,
       .expand = expand_uniform,
       .cost = 4,
       .sample = sample_dequantize,
       .doc = "Stored integers of a quantized type to floats: (stored - zero point) * scale."},
  };
  return rows;
}

}  // namespace braze
