// SPDX-License-Identifier: Apache-2.0
// Arrays in the types that reference sums are carried out in, of which there are two kinds.
//
// Wide (with_wide): f32 and narrower floats in double, f64 in long double, complex likewise, signed
// integers in int64, unsigned in uint64, pred in bytes 0/1. Results are rounded or wrapped once, when
// stored.
// Native (with_native): f32, f64 and complex in themselves, one rounding a step, in index order: what
// StableHLO's interpreter does and what its programs with cancellation expect. Short sums
// (kShortSum) are native; long ones would gather too many roundings.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "ir/literal.h"
#include "ir/opcode.h"

namespace braze {

// f(T()) with T the wide type for element type t.
template <typename F>
auto with_wide(Dtype t, F&& f) {
  if (is_pred(t)) return f(uint8_t());
  if (is_signed_int(t)) return f(int64_t());
  if (is_unsigned_int(t)) return f(uint64_t());
  if (t == Dtype::kC128) return f(std::complex<long double>());
  if (t == Dtype::kC64) return f(std::complex<double>());
  if (t == Dtype::kF64) return f(static_cast<long double>(0));
  return f(double());
}

// Sums of at most so many terms are native.
constexpr int64_t kShortSum = 32;

// f(T()) with T the native type for element type t; the wide one for floats narrower than f32.
template <typename F>
auto with_native(Dtype t, F&& f) {
  if (t == Dtype::kC128) return f(std::complex<double>());
  if (t == Dtype::kC64) return f(std::complex<float>());
  if (t == Dtype::kF64) return f(0.0);
  if (t == Dtype::kF32) return f(0.0f);
  return with_wide(t, f);
}

template <typename F>
auto with_sum_type(Dtype t, int64_t terms, F&& f) {
  return terms <= kShortSum ? with_native(t, f) : with_wide(t, f);
}

template <typename T>
constexpr bool is_complex_v =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>> ||
    std::is_same_v<T, std::complex<long double>>;

template <typename T>
T wide_at(const Literal& l, int64_t i) {
  if constexpr (is_complex_v<T>) {
    return T(l.get_complex(i));
  } else if constexpr (std::is_floating_point_v<T>) {
    // Integers beyond 2^53 are exact in long double only.
    return is_int(l.dtype()) && !is_unsigned_int(l.dtype()) ? static_cast<T>(l.get_int(i))
                                                            : static_cast<T>(l.get_float(i));
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return l.get_bool(i);
  } else {
    return static_cast<T>(l.get_int(i));
  }
}

template <typename T>
std::vector<T> widen(const Literal& l) {
  std::vector<T> out(l.elements());
  for (size_t i = 0; i < out.size(); ++i) out[i] = wide_at<T>(l, static_cast<int64_t>(i));
  return out;
}

template <typename T>
void store_wide(Literal& l, int64_t i, const T& v) {
  if constexpr (is_complex_v<T>) {
    l.set_complex(i, {static_cast<double>(v.real()), static_cast<double>(v.imag())});
  } else if constexpr (std::is_floating_point_v<T>) {
    l.set_float(i, static_cast<double>(v));
  } else {
    l.set_int(i, static_cast<int64_t>(v));
  }
}

template <typename T>
T wide_mul(const T& a, const T& b) {
  if constexpr (is_complex_v<T>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else if constexpr (std::is_same_v<T, uint8_t>)
    return a & b;
  else if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

template <typename T>
T wide_add(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, uint8_t>)
    return a | b;
  else if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

template <typename T>
T wide_min(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a ? a : b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  if constexpr (is_complex_v<T>) return a;  // no plain combiner
  else return b < a ? b : a;
}

template <typename T>
T wide_max(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return a != a ? a : b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  if constexpr (is_complex_v<T>) return a;
  else return a < b ? b : a;
}

// f(combine) with combine(a, b) for a plain combiner (see plain_combiner) over T.
template <typename T, typename F>
void with_combiner(Op op, F&& f) {
  switch (op) {
    case Op::kMultiply: return f([](const T& a, const T& b) { return wide_mul<T>(a, b); });
    case Op::kMinimum: return f([](const T& a, const T& b) { return wide_min<T>(a, b); });
    case Op::kMaximum: return f([](const T& a, const T& b) { return wide_max<T>(a, b); });
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case Op::kAnd: return f([](T a, T b) -> T { return a & b; });
      case Op::kOr: return f([](T a, T b) -> T { return a | b; });
      case Op::kXor: return f([](T a, T b) -> T { return a ^ b; });
      default: break;
    }
  }
  f([](const T& a, const T& b) { return wide_add<T>(a, b); });
}

// Offsets of all indices of `dims` under `strides`, in row-major order.
inline std::vector<int64_t> offsets_of(DimSpan dims, DimSpan strides) {
  std::vector<int64_t> out{0};
  if (product(dims) == 0) return {};
  out.reserve(product(dims));
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(out.size() * dims[d]);
    for (int64_t base : out)
      for (int64_t i = 0; i < dims[d]; ++i) next.push_back(base + i * strides[d]);
    out = std::move(next);
  }
  return out;
}

}  // namespace braze
