// SPDX-License-Identifier: Apache-2.0
#include "base/floats.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace braze {
namespace {

constexpr int kDoubleMantissa = 52;
constexpr uint64_t kDoubleMantissaMask = (uint64_t{1} << kDoubleMantissa) - 1;

// m / 2^shift, rounded to nearest even. 0 < shift; m < 2^53.
uint64_t shift_round(uint64_t m, int shift) {
  if (shift > 54) return 0;
  uint64_t q = m >> shift, rest = m & ((uint64_t{1} << shift) - 1),
           half = uint64_t{1} << (shift - 1);
  return q + (rest > half || (rest == half && (q & 1)));
}

uint64_t encode_nan(const FloatFormat& f, uint64_t double_bits, uint64_t sign) {
  switch (f.specials) {
    case FloatSpecials::kIeee: {
      uint64_t payload = (double_bits & kDoubleMantissaMask) >> (kDoubleMantissa - f.mantissa_bits);
      if (payload == 0) payload = uint64_t{1} << (f.mantissa_bits - 1);
      return sign | f.exponent_mask() << f.mantissa_bits | payload;
    }
    case FloatSpecials::kFn:
      return sign | f.nan_bits();
    case FloatSpecials::kFinite:
      return sign ^ f.sign_bit();
    default:
      return f.nan_bits();
  }
}

uint64_t encode_overflow(const FloatFormat& f, uint64_t sign) {
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return sign | f.exponent_mask() << f.mantissa_bits;
    case FloatSpecials::kFn:
      return sign | f.nan_bits();
    case FloatSpecials::kFinite:
      return sign | f.max_bits();
    default:
      return f.nan_bits();
  }
}

// Position of a pattern in the order of the values; +0 and -0 at 0.
int64_t rank_of(const FloatFormat& f, uint64_t bits) {
  int64_t magnitude = static_cast<int64_t>(bits & ~f.sign_bit());
  return (bits & f.sign_bit()) ? -magnitude : magnitude;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i)
    if ((text[i] | 0x20) != word[i]) return false;
  return true;
}

std::optional<uint64_t> parse_hex(std::string_view text) {
  uint64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

// nan, nan(0x…), inf, infinity after the sign; nothing if `text` is none of these.
std::optional<uint64_t> parse_special(const FloatFormat& f, std::string_view text, bool negative) {
  const double sign = negative ? -1.0 : 1.0;
  if (starts_with_word(text, "inf")) {
    if (text.size() != 3 && !(text.size() == 8 && starts_with_word(text, "infinity")))
      return std::nullopt;
    return encode(f, sign * std::numeric_limits<double>::infinity());
  }
  if (!starts_with_word(text, "nan")) return std::nullopt;
  uint64_t bits = encode(f, std::copysign(std::numeric_limits<double>::quiet_NaN(), sign));
  text.remove_prefix(3);
  if (text.empty()) return bits;
  if (text.size() < 5 || text.substr(0, 3) != "(0x" || text.back() != ')') return std::nullopt;
  auto payload = parse_hex(text.substr(3, text.size() - 4));
  if (!payload) return std::nullopt;
  if (f.specials != FloatSpecials::kIeee) return bits;
  if ((*payload & f.mantissa_mask()) == 0) return std::nullopt;
  return (bits & ~f.mantissa_mask()) | (*payload & f.mantissa_mask());
}

// Parses digits without sign as T. Out of range: infinity or zero, by the exponent's direction.
template <typename T>
std::optional<T> parse_digits(std::string_view text) {
  auto format = std::chars_format::general;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  if (text.empty() || !(std::isxdigit(static_cast<unsigned char>(text[0])) || text[0] == '.'))
    return std::nullopt;
  T v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, format);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return v;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // from_chars does not tell overflow from underflow; strtod does.
  std::string copy(format == std::chars_format::hex ? "0x" : "");
  copy += text;
  if constexpr (std::is_same_v<T, float>)
    return std::strtof(copy.c_str(), nullptr);
  else
    return std::strtod(copy.c_str(), nullptr);
}

