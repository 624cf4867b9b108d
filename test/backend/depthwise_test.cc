// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions with long windows, channels last: the gradients of their kernels, long one-dimensional filters.
#include "test/backend/agree.h"

namespace braze {
namespace {

void expect_agreement(std::string_view lines, double tolerance) {
  const std::string text = str_cat("HloModule m\nENTRY e {\n", lines, "}\n");
  SCOPED_TRACE(text);
  EXPECT_TRUE(agree(text, tolerance));
}

// Results of one tap and of more than a register tile has, dilated, with padding on either side or less than none.
TEST(Depthwise, KernelGradients) {
  for (int64_t channels : {3, 8, 20, 40})
    for (const char* type : {"f32", "f64", "bf16"}) {
      const double tolerance = type[0] == 'b' ? 3e-2 : 1e-4;
      const auto gradient = [&](std::string_view ct, std::string_view out, std::string_view window) {
        expect_agreement(str_cat(" x = ", type, "[2,9,44,", channels, "] parameter(0)\n g = ", type, "[2,", ct, ",", channels,
                                 "] parameter(1)\n ROOT w = ", type, "[", out, ",1,", channels,
                                 "] convolution(x, g), window={size=", window, "}, dim_labels=f01b_i01o->01bf, batch_group_count=",
                                 channels, "\n"),
                         tolerance);
      };
      gradient("9,44", "3,3", "9x44 pad=1_1x1_1");
      gradient("7,40", "3,5", "7x40");
      gradient("9,44", "1,9", "9x44 pad=0_0x4_4");
      gradient("5,33", "3,3", "5x33 pad=-1_-1x-4_-5");
      gradient("4,32", "3,3", "4x32 pad=0_0x10_11 rhs_dilate=2x2");
    }
}

TEST(Depthwise, LongFilters) {
  for (int64_t window : {32, 51})
    for (int64_t stride : {1, 2}) {
      const int64_t out = (90 + 40 - window) / stride + 1;
      expect_agreement(str_cat(" x = f32[3,90,24] parameter(0)\n w = f32[", window, ",1,24] parameter(1)\n b = f32[24] parameter(2)\n"
                               " c = f32[3,", out, ",24] convolution(x, w), window={size=", window, " stride=", stride,
                               " pad=18_22}, dim_labels=b0f_0io->b0f, feature_group_count=24\n bb = f32[3,", out,
                               ",24] broadcast(b), dimensions={2}\n ROOT r = f32[3,", out, ",24] add(c, bb)\n"),
                       1e-4);
    }
}

}  // namespace
}  // namespace braze
