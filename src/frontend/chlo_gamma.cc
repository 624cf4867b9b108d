// SPDX-License-Identifier: Apache-2.0
// lgamma and digamma by Lanczos' series (g = 7, 9 terms), zeta by Euler and Maclaurin's formula, and
// polygamma through zeta. Arguments below 1/2 are reflected.
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/chlo_math.h"

namespace braze::chlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

// The series for Gamma(z + 1): a constant, then numerators over z + 1, z + 2 …
constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993;
constexpr double kLanczos[] = {676.5203681218851,     -1259.1392167224028,  771.32342877765313,
                               -176.61502916214059,   12.507343278686905,   -0.13857109526572012,
                               9.9843695780195716e-6, 1.5056327351493116e-7};

struct Series {
  Num z, t, log_t, sum;  // t = z + g + 1/2
};

Series lanczos(Num x) {
  const Num z = select(x < 0.5, -x, x - 1);
  Num sum = z.like(kLanczosBase);
  for (int k = 0; k < 8; ++k) sum = sum + kLanczos[k] / (z + (k + 1));
  const double half = kLanczosG + 0.5;
  return {z, z + half, log1p(z / half) + std::log(half), sum};
}

// (2k)! / B(2k), k = 1 … 12.
constexpr double kBernoulli[] = {12,
                                 -720,
                                 30240,
                                 -1209600,
                                 47900160,
                                 -1892437580.3183792,
                                 74724249600,
                                 -2950130727918.1641,
                                 116467828143500.67,
                                 -4597978722407473,
                                 1.8152105401943546e+17,
                                 -7.1661652561756672e+18};

}  // namespace

Num lgamma(Num x) {
  const Series l = lanczos(x);
  // Stirling's form, with the two large terms taken together.
  const Num above = (l.z + 0.5 - l.t / l.log_t) * l.log_t + 0.5 * std::log(2 * kPi) + log(l.sum);
  // log|sin(πx)| from the distance to the nearest integer.
  const Num a = abs(x), fraction = a - floor(a);
  const Num distance = select(fraction > 0.5, 1 - fraction, fraction);
  const Num log_sine = log(sin(distance * kPi));
  const Num below =
      select(log_sine.unary(Op::kIsFinite), std::log(kPi) - log_sine - above, -log_sine);
  const Num result = select(x < 0.5, below, above);
  return select(a == kInfinity, x.like(kInfinity), result);
}

Num digamma(Num x) {
  const Series l = lanczos(x);
  Num slope = l.z.like(0);
  for (int k = 0; k < 8; ++k) {
    const Num d = l.z + (k + 1);
    slope = slope - kLanczos[k] / (d * d);
  }
  const Num above = l.log_t + slope / l.sum - kLanczosG / l.t;
  const Num shifted = x + abs(floor(x + 0.5));
  const Num angle = shifted * kPi;
  const Num below = above - kPi * cos(angle) / sin(angle);
  const Num result = select(x < 0.5, below, above);
  return select(both(x <= 0, x == floor(x)), x.like(kNaN), result);
}

Num zeta(Num x, Num q) {
  constexpr int kTerms = 9;
  const Num minus_x = -x;
  Num sum = pow(q, minus_x), power = sum, a = q;
  for (int k = 0; k < kTerms; ++k) {
    a = a + 1;
    power = pow(a, minus_x);
    sum = sum + power;
  }
  // ∫ and half of the last term, then the corrections, nested.
  sum = sum + power * a / (x - 1) - power * 0.5;
  const Num inverse_square = 1 / (a * a);
  Num nested = x.like(1 / kBernoulli[11]);
  for (int k = 11; k >= 1; --k)
    nested = nested * ((x + (2 * k - 1)) * (x + 2 * k) * inverse_square) + 1 / kBernoulli[k - 1];
  sum = sum + nested * x / a * power;
  sum = select(q == kInfinity, q.like(0), sum);
  const Num whole = q == floor(q), nan = x.like(kNaN), infinity = x.like(kInfinity);
  const Num not_positive = select(whole, infinity, select(x == floor(x), sum, nan));
  const Num result = select(q <= 0, not_positive, sum);
  return select(x < 1, nan, select(x == 1, infinity, result));
}

Num polygamma(Num n, Num x) {
  const Num next = n + 1;
  const Num half = n * 0.5;
  const Num odd = half != floor(half);
  const Num size = exp(lgamma(next)) * zeta(next, x);
  const Num general = select(odd, size, -size);
  const Num result = select(n == 0, digamma(x), general);
  return select(either(n < 0, n != floor(n)), n.like(kNaN), result);
}

}  // namespace braze::chlo
