// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of few columns, whose lanes run along the sum: every number of columns and tail, types, ends.
#include "test/backend/agree.h"

namespace braze {
namespace {

void expect_one_kernel(const std::string& lines, double tolerance) {
  const std::string text = str_cat("HloModule m\nENTRY e {\n", lines, "}\n");
  SCOPED_TRACE(text);
  auto exe = agree(text, tolerance);
  ASSERT_TRUE(exe);
  EXPECT_EQ(exe->stats().kernels, 1);
}

double tolerance_of(std::string_view type) { return type == "f64" ? 1e-12 : type == "f32" ? 2e-5 : 3e-2; }

TEST(FewColumns, Products) {
  for (const char* t : {"f32", "f64", "bf16", "f16"})
    for (int64_t columns : {1, 2, 3, 5, 7, 8, 12})
      for (int64_t k : {16, 32, 37, 100})
        expect_one_kernel(str_cat(" a = ", t, "[75,", k, "] parameter(0)\n b = ", t, "[", k, ",", columns,
                                  "] parameter(1)\n ROOT d = ", t, "[75,", columns,
                                  "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
                          tolerance_of(t));
}

// Bias of the columns, a factor of the rows, an array as large as the result.
TEST(FewColumns, Ends) {
  for (int64_t columns : {2, 3, 6})
    for (int64_t rows : {32, 67}) {
      const std::string out = str_cat("f32[5,", rows, ",", columns, "]");
      expect_one_kernel(str_cat(" a = f32[5,", rows, ",40] parameter(0)\n b = f32[40,", columns, "] parameter(1)\n d = ", out,
                                " dot(a, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n c = f32[", columns,
                                "] parameter(2)\n cb = ", out, " broadcast(c), dimensions={2}\n f = f32[", rows,
                                "] parameter(3)\n fb = ", out, " broadcast(f), dimensions={1}\n x = ", out,
                                " parameter(4)\n p = ", out, " add(d, cb)\n q = ", out, " multiply(p, fb)\n r = ", out,
                                " add(q, x)\n ROOT t = ", out, " tanh(r)\n"),
                        2e-5);
    }
}

// A right side for each batch, contiguous along k or along the columns.
TEST(FewColumns, Batches) {
  for (const char* right : {"[3,48,4] parameter(1)\n ROOT d = f32[3,50,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},"
                            " lhs_contracting_dims={2}, rhs_contracting_dims={1}\n",
                            "[3,4,48] parameter(1)\n ROOT d = f32[3,50,4] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0},"
                            " lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"})
    expect_one_kernel(str_cat(" a = f32[3,50,48] parameter(0)\n b = f32", right), 2e-5);
}

// Windows with padding, strides and dilations; groups of features.
TEST(FewColumns, Convolutions) {
  for (int64_t columns : {1, 3, 4}) {
    const auto conv = [&](std::string_view in, std::string_view kernel, std::string_view out, std::string_view window,
                          int64_t groups) {
      expect_one_kernel(str_cat(" x = f32", in, " parameter(0)\n w = f32[", kernel, ",", columns * groups,
                                "] parameter(1)\n ROOT c = f32[", out, ",", columns * groups, "] convolution(x, w), window={",
                                window, "}, dim_labels=b01f_01io->b01f, feature_group_count=", groups, "\n"),
                        5e-5);
    };
    conv("[2,9,11,32]", "3,3,32", "2,9,11", "size=3x3 pad=1_1x1_1", 1);
    conv("[2,9,11,20]", "3,3,20", "2,7,9", "size=3x3", 1);
    conv("[1,17,18,32]", "3,2,32", "1,8,9", "size=3x2 stride=2x2", 1);
    conv("[1,12,13,32]", "2,3,32", "1,10,9", "size=2x3 rhs_dilate=2x2", 1);
    conv("[2,7,7,64]", "1,1,64", "2,7,7", "size=1x1", 1);
    conv("[1,10,10,48]", "3,3,24", "1,8,8", "size=3x3", 2);
  }
}

// Gradients of kernels: few results of long sums, both sides contiguous along lines.
TEST(FewColumns, KernelGradients) {
  for (const char* window : {"size=20x33 pad=1_1x1_1", "size=18x31"})
    for (int64_t groups : {1, 8}) {
      const bool padded = window[5] == '2';
      const std::string ct = padded ? "20,33" : "18,31";
      expect_one_kernel(str_cat(" x = f32[3,", groups == 1 ? 5 : 8, ",20,33] parameter(0)\n g = f32[3,", groups == 1 ? 6 : 8, ",", ct,
                                "] parameter(1)\n ROOT w = f32[", groups == 1 ? "6,5" : "8,1", ",3,3] convolution(x, g), window={",
                                window, "}, dim_labels=fb01_io01->fb01, batch_group_count=", groups, "\n"),
                        1e-4);
    }
}

// Sums longer than an accumulator should have terms.
TEST(FewColumns, LongSums) {
  expect_one_kernel(" x = f32[3,9,200,256] parameter(0)\n y = f32[9,2,200,256] parameter(1)\n ROOT r = f32[9,3,2] dot(x, y),"
                    " lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2,3}, rhs_contracting_dims={2,3}\n",
                    1e-4);
}

// Infinities and NaNs stay in their rows: idle lanes are no factors of them.
TEST(FewColumns, SpecialValues) {
  EXPECT_TRUE(agree("HloModule m\nENTRY e {\n a = f32[40,37] parameter(0)\n b = f32[37,3] parameter(1)\n i = f32[40,37] iota(),"
                    " iota_dimension=0\n q = f32[40,37] divide(a, i)\n ROOT d = f32[40,3] dot(q, b), lhs_contracting_dims={1},"
                    " rhs_contracting_dims={0}\n}\n",
                    1e-5));
}

}  // namespace
}  // namespace braze
