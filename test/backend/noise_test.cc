// SPDX-License-Identifier: Apache-2.0
// What noise explains and what it does not.
#include "backend/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

std::vector<Literal> noisy_values(const Module& m, const Literal& arg, uint64_t runs) {
  std::vector<Literal> out;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    auto v = evaluate(*with_noise(m, seed), {arg});
    EXPECT_TRUE(v.ok()) << v.status();
    if (v.ok()) out.push_back(*std::move(v));
  }
  return out;
}

// Whether `got` in place of each element of the program's value on `arg` is within noise.
bool explained(const char* text, const Literal& arg, double got, uint64_t runs = 24) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  auto want = evaluate(**m, {arg});
  EXPECT_TRUE(want.ok()) << want.status();
  Literal other = *want;
  for (int64_t i = 0; i < other.elements(); ++i) other.set_float(i, got);
  std::string why;
  return agree_within_noise(other, *want, noisy_values(**m, arg, runs), &why);
}

constexpr char kCholesky[] = R"(HloModule m
ENTRY main { x = f32[3,3] parameter(0)
  ROOT r = f32[3,3] cholesky(x), lower=true })";

// All entries are alike: the smaller eigenvalues are zero, and roundings decide whether there is a factor.
TEST(Noise, NearlySingularMatricesAreOpen) {
  Literal x(Shape::array(Dtype::kF32, {3, 3}));
  for (int64_t i = 0; i < 9; ++i) x.set_float(i, 6.447616);
  auto m = parse_hlo(kCholesky);
  ASSERT_TRUE(m.ok()) << m.status();
  int factors = 0, none = 0;
  for (const Literal& l : noisy_values(**m, x, 6)) ++(std::isnan(l.get_float(0)) ? none : factors);
  EXPECT_GT(factors, 0);
  EXPECT_GT(none, 0);
}

TEST(Noise, DefiniteMatricesAreNot) {
  Literal x(Shape::array(Dtype::kF32, {3, 3}));
  for (int64_t i = 0; i < 9; ++i) x.set_float(i, i % 4 == 0 ? 3 : 1);
  EXPECT_FALSE(explained(kCholesky, x, std::nan("")));
  for (int64_t i = 0; i < 9; ++i) x.set_float(i, i % 4 == 0 ? 1 : 3);  // no factor at all
  EXPECT_FALSE(explained(kCholesky, x, 1));
}

constexpr char kPole[] = R"(HloModule m
ENTRY main { x = f32[1] parameter(0)
  t = f32[1] tanh(x)
  one = f32[1] constant({1})
  d = f32[1] subtract(one, t)
  ROOT r = f32[1] log(d) })";

// tanh(9) is 1 - 2^-25 before rounding: its neighbour's logarithm is -inf.
TEST(Noise, TheBorderOfADomainIsOpen) {
  EXPECT_TRUE(explained(kPole, Literal::of(Dtype::kF32, {1}, {9.0}), -INFINITY));
  EXPECT_FALSE(explained(kPole, Literal::of(Dtype::kF32, {1}, {1.0}), -INFINITY));
  EXPECT_FALSE(explained(kPole, Literal::of(Dtype::kF32, {1}, {1.0}), std::nan("")));
}

}  // namespace
}  // namespace braze
