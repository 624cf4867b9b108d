// SPDX-License-Identifier: Apache-2.0
// Products whose results are transposed or reshaped: one kernel stores them where they go, and what follows is its end.
// Sums over several dimensions, given in any order. Convolutions with features first, as products and along lines.
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string program(std::string_view lines) { return str_cat("HloModule m\nENTRY e {\n", lines, "}\n"); }

// The number of kernels that the program becomes, or -1.
int64_t kernels(std::string_view lines, double tolerance = 1e-5) {
  const std::string text = program(lines);
  SCOPED_TRACE(text);
  auto exe = agree(text, tolerance);
  return exe ? exe->stats().kernels : -1;
}

// Heads of a projection, before and after positions.
TEST(MovedProduct, Heads) {
  for (const char* t : {"f32", "f64", "bf16"})
    for (int s : {1, 5, 33}) {
      const std::string lines = str_cat(
          " x = ", t, "[3,", s, ",20] parameter(0)\n w = ", t, "[4,20,9] parameter(1)\n d = ", t, "[4,9,3,", s,
          "] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={2}\n ROOT r = ", t, "[3,4,", s,
          ",9] transpose(d), dimensions={2,0,3,1}\n");
      EXPECT_EQ(kernels(lines, t[0] == 'b' ? 3e-2 : 1e-5), 1);
    }
}

// What follows is in the order of the result, or of the product.
TEST(MovedProduct, Epilogue) {
  const std::string dot =
      " a = f32[6,17,20] parameter(0)\n b = f32[6,20,24] parameter(1)\n d = f32[6,17,24] dot(a, b), lhs_batch_dims={0},"
      " lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}\n t = f32[17,6,24] transpose(d),"
      " dimensions={1,0,2}\n";
  EXPECT_EQ(kernels(dot + " c = f32[24] parameter(2)\n cb = f32[17,6,24] broadcast(c), dimensions={2}\n"
                          " ROOT r = f32[17,6,24] add(t, cb)\n"),
            1);
  EXPECT_EQ(kernels(dot + " s = f32[17,144] reshape(t)\n c = f32[17,144] parameter(2)\n ROOT r = f32[17,144] add(s, c)\n"), 1);
  EXPECT_EQ(kernels(dot + " c = f32[17,6,24] parameter(2)\n p = f32[17,6,24] add(t, c)\n q = f32[17,6,24] subtract(t, c)\n"
                          " ROOT r = (f32[17,6,24], f32[17,6,24]) tuple(p, q)\n"),
            2);
  // Read in both orders.
  EXPECT_GT(kernels(dot + " n = f32[6,17,24] negate(d)\n"
                          " ROOT r = (f32[17,6,24], f32[6,17,24]) tuple(t, n)\n"),
            0);
  // Square: the shape alone does not tell.
  EXPECT_GT(kernels(" a = f32[9,9] parameter(0)\n d = f32[9,9] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                    " n = f32[9,9] negate(d)\n t = f32[9,9] transpose(n), dimensions={1,0}\n c = f32[9,9] parameter(1)\n"
                    " ROOT r = f32[9,9] subtract(t, c)\n"),
            0);
}

TEST(MovedProduct, Reshaped) {
  const std::string dot =
      " a = f32[34,20] parameter(0)\n b = f32[20,24] parameter(1)\n d = f32[34,24] dot(a, b), lhs_contracting_dims={1},"
      " rhs_contracting_dims={0}\n";
  EXPECT_EQ(kernels(dot + " s = f32[2,17,24] reshape(d)\n c = f32[17] parameter(2)\n cb = f32[2,17,24] broadcast(c),"
                          " dimensions={1}\n ROOT r = f32[2,17,24] multiply(s, cb)\n"),
            1);
  EXPECT_EQ(kernels(dot + " s = f32[34,4,6] reshape(d)\n c = f32[4] parameter(2)\n cb = f32[34,4,6] broadcast(c),"
                          " dimensions={1}\n ROOT r = f32[34,4,6] multiply(s, cb)\n"),
            1);
}

// The batch innermost: rows of single elements are another kernel's work.
TEST(MovedProduct, Apart) {
  EXPECT_EQ(kernels(" a = f32[6,17,20] parameter(0)\n b = f32[6,20,24] parameter(1)\n d = f32[6,17,24] dot(a, b),"
                    " lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}\n"
                    " ROOT t = f32[17,24,6] transpose(d), dimensions={1,2,0}\n"),
            2);
}

