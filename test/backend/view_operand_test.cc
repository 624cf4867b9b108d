// SPDX-License-Identifier: Apache-2.0
// Products that read their operands through slices, reshapes and transposes, in place where these are
// only another view of the memory: against the evaluator.
#include "test/backend/agree.h"

namespace braze {
namespace {

constexpr const char* kPlain = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
constexpr const char* kBatched =
    ", lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}";

std::string program(std::string lines) { return str_cat("HloModule v\nENTRY e {\n", lines, "}\n"); }

TEST(ViewOperand, Slices) {
  for (const char* t : {"f32", "f64", "bf16", "s32"})
    for (int64_t n : {1, 7, 33}) {
      const std::string text = program(str_cat(
          " x = ", t, "[19,40] parameter(0)\n w = ", t, "[31,70] parameter(1)\n a = ", t,
          "[13,11] slice(x), slice={[3:16],[29:40]}\n b = ", t, "[11,", n, "] slice(w), slice={[20:31],[5:",
          5 + n, "]}\n ROOT r = ", t, "[13,", n, "] dot(a, b)", kPlain, "\n"));
      SCOPED_TRACE(text);
      EXPECT_NE(agree(text, t[0] == 'b' ? 2e-2 : 1e-5), nullptr);
    }
}

// Queries and keys are parts of one array, which differ in nothing but where they start.
TEST(ViewOperand, HeadsOfOneArray) {
  for (const char* t : {"f32", "bf16"})
    for (int64_t s : {1, 5, 64}) {
      std::string lines = str_cat(" x = ", t, "[", s, ",144] parameter(0)\n");
      for (int k = 0; k < 3; ++k)
        lines += str_cat(" p", k, " = ", t, "[", s, ",48] slice(x), slice={[0:", s, "],[", 48 * k, ":",
                         48 * (k + 1), "]}\n s", k, " = ", t, "[", s, ",4,12] reshape(p", k, ")\n t", k,
                         " = ", t, "[4,", s, ",12] transpose(s", k, "), dimensions={1,0,2}\n");
      lines += str_cat(" d = ", t, "[4,", s, ",", s, "] dot(t0, t1)", kBatched, "\n e = ", t, "[4,", s, ",",
                       s, "] dot(t1, t2)", kBatched, "\n ROOT r = ", t, "[4,", s, ",", s,
                       "] subtract(d, e)\n");
      SCOPED_TRACE(lines);
      EXPECT_NE(agree(program(lines), t[0] == 'b' ? 5e-2 : 1e-5), nullptr);
    }
}

TEST(ViewOperand, Reshapes) {
  const char* rows[] = {
      // Dimensions of 1 come and go.
      " a = f32[6,1,35] parameter(0)\n l = f32[6,35] reshape(a)\n b = f32[1,35,9] parameter(1)\n"
      " r0 = f32[35,9] reshape(b)\n",
      // A split, then one half of it.
      " a = f32[12,35] parameter(0)\n s = f32[2,6,35] reshape(a)\n h = f32[1,6,35] slice(s),"
      " slice={[1:2],[0:6],[0:35]}\n l = f32[6,35] reshape(h)\n b = f32[5,7,9] parameter(1)\n"
      " r0 = f32[35,9] reshape(b)\n",
      // Not a view: the merged dimensions do not follow each other in memory.
      " a = f32[7,6,5] parameter(0)\n t = f32[6,7,5] transpose(a), dimensions={1,0,2}\n"
      " l = f32[6,35] reshape(t)\n b = f32[9,35] parameter(1)\n r0 = f32[35,9] transpose(b),"
      " dimensions={1,0}\n",
      // Not a view: rows of every other element, merged.
      " a = f32[6,9,7] parameter(0)\n s = f32[6,5,7] slice(a), slice={[0:6],[0:9:2],[0:7]}\n"
      " l = f32[6,35] reshape(s)\n b = f32[35,9] parameter(1)\n r0 = f32[35,9] reshape(b)\n",
      // What is reshaped is computed.
      " a = f32[6,5,7] parameter(0)\n n = f32[6,5,7] negate(a)\n l = f32[6,35] reshape(n)\n"
      " b = f32[35,9] parameter(1)\n r0 = f32[35,9] reshape(b)\n"};
  for (const char* row : rows) {
    const std::string text = program(str_cat(row, " ROOT r = f32[6,9] dot(l, r0)", kPlain, "\n"));
    SCOPED_TRACE(text);
    EXPECT_NE(agree(text, 1e-5), nullptr);
  }
}

TEST(ViewOperand, ComplexAndEmpty) {
  EXPECT_NE(agree(program(str_cat(" a = c64[9,4] parameter(0)\n l = c64[3,4] slice(a), slice={[2:5],[0:4]}\n"
                                  " b = c64[2,2,3] parameter(1)\n r0 = c64[4,3] reshape(b)\n"
                                  " ROOT r = c64[3,3] dot(l, r0)", kPlain, "\n")),
                  1e-5),
            nullptr);
  EXPECT_NE(agree(program(str_cat(" a = f32[9,4] parameter(0)\n l = f32[3,0] slice(a), slice={[2:5],[4:4]}\n"
                                  " b = f32[0,3] parameter(1)\n r0 = f32[0,3] reshape(b)\n"
                                  " ROOT r = f32[3,3] dot(l, r0)", kPlain, "\n")),
                  1e-5),
            nullptr);
}

}  // namespace
}  // namespace braze
