// SPDX-License-Identifier: Apache-2.0
// Arrays interleaved by padding between their elements: kernels make neighbours together, and levels
// of a blocked sum are not computed again and again.
#include "passes/fuse.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

// r = Σ pad(a_k) over `step` arrays of n elements, each a function of its parameter, plus a whole one.
std::string interleaved(const std::string& type, int64_t rows, int64_t n, int64_t step, int64_t shift) {
  const std::string parts = str_cat(type, "[", rows, ",", n, "]");
  const std::string whole = str_cat(type, "[", rows, ",", n * step, "]");
  std::string text = str_cat("HloModule t\nENTRY e {\n  z = ", type, "[] constant(0)\n  s0 = ", whole,
                             " parameter(0)\n");
  for (int64_t k = 0; k < step; ++k) {
    text += str_cat("  a", k, " = ", parts, " parameter(", k + 1, ")\n  m", k, " = ", parts,
                    " multiply(a", k, ", a", k, ")\n");
    text += str_cat("  p", k, " = ", whole, " pad(m", k, ", z), padding=0_0x", k + shift, "_",
                    step - 1 - k - shift, "_", step - 1, "\n  s", k + 1, " = ", whole, " add(s", k, ", p",
                    k, ")\n");
  }
  return text + str_cat("  ROOT r = (", whole, ", ", whole, ") tuple(s", step, ", p", step - 1, ")\n}\n");
}

TEST(Interleave, Steps) {
  for (int64_t step : {2, 3, 4, 5})
    for (int64_t n : {1, 7, 8, 33, 64})
      for (int64_t shift : {-1, 0, 1, 6}) agree(interleaved("f32", 3, n, step, shift), 0);
}

TEST(Interleave, Types) {
  for (const char* type : {"f64", "bf16", "s8", "u16", "s64", "c64", "f8e4m3fn"})
    for (int64_t step : {2, 3, 4}) agree(interleaved(type, 2, 40, step, 0), 0);
}

// Rows that are cut into chunks for the threads, with and without a rest.
TEST(Interleave, LongRows) {
  for (int64_t step : {2, 3, 4})
    for (int64_t n : {4096, 5000}) agree(interleaved("f32", 1, n, step, 0), 0);
}

TEST(Interleave, OneElementPaddedWidely) {
  agree("HloModule t\nENTRY e {\n z = f32[] constant(3)\n a = f32[1] parameter(0)\n b = f32[32] parameter(1)\n"
        " p = f32[32] pad(a, z), padding=5_26_9223372036854775807\n ROOT r = f32[32] add(p, b)\n}\n", 0);
}

// r[i, k] = a_k[i], then reshaped and used: as random bits come.
std::string stacked(const std::string& type, int64_t rows, int64_t n, int64_t step) {
  std::string text = "HloModule t\nENTRY e {\n", parts;
  for (int64_t k = 0; k < step; ++k) {
    const std::string shape = str_cat(type, "[", rows, ",", n);
    text += str_cat("  a", k, " = ", shape, "] parameter(", k, ")\n  m", k, " = ", shape, "] multiply(a", k, ", a0)\n  r", k, " = ",
                    shape, ",1] reshape(m", k, ")\n");
    parts += str_cat(k ? ", r" : "r", k);
  }
  return text + str_cat("  c = ", type, "[", rows, ",", n, ",", step, "] concatenate(", parts, "), dimensions={2}\n  f = ", type, "[",
                        rows * n * step, "] reshape(c)\n  ROOT g = ", type, "[", rows * n * step, "] add(f, f)\n}\n");
}

TEST(Interleave, Stacks) {
  for (int64_t step : {2, 3, 4, 5})
    for (int64_t n : {1, 7, 33, 4096})
      for (const char* type : {"f32", "u64", "bf16", "c64"}) agree(stacked(type, 3, n, step), 0);
}

// The same as a last dimension of the result: rows of one iteration.
TEST(Interleave, StacksOfRecords) {
  for (int64_t step : {2, 3, 4, 5, 7, 8, 9})
    for (int64_t n : {1, 7, 8, 33, 4096}) {
      const std::string column = str_cat("f32[", n, ",1]"), all = str_cat("f32[", n, ",", step, "]");
      std::string text = str_cat("HloModule t\nENTRY e {\n  a = ", all, " parameter(0)\n"), parts;
      for (int64_t k = 0; k < step; ++k) {
        text += str_cat("  s", k, " = ", column, " slice(a), slice={[0:", n, "], [", k, ":", k + 1, "]}\n  c", k, " = ", column,
                        k % 2 ? " sine(s" : " cosine(s", k, ")\n  p", k, " = ", column, " multiply(c", k, ", s0)\n");
        parts += str_cat(k ? ", p" : "p", k);
      }
      agree(text + str_cat("  c = ", all, " concatenate(", parts, "), dimensions={1}\n  ROOT r = ", all, " add(a, c)\n}\n"), 4);
    }
}

// Pads and concatenations along the whole array: nothing is read from behind an operand's end.
TEST(Interleave, EndsOfLongVectors) {
  agree("HloModule t\nENTRY e {\n a = f32[300000] parameter(0)\n z = f32[] constant(2)\n"
        " ROOT p = f32[700001] pad(a, z), padding=1_400000\n}\n", 0);
  agree("HloModule t\nENTRY e {\n a = f64[30000] parameter(0)\n b = f64[7] parameter(1)\n c = f64[50000] parameter(2)\n"
        " ROOT p = f64[80007] concatenate(a, b, c), dimensions={0}\n}\n", 0);
}

// A cumulative sum as a scan in blocks of two, level by level.
std::string blocked_sum(int64_t n) {
  std::string text = str_cat("HloModule t\nENTRY e {\n  z = s32[] constant(0)\n  x", n, " = s32[", n,
                             "] parameter(0)\n");
  for (int64_t m = n; m > 4; m /= 2) {
    const std::string half = str_cat("s32[", m / 2, "]");
    text += str_cat("  e", m, " = ", half, " slice(x", m, "), slice={[0:", m, ":2]}\n  o", m, " = ", half,
                    " slice(x", m, "), slice={[1:", m, ":2]}\n  x", m / 2, " = ", half, " add(e", m, ", o",
                    m, ")\n");
  }
  text += "  y4 = s32[4] add(x4, x4)\n";  // what a scan of the last level gives, for the test's sake
  for (int64_t m = 8; m <= n; m *= 2) {
    const std::string half = str_cat("s32[", m / 2, "]"), all = str_cat("s32[", m, "]");
    text += str_cat("  d", m, " = ", half, " subtract(y", m / 2, ", o", m, ")\n");
    text += str_cat("  pe", m, " = ", all, " pad(d", m, ", z), padding=0_1_1\n  po", m, " = ", all, " pad(y",
                    m / 2, ", z), padding=1_0_1\n  ", m == n ? "ROOT " : "", "y", m, " = ", all, " add(pe", m,
                    ", po", m, ")\n");
  }
  return text + "}\n";
}

TEST(Interleave, BlockedSum) {
  for (int64_t n : {8, 64, 4096}) agree(blocked_sum(n), 0);
}

// No kernel holds two levels: positions behind two such pads are no longer regular.
TEST(Interleave, OneLevelToAKernel) {
  auto m = parse_hlo(blocked_sum(1024));
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  for (auto& i : (*m)->entry()->instrs()) {
    if (i->op != Op::kFusion) continue;
    int64_t pads = 0;
    for (auto& inner : i->calls[0]->instrs()) pads += inner->op == Op::kPad;
    EXPECT_LE(pads, 2) << i->name;
  }
}

}  // namespace
}  // namespace braze
