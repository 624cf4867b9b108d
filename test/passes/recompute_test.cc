// SPDX-License-Identifier: Apache-2.0
// Cheap values are computed again where they are read late, only if that keeps nothing else alive.
#include "passes/recompute.h"

#include <gtest/gtest.h>

#include "analysis/verify.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

constexpr char kShape[] = "f32[128,128]";

// `early` defines values from x, among them `a`; eighty operations later, `late` reads d, which hangs
// on a, and what it likes of the others.
std::string program(const std::string& early, const std::string& late) {
  const std::string s = kShape;
  std::string text = "HloModule t\nENTRY main {\nx = " + s + " parameter(0)\nrow = f32[128] parameter(1)\n" +
                     early + "d0 = " + s + " negate(a)\n";
  for (int i = 1; i <= 80; ++i)
    text += "d" + std::to_string(i) + " = " + s + " sine(d" + std::to_string(i - 1) + ")\n";
  return text + "d = " + s + " negate(d80)\n" + late + "}\n";
}

// How many instructions the pass adds; the program's value must not change by a bit.
int64_t added(const std::string& text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status() << text;
  if (!m.ok()) return -1;
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) {
    Literal l(p->shape);
    for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, ((i * 37 + 11) % 64 - 31) * 0.037);
    args.push_back(std::move(l));
  }
  auto want = evaluate(**m, args);
  EXPECT_TRUE(want.ok()) << want.status();
  const int64_t before = (*m)->entry()->size();
  EXPECT_TRUE(recompute(**m).ok());
  EXPECT_TRUE(verify(**m).ok()) << verify(**m);
  auto got = evaluate(**m, args);
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << text;
  return (*m)->entry()->size() - before;
}

TEST(Recompute, ReadsWhatLivesAnyway) {
  EXPECT_EQ(added(program("h = f32[128,128] multiply(x, x)\na = f32[128,128] tanh(h)\n",
                          "g = f32[128,128] multiply(d, h)\nROOT k = f32[128,128] add(g, x)\n")),
            1);
}

TEST(Recompute, ChainsAreRepeatedWhole) {
  EXPECT_EQ(added(program("h = f32[128,128] multiply(x, x)\nn = f32[128,128] negate(h)\n"
                          "a = f32[128,128] tanh(n)\n",
                          "g = f32[128,128] multiply(d, n)\nROOT k = f32[128,128] add(g, x)\n")),
            2);
}

TEST(Recompute, BroadcastsOfSmallValues) {
  EXPECT_EQ(added(program("b = f32[128,128] broadcast(row), dimensions={1}\n"
                          "a = f32[128,128] add(x, b)\n",
                          "ROOT g = f32[128,128] multiply(d, b)\n")),
            1);
}

TEST(Recompute, OneValueInPlaceOfTwo) {
  const std::string product =
      "w = f32[128,128] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  EXPECT_EQ(added(program(product + "h = f32[128,128] multiply(w, w)\nn = f32[128,128] negate(w)\n"
                                    "v = f32[128,128] abs(n)\nu = f32[128,128] add(h, v)\n"
                                    "a = f32[128,128] tanh(u)\n",
                          "g = f32[128,128] multiply(d, h)\nROOT k = f32[128,128] add(g, v)\n")),
            3);
}

TEST(Recompute, NothingElseIsKeptAliveForOneValue) {
  EXPECT_EQ(added(program("h = f32[128,128] multiply(x, x)\na = f32[128,128] tanh(h)\n",
                          "ROOT g = f32[128,128] multiply(d, h)\n")),
            0);
}

TEST(Recompute, ResultsStay) {
  EXPECT_EQ(added(program("h = f32[128,128] multiply(x, x)\na = f32[128,128] tanh(h)\n",
                          "g = f32[128,128] multiply(d, x)\n"
                          "ROOT k = (f32[128,128], f32[128,128]) tuple(g, h)\n")),
            0);
}

TEST(Recompute, OperandsOfProductsStay) {
  EXPECT_EQ(added(program("h = f32[128,128] multiply(x, x)\na = f32[128,128] tanh(h)\n",
                          "g = f32[128,128] dot(d, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                          "ROOT k = f32[128,128] add(g, x)\n")),
            0);
}

// Reshapes cost nothing, so a chain of them must be bounded by its length: the search is recursive.
TEST(Recompute, LongChainsOfReshapesStay) {
  std::string early = "c0 = f32[16384] reshape(x)\nb0 = f32[1,16384] reshape(c0)\n";
  const int n = 50000;
  for (int i = 1; i <= n; ++i) {
    const std::string k = std::to_string(i);
    early += "c" + k + " = f32[16384] reshape(b" + std::to_string(i - 1) + ")\nb" + k +
             " = f32[1,16384] reshape(c" + k + ")\n";
  }
  early += "h = f32[128,128] reshape(b" + std::to_string(n) + ")\na = f32[128,128] tanh(h)\n";
  EXPECT_EQ(added(program(early, "g = f32[128,128] multiply(d, h)\nROOT k = f32[128,128] add(g, x)\n")), 0);
}

TEST(Recompute, ExpensiveValuesStay) {
  EXPECT_EQ(added(program("e = f32[128,128] sine(x)\nh = f32[128,128] power(e, e)\n"
                          "a = f32[128,128] tanh(h)\n",
                          "g = f32[128,128] multiply(d, h)\nROOT k = f32[128,128] add(g, x)\n")),
            0);
}

TEST(Recompute, NearReadersShareTheValue) {
  EXPECT_EQ(added("HloModule t\nENTRY main {\nx = f32[128,128] parameter(0)\nh = f32[128,128] multiply(x, x)\n"
                  "a = f32[128,128] tanh(h)\ng = f32[128,128] multiply(a, h)\n"
                  "ROOT k = f32[128,128] add(g, x)\n}\n"),
            0);
}

}  // namespace
}  // namespace braze
