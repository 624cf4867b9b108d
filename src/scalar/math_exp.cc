// SPDX-License-Identifier: Apache-2.0
// Exponentials: e^x and what is made of it. e^x = 2^n · e^r, n = round(x / ln 2), |r| ≤ ln 2 / 2,
// with ln 2 in two parts, so that r is exact to far below its last place. Arguments are clamped to
// where the result has reached its limit, so that infinities need no cases; NaN passes through min,
// max and n.
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

struct Reduced {
  Expr n, r;  // n integral, in x's type
};

Reduced reduce(Expr x, double low, double high) {
  x = min(max(x, low), high);
  const Expr n = round_even(x * 0x1.71547652b82fep+0);
  Expr r = fma(n, x.f32() ? -0x1.62e43p-1 : -0x1.62e42fefa39efp-1, x);
  r = fma(n, x.f32() ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56, r);
  return {n, r};
}

// e^r on |r| ≤ ln 2 / 2; relative error 2^-28, 2^-57.
Expr exp_reduced(Expr r) {
  if (r.f32())
    return polynomial(r, {1, 1, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.123a1ep-7,
                          0x1.6a24p-10});
  return polynomial(r, {1, 1, 0x1.000000000000ap-1, 0x1.55555555554f9p-3, 0x1.555555555083ep-5,
                        0x1.1111111127ceap-7, 0x1.6c16c18438cccp-10, 0x1.a01a012a1940fp-13,
                        0x1.a01999e2153d0p-16, 0x1.71df25a0275f4p-19, 0x1.28ad9bd0931e5p-22,
                        0x1.ad7f58e0585fdp-26});
}

// e^r - 1 on the same range. f32 pairs the terms by r², which is there anyway: two steps less to wait for.
Expr expm1_reduced(Expr r) {
  if (r.f32()) {
    const Expr z = r * r, low = polynomial(r, {0x1.fffffep-2, 0x1.5554bp-3}),
               high = polynomial(r, {0x1.555674p-5, 0x1.1227b2p-7});
    return fma(z, fma(z, fma(z, 0x1.6bebccp-10, high), low), r);
  }
  const Expr q = polynomial(
      r, {0x1.0000000000000p-1, 0x1.5555555555559p-3, 0x1.555555555553fp-5, 0x1.111111110f6c4p-7,
          0x1.6c16c16c1f0dap-10, 0x1.a01a01afdda2ap-13, 0x1.a01a017bb1d46p-16, 0x1.71ddf86386153p-19,
          0x1.27e53642519d7p-22, 0x1.af5ea8aa31df4p-26, 0x1.1ee8884d5593bp-29});
  return fma(r * r, q, r);
}

double exp_low(Expr x) { return x.f32() ? -104.5 : -746; }
double exp_high(Expr x) { return x.f32() ? 89 : 710; }

// e^x / 2, without overflow where e^x overflows but e^x / 2 does not.
Expr half_exp(Expr x) {
  const Reduced p = reduce(x, exp_low(x), exp_high(x) + 1);
  return ldexp_near(exp_reduced(p.r), p.n - 1.0);
}

}  // namespace

Expr exp(Expr x) {
  const Reduced p = reduce(x, exp_low(x), exp_high(x));
  return ldexp_near(exp_reduced(p.r), p.n);
}

// 2^n (e^r - 1) + 2^n - 1, halved on the way for the largest n.
Expr expm1(Expr x) {
  const Reduced p = reduce(x, exp_low(x), exp_high(x));
  const Expr m = expm1_reduced(p.r);
  const Expr half = ldexp_near(x.number(0.5), p.n);
  const Expr scaled = 2 * fma(half, m, half - 0.5);
  return copysign(select(equal(p.n, 0), m, scaled), x);
}

// By e^-|x|, which never overflows and keeps the small results of negative x.
Expr logistic(Expr x) {
  const Expr e = exp(-abs(x));
  return select(x < 0.0, e, x.number(1)) / (e + 1);
}

// m/(m + 2), m = e^2|x| - 1.
Expr tanh(Expr x) {
  if (!x.f32()) {
    const Expr m = expm1(-2 * abs(x));
    return copysign(-m / (m + 2), x);
  }
  // From 9.05 on tanh rounds to 1. n is small: added to the aligner it appears in the low bits, and
  // the bias makes 2^n of it by a shift.
  const double aligner = 0x1.8p23 + 127;
  const Expr half = min(abs(x), 9.05);
  const Expr aligned = fma(half, 0x1.715476p+1, aligner);
  const Expr n = aligned - aligner;
  const Expr r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, half + half));
  const Expr power = aligned.bits().make(Op::kShl, aligned.bits().integer(23)).bitcast(x.type());
  const Expr m = fma(power, expm1_reduced(r), power - 1);
  return copysign(m / (m + 2), x);
}

Expr sinh(Expr x) {
  const Expr a = abs(x), z = x * x;
  const Expr q =
      x.f32() ? polynomial(z, {0x1.555556p-3, 0x1.111136p-7, 0x1.9ffe04p-13, 0x1.7a2896p-19})
              : polynomial(z, {0x1.5555555555556p-3, 0x1.11111111110a0p-7, 0x1.a01a01a029334p-13,
                               0x1.71de3a45e721cp-19, 0x1.ae646773ad04fp-26, 0x1.611a34dcb527fp-33,
                               0x1.b4d11c6b8ea05p-41});
  const Expr h = half_exp(a);
  return select(a < 1.0, fma(x * z, q, x), copysign(h - 0.25 / h, x));
}

Expr cosh(Expr x) {
  const Expr h = half_exp(abs(x));
  return h + 0.25 / h;
}

}  // namespace braze::scalar::real
