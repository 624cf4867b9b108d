// SPDX-License-Identifier: Apache-2.0
// Short rows in several passes are worked on in groups, pass by pass: whatever the number of rows, results that later
// passes need, of every type, and rows of scratch.
#include "test/backend/agree.h"

namespace braze {
namespace {

constexpr std::string_view kCombiners =
    "HloModule m\n"
    "largest { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b)\n}\n"
    "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n"
    "sum64 { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT r = f64[] add(a, b)\n}\n"
    "all { a = pred[] parameter(0)\n b = pred[] parameter(1)\n ROOT r = pred[] and(a, b)\n}\n"
    "least { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] minimum(a, b)\n}\n"
    "ENTRY e {\n z = f32[] constant(0)\n low = f32[] constant(-inf)\n";

void expect_agreement(const std::string& body, double tolerance = 1e-5) {
  const std::string text = str_cat(kCombiners, body, "}\n");
  SCOPED_TRACE(text);
  EXPECT_TRUE(agree(text, tolerance));
}

// Exponentials are kept in scratch between the passes.
TEST(RowGroup, Softmax) {
  for (int64_t rows : {1, 2, 7, 8, 9, 23, 300})
    for (int64_t columns : {3, 16, 70, 129}) {
      const std::string x = str_cat("[", rows, ",", columns, "]"), r = str_cat("[", rows, "]");
      expect_agreement(str_cat(
          " x = f32", x, " parameter(0)\n m = f32", r, " reduce(x, low), dimensions={1}, to_apply=largest\n mb = f32", x,
          " broadcast(m), dimensions={0}\n d = f32", x, " subtract(x, mb)\n e = f32", x, " exponential(d)\n s = f32", r,
          " reduce(e, z), dimensions={1}, to_apply=sum\n sb = f32", x, " broadcast(s), dimensions={0}\n ROOT q = f32", x,
          " divide(e, sb)\n"));
    }
}

// Also results of the rows, as they are and as a later pass needs them.
TEST(RowGroup, KeptResults) {
  for (int64_t rows : {1, 5, 8, 21, 200}) {
    const std::string x = str_cat("[", rows, ",50]"), r = str_cat("[", rows, "]");
    expect_agreement(str_cat(
        " x = f32", x, " parameter(0)\n w = f64[50] parameter(1)\n o = f64[] constant(1)\n m = f32", r,
        " reduce(x, z), dimensions={1}, to_apply=sum\n mb = f32", x, " broadcast(m), dimensions={0}\n c = f32", x,
        " subtract(x, mb)\n c64 = f64", x, " convert(c)\n wb = f64", x, " broadcast(w), dimensions={1}\n p = f64", x,
        " multiply(c64, wb)\n s = f64", r, " reduce(p, o), dimensions={1}, to_apply=sum64\n sb = f64", x,
        " broadcast(s), dimensions={0}\n q = f64", x, " add(p, sb)\n ROOT t = (f32", r, ", f64", r, ", f64", x,
        ") tuple(m, s, q)\n"));
  }
}

TEST(RowGroup, OtherTypes) {
  for (int64_t rows : {1, 6, 16, 77}) {
    const std::string x = str_cat("[", rows, ",40]"), r = str_cat("[", rows, "]");
    expect_agreement(str_cat(
        " x = s32", x, " parameter(0)\n most = s32[] constant(2147483647)\n yes = pred[] constant(true)\n l = s32", r,
        " reduce(x, most), dimensions={1}, to_apply=least\n lb = s32", x, " broadcast(l), dimensions={0}\n g = pred", x,
        " compare(x, lb), direction=GE\n a = pred", r, " reduce(g, yes), dimensions={1}, to_apply=all\n ab = pred", x,
        " broadcast(a), dimensions={0}\n n = s32", x, " negate(x)\n ROOT q = s32", x, " select(ab, n, lb)\n"));
    expect_agreement(str_cat(
        " x = bf16", x, " parameter(0)\n f = f32", x, " convert(x)\n m = f32", r,
        " reduce(f, low), dimensions={1}, to_apply=largest\n mh = bf16", r, " convert(m)\n mb = bf16", x,
        " broadcast(mh), dimensions={0}\n d = bf16", x, " subtract(x, mb)\n df = f32", x, " convert(d)\n s = f32", r,
        " reduce(df, z), dimensions={1}, to_apply=sum\n sh = bf16", r, " convert(s)\n sb = bf16", x,
        " broadcast(sh), dimensions={0}\n ROOT q = bf16", x, " add(d, sb)\n"), 2e-2);
  }
}

}  // namespace
}  // namespace braze
