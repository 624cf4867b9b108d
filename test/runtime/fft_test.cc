// SPDX-License-Identifier: Apache-2.0
// Native transforms agree with the evaluator, and have the same bits at any number of threads.
#include "runtime/fft.h"

#include "test/runtime/library_case.h"
#include "runtime/fft_line.h"

namespace braze {
namespace {

std::string join(const std::vector<int64_t>& v) {
  std::string s;
  for (int64_t n : v) s += (s.empty() ? "" : ",") + std::to_string(n);
  return s;
}

// The transform of `type` of the real or complex array `dims` over its last `count` dimensions;
// dims are those of the signal.
void expect_fft(const std::string& type, bool wide, std::vector<int64_t> dims, size_t count) {
  std::vector<int64_t> length(dims.end() - count, dims.end()), in = dims, out = dims;
  const std::string real = wide ? "f64" : "f32", complex = wide ? "c128" : "c64";
  const int64_t half = dims.back() == 0 ? 0 : dims.back() / 2 + 1;
  if (type == "RFFT") out.back() = half;
  if (type == "IRFFT") in.back() = half;
  const std::string text = "HloModule f\nENTRY main {\n x = " + (type == "RFFT" ? real : complex) + "[" +
                           join(in) + "] parameter(0)\n ROOT r = " +
                           (type == "IRFFT" ? real : complex) + "[" + join(out) +
                           "] fft(x), fft_type=" + type + ", fft_length={" + join(length) + "}\n}\n";
  expect_native(text, wide ? 2e-15 : 6e-7, 1);
}

TEST(Fft, Lengths) {
  for (std::string type : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (bool wide : {false, true})
      for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 31, 32, 49, 60, 61, 64, 67,
                        77, 100, 128, 134, 210, 256, 331})
        expect_fft(type, wide, {3, n}, 1);
}

TEST(Fft, LongLines) {
  for (std::string type : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (int64_t n : {512, 1000, 1024, 1536, 2187, 4096, 5041, 4099, 9998, 10000})
      expect_fft(type, n % 3 == 1, {1, n}, 1);
  expect_fft("RFFT", false, {2, 32768}, 1);
  expect_fft("IRFFT", false, {2, 32768}, 1);
}

TEST(Fft, Dimensions) {
  for (std::string type : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (bool wide : {false, true}) {
      expect_fft(type, wide, {37, 8}, 1);
      expect_fft(type, wide, {5, 6}, 2);
      expect_fft(type, wide, {2, 7, 33}, 2);
      expect_fft(type, wide, {3, 4, 5}, 3);
      expect_fft(type, wide, {2, 6, 1, 20}, 3);
      expect_fft(type, wide, {2, 17, 19, 22}, 3);
      expect_fft(type, wide, {2, 3, 1024}, 2);
      expect_fft(type, wide, {2, 3, 1225}, 2);
    }
}

TEST(Fft, Empty) {
  for (std::string type : {"FFT", "IFFT", "RFFT", "IRFFT"}) {
    expect_fft(type, false, {0, 4}, 1);
    expect_fft(type, false, {3, 0}, 1);
    expect_fft(type, false, {0, 3}, 2);
  }
}

TEST(Fft, NotANumberStaysInItsLine) {
  auto m = parse_hlo("HloModule f\nENTRY main {\n x = c64[40,6] parameter(0)\n ROOT r = c64[40,6] fft(x), "
                     "fft_type=FFT, fft_length={6}\n}\n");
  ASSERT_TRUE(m.ok()) << m.status();
  std::mt19937_64 rng(1);
  Literal x = random_literal((*m)->entry()->params()[0]->shape, rng);
  x.set_complex(6 * 17 + 2, {std::nan(""), 0});
  expect_native(**m, {x}, 6e-7, "NaN");
}

// Whatever part is not finite, the transform it belongs to is NaN all over, and no other.
TEST(Fft, InfinitiesSpoilTheirTransform) {
  std::mt19937_64 rng(3);
  for (std::string type : {"FFT", "IFFT", "RFFT", "IRFFT"})
    for (int64_t n : {1, 2, 3, 6, 7, 16, 31, 100, 1024, 4099})
      for (bool second : {false, true}) {
        const std::string in = type == "RFFT" ? "f32" : "c64", out = type == "IRFFT" ? "f32" : "c64";
        const std::string whole = std::to_string(n), half = std::to_string(n / 2 + 1);
        const std::string text = "HloModule f\nENTRY main {\n x = " + in + "[3,2," +
                                 (type == "IRFFT" ? half : whole) + "] parameter(0)\n ROOT r = " + out +
                                 "[3,2," + (type == "RFFT" ? half : whole) + "] fft(x), fft_type=" + type +
                                 ", fft_length={" + (second ? "2," : "") + whole + "}\n}\n";
        auto m = parse_hlo(text);
        ASSERT_TRUE(m.ok()) << m.status();
        Literal x = random_literal((*m)->entry()->params()[0]->shape, rng);
        const int64_t row = x.elements() / 6, at = 3 * row + static_cast<int64_t>(rng() % row);
        const double bad = rng() % 2 ? INFINITY : NAN;
        if (type == "RFFT") x.set_float(at, -bad);
        else if (rng() % 2) x.set_complex(at, {bad, 1});
        else x.set_complex(at, {1, bad});
        expect_native(**m, {x}, 2e-6, text);
        auto want = evaluate(**m, {x});
        ASSERT_TRUE(want.ok());
        const int64_t size = want->elements() / (second ? 3 : 6), lost = second ? 1 : 3;
        for (int64_t i = 0; i < want->elements(); ++i) {
          const bool complex = is_complex(want->dtype());
          const double re = complex ? want->get_complex(i).real() : want->get_float(i);
          const double im = complex ? want->get_complex(i).imag() : re;
          ASSERT_EQ(std::isnan(re), i / size == lost) << text << " at " << i;
          ASSERT_EQ(std::isnan(im), i / size == lost) << text << " at " << i;
        }
      }
}

TEST(Fft, Roots) {
  for (int64_t n : {1, 3, 8, 12, 1000003})
    for (int64_t k = 0; k < std::min<int64_t>(n, 50); ++k) {
      double re, im;
      unit_root(k, n, &re, &im);
      EXPECT_NEAR(re, std::cos(2 * M_PI * k / n), 1e-15) << k << "/" << n;
      EXPECT_NEAR(im, -std::sin(2 * M_PI * k / n), 1e-15) << k << "/" << n;
    }
}

}  // namespace
}  // namespace braze
