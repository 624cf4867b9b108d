// SPDX-License-Identifier: Apache-2.0
// The layouts of the float types as data, and their bits ↔ value maps.
//
// encode rounds once, to nearest even. Out of range: infinity, where the format has one; else NaN,
// where it has that; else the largest value of that sign.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace braze::scalar {

// How the format spends its extreme codes.
enum class Extremes : uint8_t {
  kIeee,     // all-ones exponent: infinities and NaNs
  kFn,       // no infinity; all-ones exponent and mantissa: NaN
  kFnuz,     // no infinity, no -0: its code is NaN
  kFinite,   // only finite values; NaN encodes as a zero of the opposite sign
  kPowers,   // no sign, no zero, no mantissa; all ones: NaN (as are negative values and zeros)
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  Extremes extremes;
  // Magnitude codes (without the sign bit).
  constexpr uint64_t all_ones() const {
    return (uint64_t{1} << (exponent_bits + mantissa_bits)) - 1;
  }
  constexpr uint64_t infinity() const {
    return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  constexpr uint64_t max_finite() const {
    return extremes == Extremes::kIeee ? infinity() - 1
           : extremes == Extremes::kFn || extremes == Extremes::kPowers ? all_ones() - 1
                                                                        : all_ones();
  }
};

// Any float type.
FloatFormat format_of(Dtype t);
uint64_t encode(Dtype t, double v);
double decode(Dtype t,
              uint64_t bits);  // exact; NaN payloads of IEEE formats survive the round trip
// v rounded to t.
inline double round_to(Dtype t, double v) {
  return t == Dtype::kF64 ? v : decode(t, encode(t, v));
}

inline bool is_narrow_float(Dtype t) {
  return is_float(t) && t != Dtype::kF32 && t != Dtype::kF64;
}

}  // namespace braze::scalar
