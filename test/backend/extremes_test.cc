// SPDX-License-Identifier: Apache-2.0
// Extremes that are read on their way (running ones), and positions of extremes among NaNs: the first one.
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string combiner(std::string_view op, std::string_view type) {
  return str_cat("HloModule m\nc { a = ", type, "[] parameter(0)\n b = ", type, "[] parameter(1)\n ROOT r = ", type, "[] ", op,
                 "(a, b)\n}\n");
}

// Values of both signs, up and down, along each dimension, forwards and backwards.
TEST(Extremes, Running) {
  for (const char* type : {"f32", "f64", "s32", "bf16"})
    for (const char* op : {"maximum", "minimum"})
      for (const char* window : {"size=12x1x1 pad=11_0x0_0x0_0", "size=1x17x1 pad=0_0x16_0x0_0", "size=1x1x70 pad=0_0x0_0x69_0",
                                 "size=12x1x1 pad=0_11x0_0x0_0", "size=1x17x1 pad=0_0x0_16x0_0"}) {
        const std::string s = str_cat(type, "[12,17,70]");
        const bool largest = op[1] == 'a', whole = type[0] == 's';
        const std::string_view start = whole ? largest ? "-2147483648" : "2147483647" : largest ? "-inf" : "inf";
        const std::string text = str_cat(
            combiner(op, type), "ENTRY e {\n x = ", s, " parameter(0)\n y = ", s, " parameter(1)\n z = ", s,
            " subtract(x, y)\n i = ", type, "[] constant(", start, ")\n ROOT r = ", s, " reduce-window(z, i), window={", window,
            "}, to_apply=c\n}\n");
        SCOPED_TRACE(text);
        EXPECT_TRUE(agree(text));
      }
}

// A loop that keeps the largest row so far and stores each.
TEST(Extremes, KeptByALoop) {
  EXPECT_TRUE(agree(
      "HloModule m\n"
      "body {\n s = (s32[], f32[40], f32[9,40], f32[9,40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " a = f32[40] get-tuple-element(s), index=1\n x = f32[9,40] get-tuple-element(s), index=2\n"
      " o = f32[9,40] get-tuple-element(s), index=3\n z = s32[] constant(0)\n one = s32[] constant(1)\n"
      " r = f32[1,40] dynamic-slice(x, i, z), dynamic_slice_sizes={1,40}\n f = f32[40] reshape(r)\n m = f32[40] maximum(a, f)\n"
      " u = f32[1,40] reshape(m)\n n = f32[9,40] dynamic-update-slice(o, u, i, z)\n j = s32[] add(i, one)\n"
      " ROOT t = (s32[], f32[40], f32[9,40], f32[9,40]) tuple(j, m, x, n)\n}\n"
      "cond {\n s = (s32[], f32[40], f32[9,40], f32[9,40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " n = s32[] constant(9)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
      "ENTRY e {\n x = f32[9,40] parameter(0)\n a = f32[40] parameter(1)\n o = f32[9,40] parameter(2)\n z = s32[] constant(0)\n"
      " n = f32[9,40] negate(x)\n t = (s32[], f32[40], f32[9,40], f32[9,40]) tuple(z, a, n, o)\n"
      " ROOT w = (s32[], f32[40], f32[9,40], f32[9,40]) while(t), condition=cond, body=body\n}\n"));
}

// As JAX writes argmin and argmax; NaN at every seventh place from the third on.
TEST(Extremes, PositionsAmongNaNs) {
  for (const char* direction : {"LT", "GT"})
    for (const char* shape : {"33", "1000", "40000", "5,33", "33,5", "3,100,20"}) {
      const std::string dims(shape);
      const bool rows = dims == "5,33", columns = dims == "33,5", middle = dims == "3,100,20";
      const int along = rows || middle ? 1 : 0;
      const std::string kept = rows ? "[5]" : columns ? "[5]" : middle ? "[3,20]" : "[]";
      const std::string x = str_cat("f32[", dims, "]"), p = str_cat("s32[", dims, "]"), q = str_cat("pred[", dims, "]");
      const std::string text = str_cat(
          "HloModule m\n"
          "c { v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n j = s32[] parameter(3)\n"
          " a = pred[] compare(v, w), direction=", direction, "\n b = pred[] compare(v, v), direction=NE\n o = pred[] or(a, b)\n"
          " e = pred[] compare(v, w), direction=EQ\n l = pred[] compare(i, j), direction=LT\n t = pred[] and(e, l)\n"
          " s = pred[] or(o, t)\n r = f32[] select(o, v, w)\n k = s32[] select(s, i, j)\n ROOT y = (f32[], s32[]) tuple(r, k)\n}\n"
          "ENTRY e {\n x = ", x, " parameter(0)\n i = ", p, " iota(), iota_dimension=", along, "\n c7 = s32[] constant(7)\n b7 = ",
          p, " broadcast(c7), dimensions={}\n m = ", p, " remainder(i, b7)\n c3 = s32[] constant(3)\n b3 = ", p,
          " broadcast(c3), dimensions={}\n g = ", q, " compare(m, b3), direction=EQ\n n = f32[] constant(nan)\n nb = ", x,
          " broadcast(n), dimensions={}\n y = ", x, " select(g, nb, x)\n f = f32[] constant(",
          direction[0] == 'L' ? "inf" : "-inf", ")\n z = s32[] constant(0)\n ROOT r = (f32", kept, ", s32", kept,
          ") reduce(y, i, f, z), dimensions={", along, "}, to_apply=c\n}\n");
      SCOPED_TRACE(text);
      EXPECT_TRUE(agree(text));
    }
}

}  // namespace
}  // namespace braze
