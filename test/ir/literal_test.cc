// SPDX-License-Identifier: Apache-2.0
#include "ir/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace braze {
namespace {

TEST(Literal, IntegersWrapAndFloatsSaturate) {
  Literal l(Shape::array(Dtype::kS8, {4}));
  l.set_int(0, 200);
  l.set_float(1, 200.7);
  l.set_float(2, -1e30);
  l.set_float(3, std::nan(""));
  EXPECT_EQ(l.get_int(0), -56);
  EXPECT_EQ(l.get_int(1), 127);
  EXPECT_EQ(l.get_int(2), -128);
  EXPECT_EQ(l.get_int(3), 0);
  for (Dtype t : {Dtype::kS2, Dtype::kS4, Dtype::kS8, Dtype::kS16, Dtype::kS32, Dtype::kS64})
    EXPECT_EQ(Literal::scalar_int(t, -2).get_int(0), -2) << name(t);
  for (Dtype t : {Dtype::kU2, Dtype::kU4, Dtype::kU8, Dtype::kU16, Dtype::kU32})
    EXPECT_EQ(Literal::scalar_int(t, -1).get_int(0), (int64_t{1} << bit_size(t)) - 1) << name(t);
  EXPECT_EQ(Literal::scalar_int(Dtype::kS4, 9).get_int(0), -7);
  EXPECT_EQ(Literal::scalar_int(Dtype::kU4, -1).get_int(0), 15);
  EXPECT_EQ(Literal::scalar_int(Dtype::kS2, 2).get_int(0), -2);
  EXPECT_EQ(Literal::scalar(Dtype::kU64, 1e30).get_int(0), -1);
  EXPECT_EQ(Literal::scalar_int(Dtype::kU64, -1).get_float(0), 0x1p64);
  EXPECT_EQ(Literal::scalar(Dtype::kS64, 1e30).get_int(0), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Literal::scalar(Dtype::kPred, 0.5).get_int(0), 1);
  EXPECT_EQ(Literal::scalar(Dtype::kF32, 1e30).get_int(0), std::numeric_limits<int64_t>::max());
}

TEST(Literal, CopiesShareUntilWritten) {
  Literal a = Literal::of<double>(Dtype::kF32, {2}, {1, 2});
  Literal b = a;
  EXPECT_EQ(a.bytes(), b.bytes());
  b.set_float(0, 5);
  EXPECT_EQ(a.get_float(0), 1);
  EXPECT_EQ(b.get_float(0), 5);
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(a == a.reshaped(Shape::array(Dtype::kF32, {2, 1})).reshaped(a.shape()));
}

TEST(Literal, Text) {
  EXPECT_EQ(to_string(Literal::of<int>(Dtype::kS32, {2, 2}, {1, 2, 3, 4})), "{ {1, 2}, {3, 4} }");
  EXPECT_EQ(to_string(Literal::of<int>(Dtype::kPred, {2}, {1, 0})), "{true, false}");
  EXPECT_EQ(to_string(Literal::scalar(Dtype::kF32, -INFINITY)), "-inf");
  EXPECT_EQ(to_string(Literal::of<std::complex<double>>(Dtype::kC64, {1}, {{1, -2.5}})),
            "{(1, -2.5)}");
  EXPECT_EQ(to_string(Literal::tuple(
                {Literal::scalar(Dtype::kBF16, 0.1), Literal::scalar_int(Dtype::kU64, -1)})),
            "(0.1, 18446744073709551615)");
  EXPECT_EQ(to_string(Literal(Shape::array(Dtype::kF32, {0}))), "{}");
}

TEST(Literal, Iteration) {
  Dims index(2, 0), dims = {2, 3};
  int64_t n = 0;
  do EXPECT_EQ(linear_index(index, dims), n++);
  while (next_index(absl::MakeSpan(index), dims));
  EXPECT_EQ(n, 6);
}

}  // namespace
}  // namespace braze
