// SPDX-License-Identifier: Apache-2.0
// Rows of comparison, choice and conversion.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/floats.h"
#include "ir/float_format.h"
#include "ops/bitcast.h"
#include "ops/builder.h"
#include "ops/complex_math.h"
#include "ops/elementwise.h"

namespace braze {
namespace {

namespace math = scalar::math;

// Compare ----------------------------------------------------------------------------------------

Status check_compare_type(const InferContext& c) {
  const auto& a = c.as<CompareAttrs>();
  const Shape& x = c.operand(0);
  uint32_t allowed = kAnyT;
  switch (a.type) {
    case CompareType::kDefault:
      break;
    case CompareType::kFloat:
      allowed = kFloatT | kComplexT;
      break;
    case CompareType::kTotalOrder:
      allowed = kFloatT;
      break;
    case CompareType::kSigned:
      allowed = kSignedT | kPredT;
      break;
    case CompareType::kUnsigned:
      allowed = kUnsignedT | kPredT;
      break;
  }
  if (!in_class(x, allowed))
    return invalid("compare: this compare_type is for ", class_names(allowed), " elements, not ",
                   to_string(x, false), " (compare_c3)");
  const bool equality =
      a.direction == CompareDirection::kEq || a.direction == CompareDirection::kNe;
  if (is_complex(x.dtype) && !equality)
    return invalid("compare: ", to_string(x, false),
                   " has no order; complex numbers compare EQ or NE only (compare_c3)");
  return absl::OkStatus();
}

Result<Shape> infer_compare(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  TRY(expect_class(c, 1, kAnyT));
  TRY(expect_same_dtype(c, 0, 1, "c1"));
  TRY(check_compare_type(c));
  ASSIGN(Shape s, common_shape(c, c.operand(0), c.operand(1), "c2"));
  return s.with_dtype(Dtype::kPred);
}

template <typename T>
bool holds(CompareDirection d, T a, T b) {
  switch (d) {
    case CompareDirection::kEq:
      return a == b;
    case CompareDirection::kNe:
      return a != b;
    case CompareDirection::kGe:
      return a >= b;
    case CompareDirection::kGt:
      return a > b;
    case CompareDirection::kLe:
      return a <= b;
    case CompareDirection::kLt:
      return a < b;
  }
  return false;
}

// A float's position in -NaN < -inf < … < -0 < +0 < … < +inf < +NaN: by sign and magnitude of its
// bits, so that the one NaN of the FNUZ types lies where -0 would.
int64_t total_order_key(const Literal& l, int64_t i) {
  const FloatFormat& f = format_of(l.dtype());
  const uint64_t bits = element_bits(l, i);
  const int64_t magnitude = static_cast<int64_t>(bits & ~f.sign_bit());
  return (bits & f.sign_bit()) ? -1 - magnitude : magnitude;
}

bool compare_element(const CompareAttrs& a, const Literal& x, const Literal& y, int64_t i) {
  const Dtype t = x.dtype();
  if (is_complex(t)) {
    const bool equal = x.get_complex(i) == y.get_complex(i);
    return a.direction == CompareDirection::kEq ? equal : !equal;
  }
  if (is_float(t)) {
    if (a.type == CompareType::kTotalOrder)
      return holds(a.direction, total_order_key(x, i), total_order_key(y, i));
    return holds(a.direction, x.get_float(i), y.get_float(i));
  }
  if (is_signed_int(t)) return holds(a.direction, x.get_int(i), y.get_int(i));
  return holds(a.direction, static_cast<uint64_t>(x.get_int(i)),
               static_cast<uint64_t>(y.get_int(i)));
}

Result<Literal> eval_compare(const EvalContext& c) {
  const Literal &x = c.operand(0), &y = c.operand(1);
  Literal out(eval_shape(c, x.shape().dims));
  TRY(expect_elements(c, out.elements()));
  const auto& a = c.as<CompareAttrs>();
  for (int64_t i = 0; i < out.elements(); ++i) out.set_int(i, compare_element(a, x, y, i));
  return out;
}

scalar::Value emit_compare(scalar::Graph& g, const Instr& i, absl::Span<const scalar::Value> args) {
  const auto& a = i.as<CompareAttrs>();
  return math::compare(g, i.operand(0)->shape.dtype, args, static_cast<int>(a.direction),
                       a.type == CompareType::kTotalOrder);
}

std::unique_ptr<Module> sample_compare(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  CompareAttrs a{static_cast<CompareDirection>(sample::pick(rng, 0, is_complex(s.dtype) ? 1 : 5))};
  if (is_float(s.dtype) && sample::chance(rng, 0.3)) a.type = CompareType::kTotalOrder;
  return sample::module_of(Op::kCompare, {s, s}, a);
}

// Select and clamp -------------------------------------------------------------------------------

Result<Shape> infer_select(const InferContext& c) {
  const Shape &p = c.operand(0), &t = c.operand(1);
  if (p.dtype != Dtype::kPred)
    return invalid("select: pred is ", to_string(p, false), ", expected pred elements (select_i1)");
  TRY(expect_class(c, 1, kAnyT));
  TRY(expect_class(c, 2, kAnyT));
  TRY(expect_same_dtype(c, 1, 2, "c2"));
  ASSIGN(Shape s, common_shape(c, t, c.operand(2), "c2"));
  if (p.rank() == 0) return s;
  return common_shape(c, s, p, "c1");
}

Result<Literal> eval_select(const EvalContext& c) {
  const Literal &p = c.operand(0), &t = c.operand(1), &f = c.operand(2);
  Literal out(eval_shape(c, t.shape().dims));
  TRY(expect_elements(c, out.elements(), /*scalars=*/true));
  if (t.elements() != f.elements())
    return invalid("select: values of ", t.elements(), " and ", f.elements(), " elements given");
  const bool one = p.shape().is_scalar();
  for (int64_t i = 0; i < out.elements(); ++i)
    out.copy_element(i, p.get_bool(one ? 0 : i) ? t : f, i);
  return out;
}

std::unique_ptr<Module> sample_select(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  const Shape p =
      sample::chance(rng, 0.3) ? Shape::scalar(Dtype::kPred) : s.with_dtype(Dtype::kPred);
  return sample::module_of(Op::kSelect, {p, s, s});
}

Result<Shape> infer_clamp(const InferContext& c) {
  for (size_t k = 0; k < 3; ++k) TRY(expect_class(c, k, kAnyT));
  TRY(expect_same_dtype(c, 0, 1, "c3"));
  TRY(expect_same_dtype(c, 1, 2, "c3"));
  const Shape& x = c.operand(1);
  Shape s = x.with_dtype(x.dtype);
  s.quant = x.quant;
  if (c.operand(0).rank() > 0) {
    ASSIGN(s, common_shape(c, s, c.operand(0), "c1"));
  }
  if (c.operand(2).rank() > 0) {
    ASSIGN(s, common_shape(c, s, c.operand(2), "c2"));
  }
  return s;
}

// clamp(lo, x, hi) = minimum(maximum(x, lo), hi), by the rows of these ops.
Result<Literal> eval_clamp(const EvalContext& c) {
  const Literal &lo = c.operand(0), &x = c.operand(1), &hi = c.operand(2);
  Literal out(eval_shape(c, x.shape().dims));
  TRY(expect_elements(c, out.elements(), /*scalars=*/true));
  auto spread = [&](const Literal& l) {
    if (!l.shape().is_scalar() || x.shape().is_scalar()) return l;
    Literal all(x.shape());
    for (int64_t i = 0; i < all.elements(); ++i) all.copy_element(i, l, 0);
    return all;
  };
  const Literal maximum_args[] = {x, spread(lo)};
  ASSIGN(Literal raised, def(Op::kMaximum).eval({c.instr, maximum_args, c.run, c.world}));
  const Literal minimum_args[] = {raised, spread(hi)};
  return def(Op::kMinimum).eval({c.instr, minimum_args, c.run, c.world});
}

scalar::Value emit_clamp(scalar::Graph& g, const Instr& i, absl::Span<const scalar::Value> args) {
  if (!is_complex(i.shape.dtype)) return math::clamp(g, i.shape.dtype, args);
  const scalar::Value raised = emit_extreme(g, i.shape.dtype, {args[1], args[0]}, /*greater=*/true);
  return emit_extreme(g, i.shape.dtype, {raised, args[2]}, /*greater=*/false);
}

scalar::Value emit_select(scalar::Graph& g, const Instr& i, absl::Span<const scalar::Value> args) {
  return math::select(g, i.shape.dtype, args);
}

std::unique_ptr<Module> sample_clamp(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kRealT);
  auto bound = [&] { return sample::chance(rng, 0.4) ? Shape::scalar(s.dtype) : s; };
  return sample::module_of(Op::kClamp, {bound(), s, bound()});
}

// Convert ----------------------------------------------------------------------------------------

Result<Shape> infer_convert(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  if (c.proposed == nullptr) return invalid("convert: the result element type must be stated");
  if (!c.proposed->is_array())
    return invalid("convert: result is ", to_string(*c.proposed, false), ", expected an array");
  Shape out = c.operand(0).with_dtype(c.proposed->dtype);
  if (out.dims.size() == c.proposed->dims.size()) {
    ASSIGN(out, common_shape(c, out, *c.proposed, "c1"));
  }
  return out;
}

// A double that rounds to every float format of at most 51 bits as `v` does: round to odd.
double narrow_to_odd(long double v) {
  double d = static_cast<double>(v);
  if (d == v) return d;
  if (std::abs(static_cast<long double>(d)) > std::abs(v)) d = std::nextafter(d, 0.0);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(d) | 1);
}