template <typename T>
std::string shortest(T v) {
  char buffer[64];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
  return std::string(buffer, r.ptr);
}

}  // namespace

uint64_t FloatFormat::max_bits() const {
  switch (specials) {
    case FloatSpecials::kIeee:
      return (exponent_mask() << mantissa_bits) - 1;
    case FloatSpecials::kFn:
      return (exponent_mask() << mantissa_bits | mantissa_mask()) - 1;
    case FloatSpecials::kFnu:
      return exponent_mask() - 1;
    default:
      return exponent_mask() << mantissa_bits | mantissa_mask();
  }
}

uint64_t FloatFormat::nan_bits() const {
  switch (specials) {
    case FloatSpecials::kIeee:
      return exponent_mask() << mantissa_bits | uint64_t{1} << (mantissa_bits - 1);
    case FloatSpecials::kFn:
    case FloatSpecials::kFnu:
      return exponent_mask() << mantissa_bits | mantissa_mask();
    default:
      return sign_bit();
  }
}

uint64_t encode(const FloatFormat& f, double v) {
  const uint64_t d = std::bit_cast<uint64_t>(v);
  const bool negative = d >> 63;
  const uint64_t sign = negative ? f.sign_bit() : 0;
  if (std::isnan(v)) return encode_nan(f, d, sign);
  const bool no_negative = f.specials == FloatSpecials::kFnu;
  if (no_negative && (negative || v == 0)) return f.nan_bits();
  if (std::isinf(v)) return encode_overflow(f, sign);
  const bool no_negative_zero = f.specials == FloatSpecials::kFnuz;
  if (v == 0) return no_negative_zero ? 0 : sign;

  const int biased = static_cast<int>(d >> kDoubleMantissa & 0x7ff);
  const uint64_t m = (d & kDoubleMantissaMask) | (biased ? uint64_t{1} << kDoubleMantissa : 0);
  const int exponent = biased ? biased - 1023 : -1022;
  if (no_negative && exponent < -f.bias) return 0;  // below the least power of two
  // Scale of the result: exponents below the least normal one share its scale.
  const int least = no_negative ? -f.bias : 1 - f.bias;
  const int scale = exponent < least ? least : exponent;
  const int shift = kDoubleMantissa - f.mantissa_bits + (scale - exponent);
  const uint64_t q = shift == 0 ? m : shift_round(m, shift);
  // q holds the hidden bit, so that adding it carries into the exponent field as it must.
  const uint64_t magnitude = (static_cast<uint64_t>(scale + f.bias - 1) << f.mantissa_bits) + q;
  if (magnitude > f.max_bits()) return encode_overflow(f, sign);
  if (magnitude == 0 && no_negative_zero) return 0;
  return sign | magnitude;
}

bool is_nan(const FloatFormat& f, uint64_t bits) {
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return (bits & ~f.sign_bit()) > f.exponent_mask() << f.mantissa_bits;
    case FloatSpecials::kFn:
    case FloatSpecials::kFnu:
      return (bits & ~f.sign_bit()) == f.nan_bits();
    case FloatSpecials::kFnuz:
      return bits == f.nan_bits();
    case FloatSpecials::kFinite:
      return false;
  }
  return false;
}

bool is_finite(const FloatFormat& f, uint64_t bits) {
  return !is_nan(f, bits) && (bits & ~f.sign_bit()) <= f.max_bits();
}

double decode(const FloatFormat& f, uint64_t bits) {
  const bool negative = f.sign_bit() && (bits & f.sign_bit());
  const uint64_t sign = negative ? uint64_t{1} << 63 : 0;
  const uint64_t magnitude = bits & ~f.sign_bit();
  const uint64_t mantissa = magnitude & f.mantissa_mask();
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  if (is_nan(f, bits)) {
    uint64_t payload = f.specials == FloatSpecials::kIeee
                           ? mantissa << (kDoubleMantissa - f.mantissa_bits)
                           : uint64_t{1} << (kDoubleMantissa - 1);
    const bool keep_sign = f.specials == FloatSpecials::kIeee || f.specials == FloatSpecials::kFn;
    return std::bit_cast<double>((keep_sign ? sign : 0) | uint64_t{0x7ff} << 52 | payload);
  }
  if (magnitude > f.max_bits()) return std::bit_cast<double>(sign | uint64_t{0x7ff} << 52);
  if (f.specials == FloatSpecials::kFnu) return std::ldexp(1.0, exponent - f.bias);
  const double v = exponent == 0
                       ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
                       : std::ldexp(static_cast<double>(mantissa | uint64_t{1} << f.mantissa_bits),
                                    exponent - f.bias - f.mantissa_bits);
  return negative ? -v : v;
}

