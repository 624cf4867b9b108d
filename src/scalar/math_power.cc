// SPDX-License-Identifier: Apache-2.0
// Roots and powers. x^y = 2^(y log2 x), the logarithm to more bits than the result: in f64 for f32,
// as a sum of two f64 for f64.
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

constexpr double kInfinity = __builtin_inf();
constexpr double kNan = __builtin_nan("");

// An unevaluated sum, |low| at most half an ulp of high.
struct Two {
  Expr high, low;
};

Two two_product(Expr a, Expr b) {
  const Expr p = a * b;
  return {p, fma(a, b, -p)};
}
// |a| ≥ |b|, or a = 0.
Two quick_sum(Expr a, Expr b) {
  const Expr s = a + b;
  return {s, b - (s - a)};
}
Two multiply(Two a, Two b) {
  const Two p = two_product(a.high, b.high);
  return quick_sum(p.high, p.low + fma(a.high, b.low, a.low * b.high));
}

// 2^e · (1 + f) for positive normal x.
struct Split {
  Expr e, f;
};
Split split(Expr x) {
  const Expr bits = x.bits();
  const Expr e = (bits - bits.integer(0x3fe6a09e667f3bcd)).make(Op::kShrA, bits.integer(52));
  const Expr m = bits - e.make(Op::kShl, bits.integer(52));
  return {e.cast(x.type()), m.bitcast(x.type()) - 1};
}

// log2 x to 2^-37 relative, for x an f32 value in f64: positive and finite.
Expr log2_of_f32(Expr x) {
  const Split p = split(x);
  const Expr s = p.f / (p.f + 2), z = s * s;
  const Expr q = polynomial(z, {2, 0x1.555554fd81649p-1, 0x1.999a7abfa2e1ep-2, 0x1.2438c97d28279p-2,
                                0x1.e2f89f433835bp-3});
  return fma(s * q, 0x1.71547652b82fep+0, p.e);
}

// log2 x to 2^-68 relative, for positive finite x.
Two log2_of_f64(Expr x) {
  const Expr denormal = x < 0x1p-1022;
  const Split p = split(select(denormal, x * 0x1p54, x));
  const Expr e = p.e + select(denormal, x.number(-54), x.number(0));
  // s = f/(2 + f) and z = s² as sums.
  const Expr d = p.f + 2;
  const Expr d_low = p.f - (d - 2);
  const Expr inverse = 1 / d, s = p.f * inverse;
  const Two st{s, fma(-s, d_low, fma(-s, d, p.f)) * inverse};
  const Two z2 = two_product(s, s);
  const Two z{z2.high, fma(s + s, st.low, z2.low)};
  // log(1 + f) = 2s + s·z·(2/3 + z·q)
  const Expr q =
      polynomial(z.high, {0x1.999999999999ap-2, 0x1.249249249246fp-2, 0x1.c71c71c722787p-3,
                          0x1.745d17417e17ep-3, 0x1.3b13b312124f3p-3, 0x1.111094391a1dcp-3,
                          0x1.e20b87603b014p-4, 0x1.aaeb5f3400d8dp-4, 0x1.c320190c81fa7p-4});
  const Two third = quick_sum(x.number(0x1.5555555555555p-1), z.high * q);
  const Two c{third.high, third.low + 0x1.5555555555555p-55};
  const Two u = multiply(multiply(st, z), c);
  Two log = quick_sum(2 * st.high, u.high);
  log.low = log.low + fma(st.low, 2.0, u.low);
  const Two log2 = multiply(log, {x.number(0x1.71547652b82fep+0), x.number(0x1.777d0ffda0d24p-56)});
  const Two sum = quick_sum(e, log2.high);
  return quick_sum(sum.high, sum.low + log2.low);
}

// 2^r for |r| ≤ ½.
Expr exp2_reduced(Expr r, bool for_f32) {
  if (for_f32)
    return polynomial(r, {1, 0x1.62e42ff0e42c4p-1, 0x1.ebfbe0784a415p-3, 0x1.c6b08abc3a44dp-5,
                          0x1.3b29f2d6045e0p-7, 0x1.5d8a88a4d46afp-10, 0x1.445d313cfccfcp-13,
                          0x1.fde4f50b4c9b3p-17});
  return polynomial(r, {1, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0cfp-5,
                        0x1.3b2ab6fba4e21p-7, 0x1.5d87fe78a2646p-10, 0x1.430912f883fedp-13,
                        0x1.ffcbfc750146ap-17, 0x1.62c021e1e9e31p-20, 0x1.b524dcf391485p-24,
                        0x1.e4d06d8a76bb4p-28, 0x1.ea01ed34b3475p-32, 0x1.c2ce31aa8a74dp-36});
}