TEST(MovedProduct, SumsInAnyOrder) {
  for (const char* dims : {"lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}",
                           "lhs_contracting_dims={2,1}, rhs_contracting_dims={1,0}"})
    EXPECT_EQ(kernels(str_cat(" a = f32[37,5,12] parameter(0)\n b = f32[5,12,40] parameter(1)\n ROOT d = f32[37,40] dot(a, b), ",
                              dims, "\n")),
              1);
}

std::string convolution(std::string_view t, int n, int ci, int h, int w, int co, std::string_view window, int groups, int oh,
                        int ow, int k) {
  const std::string out = str_cat(t, "[", n, ",", co, ",", oh, ",", ow, "]");
  return str_cat(" x = ", t, "[", n, ",", ci, ",", h, ",", w, "] parameter(0)\n k = ", t, "[", co, ",", ci / groups, ",", k, ",", k,
                 "] parameter(1)\n c = ", out, " convolution(x, k), window={size=", k, "x", k, window,
                 "}, dim_labels=bf01_oi01->bf01, feature_group_count=", groups, "\n b = ", t, "[", co,
                 "] parameter(2)\n bb = ", out, " broadcast(b), dimensions={1}\n s = ", out, " add(c, bb)\n r = ", t, "[", ow,
                 "] parameter(3)\n rb = ", out, " broadcast(r), dimensions={3}\n e = ", out, " parameter(4)\n m = ", out,
                 " multiply(e, rb)\n ROOT y = ", out, " subtract(s, m)\n");
}

TEST(FeaturesFirst, Pointwise) {
  for (const char* t : {"f32", "f64", "bf16"})
    for (int groups : {1, 2})
      for (int h : {3, 8, 13})
        EXPECT_EQ(kernels(convolution(t, 3, 12, h, 9, 10, "", groups, h, 9, 1), t[0] == 'b' ? 5e-2 : 1e-5), 1);
}

// Sums over three dimensions and more, no two of which merge.
TEST(MovedProduct, SumsOverManyDimensions) {
  for (const char* t : {"f32", "f64", "bf16", "s32"})
    for (int n : {5, 40})
      EXPECT_GT(kernels(str_cat(" a = ", t, "[7,9,6,5,4] parameter(0)\n b = ", t, "[4,5,6,7,", n, "] parameter(1)\n ROOT d = ", t,
                                "[9,", n, "] dot(a, b), lhs_contracting_dims={0,2,3,4}, rhs_contracting_dims={3,2,1,0}\n"),
                        t[0] == 'b' ? 5e-2 : 2e-5),
                0);
}

// Words of several channels in a dilated window: blocks of the sum that are short in words.
TEST(Convolution, ShortWords) {
  for (int channels : {4, 6, 8})
    for (int groups : {1, 2}) {
      const int each = channels / groups;
      EXPECT_EQ(kernels(str_cat(" x = s8[2,9,11,", channels, "] parameter(0)\n k = s8[3,3,", each, ",12] parameter(1)\n ROOT c = s32[2,5,7,12]"
                                " convolution(x, k), window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f,"
                                " feature_group_count=", groups, "\n")),
                1);
    }
}

// Results in another order than the image: short lines far apart, features innermost.
TEST(FeaturesFirst, OtherOrders) {
  const std::string operands = " x = f32[2,8,16,4] parameter(0)\n k = f32[12,8,1,1] parameter(1)\n";
  EXPECT_EQ(kernels(operands + " ROOT c = f32[16,2,12,4] convolution(x, k), window={size=1x1}, dim_labels=bf01_oi01->0bf1\n"), 1);
  EXPECT_EQ(kernels(operands + " ROOT c = f32[4,16,12,2] convolution(x, k), window={size=1x1}, dim_labels=bf01_oi01->10fb\n"), 1);
  EXPECT_EQ(kernels(operands + " ROOT c = f32[16,4,2,12] convolution(x, k), window={size=1x1}, dim_labels=bf01_oi01->01bf\n"), 1);
}

// Depthwise, grouped, with few and with many features; strides; lines shorter than a vector.
TEST(FeaturesFirst, Lines) {
  for (const char* t : {"f32", "bf16"})
    for (int groups : {1, 4, 12})
      for (int w : {3, 9, 40}) {
        const double tolerance = t[0] == 'b' ? 1e-1 : 1e-5;
        EXPECT_EQ(kernels(convolution(t, 2, 12, 5, w, 12, " pad=1_1x1_1", groups, 5, w, 3), tolerance), 1);
        EXPECT_EQ(kernels(convolution(t, 2, 12, 5, w, 24, " stride=2x2 pad=1_1x1_1", groups, 3, (w + 1) / 2, 3), tolerance), 1);
      }
}

}  // namespace
}  // namespace braze
