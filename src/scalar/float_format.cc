// SPDX-License-Identifier: Apache-2.0
#include "scalar/float_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace braze::scalar {
namespace {

constexpr uint64_t kF64Sign = uint64_t{1} << 63;
constexpr uint64_t kF64Quiet = uint64_t{1} << 51;

uint64_t sign_bit(const FloatFormat& f) { return f.all_ones() + 1; }

uint64_t encode_nan(const FloatFormat& f, uint64_t v) {
  const uint64_t sign = v & kF64Sign ? sign_bit(f) : 0;
  switch (f.extremes) {
    case Extremes::kFn:
      return sign | f.all_ones();
    case Extremes::kFnuz:
      return sign_bit(f);
    case Extremes::kFinite:
      return sign ^ sign_bit(f);
    case Extremes::kPowers:
      return f.all_ones();
    case Extremes::kIeee:
      break;
  }
  const uint64_t payload = (v & (kF64Quiet * 2 - 1)) >> (52 - f.mantissa_bits);
  return sign | f.infinity() | (payload ? payload : uint64_t{1} << (f.mantissa_bits - 1));
}

uint64_t encode_power(const FloatFormat& f, double v) {
  if (!(v > 0) || std::isinf(v)) return f.all_ones();
  int e = 0;
  const double m = std::frexp(v, &e);  // v = m · 2^e, m in [½, 1): ties at ¾ go up
  const int code = std::max(e - 1 + (m >= 0.75) + f.bias, 0);
  return std::min<uint64_t>(code, f.all_ones());
}

}  // namespace

FloatFormat format_of(Dtype t) {
  switch (t) {
    case Dtype::kF4E2M1FN: return {2, 1, 1, Extremes::kFinite};
    case Dtype::kF6E2M3FN: return {2, 3, 1, Extremes::kFinite};
    case Dtype::kF6E3M2FN: return {3, 2, 3, Extremes::kFinite};
    case Dtype::kF8E3M4: return {3, 4, 3, Extremes::kIeee};
    case Dtype::kF8E4M3: return {4, 3, 7, Extremes::kIeee};
    case Dtype::kF8E4M3B11FNUZ: return {4, 3, 11, Extremes::kFnuz};
    case Dtype::kF8E4M3FN: return {4, 3, 7, Extremes::kFn};
    case Dtype::kF8E4M3FNUZ: return {4, 3, 8, Extremes::kFnuz};
    case Dtype::kF8E5M2: return {5, 2, 15, Extremes::kIeee};
    case Dtype::kF8E5M2FNUZ: return {5, 2, 16, Extremes::kFnuz};
    case Dtype::kF8E8M0FNU: return {8, 0, 127, Extremes::kPowers};
    case Dtype::kF16: return {5, 10, 15, Extremes::kIeee};
    case Dtype::kBF16: return {8, 7, 127, Extremes::kIeee};
    case Dtype::kF64: return {11, 52, 1023, Extremes::kIeee};
    default: return {8, 23, 127, Extremes::kIeee};
  }
}

uint64_t encode(Dtype t, double v) {
  if (t == Dtype::kF64) return std::bit_cast<uint64_t>(v);
  const FloatFormat f = format_of(t);
  if (std::isnan(v)) return encode_nan(f, std::bit_cast<uint64_t>(v));
  if (f.extremes == Extremes::kPowers) return encode_power(f, v);
  const uint64_t sign = std::signbit(v) ? sign_bit(f) : 0;
  uint64_t code = 0;
  if (std::isinf(v)) {
    code = f.max_finite() + 1;
  } else if (v != 0) {
    int e = 0;
    std::frexp(v, &e);
    const int least = 1 - f.bias;  // exponent of the smallest normal value
    const int exponent = std::min(std::max(e - 1, least), f.bias + 2);
    const double n = std::nearbyint(std::ldexp(std::fabs(v), f.mantissa_bits - exponent));
    const double top = std::ldexp(1.0, f.mantissa_bits + 2);
    code = (static_cast<uint64_t>(exponent - least) << f.mantissa_bits) +
           static_cast<uint64_t>(std::min(n, top));
  }
  if (code > f.max_finite()) {
    code = f.extremes == Extremes::kFinite ? f.max_finite() : f.max_finite() + 1;
    if (f.extremes == Extremes::kFnuz) return sign_bit(f);
  }
  if (code == 0 && f.extremes == Extremes::kFnuz) return 0;
  return sign | code;
}

double decode(Dtype t, uint64_t bits) {
  if (t == Dtype::kF64) return std::bit_cast<double>(bits);
  const FloatFormat f = format_of(t);
  const uint64_t code = bits & f.all_ones();
  if (f.extremes == Extremes::kPowers)
    return code == f.all_ones() ? std::numeric_limits<double>::quiet_NaN()
                                : std::ldexp(1.0, static_cast<int>(code) - f.bias);
  const bool negative = bits & sign_bit(f);
  const uint64_t sign = negative ? kF64Sign : 0;
  const uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  const uint64_t exponent = code >> f.mantissa_bits;
  constexpr uint64_t kF64Infinity = uint64_t{0x7ff} << 52;
  if (f.extremes == Extremes::kIeee && code >= f.infinity())
    return std::bit_cast<double>(sign | kF64Infinity | (mantissa << (52 - f.mantissa_bits)));
  if (f.extremes == Extremes::kFn && code == f.all_ones())
    return std::bit_cast<double>(sign | kF64Infinity | kF64Quiet);
  if (f.extremes == Extremes::kFnuz && code == 0 && negative)
    return std::bit_cast<double>(kF64Infinity | kF64Quiet);
  const double magnitude =
      exponent == 0
          ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
          : std::ldexp(static_cast<double>(mantissa | (uint64_t{1} << f.mantissa_bits)),
                       static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

}  // namespace braze::scalar
