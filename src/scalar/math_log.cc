// SPDX-License-Identifier: Apache-2.0
// Logarithms. x = 2^e · (1 + f), √½ ≤ 1 + f < √2, by the bits of x; log x = e ln 2 + log(1 + f).
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

constexpr double kInfinity = __builtin_inf();
constexpr double kNan = __builtin_nan("");

struct Split {
  Expr e, f;  // e integral, in x's type
};

// x positive, finite and not denormal. For other x the parts are meaningless.
Split split(Expr x) {
  const int mantissa = x.f32() ? 23 : 52;
  const Expr bits = x.bits();
  const Expr root_half = x.f32() ? bits.integer(0x3f3504f3) : bits.integer(0x3fe6a09e667f3bcd);
  const Expr e = (bits - root_half).make(Op::kShrA, bits.integer(mantissa));
  const Expr m = bits - e.make(Op::kShl, bits.integer(mantissa));
  return {e.cast(x.type()), m.bitcast(x.type()) - 1};
}

// log(1 + f) + e ln 2 + c; c small beside the rest.
Expr assemble(Expr e, Expr f, Expr c) {
  const Expr half_square = f * f * 0.5;
  if (f.f32()) {
    const Expr p = polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a01p-3, -0x1.5471b8p-3,
                                  0x1.22d8ecp-3, -0x1.0d89cep-3, 0x1.056688p-3, -0x1.38b884p-4});
    // f dominates, or e ln 2 does: small terms first.
    const Expr small = fma(f * f * f, p, fma(e, -0x1.05c61p-29, c)) - half_square;
    return fma(e, 0x1.62e43p-1, f + small);
  }
  const Expr s = f / (f + 2), z = s * s;
  const Expr r =
      z * polynomial(z, {0x1.5555555555592p-1, 0x1.999999997fcf0p-2, 0x1.24924941fd19cp-2,
                         0x1.c71c51feedfcep-3, 0x1.7466413027865p-3, 0x1.39a17c7256e77p-3,
                         0x1.2f07f820850cfp-3});
  const Expr low = fma(s, half_square + r, fma(e, 0x1.ef35793c76730p-45, c));
  return fma(e, 0x1.62e42fefa3800p-1, f - (half_square - low));
}

// r for 0 < x < infinity, and the limits; NaN below 0.
Expr with_limits(Expr x, Expr r) {
  r = select(x < kInfinity, r, x);
  return select(x <= 0.0, select(equal(x, 0), -kInfinity, x.number(kNan)), r);
}

}  // namespace

Expr log(Expr x) {
  const double least = x.f32() ? 0x1p-126 : 0x1p-1022;
  const Expr denormal = x < least;
  const Split p = split(select(denormal, x * 0x1p54, x));
  const Expr e = p.e + select(denormal, x.number(-54), x.number(0));
  return with_limits(x, assemble(e, p.f, x.number(0)));
}

// log u, u = 1 + x rounded, plus what the rounding lost, (x - (u - 1))/u.
Expr log1p(Expr x) {
  const Expr u = x + 1;
  const Expr lost = select(x < 1.0, x - (u - 1), 1 - (u - x));
  const Split p = split(u);
  Expr r = x;
  if (x.f32()) {
    // Scaled like u, the loss joins f. e reaches 128, where the loss no longer matters.
    const Expr e = min(p.e, 126);
    const Expr scale =
        (0x7f - e.cast(Dtype::kS32)).make(Op::kShl, p.e.cast(Dtype::kS32).integer(23));
    r = assemble(p.e, fma(lost, scale.bitcast(x.type()), p.f), x.number(0));
  } else {
    r = assemble(p.e, p.f, lost / u);
  }
  r = select(u < kInfinity, r, x);
  r = select(u <= 0.0, select(equal(u, 0), -kInfinity, x.number(kNan)), r);
  return copysign(r, x);
}

namespace {

double large(Expr x) {
  return x.f32() ? 0x1p30 : 0x1p60;
}  // where x + 1 is x and x² not yet infinite
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

}  // namespace

// log(x + √(x²+1)) = log1p(x + x²/(1 + √(x²+1))); log 2x for large x.
Expr asinh(Expr x) {
  const Expr a = abs(x), square = a * a;
  const Expr is_large = a > large(x);
  const Expr t = a + square / (scalar::sqrt(square + 1) + 1);
  const Expr r = log1p(select(is_large, a, t)) + select(is_large, x.number(kLn2), x.number(0));
  return copysign(r, x);
}

// With t = x - 1: log1p(t + √(2t + t²)); log 2x for large x.
Expr acosh(Expr x) {
  const Expr t = x - 1;
  const Expr is_large = x > large(x);
  const Expr near = t + scalar::sqrt(fma(t, t, t + t));
  const Expr r = log1p(select(is_large, x, near)) + select(is_large, x.number(kLn2), x.number(0));
  return select(x < 1.0, kNan, r);
}

// ½ log((1+x)/(1-x)).
Expr atanh(Expr x) {
  const Expr a = abs(x);
  return copysign(0.5 * log1p(2 * a / (1 - a)), x);
}

}  // namespace braze::scalar::real
