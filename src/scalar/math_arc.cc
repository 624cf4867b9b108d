// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometric functions: polynomials on a small range around 0, and the identities that
// lead there. Constants that are added come in two parts.
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

constexpr double kInfinity = __builtin_inf();
constexpr double kHalfPi = 0x1.921fb54442d18p+0;

// π/2 = high + low in x's type; number() rounds.
double half_pi_high(Expr x) { return x.f32() ? 0x1.921fb6p+0 : kHalfPi; }
double half_pi_low(Expr x) { return x.f32() ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54; }

// (atan t - t) for |t| ≤ √2 - 1.
Expr atan_tail(Expr t) {
  const Expr z = t * t;
  const Expr p =
      t.f32() ? polynomial(z, {-0x1.55554ap-2, 0x1.9991a6p-3, -0x1.23b638p-3, 0x1.b1fa24p-4,
                               -0x1.f22b4cp-5})
              : polynomial(z, {-0x1.5555555555554p-2, 0x1.9999999999652p-3, -0x1.2492492475990p-3,
                               0x1.c71c71b75b585p-4, -0x1.745d14bba732ap-4, 0x1.3b136e50b3e05p-4,
                               -0x1.110c7467e80aap-4, 0x1.e172186c6ed6bp-5, -0x1.ab7df6c21cd3ep-5,
                               0x1.70eea043bee31p-5, -0x1.1239c7ed1079cp-5, 0x1.f1ed087dfa878p-7});
  return t * z * p;
}

// atan(y/x) in [0, π/2] for y, x ≥ 0: from π/4 or π/2 where y/x is not small.
Expr atan_quotient(Expr y, Expr x) {
  const Expr steep = y > x * 0x1.3504f333f9de6p+1, middle = y > x * 0x1.a827999fcef32p-2;
  const Expr top = select(steep, -x, select(middle, y - x, y));
  const Expr bottom = select(steep, y, select(middle, y + x, x));
  const Expr t = top / bottom;
  const auto base = [&](double part) {
    return select(steep, x.number(part), select(middle, x.number(part / 2), x.number(0)));
  };
  return base(half_pi_high(x)) + (t + (atan_tail(t) + base(half_pi_low(x))));
}

// (asin s - s) for s² = z ≤ ¼.
Expr asin_tail(Expr s, Expr z) {
  const Expr p = s.f32() ? polynomial(z, {0x1.5555cap-3, 0x1.330136p-4, 0x1.748eecp-5, 0x1.8b877p-6,
                                          0x1.59f338p-5})
                         : polynomial(z, {0x1.5555555555578p-3, 0x1.333333332df07p-4,
                                          0x1.6db6db722bf02p-5, 0x1.f1c71a8b70af1p-6,
                                          0x1.6e8bdfead4863p-6, 0x1.1c49ddbd6f0b8p-6,
                                          0x1.ca214a147bf19p-7, 0x1.757761d60d6b2p-7,
                                          0x1.618b99cc3aaa2p-7, 0x1.e14f17b185364p-9,
                                          0x1.65056efc61f9cp-6, -0x1.59fb055d93166p-6,
                                          0x1.0be5b6628e0cap-5});
  return s * z * p;
}

// asin x = 2 asin √((1-x)/2) taken from π/2, past ½.
struct Half {
  Expr outer;  // |x| > ½
  Expr asin;   // asin |x|, or that of the root if outer
};
Half half_angle(Expr x) {
  const Expr a = abs(x);
  const Expr outer = a > 0.5;
  const Expr z = select(outer, (1 - a) * 0.5, a * a);
  const Expr s = select(outer, scalar::sqrt(z), a);
  return {outer, s + asin_tail(s, z)};
}

}  // namespace

Expr atan(Expr x) { return copysign(atan_quotient(abs(x), x.number(1)), x); }

Expr atan2(Expr y, Expr x) {
  Expr a = abs(y), b = abs(x);
  // 0/0 and ∞/∞ are angles, too; sums of the largest values must not overflow.
  const Expr both_zero = equal(a, 0) && equal(b, 0);
  const Expr both_infinite = equal(a, kInfinity) && equal(b, kInfinity);
  a = select(both_infinite, 1, a);
  b = select(both_zero || both_infinite, 1, b);
  const Expr huge = a > (x.f32() ? 0x1p125 : 0x1p1021) || b > (x.f32() ? 0x1p125 : 0x1p1021);
  const Expr scale = select(huge, x.number(0.25), x.number(1));
  const Expr r = atan_quotient(a * scale, b * scale);
  const Expr negative = copysign(x.number(1), x) < 0.0;
  const Expr other = 2 * half_pi_high(x) - (r - 2 * half_pi_low(x));
  return copysign(select(negative, other, r), y);
}

Expr asin(Expr x) {
  const Half h = half_angle(x);
  const Expr outer = half_pi_high(x) - (2 * h.asin - half_pi_low(x));
  return copysign(select(h.outer, outer, h.asin), x);
}

Expr acos(Expr x) {
  const Half h = half_angle(x);
  const Expr inner = half_pi_high(x) - (copysign(h.asin, x) - half_pi_low(x));
  const Expr twice = 2 * h.asin;
  const Expr left = 2 * half_pi_high(x) - (twice - 2 * half_pi_low(x));
  return select(h.outer, select(x < 0.0, left, twice), inner);
}

}  // namespace braze::scalar::real
