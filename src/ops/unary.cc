// SPDX-License-Identifier: Apache-2.0
// Rows of the unary elementwise ops.
#include <bit>
#include <cmath>

#include "ops/complex_math.h"
#include "ops/elementwise.h"

namespace braze {
namespace {

namespace math = scalar::math;
namespace cm = complex_math;

Dtype result_dtype(Op op, Dtype t) {
  if (op == Op::kIsFinite) return Dtype::kPred;
  return op == Op::kAbs || op == Op::kReal || op == Op::kImag ? real_of(t) : t;
}

template <uint32_t Classes>
Result<Shape> infer_unary(const InferContext& c) {
  TRY(expect_class(c, 0, Classes));
  const Shape& x = c.operand(0);
  Shape out = x.with_dtype(result_dtype(c.op, x.dtype));
  if (out.dtype == x.dtype) out.quant = x.quant;
  return out;
}

template <Op O, uint32_t Classes>
std::unique_ptr<Module> sample_unary(std::mt19937_64& rng) {
  return sample::module_of(O, {sample::shape(rng, Classes)});
}

template <Op O, uint32_t Classes, auto Emit, auto Real, auto Cplx = nullptr, auto Int = nullptr>
constexpr OpDef unary(std::string_view stablehlo, float cost, std::string_view doc) {
  OpDef row{O, stablehlo, 1, kElementwise | (cost >= 8 ? kExpensive : 0u)};
  row.infer = infer_unary<Classes>;
  row.eval = eval_elementwise<Real, Cplx, Int>;
  row.emit = lift<Emit>;
  row.cost = cost;
  row.sample = sample_unary<O, Classes>;
  row.doc = doc;
  return row;
}

constexpr uint32_t kFC = kFloatT | kComplexT;

uint64_t unsigned_bits(Dtype t, int64_t v) {
  return static_cast<uint64_t>(v) << (64 - bit_size(t)) >> (64 - bit_size(t));
}

constexpr auto kClzInt = [](Dtype t, int64_t v) {
  return static_cast<int64_t>(std::countl_zero(unsigned_bits(t, v)) - (64 - bit_size(t)));
};
constexpr auto kPopcntInt = [](Dtype t, int64_t v) {
  return static_cast<int64_t>(std::popcount(unsigned_bits(t, v)));
};
constexpr auto kAbsInt = [](Dtype t, int64_t v) {
  return is_signed_int(t) && v < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(v)) : v;
};
constexpr auto kNegateInt = [](Dtype, int64_t v) {
  return static_cast<int64_t>(-static_cast<uint64_t>(v));
};
constexpr auto kSignInt = [](Dtype t, int64_t v) -> int64_t {
  return is_signed_int(t) ? (v > 0) - (v < 0) : v != 0;
};
constexpr auto kNotInt = [](Dtype t, int64_t v) -> int64_t { return is_pred(t) ? !v : ~v; };
constexpr auto kSignReal = [](double x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
};
constexpr auto kIsFiniteReal = [](double x) { return std::isfinite(x) ? 1.0 : 0.0; };

#define BOTH(f) [](auto x) { return std::f(x); }, [](auto z) { return std::f(z); }
#define REAL(f) [](auto x) { return std::f(x); }
#define OURS(f) [](auto z) { return cm::f(z); }

constexpr OpDef kRows[] = {
    // Trigonometric and hyperbolic functions.
    unary<Op::kAcos, kFC, math::acos, BOTH(acos)>("", 20, "Inverse cosine."),
    unary<Op::kAcosh, kFC, math::acosh, BOTH(acosh)>("", 20, "Inverse hyperbolic cosine."),
    unary<Op::kAsin, kFC, math::asin, BOTH(asin)>("", 20, "Inverse sine."),
    unary<Op::kAsinh, kFC, math::asinh, BOTH(asinh)>("", 20, "Inverse hyperbolic sine."),
    unary<Op::kAtan, kFC, math::atan, BOTH(atan)>("", 15, "Inverse tangent."),
    unary<Op::kAtanh, kFC, math::atanh, BOTH(atanh)>("", 20, "Inverse hyperbolic tangent."),
    unary<Op::kCos, kFC, math::cos, REAL(cos), OURS(cos)>("cosine", 15, "Cosine."),
    unary<Op::kCosh, kFC, math::cosh, REAL(cosh), OURS(cosh)>("", 20, "Hyperbolic cosine."),
    unary<Op::kSin, kFC, math::sin, REAL(sin), OURS(sin)>("sine", 15, "Sine."),
    unary<Op::kSinh, kFC, math::sinh, REAL(sinh), OURS(sinh)>("", 20, "Hyperbolic sine."),
    unary<Op::kTan, kFC, math::tan, REAL(tan), OURS(tan)>("tan", 20, "Tangent."),
    unary<Op::kTanh, kFC, math::tanh, REAL(tanh), OURS(tanh)>("tanh", 15, "Hyperbolic tangent."),
    // Exponentials, logarithms, roots.
    unary<Op::kCbrt, kFC, math::cbrt, REAL(cbrt), OURS(cbrt)>("cbrt", 20, "Cube root."),
    unary<Op::kErf, kFloatT, math::erf, REAL(erf)>("", 20, "Error function."),
    unary<Op::kExp, kFC, math::exp, REAL(exp), OURS(exp)>("exponential", 15, "Natural exponential."),
    unary<Op::kExpm1, kFC, math::expm1, REAL(expm1), OURS(expm1)>("exponential_minus_one", 15,
                                                                  "exp(x) - 1, accurate near 0."),
    unary<Op::kLog, kFC, math::log, BOTH(log)>("log", 15, "Natural logarithm."),
    unary<Op::kLog1p, kFC, math::log1p, REAL(log1p), OURS(log1p)>("log_plus_one", 15,
                                                                  "log(1 + x), accurate near 0."),
    unary<Op::kLogistic, kFC, math::logistic, [](auto x) { return 1 / (1 + std::exp(-x)); },
          OURS(logistic)>("logistic", 20, "1 / (1 + exp(-x))."),
    unary<Op::kRsqrt, kFC, math::rsqrt, [](auto x) { return 1 / std::sqrt(x); }, OURS(rsqrt)>(
        "rsqrt", 12, "1 / sqrt(x)."),
    unary<Op::kSqrt, kFC, math::sqrt, [](double x) { return std::sqrt(x); },
          [](auto z) { return std::sqrt(z); }>("sqrt", 10, "Square root."),
    // Signs, parts, rounding, bits.
    unary<Op::kAbs, kSignedT | kFC, math::abs, REAL(abs),
          [](auto z) { return std::hypot(z.real(), z.imag()); }, kAbsInt>(
        "abs", 1, "Absolute value; magnitude of a complex number. |INT_MIN| = INT_MIN."),
    unary<Op::kCeil, kFloatT, math::ceil, REAL(ceil)>("ceil", 1, "Least integer not below."),
    unary<Op::kClz, kIntT, math::clz, nullptr, nullptr, kClzInt>(
        "count_leading_zeros", 2,
        "Number of zero bits above the highest one, by the type's width."),
    unary<Op::kFloor, kFloatT, math::floor, REAL(floor)>("floor", 1, "Greatest integer not above."),
    unary<Op::kImag, kFC, math::imag, [](double) { return 0.0; },
          [](elementwise::Complex z) { return z.imag(); }>("imag", 1,
                                                           "Imaginary part; 0 of reals."),
    unary<Op::kIsFinite, kFloatT, math::is_finite, kIsFiniteReal>("is_finite", 1,
                                                                  "Neither infinite nor NaN."),
    unary<Op::kNegate, kNumberT, math::negate, [](double x) { return -x; },
          [](elementwise::Complex z) { return -z; }, kNegateInt>("negate", 1,
                                                                 "Negation; integers wrap."),
    unary<Op::kNot, kBitsT, math::not_, nullptr, nullptr, kNotInt>(
        "not", 1, "Complement of all bits; logical not of pred."),
    unary<Op::kPopcnt, kIntT, math::popcnt, nullptr, nullptr, kPopcntInt>("popcnt", 2,
                                                                          "Number of one bits."),
    unary<Op::kReal, kFC, math::real, [](double x) { return x; },
          [](elementwise::Complex z) { return z.real(); }>("real", 1, "Real part."),
    unary<Op::kRoundAfz, kFloatT, math::round_afz, REAL(round)>(
        "round_nearest_afz", 2, "Nearest integer, ties away from zero."),
    unary<Op::kRoundEven, kFloatT, math::round_even, REAL(nearbyint)>(
        "round_nearest_even", 1, "Nearest integer, ties to even."),
    unary<Op::kSign, kSignedT | kFC, math::sign, kSignReal, OURS(sign), kSignInt>(
        "sign", 2, "-1, 0 or 1; zeros keep their sign, NaN stays; z / |z| of complex numbers."),
};

#undef BOTH
#undef REAL
#undef OURS

}  // namespace

absl::Span<const OpDef> unary_rows() { return kRows; }

}  // namespace braze
