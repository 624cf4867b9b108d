// SPDX-License-Identifier: Apache-2.0
// Products of small matrices, in a loop (where they live in registers) and outside, against the
// evaluator: every size up to past a vector, both layouts, types, with and without an epilogue.
#include "test/backend/agree.h"

namespace braze {
namespace {

// x(i+1) = f(x(i) · a) for n × n matrices.
std::string loop(const char* type, int64_t n, const char* contracting, const char* epilogue) {
  std::string s = str_cat(type, "[", n, ",", n, "]");
  std::string t = str_cat("(s32[], ", s, ", ", s, ")");
  return str_cat(
      "HloModule l\nc { p = ", t, " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
      " k = s32[] constant(5)\n ROOT r = pred[] compare(i, k), direction=LT }\n"
      "b { p = ", t, " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n one = s32[] constant(1)\n"
      " j = s32[] add(i, one)\n x = ", s, " get-tuple-element(p), index=1\n a = ", s,
      " get-tuple-element(p), index=2\n d = ", s, " dot(x, a), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={", contracting, "}\n", epilogue, " ROOT r = ", t, " tuple(j, y, a) }\n"
      "ENTRY e { x = ", s, " parameter(0)\n a = ", s, " parameter(1)\n z = s32[] constant(0)\n"
      " t = ", t, " tuple(z, x, a)\n w = ", t, " while(t), condition=c, body=b\n ROOT r = ", s,
      " get-tuple-element(w), index=1 }\n");
}

TEST(SmallProduct, InALoop) {
  for (const char* type : {"f32", "f64"})
    for (int64_t n = 1; n <= 9; ++n)
      for (const char* contracting : {"0", "1"}) {
        std::string s = str_cat(type, "[", n, ",", n, "]");
        for (const std::string& e :
             {str_cat(" y = ", s, " tanh(d)\n"), str_cat(" y = ", s, " subtract(a, d)\n"),
              str_cat(" o = ", s, " transpose(d), dimensions={1,0}\n h = ", s,
                      " tanh(x)\n y = ", s, " add(o, h)\n")}) {
          const std::string text = loop(type, n, contracting, e.c_str());
          SCOPED_TRACE(text);
          EXPECT_NE(agree(text, 2e-6), nullptr);
        }
      }
}

TEST(SmallProduct, Alone) {
  for (const char* type : {"f32", "f64", "bf16"})
    for (int64_t m : {1, 2, 3, 4, 8})
      for (int64_t n : {1, 2, 3, 5, 8})
        for (int64_t k : {1, 3, 8}) {
          const std::string text =
              str_cat("HloModule p\nENTRY e { x = ", type, "[", k, ",", m, "] parameter(0)\n a = ", type,
                      "[", n, ",", k, "] parameter(1)\n d = ", type, "[", m, ",", n,
                      "] dot(x, a), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n ROOT r = ", type,
                      "[", m, ",", n, "] negate(d) }\n");
          SCOPED_TRACE(text);
          EXPECT_NE(agree(text, type[0] == 'b' ? 1e-2 : 1e-6), nullptr);
        }
}

// Counts of what is true on both sides, in any type of numbers.
TEST(SmallProduct, Predicates) {
  for (const char* type : {"f32", "bf16", "f64", "s32", "u8"}) {
    const std::string text = str_cat(
        "HloModule m\nENTRY e {\n a = s32[9,20] parameter(0)\n b = s32[20,7] parameter(1)\n c = pred[9,20] convert(a)\n"
        " d = pred[20,7] convert(b)\n ROOT r = ", type, "[9,7] dot(c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
    EXPECT_TRUE(agree(text)) << text;
  }
}

}  // namespace
}  // namespace braze
