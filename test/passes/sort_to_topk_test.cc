// SPDX-License-Identifier: Apache-2.0
// Sorts whose first elements are read become selections, only where that is exact.
#include "passes/sort_to_topk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/verify.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

std::string program(const std::string& compare, const std::string& rest, const std::string& iota = "iota(), iota_dimension=1") {
  return "HloModule s\nless {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
         " c = s32[] parameter(2)\n d = s32[] parameter(3)\n ROOT r = pred[] compare(" + compare + "\n}\n"
         "ENTRY main {\n x = f32[5,40] parameter(0)\n i = s32[5,40] " + iota + "\n"
         " s = (f32[5,40], s32[5,40]) sort(x, i), dimensions={1}, is_stable=true, to_apply=less\n"
         " v = f32[5,40] get-tuple-element(s), index=0\n p = s32[5,40] get-tuple-element(s), index=1\n" + rest + "}\n";
}
const char kSlices[] =
    " w = f32[5,3] slice(v), slice={[0:5], [0:3]}\n q = s32[5,7] slice(p), slice={[0:5], [0:7]}\n"
    " ROOT t = (f32[5,3], s32[5,7]) tuple(w, q)\n";

// Whether the pass rewrites the program; its value must not change.
bool rewrites(const std::string& text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status() << text;
  if (!m.ok()) return false;
  Literal x((*m)->entry()->params()[0]->shape);
  std::mt19937_64 rng(1);
  const double special[] = {0.0, -0.0, std::nan(""), -std::nan(""), INFINITY, 1};
  for (int64_t i = 0; i < x.elements(); ++i)
    x.set_float(i, rng() % 2 ? special[rng() % 6] : static_cast<double>(rng() % 8));
  auto want = evaluate(**m, {x});
  EXPECT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE(sort_to_topk(**m).ok());
  EXPECT_TRUE(verify(**m).ok()) << verify(**m);
  auto got = evaluate(**m, {x});
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << text;
  for (auto& i : (*m)->entry()->instrs())
    if (i->is(Op::kTopK)) return true;
  return false;
}

TEST(SortToTopK, Selections) {
  EXPECT_TRUE(rewrites(program("a, b), direction=GT, type=TOTALORDER", kSlices)));
  EXPECT_TRUE(rewrites(program("b, a), direction=GT, type=TOTALORDER", kSlices)));
  EXPECT_TRUE(rewrites(program("a, b), direction=LT, type=TOTALORDER", kSlices)));
}

TEST(SortToTopK, OtherSortsStay) {
  // Zeros of both signs are equal; the later of equal elements comes first; another key.
  EXPECT_FALSE(rewrites(program("a, b), direction=GT, type=FLOAT", kSlices)));
  EXPECT_FALSE(rewrites(program("a, b), direction=GE, type=TOTALORDER", kSlices)));
  EXPECT_FALSE(rewrites(program("c, d), direction=GT", kSlices)));
  // What is sorted along is not positions, or is read whole, or not from its start.
  EXPECT_FALSE(rewrites(program("a, b), direction=GT, type=TOTALORDER", kSlices, "iota(), iota_dimension=0")));
  EXPECT_FALSE(rewrites(program("a, b), direction=GT, type=TOTALORDER",
                                " w = f32[5,3] slice(v), slice={[0:5], [0:3]}\n"
                                " ROOT t = (f32[5,3], s32[5,40]) tuple(w, p)\n")));
  EXPECT_FALSE(rewrites(program("a, b), direction=GT, type=TOTALORDER",
                                " w = f32[5,3] slice(v), slice={[0:5], [1:4]}\n"
                                " ROOT t = (f32[5,3]) tuple(w)\n")));
  EXPECT_FALSE(rewrites(program("a, b), direction=GT, type=TOTALORDER",
                                " w = f32[4,3] slice(v), slice={[0:4], [0:3]}\n"
                                " ROOT t = (f32[4,3]) tuple(w)\n")));
}

}  // namespace
}  // namespace braze