uint16_t f16_from_float(float v) { return static_cast<uint16_t>(encode(kF16Format, v)); }

float f16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Reading the bits 112 exponents too low and scaling back treats subnormals right, exactly.
  const float v = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
}

uint16_t bf16_from_float(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  if (std::isnan(v)) {
    uint16_t top = static_cast<uint16_t>(bits >> 16);
    return (top & 0x7f) ? top : top | 0x40;
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

int64_t ulp_distance(const FloatFormat& f, double a, double b) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  const uint64_t x = encode(f, a), y = encode(f, b);
  if (is_nan(f, x) || is_nan(f, y)) return is_nan(f, x) && is_nan(f, y) ? 0 : kFar;
  const int64_t i = rank_of(f, x), j = rank_of(f, y);
  const uint64_t distance = i > j ? static_cast<uint64_t>(i) - static_cast<uint64_t>(j)
                                  : static_cast<uint64_t>(j) - static_cast<uint64_t>(i);
  return distance > static_cast<uint64_t>(kFar) ? kFar : static_cast<int64_t>(distance);
}

std::string float_text(const FloatFormat& f, uint64_t bits) {
  const double v = decode(f, bits);
  if (is_nan(f, bits)) {
    std::string out = std::signbit(v) ? "-nan" : "nan";
    if (f.specials != FloatSpecials::kIeee || (bits & ~f.sign_bit()) == f.nan_bits()) return out;
    char buffer[32];
    auto r = std::to_chars(buffer, buffer + sizeof buffer, bits & f.mantissa_mask(), 16);
    return out + "(0x" + std::string(buffer, r.ptr) + ")";
  }
  if (f.mantissa_bits == kDoubleMantissa) return shortest(v);
  if (f.mantissa_bits == 23) return shortest(static_cast<float>(v));
  char buffer[64];
  for (int digits = 1; digits <= 9; ++digits) {
    auto r = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::general, digits);
    std::string_view text(buffer, r.ptr - buffer);
    if (auto back = parse_float(f, text); back && *back == bits) return std::string(text);
  }
  return shortest(v);
}

std::string double_text(double v) { return float_text(kF64Format, std::bit_cast<uint64_t>(v)); }

std::optional<uint64_t> parse_float(const FloatFormat& f, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  if (auto special = parse_special(f, text, negative)) return special;
  // f32 is read directly; narrower formats through double, which is exact for all but inputs within
  // 2^-53 of a tie.
  if (f.mantissa_bits == 23) {
    auto v = parse_digits<float>(text);
    if (!v) return std::nullopt;
    return std::bit_cast<uint32_t>(negative ? -*v : *v);
  }
  auto v = parse_digits<double>(text);
  if (!v) return std::nullopt;
  return encode(f, negative ? -*v : *v);
}

std::optional<double> parse_double(std::string_view text) {
  auto bits = parse_float(kF64Format, text);
  if (!bits) return std::nullopt;
  return std::bit_cast<double>(*bits);
}

std::optional<int64_t> parse_int(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  if (!text.empty() && text[0] == '-') {
    int64_t v = 0;
    auto [p, error] = std::from_chars(text.data(), end, v);
    if (error != std::errc() || p != end) return std::nullopt;
    return v;
  }
  uint64_t v = 0;
  auto [p, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || p != end) return std::nullopt;
  return static_cast<int64_t>(v);
}

}  // namespace braze
