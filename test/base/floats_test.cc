// SPDX-License-Identifier: Apache-2.0
#include "base/floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace braze {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Named {
  const char* name;
  FloatFormat f;
};
constexpr Named kNarrow[] = {
    {"f4e2m1fn", kF4E2M1FNFormat},   {"f6e2m3fn", kF6E2M3FNFormat},
    {"f6e3m2fn", kF6E3M2FNFormat},   {"f8e3m4", kF8E3M4Format},
    {"f8e4m3", kF8E4M3Format},       {"f8e4m3b11fnuz", kF8E4M3B11FNUZFormat},
    {"f8e4m3fn", kF8E4M3FNFormat},   {"f8e4m3fnuz", kF8E4M3FNUZFormat},
    {"f8e5m2", kF8E5M2Format},       {"f8e5m2fnuz", kF8E5M2FNUZFormat},
    {"f8e8m0fnu", kF8E8M0FNUFormat}, {"f16", kF16Format},
    {"bf16", kBF16Format},
};

TEST(Floats, EveryPatternRoundTrips) {
  for (const Named& n : kNarrow) {
    SCOPED_TRACE(n.name);
    for (uint64_t bits = 0; bits < uint64_t{1} << n.f.bits(); ++bits) {
      ASSERT_EQ(encode(n.f, decode(n.f, bits)), bits) << std::hex << bits;
      auto back = parse_float(n.f, float_text(n.f, bits));
      ASSERT_TRUE(back.has_value()) << float_text(n.f, bits);
      ASSERT_EQ(*back, bits) << float_text(n.f, bits);
      EXPECT_EQ(is_nan(n.f, bits), std::isnan(decode(n.f, bits)));
      EXPECT_EQ(is_finite(n.f, bits), std::isfinite(decode(n.f, bits)));
    }
  }
}

// Between neighbours: the midpoint goes to the even pattern, anything off it to the nearer one.
TEST(Floats, RoundsToNearestEven) {
  for (const Named& n : kNarrow) {
    SCOPED_TRACE(n.name);
    const bool powers = n.f.specials == FloatSpecials::kFnu;
    for (uint64_t bits = 0; bits < n.f.max_bits(); ++bits) {
      const double a = decode(n.f, bits), b = decode(n.f, bits + 1), mid = a + (b - a) / 2;
      ASSERT_LT(a, b);
      const uint64_t even = powers || (bits & 1) ? bits + 1 : bits;
      EXPECT_EQ(encode(n.f, mid), even) << mid;
      EXPECT_EQ(encode(n.f, std::nextafter(mid, 0)), bits) << mid;
      EXPECT_EQ(encode(n.f, std::nextafter(mid, kInf)), bits + 1) << mid;
      EXPECT_EQ(ulp_distance(n.f, a, b), 1);
    }
  }
}

