// SPDX-License-Identifier: Apache-2.0
// Complex functions for eval, where std::complex is not accurate or leaves something open.
//
// At infinities and NaNs they are what C's Annex G says (products are plain), but for exp, sinh, cosh,
// tanh and tan of what has no limit, which are NaN as in XLA. Where Annex G leaves a sign
// open, functions stay odd or even and commute with conjugation, and a NaN counts as positive.
//
// T is wider than the element type (double for f32 parts, long double for f64 ones), so a few lost
// bits do not show; what these functions guard against is cancellation, overflow and branch cuts.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

namespace braze::complex_math {

template <typename T>
using C = std::complex<T>;

// x + y without error: sum and what rounding dropped.
template <typename T>
void two_sum(T x, T y, T* sum, T* rest) {
  *sum = x + y;
  const T z = *sum - x;
  *rest = (x - (*sum - z)) + (y - z);
}

// |1 + z|² − 1 = 2x + x² + y², with twice the working precision: the terms may cancel.
template <typename T>
T square_minus_one(T x, T y) {
  const T xx = x * x, yy = y * y;
  T s, rest, r;
  two_sum(2 * x, yy, &s, &rest);
  two_sum(s, xx, &s, &r);
  return s + (rest + r + std::fma(x, x, -xx) + std::fma(y, y, -yy));
}

template <typename T>
C<T> log1p(C<T> z) {
  const T x = z.real(), y = z.imag();
  const T angle = std::atan2(y, 1 + x);
  if (std::abs(x) > T(1e6) || std::abs(y) > T(1e6) || std::isnan(x) || std::isnan(y))
    return {std::log(std::hypot(1 + x, y)), angle};
  return {std::log1p(square_minus_one(x, y)) / 2, angle};
}

// exp(z) − 1 = expm1(x)·cos y − 2 sin²(y/2) + i·exp(x)·sin y; NaN where y is not finite, as in NumPy.
template <typename T>
C<T> expm1(C<T> z) {
  const T x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (!std::isfinite(y)) return {y - y, y - y};
  if (std::isinf(x) || x > 40) return std::exp(z) - (std::isinf(x) && x > 0 ? T(0) : T(1));
  const T half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}

template <typename T>
C<T> cbrt(C<T> z) {
  const T r = std::cbrt(std::hypot(z.real(), z.imag()));
  if (r == 0) return z;
  const T angle = std::atan2(z.imag(), z.real()) / 3;
  return {r * std::cos(angle), r * std::sin(angle)};
}

template <typename T>
C<T> times_i(C<T> z) {
  return {-z.imag(), z.real()};
}
template <typename T>
C<T> times_minus_i(C<T> z) {
  return {z.imag(), -z.real()};
}

// x times the conjugate of y
template <typename T>
C<T> times_conjugate(C<T> x, C<T> y) {
  return {x.real() * y.real() + x.imag() * y.imag(), x.imag() * y.real() - x.real() * y.imag()};
}

template <typename T>
bool has_infinity(C<T> z) {
  return std::isinf(z.real()) || std::isinf(z.imag());
}
template <typename T>
bool is_finite(C<T> z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

// Smith's method, and Annex G's second look at what came out as NaN.
template <typename T>
C<T> divide(C<T> x, C<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  C<T> q;
  if (std::abs(c) < std::abs(d)) {
    const T ratio = c / d, scale = c * ratio + d;
    q = {(a * ratio + b) / scale, (b * ratio - a) / scale};
  } else {
    const T ratio = d / c, scale = d * ratio + c;
    q = {(b * ratio + a) / scale, (b - a * ratio) / scale};
  }
  if (!std::isnan(q.real()) || !std::isnan(q.imag())) return q;
  const T infinity = std::numeric_limits<T>::infinity();
  const auto box = [](T v) { return std::copysign(std::isinf(v) ? T(1) : T(0), v); };
  if (c == 0 && d == 0 && (!std::isnan(a) || !std::isnan(b)))
    return {std::copysign(infinity, c) * a, std::copysign(infinity, c) * b};
  if (has_infinity(x) && is_finite(y)) {
    const C<T> z = times_conjugate({box(a), box(b)}, y);
    return {infinity * z.real(), infinity * z.imag()};
  }
  if (has_infinity(y) && is_finite(x)) {
    const C<T> z = times_conjugate(x, {box(c), box(d)});
    return {0 * z.real(), 0 * z.imag()};
  }
  return q;
}

// By the exponential that does not overflow.
template <typename T>
C<T> logistic(C<T> z) {
  const bool left = z.real() < 0;
  const C<T> e = std::exp(left ? z : -z);
  return divide(left ? e : C<T>(1), C<T>(1) + e);
}

// conj(√z) / |z|, which (unlike 1 / √z) gives conjugates for conjugates; (inf, NaN) for 0.
template <typename T>
C<T> rsqrt(C<T> z) {
  if (has_infinity(z)) return {0, std::copysign(T(0), -z.imag())};
  const C<T> w = std::sqrt(z);
  const T c = w.real(), d = w.imag();
  if (c == 0 && d == 0) return {std::numeric_limits<T>::infinity(), std::nan("")};
  if (std::abs(c) < std::abs(d)) {
    const T ratio = c / d, scale = c * ratio + d;
    return {ratio / scale, -(1 / scale)};
  }
  const T ratio = d / c, scale = d * ratio + c;
  return {1 / scale, -(ratio / scale)};
}

template <typename T>
C<T> annex_sinh(C<T> z) {
  if (std::isinf(z.real()) && !std::isfinite(z.imag())) return {z.real(), std::nan("")};
  return std::sinh(z);
}

template <typename T>
C<T> annex_cosh(C<T> z) {
  const C<T> r = std::cosh(z);
  if (z.imag() != 0 && (z.real() != 0 || std::isfinite(z.imag()))) return r;
  const auto negative = [](T v) { return !std::isnan(v) && std::signbit(v); };
  return {r.real(), negative(z.real()) != negative(z.imag()) ? -T(0) : T(0)};
}

template <typename T>
C<T> sin(C<T> z) {
  return times_minus_i(annex_sinh(times_i(z)));
}
template <typename T>
C<T> cos(C<T> z) {
  return annex_cosh(times_i(z));
}

// Nothing is known of an exponential, or the half of a sum of two, where both parts are without limit.
template <typename T>
C<T> or_nan(C<T> z, C<T> value) {
  if (std::isinf(z.real()) && !std::isfinite(z.imag())) return {std::nan(""), std::nan("")};
  return value;
}
template <typename T>
C<T> exp(C<T> z) {
  return or_nan(z, std::exp(z));
}
template <typename T>
C<T> sinh(C<T> z) {
  return or_nan(z, annex_sinh(z));
}
template <typename T>
C<T> cosh(C<T> z) {
  return or_nan(z, annex_cosh(z));
}

// Of ±0 and what has no limit NaN, as C99 has it and C17 has not.
template <typename T>
C<T> tanh(C<T> z) {
  if (z.real() == 0 && !std::isfinite(z.imag())) return {std::nan(""), std::nan("")};
  return std::tanh(z);
}
template <typename T>
C<T> tan(C<T> z) {
  return times_minus_i(complex_math::tanh(times_i(z)));
}

template <typename T>
C<T> sign(C<T> z) {
  if (std::isnan(z.real()) || std::isnan(z.imag())) return {std::nan(""), std::nan("")};
  if (z.real() == 0 && z.imag() == 0) return {};
  return z / std::hypot(z.real(), z.imag());
}

// The plain formula: HLO does not recover infinities as C's Annex G does.
template <typename T>
C<T> multiply(C<T> a, C<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// e^(w · log z); z^0 = 1, 0^w = 0 for Re w > 0.
template <typename T>
C<T> power(C<T> z, C<T> w) {
  if (w.real() == 0 && w.imag() == 0) return {1, 0};
  if (z.real() == 0 && z.imag() == 0 && w.real() > 0) return {0, 0};
  return std::exp(multiply(w, std::log(z)));
}

// atan2(y, x) = −i · log((x + iy) / sqrt(x² + y²))
template <typename T>
C<T> atan2(C<T> y, C<T> x) {
  const C<T> radius = std::sqrt(multiply(x, x) + multiply(y, y));
  return times_minus_i(std::log(divide(x + times_i(y), radius)));
}

// Lexicographic order of (real, imaginary).
template <typename T>
bool less(C<T> a, C<T> b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

}  // namespace braze::complex_math
