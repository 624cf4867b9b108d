// SPDX-License-Identifier: Apache-2.0
// What is read along another dimension than it is written runs in tiles transposed in registers.
#include "absl/strings/str_join.h"
#include "loop/lower.h"
#include "passes/fuse.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string transposed(const std::string& type, const Dims& from, const Dims& permutation) {
  Dims to;
  for (int64_t p : permutation) to.push_back(from[p]);
  return str_cat("HloModule t\nENTRY e {\n  a = ", type, "[", absl::StrJoin(from, ","), "] parameter(0)\n  ROOT r = ", type, "[",
                 absl::StrJoin(to, ","), "] transpose(a), dimensions={", absl::StrJoin(permutation, ","), "}\n}\n");
}

TEST(Transpose, Sizes) {
  for (int64_t rows : {16, 17, 31, 64, 80, 130})
    for (int64_t columns : {16, 20, 33, 129}) agree(transposed("f32", {rows, columns}, {1, 0}), 0);
  agree(transposed("f32", {5000, 70}, {1, 0}), 0);  // columns in chunks, a rest of rows
  agree(transposed("f32", {70, 5000}, {1, 0}), 0);
}

// Rows a power of two apart: columns in blocks, several chunks of them, a rest of rows, an outer dimension.
TEST(Transpose, RowsThatShareSetsOfTheCache) {
  for (int64_t rows : {256, 512, 2048, 2304, 4608})
    for (int64_t columns : {16, 33, 70}) agree(transposed("f32", {rows, columns}, {1, 0}), 0);
  for (const char* type : {"f64", "bf16", "s8", "c64", "pred"}) agree(transposed(type, {3072, 40}, {1, 0}), 0);
  for (const Dims& p : {Dims{2, 0, 1}, Dims{0, 2, 1}, Dims{2, 1, 0}}) agree(transposed("f32", {4, 512, 20}, p), 0);
  agree(transposed("f32", {256, 18, 20}, {1, 2, 0}), 0);
  auto m = parse_hlo(transposed("f32", {4608, 40}, {1, 0}));
  ASSERT_TRUE(m.ok());
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  auto k = loop::lower(*(*m)->entry()->root()->calls[0], "t", loop::Facts());
  ASSERT_TRUE(k.ok()) << k.status();
  const std::string text = loop::to_string(*k);
  EXPECT_LT(text.find("vector v"), text.find("tile v"));
  EXPECT_NE(text.find("    for v"), std::string::npos) << text;
}

TEST(Transpose, Types) {
  for (const char* type : {"f64", "bf16", "f16", "s8", "u16", "s32", "s64", "pred", "c64", "c128", "f8e4m3fn", "u4"})
    for (int64_t n : {40, 67}) agree(transposed(type, {n, 50}, {1, 0}), 0);
}

TEST(Transpose, Permutations) {
  for (const Dims& p : {Dims{0, 2, 1}, Dims{1, 2, 0}, Dims{2, 0, 1}, Dims{2, 1, 0}, Dims{1, 0, 2}})
    agree(transposed("f32", {18, 35, 41}, p), 0);
  agree(transposed("f32", {3, 20, 4, 33}, {0, 2, 3, 1}), 0);
  agree(transposed("bf16", {3, 20, 4, 33}, {3, 2, 0, 1}), 0);
}

// Both orders read, several results, a broadcast, a conditional load (a pad), operations enough for a loop.
std::string fused(int operations) {
  std::string text = R"(HloModule t
ENTRY e {
  a = f32[70,90] parameter(0)
  b = f32[90,70] parameter(1)
  c = f32[90] parameter(2)
  d = f32[60,90] parameter(3)
  z = f32[] constant(2)
  at = f32[90,70] transpose(a), dimensions={1,0}
  cb = f32[90,70] broadcast(c), dimensions={0}
  dp = f32[70,90] pad(d, z), padding=4_6x0_0
  dt = f32[90,70] transpose(dp), dimensions={1,0}
  x0 = f32[90,70] multiply(at, b)
)";
  for (int k = 0; k < operations; ++k) {
    const char* const other = k % 3 == 0 ? "cb" : k % 3 == 1 ? "dt" : "at";
    text += str_cat("  m", k, " = f32[90,70] maximum(x", k, ", ", other, ")\n  x", k + 1, " = f32[90,70] subtract(m", k, ", b)\n");
  }
  return text + str_cat("  ROOT r = (f32[90,70], f32[90,70]) tuple(x", operations, ", x0)\n}\n");
}

TEST(Transpose, Fused) {
  for (int operations : {0, 1, 3, 40}) agree(fused(operations), 0);
}

// r = a + aᵀ may not be written over a.
TEST(Transpose, PlusItself) {
  agree("HloModule t, input_output_alias={ {}: (0, {}, may-alias) }\nENTRY e {\n  a = f32[75,75] parameter(0)\n"
        "  t = f32[75,75] transpose(a), dimensions={1,0}\n  ROOT r = f32[75,75] add(a, t)\n}\n", 0);
}

// Turned by a quarter: a reversed row becomes a column.
std::string turned(const std::string& type, int64_t rows, int64_t columns, const char* reversed) {
  const std::string before = str_cat(type, "[", rows, ",", columns, "]"), after = str_cat(type, "[", columns, ",", rows, "]");
  return str_cat("HloModule t\nENTRY e {\n  a = ", before, " parameter(0)\n  v = ", before, " reverse(a), dimensions={", reversed,
                 "}\n  ROOT r = ", after, " transpose(v), dimensions={1,0}\n}\n");
}

TEST(Transpose, Turns) {
  for (const char* type : {"f32", "f64", "s8", "bf16", "c64"})
    for (const char* reversed : {"0", "1", "0,1"})
      for (int64_t rows : {64, 75, 1024}) agree(turned(type, rows, 70, reversed), 0);
}

TEST(Transpose, RunsInTiles) {
  for (const std::string& text : {transposed("f32", {100, 64}, {1, 0}), turned("f32", 100, 64, "1")}) {
    auto m = parse_hlo(text);
    ASSERT_TRUE(m.ok());
    ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
    auto k = loop::lower(*(*m)->entry()->root()->calls[0], "t", loop::Facts());
    ASSERT_TRUE(k.ok()) << k.status();
    EXPECT_NE(loop::to_string(*k).find("tile v"), std::string::npos) << loop::to_string(*k);
  }
}

}  // namespace
}  // namespace braze