void convert_element(Literal& out, const Literal& x, int64_t i) {
  const Dtype from = x.dtype(), to = out.dtype();
  if (is_pred(to)) {
    const bool zero = in_class(from, kBitsT) ? x.get_int(i) == 0 : x.get_float(i) == 0;
    return out.set_int(i, !zero);
  }
  if (is_complex(from)) {
    if (is_complex(to)) return out.set_complex(i, x.get_complex(i));
    return out.set_float(i, x.get_float(i));
  }
  if (is_float(from)) return out.set_float(i, x.get_float(i));
  const int64_t v = x.get_int(i);
  if (in_class(to, kIntT)) return out.set_int(i, v);
  const long double wide = from == Dtype::kU64 ? static_cast<long double>(static_cast<uint64_t>(v))
                                               : static_cast<long double>(v);
  out.set_float(i, real_of(to) == Dtype::kF64 ? static_cast<double>(wide) : narrow_to_odd(wide));
}

Result<Literal> eval_convert(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal out(eval_shape(c, x.shape().dims));
  for (int64_t i = 0; i < out.elements(); ++i) convert_element(out, x, i);
  return out;
}

// The imaginary part never counts, in "is it zero?" neither.
scalar::Value emit_convert(scalar::Graph& g, const Instr& i, absl::Span<const scalar::Value> args) {
  const Dtype from = i.operand(0)->shape.dtype, to = i.shape.dtype;
  if (is_complex(from) && is_pred(to))
    return math::convert(g, real_of(from), to, {scalar::Value{args[0].re}});
  return math::convert(g, from, to, args);
}

