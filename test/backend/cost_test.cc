// SPDX-License-Identifier: Apache-2.0
// What kernels are said to compute and to move.
#include <gtest/gtest.h>

#include "backend/compile.h"
#include "text/parse.h"

namespace braze {
namespace {

void expect_cost(std::string_view lines, double flops, double bytes) {
  SCOPED_TRACE(lines);
  auto m = parse_hlo(str_cat("HloModule c\nENTRY e {\n", lines, "}\n"));
  ASSERT_TRUE(m.ok()) << m.status();
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  EXPECT_EQ((*exe)->stats().flops, flops);
  EXPECT_EQ((*exe)->stats().bytes, bytes);
}

TEST(Cost, Products) {
  expect_cost(
      " a = f32[3,5] parameter(0)\n b = f32[5,7] parameter(1)\n"
      " ROOT r = f32[3,7] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
      2 * 3 * 5 * 7, 4 * (3 * 5 + 5 * 7 + 3 * 7));
  expect_cost(
      " a = f32[1,9,4] parameter(0)\n b = f32[3,4,6] parameter(1)\n"
      " ROOT r = f32[1,7,6] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f\n",
      2 * 7 * 6 * 4 * 3, 4 * (9 * 4 + 3 * 4 * 6 + 7 * 6));
}

// Of an array that is only read in part, the part counts.
TEST(Cost, Parts) {
  expect_cost(
      " a = f32[100,8] parameter(0)\n s = f32[5,8] slice(a), slice={[3:8],[0:8]}\n"
      " ROOT r = f32[5,8] negate(s)\n",
      5 * 8, 4 * 2 * 5 * 8);
  expect_cost(
      " a = f32[100,8] parameter(0)\n s = f32[5,8] slice(a), slice={[3:8],[0:8]}\n b = f32[8,2] parameter(1)\n"
      " ROOT r = f32[5,2] dot(s, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
      2 * 5 * 8 * 2, 4 * (5 * 8 + 8 * 2 + 5 * 2));
}

}  // namespace
}  // namespace braze
