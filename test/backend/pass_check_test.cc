// SPDX-License-Identifier: Apache-2.0
// Checks find what is wrong: passes that change results, modules that break the law, distances.
#include "backend/pass_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/bisect.h"
#include "backend/compare.h"
#include "backend/compile.h"
#include "text/parse.h"

namespace braze {
namespace {

std::unique_ptr<Module> parsed(std::string_view body) {
  auto m = parse_hlo(str_cat("HloModule m\nENTRY e {\n", body, "}\n"));
  EXPECT_TRUE(m.ok()) << m.status();
  return std::move(*m);
}

TEST(PassCheck, NamesThePassThatChangedTheResult) {
  auto right = parsed(" x = f32[8] parameter(0)\n ROOT y = f32[8] add(x, x)\n");
  auto same = parsed(" x = f32[8] parameter(0)\n y = f32[8] add(x, x)\n ROOT z = f32[8] copy(y)\n");
  auto wrong = parsed(" x = f32[8] parameter(0)\n ROOT y = f32[8] multiply(x, x)\n");
  auto checker = PassChecker::create(*right);
  auto verdict = checker->check("copies", *same);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(*verdict, "check copies: same bits");
  verdict = checker->check("breaks", *wrong);
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.status().message().find("pass breaks changed the result: 8 of 8 elements"),
            absl::string_view::npos)
      << verdict.status();
}

TEST(PassCheck, SaysHowFarWithinTheTolerance) {
  auto one = parsed(" x = f32[64] parameter(0)\n ROOT y = f32[64] exponential(x)\n");
  auto other = parsed(
      " x = f32[64] parameter(0)\n o = f32[] constant(1)\n b = f32[64] broadcast(o), "
      "dimensions={}\n"
      " e = f32[64] exponential-minus-one(x)\n ROOT y = f32[64] add(e, b)\n");
  auto verdict = PassChecker::create(*one)->check("rounds", *other);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_NE(verdict->find("ulp"), std::string::npos) << *verdict;
}

TEST(PassCheck, WhatCannotBeEvaluatedIsSaidAndPasses) {
  auto m = parsed(" t = token[] after-all()\n i = (f32[2], token[]) infeed(t)\n"
                  " ROOT x = f32[2] get-tuple-element(i), index=0\n");
  auto verdict = PassChecker::create(*m)->check("any", *m);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_NE(verdict->find("not evaluated"), std::string::npos) << *verdict;
}

TEST(CheckEngines, ARightProgramHasNothingToBisect) {
  auto m = parsed(" x = f32[8] parameter(0)\n c = f32[8] copy(x)\n ROOT y = f32[8] add(c, x)\n");
  CompileOptions options;
  auto verdict = check_engines(*m, options);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  auto b = bisect(*m, options, nullptr);
  ASSERT_TRUE(b.ok()) << b.status();
  EXPECT_EQ(b->fuel, -1);
  EXPECT_NE(b->verdict.find("is right with all"), std::string::npos) << b->verdict;
}

TEST(Compare, UlpsCountRepresentableValues) {
  auto ulps = [](Dtype t, double a, double b) {
    Literal x = Literal::scalar(t, a), y = Literal::scalar(t, b);
    return difference(x, y).max_ulp;
  };
  EXPECT_EQ(ulps(Dtype::kF32, 1, std::nextafterf(1, 2)), 1);
  EXPECT_EQ(ulps(Dtype::kF64, 1, std::nextafter(1, 0)), 1);
  EXPECT_EQ(ulps(Dtype::kF32, 1, 1), 0);
  const double tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulps(Dtype::kF32, -tiny, tiny), 2);  // through zero
  EXPECT_EQ(ulps(Dtype::kBF16, 1, 1.0078125), 1);
  EXPECT_EQ(ulps(Dtype::kF8E4M3FN, 1, 1.25), 2);
  EXPECT_GT(ulps(Dtype::kF64, -1e300, 1e300), int64_t{1} << 62);
}

TEST(Compare, PartsOfComplexNumbersCountOneByOne) {
  using C = std::complex<double>;
  const double inf = std::numeric_limits<double>::infinity();
  auto pair = [](C a) { return Literal::of<C>(Dtype::kC64, {1}, {a}); };
  std::string why;
  EXPECT_TRUE(close_by_type(pair({inf, 1}), pair({inf, 1.0000001}), &why)) << why;
  EXPECT_FALSE(close_by_type(pair({inf, 1}), pair({inf, 2}), &why));
  EXPECT_FALSE(close_by_type(pair({inf, 1}), pair({-inf, 1}), &why));
}

}  // namespace
}  // namespace braze
