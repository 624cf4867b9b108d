// SPDX-License-Identifier: Apache-2.0
// Elementwise values that kernels with reductions read are computed in each of them, if that moves fewer bytes.
#include <gtest/gtest.h>

#include "passes/fuse.h"
#include "text/parse.h"

namespace braze {
namespace {

// Kernels, and whether one of them gives n elements.
std::pair<int, bool> kernels(const std::string& body, int64_t n) {
  auto m = parse_hlo("HloModule t\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
                     "ENTRY e {\n  z = f32[] constant(0)\n  two = f32[] constant(2)\n"
                     "  twos = f32[64,60,80] broadcast(two), dimensions={}\n" + body + "}\n");
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok() || !fuse(**m, FuseOptions()).ok()) return {-1, false};
  std::pair<int, bool> found;
  for (auto& i : (*m)->entry()->instrs()) {
    if (i->op != Op::kFusion) continue;
    ++found.first;
    for (const Shape& s : i->shape.is_tuple() ? i->shape.tuple : std::vector<Shape>{i->shape})
      found.second |= s.elements() == n;
  }
  return found;
}

constexpr int64_t kAll = 64 * 60 * 80;
// Of dimensions that have one in common: two kernels.
const char* const kReductions =
    "  rows = f32[64] reduce(v, z), dimensions={1,2}, to_apply=add\n"
    "  columns = f32[80] reduce(v, z), dimensions={0,1}, to_apply=add\n";

TEST(Cones, AReadOfTheArgumentInPlaceOfOneOfTheValue) {
  const auto found = kernels(std::string("  x = f32[64,60,80] parameter(0)\n  m = f32[64,60,80] multiply(x, twos)\n"
                                         "  v = f32[64,60,80] add(m, x)\n") + kReductions +
                             "  ROOT r = (f32[64], f32[80]) tuple(rows, columns)\n", kAll);
  EXPECT_EQ(found.first, 2);
  EXPECT_FALSE(found.second);
}

TEST(Cones, TwoArgumentsWouldHaveToLiveForOne) {
  EXPECT_TRUE(kernels(std::string("  x = f32[64,60,80] parameter(0)\n  y = f32[64,60,80] parameter(1)\n"
                                  "  v = f32[64,60,80] add(x, y)\n") + kReductions +
                      "  ROOT r = (f32[64], f32[80]) tuple(rows, columns)\n", kAll).second);
}

TEST(Cones, WhatIsExpensiveIsComputedOnce) {
  EXPECT_TRUE(kernels(std::string("  x = f32[64,60,80] parameter(0)\n  e = f32[64,60,80] tan(x)\n  f = f32[64,60,80] tan(e)\n"
                                  "  v = f32[64,60,80] power(f, e)\n") + kReductions +
                      "  ROOT r = (f32[64], f32[80]) tuple(rows, columns)\n", kAll).second);
}

TEST(Cones, AResultIsWrittenAnyway) {
  EXPECT_TRUE(kernels(std::string("  x = f32[64,60,80] parameter(0)\n  v = f32[64,60,80] multiply(x, twos)\n") + kReductions +
                      "  ROOT r = (f32[64], f32[80], f32[64,60,80]) tuple(rows, columns, v)\n", kAll).second);
}

}  // namespace
}  // namespace braze