std::unique_ptr<Module> sample_convert(std::mt19937_64& rng) {
  const Shape from = sample::shape(rng, kAnyT);
  const Shape to = from.with_dtype(sample::dtype(rng, kAnyT));
  return sample::module_of(Op::kConvert, {from}, NoAttrs{}, &to);
}

// Reduce-precision -------------------------------------------------------------------------------

Result<Shape> infer_reduce_precision(const InferContext& c) {
  const auto& a = c.as<ReducePrecisionAttrs>();
  TRY(expect_class(c, 0, kFloatT));
  if (a.exponent_bits < 1)
    return invalid("reduce_precision: exponent_bits ", a.exponent_bits,
                   " is less than 1 (reduce_precision_c2)");
  if (a.mantissa_bits < 0)
    return invalid("reduce_precision: mantissa_bits ", a.mantissa_bits,
                   " is negative (reduce_precision_c3)");
  Shape s = c.operand(0).with_dtype(c.operand(0).dtype);
  s.quant = c.operand(0).quant;
  return s;
}

// Rounds the bits of a number of format f; numbers below the least normal one of the reduced format
// become zeros, numbers above its greatest one infinities (NaN where f has none).
uint64_t reduce_precision(const FloatFormat& f, uint64_t bits, int64_t exponent_bits,
                          int64_t mantissa_bits) {
  if (is_nan(f, bits))
    return mantissa_bits > 0 ? bits : encode(f, std::numeric_limits<double>::infinity());
  const uint64_t sign = bits & f.sign_bit();
  uint64_t magnitude = bits & ~f.sign_bit();
  if (magnitude > f.max_bits()) return bits;
  if (mantissa_bits < f.mantissa_bits) {
    const int drop = f.mantissa_bits - static_cast<int>(mantissa_bits);
    const uint64_t last = uint64_t{1} << drop;
    magnitude += (last >> 1) - 1 + ((magnitude & last) >> drop);
    magnitude &= ~(last - 1);
  }
  uint64_t least = 0, greatest = f.max_bits();
  if (exponent_bits < f.exponent_bits) {
    const int64_t bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    const int64_t top = f.bias + bias, bottom = f.bias - bias;
    if (bottom >= 0) least = static_cast<uint64_t>(bottom + 1) << f.mantissa_bits;
    greatest = std::min(greatest, (static_cast<uint64_t>(top + 1) << f.mantissa_bits) - 1);
  }
  if (magnitude > greatest)
    return encode(f, sign ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity());
  if (magnitude < least) return f.specials == FloatSpecials::kFnuz ? 0 : sign;
  return sign | magnitude;
}

