// SPDX-License-Identifier: Apache-2.0
// Floating-point formats of at most 64 bits: exact conversion to and from double, distances in
// units in the last place, and text that reads back exactly.
//
// A format is data; encode, decode and the rest are written once over it. encode rounds a double
// once, to nearest even. Overflow follows the format: to infinity where there is one, else to NaN,
// else (f4, f6) to the largest value. NaN payloads survive decode → encode in formats that have
// any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braze {

enum class FloatSpecials : uint8_t {
  kIeee,    // infinities and NaNs in the topmost exponent
  kFn,      // no infinity; NaN is all ones
  kFnuz,    // no infinity, no -0; NaN is the sign bit alone
  kFinite,  // neither; NaN becomes a zero of the other sign
  kFnu,     // unsigned powers of two; NaN is all ones; no zero
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  FloatSpecials specials = FloatSpecials::kIeee;
  constexpr int bits() const {
    return exponent_bits + mantissa_bits + (specials == FloatSpecials::kFnu ? 0 : 1);
  }
  constexpr uint64_t sign_bit() const {
    return specials == FloatSpecials::kFnu ? 0 : uint64_t{1} << (bits() - 1);
  }
  constexpr uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  constexpr uint64_t exponent_mask() const { return (uint64_t{1} << exponent_bits) - 1; }
  uint64_t max_bits() const;  // pattern of the largest finite value
  uint64_t nan_bits() const;  // pattern of the default NaN; kFinite: -0
};

inline constexpr FloatFormat kF4E2M1FNFormat{2, 1, 1, FloatSpecials::kFinite};
inline constexpr FloatFormat kF6E2M3FNFormat{2, 3, 1, FloatSpecials::kFinite};
inline constexpr FloatFormat kF6E3M2FNFormat{3, 2, 3, FloatSpecials::kFinite};
inline constexpr FloatFormat kF8E3M4Format{3, 4, 3};
inline constexpr FloatFormat kF8E4M3Format{4, 3, 7};
inline constexpr FloatFormat kF8E4M3B11FNUZFormat{4, 3, 11, FloatSpecials::kFnuz};
inline constexpr FloatFormat kF8E4M3FNFormat{4, 3, 7, FloatSpecials::kFn};
inline constexpr FloatFormat kF8E4M3FNUZFormat{4, 3, 8, FloatSpecials::kFnuz};
inline constexpr FloatFormat kF8E5M2Format{5, 2, 15};
inline constexpr FloatFormat kF8E5M2FNUZFormat{5, 2, 16, FloatSpecials::kFnuz};
inline constexpr FloatFormat kF8E8M0FNUFormat{8, 0, 127, FloatSpecials::kFnu};
inline constexpr FloatFormat kF16Format{5, 10, 15};
inline constexpr FloatFormat kBF16Format{8, 7, 127};
inline constexpr FloatFormat kF32Format{8, 23, 127};
inline constexpr FloatFormat kF64Format{11, 52, 1023};

uint64_t encode(const FloatFormat& f, double v);
double decode(const FloatFormat& f, uint64_t bits);
// The value of format f nearest to v.
inline double round_to(const FloatFormat& f, double v) { return decode(f, encode(f, v)); }
bool is_nan(const FloatFormat& f, uint64_t bits);
bool is_finite(const FloatFormat& f, uint64_t bits);

// The common formats without a table.
uint16_t f16_from_float(float v);
float f16_to_float(uint16_t bits);
uint16_t bf16_from_float(float v);
float bf16_to_float(uint16_t bits);

// How many values of the format lie between a and b (after rounding both to it): 0 for equal
// values, for +0 and -0, and for two NaNs; INT64_MAX if only one is NaN or the distance does not
// fit.
int64_t ulp_distance(const FloatFormat& f, double a, double b);
inline int64_t ulp_distance(float a, float b) { return ulp_distance(kF32Format, a, b); }
inline int64_t ulp_distance(double a, double b) { return ulp_distance(kF64Format, a, b); }

// Fewest decimal digits that parse_float reads back as these bits: "1.5", "1e-07", "inf", "-nan",
// "nan(0x1)" for a NaN with another payload than the default one.
std::string float_text(const FloatFormat& f, uint64_t bits);
std::string double_text(double v);
// The bits of a number, or nothing if `text` as a whole isn't one. Reads what float_text writes,
// and
// "+1", "infinity", hexadecimal floats ("0x1.8p3"). Numbers too large become the format's overflow.
std::optional<uint64_t> parse_float(const FloatFormat& f, std::string_view text);
std::optional<double> parse_double(std::string_view text);
// A decimal integer in [-2^63, 2^64), the upper half as its bits.
std::optional<int64_t> parse_int(std::string_view text);

}  // namespace braze
