// SPDX-License-Identifier: Apache-2.0
// math.h: the transcendental functions on every type: f32 and f64 by real_math.h, narrower floats
// in f32 with one rounding at the end, complex by complex_math.h.
#include "scalar/complex_math.h"
#include "scalar/float_format.h"
#include "scalar/math.h"
#include "scalar/real_math.h"

namespace braze::scalar::math {

#define BRAZE_LIFT(name)                                        \
  Value name(Graph& g, Dtype t, Args args) {                    \
    if (is_complex(t)) return complex_math::name(g, args[0]);   \
    const Expr x{&g, g.cast(working_type(t), args[0].re)};      \
    return {rounded(g, t, real::name(x).s)};                    \
  }
BRAZE_LIFT(acos)
BRAZE_LIFT(acosh)
BRAZE_LIFT(asin)
BRAZE_LIFT(asinh)
BRAZE_LIFT(atan)
BRAZE_LIFT(atanh)
BRAZE_LIFT(cbrt)
BRAZE_LIFT(cos)
BRAZE_LIFT(cosh)
BRAZE_LIFT(exp)
BRAZE_LIFT(expm1)
BRAZE_LIFT(log)
BRAZE_LIFT(log1p)
BRAZE_LIFT(logistic)
BRAZE_LIFT(rsqrt)
BRAZE_LIFT(sin)
BRAZE_LIFT(sinh)
BRAZE_LIFT(sqrt)
BRAZE_LIFT(tan)
BRAZE_LIFT(tanh)
#undef BRAZE_LIFT

Value erf(Graph& g, Dtype t, Args args) {
  const Expr x{&g, g.cast(working_type(t), args[0].re)};
  return {rounded(g, t, real::erf(x).s)};
}

Value atan2(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::atan2(g, args[0], args[1]);
  const Expr y{&g, g.cast(working_type(t), args[0].re)}, x{&g, g.cast(working_type(t), args[1].re)};
  return {rounded(g, t, real::atan2(y, x).s)};
}

namespace {

// Integer powers by squaring; negative exponents: 1 and -1 have inverses, others give 0.
Scalar int_power(Graph& g, Dtype t, Scalar base, Scalar exponent) {
  const Expr x{&g, base}, n{&g, exponent};
  const Expr zero = x.integer(0), one = x.integer(1);
  Expr r = one, square = x;
  for (int bit = 0; bit < bit_size(t); ++bit) {
    const Expr set = n.make(Op::kShrL, n.integer(bit)).make(Op::kAnd, one);
    r = select(equal(set, one), r * square, r);
    if (bit + 1 < bit_size(t)) square = square * square;
  }
  if (is_unsigned_int(t)) return r.s;
  const Expr odd = equal(n.make(Op::kAnd, one), one);
  const Expr minus = select(odd, x.integer(-1), one);
  const Expr inverse = select(equal(x, one), one,
                              select(equal(x, x.integer(-1)), minus, zero));
  return select(n < zero, inverse, r).s;
}

}  // namespace

Value power(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::power(g, args[0], args[1]);
  if (!is_float(t)) return {int_power(g, t, args[0].re, args[1].re)};
  const Dtype w = working_type(t);
  const Expr x{&g, g.cast(w, args[0].re)}, y{&g, g.cast(w, args[1].re)};
  return {rounded(g, t, real::power(x, y).s)};
}

}  // namespace braze::scalar::math