Result<Literal> eval_reduce_precision(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const auto& a = c.as<ReducePrecisionAttrs>();
  const FloatFormat& f = format_of(x.dtype());
  Literal out(eval_shape(c, x.shape().dims));
  for (int64_t i = 0; i < out.elements(); ++i)
    set_element_bits(out, i,
                     reduce_precision(f, element_bits(x, i), a.exponent_bits, a.mantissa_bits));
  return out;
}

scalar::Value emit_reduce_precision(scalar::Graph& g, const Instr& i,
                                    absl::Span<const scalar::Value> args) {
  const auto& a = i.as<ReducePrecisionAttrs>();
  return math::reduce_precision(g, i.shape.dtype, args, a.exponent_bits, a.mantissa_bits);
}

std::unique_ptr<Module> sample_reduce_precision(std::mt19937_64& rng) {
  static constexpr Dtype kTypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16};
  const Shape s = Shape::array(kTypes[sample::pick(rng, 0, 3)], sample::dims(rng));
  ReducePrecisionAttrs a{sample::pick(rng, 2, 11), sample::pick(rng, 1, 23)};
  return sample::module_of(Op::kReducePrecision, {s}, a);
}

// Rows -------------------------------------------------------------------------------------------

constexpr OpDef compare_row() {
  OpDef row{Op::kCompare, "compare", 2, kElementwise, attrs_index<CompareAttrs>()};
  row.infer = infer_compare;
  row.eval = eval_compare;
  row.emit = emit_compare;
  row.sample = sample_compare;
  row.doc = "Whether a relation holds; of NaN only NE does, unless by TOTALORDER.";
  return row;
}

constexpr OpDef select_row() {
  OpDef row{Op::kSelect, "select", 3, kElementwise};
  row.infer = infer_select;
  row.eval = eval_select;
  row.emit = emit_select;
  row.sample = sample_select;
  row.doc = "on_true where pred holds, else on_false. A scalar pred chooses for all elements.";
  return row;
}

constexpr OpDef clamp_row() {
  OpDef row{Op::kClamp, "clamp", 3, kElementwise};
  row.infer = infer_clamp;
  row.eval = eval_clamp;
  row.emit = emit_clamp;
  row.cost = 2;
  row.sample = sample_clamp;
  row.doc = "minimum(maximum(operand, min), max); the bounds may be scalars.";
  return row;
}

constexpr OpDef convert_row() {
  OpDef row{Op::kConvert, "convert", 1, kElementwise};
  row.infer = infer_convert;
  row.eval = eval_convert;
  row.emit = emit_convert;
  row.sample = sample_convert;
  row.doc =
      "The same value in another type, rounded once. Floats to integers truncate and saturate, NaN "
      "gives 0; to pred is != 0; complex to others drops the imaginary part.";
  return row;
}

constexpr OpDef reduce_precision_row() {
  OpDef row{Op::kReducePrecision, "reduce_precision", 1, kElementwise,
            attrs_index<ReducePrecisionAttrs>()};
  row.infer = infer_reduce_precision;
  row.eval = eval_reduce_precision;
  row.emit = emit_reduce_precision;
  row.cost = 4;
  row.sample = sample_reduce_precision;
  row.doc = "Rounds to a float of fewer exponent and mantissa bits, kept in the operand's type.";
  return row;
}

constexpr OpDef kRows[] = {compare_row(),           select_row(),          clamp_row(),
                           convert_row(),           bitcast_convert_row(), reduce_precision_row(),
                           stochastic_convert_row()};

}  // namespace

absl::Span<const OpDef> select_rows() { return kRows; }

}  // namespace braze
