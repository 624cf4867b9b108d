// SPDX-License-Identifier: Apache-2.0
// Products of bf16 where values or sums are denormal: the instruction that multiplies pairs would take them for
// zeros, so its kernels notice and take another way.
#include <random>

#include "test/backend/agree.h"

namespace braze {
namespace {

// bf16 [m,k] by [k,n] into f32, or by [n,k] if `transposed`.
std::string product(int64_t m, int64_t k, int64_t n, bool transposed) {
  return str_cat("HloModule p\nENTRY e { x = bf16[", m, ",", k, "] parameter(0)\n y = bf16[",
                 transposed ? str_cat(n, ",", k) : str_cat(k, ",", n), "] parameter(1)\n ROOT r = f32[", m, ",", n,
                 "] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={", transposed ? 1 : 0, "} }\n");
}

// One in `period` elements is `odd`, the others are normal numbers of about `scale`.
Literal values(std::vector<int64_t> dims, double scale, int64_t period, double odd, uint32_t seed) {
  Literal l(Shape::array(Dtype::kBF16, Dims(dims.begin(), dims.end())));
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, i % period == period - 1 ? odd : scale * normal(rng));
  return l;
}

// Every sum against one of exact products in f64: within the rounding of sums as large, none flushed.
void expect_exact(int64_t m, int64_t k, int64_t n, bool transposed, const Literal& x, const Literal& y) {
  auto module = parse_hlo(product(m, k, n, transposed));
  ASSERT_TRUE(module.ok()) << module.status();
  auto exe = compile(std::move(*module));
  ASSERT_TRUE(exe.ok()) << exe.status();
  auto got = (*exe)->run({x, y});
  ASSERT_TRUE(got.ok()) << got.status();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t q = 0; q < k; ++q) {
        const double p = x.get_float(i * k + q) * y.get_float(transposed ? j * k + q : q * n + j);
        sum += p;
        size += std::abs(p);
      }
      const double room = static_cast<double>(k) * (size * 0x1p-24 + 0x1p-149);
      ASSERT_NEAR(got->get_float(i * n + j), sum, room) << m << "x" << k << "x" << n << " at " << i << "," << j;
    }
}

constexpr int64_t kSizes[][3] = {{33, 70, 40}, {64, 129, 130}, {130, 1700, 17}, {8, 6, 300}};

TEST(Bf16Product, DenormalOperandsCount) {
  for (const auto& [m, k, n] : kSizes)
    for (const bool transposed : {false, true}) {
      const auto y = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
      expect_exact(m, k, n, transposed, values({m, k}, 0, 5, 0x1p-130, 1), values(y, 0, 1, 0x1p120, 2));
      expect_exact(m, k, n, transposed, values({m, k}, 0, 1, 0x1p100, 3), values(y, 0, 5, -0x1p-133, 4));
    }
}

TEST(Bf16Product, DenormalSumsCount) {
  for (const auto& [m, k, n] : kSizes)
    for (const bool transposed : {false, true}) {
      const auto y = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
      expect_exact(m, k, n, transposed, values({m, k}, 0x1p-65, 9, 0, 1), values(y, 0x1p-70, 11, 0, 2));
      // One tile of many has small numbers.
      Literal x = values({m, k}, 1, 13, 0, 5);
      x.set_float((m / 2) * k + k / 2, 0x1p-126);
      expect_exact(m, k, n, transposed, x, values(y, 0x1p-12, 11, 0x1p-14, 6));
    }
}

TEST(Bf16Product, NumbersWithoutLimitCount) {
  const double inf = std::numeric_limits<double>::infinity();
  Literal x = values({40, 64}, 1, 64, 1, 1), y = values({64, 48}, 1, 48, 2, 2);
  x.set_float(3 * 64 + 7, inf);
  x.set_float(9 * 64 + 1, std::nan(""));
  auto module = parse_hlo(product(40, 64, 48, false));
  ASSERT_TRUE(module.ok());
  auto exe = compile(std::move(*module));
  ASSERT_TRUE(exe.ok());
  auto got = (*exe)->run({x, y});
  ASSERT_TRUE(got.ok());
  for (int64_t j = 0; j < 48; ++j) {
    EXPECT_EQ(got->get_float(3 * 48 + j), y.get_float(7 * 48 + j) > 0 ? inf : -inf) << j;
    EXPECT_TRUE(std::isnan(got->get_float(9 * 48 + j))) << j;
    EXPECT_TRUE(std::isfinite(got->get_float(4 * 48 + j))) << j;
  }
}

}  // namespace
}  // namespace braze
