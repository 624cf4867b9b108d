// SPDX-License-Identifier: Apache-2.0
// Complex functions for eval, where std::complex is not accurate or defines another edge case.
//
// T is wider than the element type (double for f32 parts, long double for f64 ones), so a few lost
// bits do not show; what these functions guard against is cancellation, overflow and branch cuts.
#pragma once

#include <cmath>
#include <complex>

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

// exp(z) − 1 = expm1(x)·cos y − 2 sin²(y/2) + i·exp(x)·sin y; of −∞ ± ∞i it is NaN, as in NumPy and XLA.
template <typename T>
C<T> expm1(C<T> z) {
  const T x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (std::isinf(y)) return {y - y, y - y};
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
C<T> logistic(C<T> z) {
  return C<T>(1) / (C<T>(1) + std::exp(-z));
}

template <typename T>
C<T> rsqrt(C<T> z) {
  return C<T>(1) / std::sqrt(z);
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

// 0^0 = 1, 0^w = 0 for Re w > 0.
template <typename T>
C<T> power(C<T> z, C<T> w) {
  if (z.real() == 0 && z.imag() == 0) {
    if (w.real() == 0 && w.imag() == 0) return {1, 0};
    if (w.real() > 0) return {0, 0};
  }
  return std::pow(z, w);
}

// atan2(y, x) = −i · log((x + iy) / sqrt(x² + y²))
template <typename T>
C<T> atan2(C<T> y, C<T> x) {
  const C<T> i(0, 1);
  const C<T> l = std::log((x + multiply(i, y)) / std::sqrt(multiply(x, x) + multiply(y, y)));
  return {l.imag(), -l.real()};
}

// Lexicographic order of (real, imaginary).
template <typename T>
bool less(C<T> a, C<T> b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

}  // namespace braze::complex_math
