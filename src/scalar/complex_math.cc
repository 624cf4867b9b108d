// SPDX-License-Identifier: Apache-2.0
// Complex functions from the real ones. Products and sums are plain, as HLO's are; quotients,
// magnitudes and logarithms avoid overflow and cancellation. Inverse functions follow Kahan's
// formulas, which keep the branch cuts and signed zeros right. At infinities and NaNs functions and
// quotients give what C's Annex G says, but for exp, sinh, cosh, tanh and tan of what has no limit, which are
// NaN as in XLA; where Annex G leaves a sign open, functions stay odd or even and
// commute with conjugation, as ops/complex_math.h does.
#include "scalar/complex_math.h"

#include "scalar/real_math.h"

namespace braze::scalar::complex_math {
namespace {

constexpr double kInfinity = __builtin_inf();
constexpr double kNan = __builtin_nan("");

struct C {
  Expr re, im;
};

C complex(Graph& g, Value v) { return {{&g, v.re}, {&g, v.im}}; }
Value value(C z) { return {z.re.s, z.im.s}; }

C operator+(C a, C b) { return {a.re + b.re, a.im + b.im}; }
C operator*(C a, C b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
C select(Expr p, C t, C f) {
  return {scalar::select(p, t.re, f.re), scalar::select(p, t.im, f.im)};
}
C negate(C z) { return {-z.re, -z.im}; }
C times_i(C z) { return {-z.im, z.re}; }
C times_minus_i(C z) { return {z.im, -z.re}; }
Expr infinite(Expr a) { return equal(abs(a), kInfinity); }
Expr finite(Expr a) { return abs(a) < kInfinity; }
Expr is_zero(C z) { return equal(z.re, 0) && equal(z.im, 0); }
C make(Expr like, double re, double im) { return {like.number(re), like.number(im)}; }
C cast(Dtype t, C z) { return {z.re.cast(t), z.im.cast(t)}; }

// 1 or 0 with the sign of a part, by whether it is infinite.
C boxed(C z) {
  const auto box = [](Expr a) {
    return copysign(scalar::select(infinite(a), a.number(1), a.number(0)), a);
  };
  return {box(z.re), box(z.im)};
}

// x times the conjugate of y
C times_conjugate(C x, C y) {
  return {x.re * y.re + x.im * y.im, x.im * y.re - x.re * y.im};
}

// Smith's method: by the ratio of the divisor's parts. What comes out as NaN is looked at again, as in
// Annex G: a number by zero and infinity by a number are infinite, a number by infinity is zero.
C divide(C x, C y) {
  const Expr by_im = abs(y.re) < abs(y.im);
  const Expr large = scalar::select(by_im, y.im, y.re), small = scalar::select(by_im, y.re, y.im);
  const Expr ratio = small / large;
  const Expr scale = fma(small, ratio, large);
  const Expr u = scalar::select(by_im, x.im, x.re), v = scalar::select(by_im, x.re, x.im);
  const Expr turned = scalar::select(by_im, x.im, -x.re), rest = scalar::select(by_im, -x.re, x.im);
  C q{fma(v, ratio, u) / scale, fma(turned, ratio, rest) / scale};
  const Expr lost = is_nan(q.re) && is_nan(q.im);
  const Expr infinity = copysign(y.re.number(kInfinity), y.re);
  const Expr by_zero = is_zero(y) && !(is_nan(x.re) && is_nan(x.im));
  const Expr is_large = (infinite(x.re) || infinite(x.im)) && finite(y.re) && finite(y.im);
  const Expr is_small = (infinite(y.re) || infinite(y.im)) && finite(x.re) && finite(x.im);
  const C far = times_conjugate(boxed(x), y), near = times_conjugate(x, boxed(y));
  C special = select(is_small, {0 * near.re, 0 * near.im}, q);
  special = select(is_large, {kInfinity * far.re, kInfinity * far.im}, special);
  special = select(by_zero, {infinity * x.re, infinity * x.im}, special);
  return select(lost, special, q);
}

// 1 / y for finite y; (inf, NaN) for 0
C reciprocal(C y) {
  const Expr by_im = abs(y.re) < abs(y.im);
  const Expr large = scalar::select(by_im, y.im, y.re), small = scalar::select(by_im, y.re, y.im);
  const Expr ratio = small / large;
  const Expr scale = fma(small, ratio, large), one = y.re.number(1);
  const C q{scalar::select(by_im, ratio, one) / scale, -(scalar::select(by_im, one, ratio) / scale)};
  return select(is_zero(y), make(y.re, kInfinity, kNan), q);
}

// √(a² + b²), for f32 in f64, which rounds right but for once in 2^29; for f64 scaled out of the
// way of overflow, and with the rounding errors of the squares and the root put back.
Expr magnitude(C z) {
  const Dtype t = z.re.type();
  const Expr a = abs(z.re), b = abs(z.im);
  const Expr limit = equal(a, kInfinity) || equal(b, kInfinity);
  if (t == Dtype::kF32) {
    const C w = cast(Dtype::kF64, {a, b});
    const Expr r = scalar::sqrt(fma(w.re, w.re, w.im * w.im)).cast(t);
    return scalar::select(limit, kInfinity, r);
  }
  const Expr large = max(a, b);
  const Expr up = large < 0x1p-400, down = large > 0x1p500;
  const auto pick = [&](double if_up, double if_down) {
    return scalar::select(up, a.number(if_up),
                          scalar::select(down, a.number(if_down), a.number(1)));
  };
  const Expr scale = pick(0x1p600, 0x1p-600);
  const Expr x = max(a, b) * scale, y = min(a, b) * scale;
  const Expr xx = x * x, yy = y * y;
  const Expr sum = xx + yy;
  const Expr rest = (yy - (sum - xx)) + fma(x, x, -xx) + fma(y, y, -yy);
  const Expr root = scalar::sqrt(sum);
  const Expr r = root + (fma(-root, root, sum) + rest) / (root + root);
  const Expr zero = equal(large, 0);
  return scalar::select(limit, kInfinity,
                        scalar::select(zero, large, r * pick(0x1p-600, 0x1p600)));
}

// |1 + z|² - 1 = 2x + x² + y²: the terms may cancel, so their sum keeps what roundings drop.
Expr square_minus_one(Expr x, Expr y) {
  const Expr xx = x * x, yy = y * y, twice = x + x;
  const auto two_sum = [](Expr a, Expr b, Expr* rest) {
    const Expr s = a + b, t = s - a;
    *rest = (a - (s - t)) + (b - t);
    return s;
  };
  Expr r1 = x, r2 = x;
  const Expr s = two_sum(two_sum(twice, yy, &r1), xx, &r2);
  return s + ((r1 + r2) + (fma(x, x, -xx) + fma(y, y, -yy)));
}

// log |1 + z| for moderate z; log of the magnitude of (1 + x, y) otherwise.
Expr log_magnitude_from_one(Expr x, Expr y, Expr x_plus_one) {
  const Expr a = abs(x_plus_one), b = abs(y);
  const Expr large = max(a, b), small = min(a, b);
  const Expr ratio = small / large;
  const Expr far = real::log(large) + 0.5 * real::log1p(ratio * ratio);
  const Expr near = 0.5 * real::log1p(square_minus_one(x, y));
  const Expr limit = equal(a, kInfinity) || equal(b, kInfinity);
  const Expr is_near = large < 2.0 && large > 0.5;
  Expr r = scalar::select(is_near, near, far);
  r = scalar::select(equal(large, 0), -kInfinity, r);
  return scalar::select(limit, kInfinity, r);
}

C log(C z) {
  // |z| = |1 + (|larger part| - 1, smaller part)|
  const Expr a = abs(z.re), b = abs(z.im);
  const Expr large = max(a, b), small = min(a, b);
  const Expr r = log_magnitude_from_one(large - 1, small, large);
  const Expr limit = equal(a, kInfinity) || equal(b, kInfinity);
  return {scalar::select(limit, kInfinity, r), real::atan2(z.im, z.re)};
}

// e^x split in two factors where it would overflow though its products with sine and cosine may
// not.
C exp(C z) {
  const double limit = z.re.f32() ? 80 : 700;
  const double part = z.re.f32() ? 64 : 512;
  const Expr large = z.re > limit;
  const Expr e = real::exp(z.re - scalar::select(large, z.re.number(part), z.re.number(0)));
  const double factor = z.re.f32() ? 0x1.425982cf597cdp+92 : 0x1.9476504ba852ep+738;
  const Expr scale = scalar::select(large, z.re.number(factor), z.re.number(1));
  const real::SinCos sc = real::sin_cos(z.im);
  const Expr re = e * sc.cos * scale, im = e * sc.sin * scale;
  // Of an infinite real part and no direction.
  const Expr lost = infinite(z.re) && !finite(z.im);
  const Expr lost_im = scalar::select(z.re < 0.0, copysign(z.im.number(0), z.im), kNan);
  const Expr real = equal(z.im, 0);
  return {scalar::select(real || lost, e * scale, re),
          scalar::select(real, z.im, scalar::select(lost, lost_im, im))};
}

C sqrt(C z) {
  const Expr t = scalar::sqrt(0.5 * abs(z.re) + 0.5 * magnitude(z));
  const Expr other = abs(z.im) / (t + t);
  const Expr right = z.re >= 0.0;
  C r{scalar::select(right, t, other), copysign(scalar::select(right, other, t), z.im)};
  r = select(is_zero(z), {abs(z.re), z.im}, r);
  return select(equal(abs(z.im), kInfinity), {abs(z.im), z.im}, r);
}

// tanh(x + iy) by h = tanh x, t = tan y.
C tanh(C z) {
  const Expr h = real::tanh(z.re), t = real::tan(z.im);
  const Expr c = real::cosh(z.re);
  const Expr sech_square = 1 / (c * c);
  const Expr tt = t * t;
  const Expr scale = fma(tt, h * h, 1);
  C r{scalar::select(equal(z.re, 0) && finite(z.im), z.re, h * (tt + 1) / scale),
      scalar::select(equal(z.im, 0), z.im, t * sech_square / scale)};
  const Expr turn = scalar::select(finite(z.im), t, z.im);
  return select(infinite(z.re), {h, copysign(h.number(0), turn)}, r);
}

C annex_sinh(C z) {
  const real::SinCos sc = real::sin_cos(z.im);
  // Zero by what is no number, or by infinity, is zero here.
  const C r{scalar::select(equal(z.re, 0) && !finite(z.im), z.re, real::sinh(z.re) * sc.cos),
            scalar::select(equal(z.im, 0), z.im, real::cosh(z.re) * sc.sin)};
  const C limit{copysign(z.re.number(kInfinity), z.re), z.re.number(kNan)};
  return select(infinite(z.re) && !finite(z.im), limit, r);
}

C annex_cosh(C z) {
  const real::SinCos sc = real::sin_cos(z.im);
  const auto sign = [](Expr a) {
    return scalar::select(is_nan(a), a.number(1), copysign(a.number(1), a));
  };
  const Expr zero = 0 * sign(z.re) * sign(z.im);
  const Expr is_zero = equal(z.im, 0) || (equal(z.re, 0) && !finite(z.im));
  const Expr im = scalar::select(is_zero, zero, real::sinh(z.re) * sc.sin);
  const Expr lost = infinite(z.re) && !finite(z.im);
  return {scalar::select(lost, kInfinity, real::cosh(z.re) * sc.cos),
          scalar::select(lost, kNan, im)};
}

// Nothing is known of an exponential, or the half of a sum of two, where both parts are without limit.
C or_nan(C z, C value) {
  return select(infinite(z.re) && !finite(z.im), {z.re.number(kNan), z.re.number(kNan)}, value);
}
C sinh(C z) { return or_nan(z, annex_sinh(z)); }
C cosh(C z) { return or_nan(z, annex_cosh(z)); }

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kQuarterPi = 0x1.921fb54442d18p-1;

// The value of y's sign, + for a NaN.
Expr with_sign(Expr magnitude, Expr y) {
  return scalar::select(is_nan(y), magnitude, copysign(magnitude, y));
}

C asin(C z) {
  const C one = make(z.re, 1, 0);
  const C s1 = sqrt({one.re - z.re, -z.im}), s2 = sqrt({one.re + z.re, z.im});
  C r{real::atan2(z.re, s1.re * s2.re - s1.im * s2.im),
      real::asinh(s1.re * s2.im - s1.im * s2.re)};
  const Expr angle = scalar::select(finite(z.im), z.re.number(kHalfPi),
                                    scalar::select(is_nan(z.im), z.re.number(kNan), kQuarterPi));
  const C limit{copysign(angle, z.re), with_sign(z.im.number(kInfinity), z.im)};
  r.re = scalar::select(equal(z.re, 0) && is_nan(z.im), z.re, r.re);
  return select(infinite(z.re), limit, r);
}

// The inverse cosine where it isn't what Kahan's formula gives: `found` says where. The imaginary part's
// magnitude is NaN or infinite; its sign is the caller's.
struct Corner {
  Expr found, angle, size;
};

Corner acos_corner(C z) {
  const Expr x_inf = infinite(z.re), y_inf = infinite(z.im);
  const Expr axis = equal(z.re, 0) && is_nan(z.im);
  const Expr diagonal = scalar::select(z.re > 0.0, z.re.number(kQuarterPi), 3 * kQuarterPi);
  const Expr angle = scalar::select(axis, z.re.number(kHalfPi),
                                    scalar::select(x_inf && y_inf, diagonal, kNan));
  const Expr found =
      axis || (x_inf && y_inf) || (x_inf && is_nan(z.im)) || (is_nan(z.re) && y_inf);
  return {found, angle, scalar::select(axis, z.re.number(kNan), kInfinity)};
}

C atanh(C z) {
  const Expr a = abs(z.re), d = 1 - a;
  const Expr re = copysign(0.25 * real::log1p(4 * a / fma(d, d, z.im * z.im)), z.re);
  const Expr im = 0.5 * real::atan2(z.im + z.im, fma(d, a + 1, -(z.im * z.im)));
  const Expr right_angle =
      scalar::select(is_nan(z.im), z.im, copysign(re.number(kHalfPi), z.im));
  const C r = select(infinite(z.re) || infinite(z.im), {copysign(re.number(0), z.re), right_angle},
                     {re, im});
  return {scalar::select(equal(z.re, 0) && is_nan(z.im), z.re, r.re), r.im};
}

// In f64 for c64: the exponent's error is magnified by its size.
C power(C z, C w) {
  const Dtype t = z.re.type();
  const C l = log(cast(Dtype::kF64, z)), e = cast(Dtype::kF64, w);
  C r = cast(t, exp(e * l));
  // 0^0 = 1; 0^w = 0 for Re w > 0.
  r = select(is_zero(z) && w.re > 0.0, make(z.re, 0, 0), r);
  return select(is_zero(w), make(z.re, 1, 0), r);
}

}  // namespace

Value multiply(Graph& g, Value x, Value y) { return value(complex(g, x) * complex(g, y)); }
Value divide(Graph& g, Value x, Value y) { return value(divide(complex(g, x), complex(g, y))); }
Value abs(Graph& g, Value x) { return {magnitude(complex(g, x)).s}; }

Value sign(Graph& g, Value x) {
  const C z = complex(g, x);
  const Expr m = magnitude(z);
  const C r = select(is_zero(z), make(z.re, 0, 0), {z.re / m, z.im / m});
  return value(select(is_nan(z.re) || is_nan(z.im), make(z.re, kNan, kNan), r));
}

Value exp(Graph& g, Value x) {
  const C z = complex(g, x);
  return value(or_nan(z, exp(z)));
}

// expm1(x)·cos y - 2 sin²(y/2) + i·e^x·sin y: NaN where y is not finite
Value expm1(Graph& g, Value x) {
  const C z = complex(g, x);
  const real::SinCos sc = real::sin_cos(z.im);
  const Expr half = real::sin(z.im * 0.5), m = real::expm1(z.re);
  const Expr re = fma(m, sc.cos, -2 * half * half);
  const Expr real = equal(z.im, 0), vanishes = equal(z.re, -kInfinity) && finite(z.im);
  const Expr im = real::exp(z.re) * sc.sin;
  return value({scalar::select(real || vanishes, m, re), scalar::select(real, z.im, im)});
}

Value log(Graph& g, Value x) { return value(log(complex(g, x))); }

Value log1p(Graph& g, Value x) {
  const C z = complex(g, x);
  const Expr u = z.re + 1;
  return value({log_magnitude_from_one(z.re, z.im, u), real::atan2(z.im, u)});
}

// By the exponential that does not overflow.
Value logistic(Graph& g, Value x) {
  const C z = complex(g, x);
  const Expr left = z.re < 0.0;
  const C e = exp(select(left, z, negate(z)));
  const C one = make(z.re, 1, 0);
  return value(divide(select(left, e, one), one + e));
}

Value sqrt(Graph& g, Value x) { return value(sqrt(complex(g, x))); }
Value rsqrt(Graph& g, Value x) {
  const C z = complex(g, x);
  const C at_infinity{z.re.number(0), copysign(z.re.number(0), -z.im)};
  return value(select(infinite(z.re) || infinite(z.im), at_infinity, reciprocal(sqrt(z))));
}

Value cbrt(Graph& g, Value x) {
  const C z = complex(g, x);
  const Expr r = real::cbrt(magnitude(z));
  const real::SinCos sc = real::sin_cos(real::atan2(z.im, z.re) / 3);
  return value(select(equal(r, 0), z, {r * sc.cos, r * sc.sin}));
}

Value power(Graph& g, Value x, Value y) { return value(power(complex(g, x), complex(g, y))); }

Value sinh(Graph& g, Value x) { return value(sinh(complex(g, x))); }
Value cosh(Graph& g, Value x) { return value(cosh(complex(g, x))); }
Value tanh(Graph& g, Value x) { return value(tanh(complex(g, x))); }

Value sin(Graph& g, Value x) { return value(times_minus_i(annex_sinh(times_i(complex(g, x))))); }
Value cos(Graph& g, Value x) { return value(annex_cosh(times_i(complex(g, x)))); }
Value tan(Graph& g, Value x) { return value(times_minus_i(tanh(times_i(complex(g, x))))); }

Value asin(Graph& g, Value x) { return value(asin(complex(g, x))); }

Value acos(Graph& g, Value x) {
  const C z = complex(g, x);
  const C s1 = sqrt({1 - z.re, -z.im}), s2 = sqrt({z.re + 1, z.im});
  const C r{2 * real::atan2(s1.re, s2.re), real::asinh(s2.re * s1.im - s2.im * s1.re)};
  const Corner c = acos_corner(z);
  return value(select(c.found, {c.angle, -with_sign(c.size, z.im)}, r));
}

Value asinh(Graph& g, Value x) { return value(times_minus_i(asin(times_i(complex(g, x))))); }

Value acosh(Graph& g, Value x) {
  const C z = complex(g, x);
  const C s1 = sqrt({z.re - 1, z.im}), s2 = sqrt({z.re + 1, z.im});
  const C r{real::asinh(s1.re * s2.re + s1.im * s2.im), 2 * real::atan2(s1.im, s2.re)};
  const Corner c = acos_corner(z);
  return value(select(c.found, {c.size, with_sign(c.angle, z.im)}, r));
}

Value atanh(Graph& g, Value x) { return value(atanh(complex(g, x))); }
Value atan(Graph& g, Value x) { return value(times_minus_i(atanh(times_i(complex(g, x))))); }

// -i log((x + iy) / √(x² + y²)); in f64, since the quotient lies near 1.
Value atan2(Graph& g, Value y, Value x) {
  const Dtype t = g.type(y.re);
  const C a = cast(Dtype::kF64, complex(g, y)), b = cast(Dtype::kF64, complex(g, x));
  return value(cast(t, times_minus_i(log(divide(b + times_i(a), sqrt(b * b + a * a))))));
}

// In the order of (real, imaginary).
Value minimum(Graph& g, Value x, Value y, bool is_max) {
  const C a = complex(g, x), b = complex(g, y);
  const Expr less = scalar::select(equal(a.re, b.re), a.im < b.im, a.re < b.re);
  return value(is_max ? select(less, b, a) : select(less, a, b));
}

}  // namespace braze::scalar::complex_math