TEST(Floats, OverflowAndSpecials) {
  EXPECT_EQ(encode(kF8E4M3FNFormat, 464), 0x7e);  // a tie with the pattern after the last
  EXPECT_EQ(encode(kF8E4M3FNFormat, 465), 0x7f);  // NaN
  EXPECT_EQ(encode(kF8E4M3FNFormat, -kInf), 0xff);
  EXPECT_EQ(encode(kF8E4M3Format, 248), 0x78);  // infinity
  EXPECT_EQ(encode(kF8E4M3Format, 247), 0x77);
  EXPECT_EQ(encode(kF8E4M3FNUZFormat, 1e9), 0x80);
  EXPECT_EQ(encode(kF8E4M3FNUZFormat, -0.0), 0x00);
  EXPECT_EQ(encode(kF8E4M3FNUZFormat, -1e-9), 0x00);
  EXPECT_EQ(encode(kF8E4M3B11FNUZFormat, kNan), 0x80);
  EXPECT_EQ(encode(kF8E5M2Format, kNan), 0x7e);
  EXPECT_EQ(encode(kF8E5M2Format, -kNan), 0xfe);
  EXPECT_EQ(encode(kF8E5M2Format, 61440), 0x7c);
  EXPECT_EQ(encode(kF8E3M4Format, kInf), 0x70);
  EXPECT_EQ(encode(kF4E2M1FNFormat, 1e9), 0x7);  // saturates
  EXPECT_EQ(encode(kF4E2M1FNFormat, -kInf), 0xf);
  EXPECT_EQ(encode(kF4E2M1FNFormat, kNan), 0x8);
  EXPECT_EQ(encode(kF6E3M2FNFormat, 29), 0x1f);
  EXPECT_EQ(encode(kF8E8M0FNUFormat, 0), 0xff);
  EXPECT_EQ(encode(kF8E8M0FNUFormat, -1), 0xff);
  EXPECT_EQ(encode(kF8E8M0FNUFormat, 1e-300), 0x00);
  EXPECT_EQ(encode(kF8E8M0FNUFormat, 1.5), 0x80);
  EXPECT_EQ(encode(kF8E8M0FNUFormat, kInf), 0xff);
  EXPECT_EQ(encode(kF16Format, 65520), 0x7c00);
  EXPECT_EQ(encode(kF16Format, 65519.99), 0x7bff);
  // One rounding: through f32 this would tie and go down.
  EXPECT_EQ(encode(kF16Format, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(encode(kBF16Format, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(encode(kF64Format, 5e-324), 1u);
}

TEST(Floats, FastPathsAgreeWithTheTable) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 200000; ++i) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(rng()));
    if (std::isnan(v)) continue;
    ASSERT_EQ(f16_from_float(v), encode(kF16Format, v)) << v;
    ASSERT_EQ(bf16_from_float(v), encode(kBF16Format, v)) << v;
    ASSERT_EQ(encode(kF32Format, v), std::bit_cast<uint32_t>(v));
    const double d = std::bit_cast<double>(rng());
    if (std::isnan(d)) continue;
    ASSERT_EQ(encode(kF32Format, d), std::bit_cast<uint32_t>(static_cast<float>(d))) << d;
    ASSERT_EQ(encode(kF64Format, d), std::bit_cast<uint64_t>(d));
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t b = static_cast<uint16_t>(bits);
    if (!is_nan(kF16Format, b)) {
      ASSERT_EQ(f16_to_float(b), decode(kF16Format, b));
      ASSERT_EQ(std::signbit(f16_to_float(b)), std::signbit(decode(kF16Format, b)));
    }
    if (!is_nan(kBF16Format, b)) {
      ASSERT_EQ(bf16_to_float(b), decode(kBF16Format, b));
    }
  }
}

TEST(Floats, Distances) {
  EXPECT_EQ(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)), 1);
  EXPECT_EQ(ulp_distance(0.0, -0.0), 0);
  EXPECT_EQ(ulp_distance(-5e-324, 5e-324), 2);
  EXPECT_EQ(ulp_distance(kNan, kNan), 0);
  EXPECT_EQ(ulp_distance(kNan, 1.0), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ulp_distance(-kInf, kInf), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ulp_distance(kBF16Format, 1.0, 1.0 + 0x1p-7), 1);
}

TEST(Floats, TextReadsBack) {
  EXPECT_EQ(double_text(0.1), "0.1");
  EXPECT_EQ(float_text(kF32Format, std::bit_cast<uint32_t>(0.1f)), "0.1");
  EXPECT_EQ(double_text(-0.0), "-0");
  EXPECT_EQ(double_text(kInf), "inf");
  EXPECT_EQ(double_text(-kInf), "-inf");
  EXPECT_EQ(float_text(kF16Format, 0xfe00), "-nan");
  EXPECT_EQ(float_text(kF16Format, 0x7c01), "nan(0x1)");
  EXPECT_EQ(float_text(kF16Format, 0x3555), "0.3333");
  std::mt19937_64 rng(2);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t d = rng();
    ASSERT_EQ(parse_float(kF64Format, float_text(kF64Format, d)), d);
    const uint32_t f = static_cast<uint32_t>(rng());
    ASSERT_EQ(parse_float(kF32Format, float_text(kF32Format, f)), f);
  }
  EXPECT_EQ(parse_double("1e400"), kInf);
  EXPECT_EQ(parse_double("-1e400"), -kInf);
  EXPECT_EQ(parse_double("1e-400"), 0.0);
  EXPECT_EQ(parse_double("+0x1.8p1"), 3.0);
  EXPECT_EQ(parse_double(".5"), 0.5);
  EXPECT_TRUE(std::isnan(*parse_double("-nan")));
  for (const char* bad : {"", "-", "+", "1.0x", "nanx", "nan()", "infx", "--1", "e5", "0x"})
    EXPECT_FALSE(parse_double(bad).has_value()) << bad;
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_int("18446744073709551615"), -1);
  EXPECT_FALSE(parse_int("18446744073709551616").has_value());
  EXPECT_FALSE(parse_int("1.5").has_value());
  EXPECT_FALSE(parse_int("").has_value());
}

}  // namespace
}  // namespace braze