// a^y for positive finite a and finite y, both f64, the result rounded from f64 to `type`.
Expr positive_power(Expr a, Expr y, Dtype type) {
  if (type == Dtype::kF32) {
    const Expr t = min(max(y * log2_of_f32(a), -300), 300);
    const Expr n = round_even(t);
    return ldexp_near(exp2_reduced(t - n, true), n).cast(type);
  }
  const Two l = log2_of_f64(a);
  const Expr high = y * l.high;
  const Expr low = fma(y, l.high, -high) + y * l.low;
  const Expr t = min(max(high, -1200), 1200);
  const Expr n = round_even(t);
  // Past the clamp the low part is of no account (and may be infinite or NaN).
  const Expr rest = select(equal(t, high), low, 0);
  return ldexp_near(exp2_reduced((t - n) + rest, false), n);
}

}  // namespace

Expr sqrt(Expr x) { return scalar::sqrt(x); }
Expr rsqrt(Expr x) { return 1 / scalar::sqrt(x); }

// A third of the exponent and mantissa bits gives the root to 5 %; Halley's steps cube the error,
// and a Newton step with an exact residual finishes.
Expr cbrt(Expr x) {
  const bool f32 = x.f32();
  const Expr a = abs(x);
  const Expr denormal = a < (f32 ? 0x1p-120 : 0x1p-1000);
  // Scaled so that neither denormals nor three times the largest value occur.
  const Expr scale = select(denormal, x.number(f32 ? 0x1p24 : 0x1p54), x.number(0x1p-3));
  const Expr v = a * scale;
  Expr t = v;
  if (f32) {
    const Expr third = v.bits().cast(Dtype::kF32) * 0x1.555556p-2 + 709958130.0;
    t = third.cast(Dtype::kS32).bitcast(Dtype::kF32);
  } else {
    const Expr high = v.bits().make(Op::kShrL, v.bits().integer(32)).cast(Dtype::kF64);
    const Expr third = fma(high, 0x1.5555555555555p-2, 715094163.0).cast(Dtype::kS64);
    t = third.make(Op::kShl, third.integer(32)).bitcast(Dtype::kF64);
  }
  for (int step = 0; step < (f32 ? 1 : 2); ++step) {
    const Expr cube = t * t * t;
    t = t * ((cube + 2 * v) / (2 * cube + v));
  }
  const Two square = two_product(t, t);
  const Expr residual = fma(-square.high, t, v) - square.low * t;
  t = t + residual / (3 * square.high);
  t = t * select(denormal, x.number(f32 ? 0x1p-8 : 0x1p-18), x.number(2));
  t = select(equal(a, 0) || !(a < kInfinity), a, t);  // 0, infinity, NaN: themselves
  return copysign(t, x);
}

namespace {

// Exponents that need no logarithm. No intermediate result leaves the range unless the power does.
Expr constant_power(Expr x, double y) {
  const Expr square = x * x, inverse = 1 / x;
  if (y == 0) return x.number(1);
  if (y == 1) return x;
  if (y == 2) return square;
  if (y == 3) return square * x;
  if (y == 4) return square * square;
  if (y == -1) return inverse;
  if (y == -2) return inverse * inverse;
  if (y != 0.5 && y != -0.5) return {x.g, {}};
  // Unlike the root, the power of -0 is +0 and that of -∞ is +∞.
  const Expr root = select(equal(x, -kInfinity), kInfinity, scalar::sqrt(x) + 0.0);
  return y > 0 ? root : 1 / root;
}

}  // namespace

Expr power(Expr x, Expr y) {
  const Dtype type = x.type();
  if (x.g->is_const(y.s))
    if (const Expr r = constant_power(x, x.g->const_float(y.s)); r.s) return r;
  const Expr a = abs(x), b = abs(y);
  const Expr special_base = equal(a, 0) || !(a < kInfinity);
  const Expr special = special_base || !(b < kInfinity);
  // A harmless base and exponent where there is nothing to compute.
  const Expr base = select(special, x.number(1), a), exponent = select(special, x.number(1), y);
  Expr r = positive_power(base.cast(Dtype::kF64), exponent.cast(Dtype::kF64), type);
  // Zero and infinity, in base or exponent: the limit is 0 or infinity by which side of 1 the base
  // is.
  const Expr grows = equal_pred(a > 1.0, y > 0.0);
  const Expr limit = select(grows, x.number(kInfinity), x.number(0));
  r = select(special, select(equal(a, 1), x.number(1), limit), r);
  // Signs: by odd integers only; other exponents of negative finite bases have no value.
  const Expr integral = equal(trunc(y), y);
  const Expr odd = integral && !equal(trunc(y * 0.5) * 2, y) && b < kInfinity;
  r = select(odd, copysign(r, x), r);
  r = select(x < 0.0 && a < kInfinity && !integral, kNan, r);
  r = select(is_nan(x) || is_nan(y), kNan, r);
  return select(equal(x, 1) || equal(y, 0), 1, r);
}

}  // namespace braze::scalar::real
