// SPDX-License-Identifier: Apache-2.0
// Known answers of the binary elementwise ops.
#include "test/ops/one_op.h"

namespace braze {
namespace {

using Ints = std::vector<int64_t>;

Literal on_ints(Op op, Dtype t, const Ints& a, const Ints& b) {
  return value(op, {ints(t, a), ints(t, b)});
}
Literal on_floats(Op op, const Numbers& a, const Numbers& b, Dtype t = Dtype::kF32) {
  return value(op, {floats(t, a), floats(t, b)});
}
Literal on_complex(Op op, const ComplexNumbers& a, const ComplexNumbers& b) {
  return value(op, {complexes(Dtype::kC64, a), complexes(Dtype::kC64, b)});
}

constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

TEST(Binary, IntegerDivision) {
  for (Dtype t : {Dtype::kS8, Dtype::kS32, Dtype::kS64, Dtype::kS4}) {
    const int64_t least = -(int64_t{1} << (bit_size(t) - 2)) * 2;
    expect_ints(on_ints(Op::kDivide, t, {7, -7, 5, least, 0}, {2, 2, 0, -1, 0}),
                {3, -3, -1, least, -1});
    expect_ints(on_ints(Op::kRemainder, t, {7, -7, 5, least, 0}, {2, 2, 0, -1, 0}),
                {1, -1, 5, 0, 0});
  }
  expect_ints(on_ints(Op::kDivide, Dtype::kU8, {200, 7}, {3, 0}), {66, 255});
  expect_ints(on_ints(Op::kRemainder, Dtype::kU8, {200, 7}, {3, 0}), {2, 7});
  expect_ints(on_ints(Op::kDivide, Dtype::kU64, {-1, 1}, {2, 0}),
              {std::numeric_limits<int64_t>::max(), -1});
}

TEST(Binary, IntegersWrap) {
  expect_ints(on_ints(Op::kAdd, Dtype::kS8, {127, -128}, {1, -1}), {-128, 127});
  expect_ints(on_ints(Op::kSubtract, Dtype::kU8, {0}, {1}), {255});
  expect_ints(on_ints(Op::kMultiply, Dtype::kS8, {12, 20, 15}, {12, 20, 15}), {-112, -112, -31});
  expect_ints(on_ints(Op::kAdd, Dtype::kS64, {kMin64}, {-1}),
              {std::numeric_limits<int64_t>::max()});
  expect_ints(on_ints(Op::kMultiply, Dtype::kS4, {7}, {7}), {1});
}

TEST(Binary, IntegerPower) {
  expect_ints(on_ints(Op::kPower, Dtype::kS8, {7, 2, -1, -1, 1, 0, 2, 0, -2},
                      {7, -1, -1, -2, -5, -1, 0, 0, 3}),
              {-9, 0, -1, 1, 1, 0, 1, 1, -8});
  expect_ints(on_ints(Op::kPower, Dtype::kU8, {3, 2}, {5, 255}), {243, 0});
  expect_ints(on_ints(Op::kPower, Dtype::kU64, {3}, {-1}), {-6148914691236517205});
}

TEST(Binary, Shifts) {
  expect_ints(on_ints(Op::kShiftLeft, Dtype::kS8, {1, 1, 1, 1, -1}, {6, 7, 8, -1, 1}),
              {64, -128, 0, 0, -2});
  expect_ints(on_ints(Op::kShiftRightA, Dtype::kS8, {-128, -128, 64, 64, -1}, {7, 8, 8, 1, -1}),
              {-1, -1, 0, 32, -1});
  expect_ints(on_ints(Op::kShiftRightL, Dtype::kS8, {-128, -128, -1, -1}, {7, 8, 1, -1}),
              {1, 0, 127, 0});
  expect_ints(on_ints(Op::kShiftRightA, Dtype::kU8, {128, 64}, {1, 9}), {192, 0});
  expect_ints(on_ints(Op::kShiftRightL, Dtype::kU4, {12, 12}, {2, 4}), {3, 0});
  expect_ints(on_ints(Op::kShiftLeft, Dtype::kS64, {1, 1}, {63, 64}), {kMin64, 0});
}

TEST(Binary, Bits) {
  expect_ints(on_ints(Op::kAnd, Dtype::kS8, {-4, 6}, {7, 3}), {4, 2});
  expect_ints(on_ints(Op::kOr, Dtype::kU4, {8, 6}, {7, 3}), {15, 7});
  expect_ints(on_ints(Op::kXor, Dtype::kPred, {0, 1, 1}, {1, 1, 0}), {1, 0, 1});
  expect_ints(on_ints(Op::kAdd, Dtype::kPred, {0, 1, 0}, {1, 1, 0}), {1, 1, 0});
  expect_ints(on_ints(Op::kMultiply, Dtype::kPred, {0, 1}, {1, 1}), {0, 1});
  expect_ints(on_ints(Op::kMaximum, Dtype::kPred, {0, 1}, {1, 0}), {1, 1});
  expect_ints(on_ints(Op::kMinimum, Dtype::kPred, {0, 1}, {1, 1}), {0, 1});
  expect_ints(on_ints(Op::kMaximum, Dtype::kU8, {200}, {3}), {200});
  expect_ints(on_ints(Op::kMinimum, Dtype::kS8, {-56}, {3}), {-56});
  expect_ints(on_ints(Op::kMaximum, Dtype::kU64, {-1}, {3}), {-1});
}

TEST(Binary, HighProducts) {
  expect_ints(on_ints(Op::kMulhi, Dtype::kS8, {-128, 100, -1}, {-128, 100, 1}), {64, 39, -1});
  expect_ints(on_ints(Op::kMulhi, Dtype::kU8, {255, 2}, {255, 3}), {254, 0});
  expect_ints(on_ints(Op::kMulhi, Dtype::kU64, {-1}, {-1}), {-2});
  expect_ints(on_ints(Op::kMulhi, Dtype::kS64, {kMin64}, {kMin64}), {int64_t{1} << 62});
}

TEST(Binary, MinMaxOfFloats) {
  expect_floats(on_floats(Op::kMaximum, {5, kNan, -0.0, 0.0, -kInf}, {kNan, 1, 0.0, -0.0, 3}),
                {kNan, kNan, 0.0, 0.0, 3});
  expect_floats(on_floats(Op::kMinimum, {5, kNan, -0.0, 0.0, -kInf}, {kNan, 1, 0.0, -0.0, 3}),
                {kNan, kNan, -0.0, -0.0, -kInf});
}

TEST(Binary, FloatArithmetic) {
  expect_floats(on_floats(Op::kDivide, {1, -1, 0, 1}, {0, 0, 0, 3}),
                {kInf, -kInf, kNan, double(1.0f / 3.0f)});
  expect_floats(on_floats(Op::kRemainder, {7.5, -7.5, 5, 5, kInf}, {2, 2, 0, kInf, 2}),
                {1.5, -1.5, kNan, 5, kNan});
  expect_floats(on_floats(Op::kPower, {1, 0, -2, -2, 0, 2, kNan}, {kNan, 0, 3, 0.5, -1, -1, 0}),
                {1, 1, -8, kNan, kInf, 0.5, 1});
  expect_floats(on_floats(Op::kAtan2, {0, 0, -0.0, 1}, {-1, 1, -1, 0}),
                {double(float(M_PI)), 0, double(float(-M_PI)), double(float(M_PI / 2))});
  // One rounding: in bf16 1 + 2^-8 ties to 1, and 1 + 2^-8 + 2^-20 isn't a bf16 at all.
  expect_floats(on_floats(Op::kAdd, {1, 3}, {0x1p-8, 0x1p-7}, Dtype::kBF16), {1, 3});
  expect_floats(on_floats(Op::kMultiply, {448, 16}, {2, 16}, Dtype::kF8E4M3FN), {kNan, 256});
  expect_floats(on_floats(Op::kMultiply, {6}, {6}, Dtype::kF4E2M1FN), {6});
  // f64 sums are rounded once too: through 80 bits this would round up.
  expect_floats(on_floats(Op::kAdd, {1}, {0x1p-53 - 0x1p-106}, Dtype::kF64), {1});
  expect_floats(on_floats(Op::kAdd, {1}, {0x1.0000000000001p-53}, Dtype::kF64), {1 + 0x1p-52});
}

TEST(Binary, Complex) {
  expect_near(on_complex(Op::kMultiply, {{1, 2}}, {{3, -4}}), {{11, 2}}, 0);
  expect_near(on_complex(Op::kDivide, {{1, 1}}, {{1, -1}}), {{0, 1}}, 0);
  expect_near(on_complex(Op::kAdd, {{1, 1}}, {{1, -1}}), {{2, 0}}, 0);
  expect_near(on_complex(Op::kPower, {{0, 0}, {0, 0}, {0, 1}}, {{0, 0}, {2, 1}, {2, 0}}),
              {{1, 0}, {0, 0}, {-1, 1.2246467991473532e-16}}, 1e-6);
  expect_near(on_complex(Op::kMaximum, {{1, 2}, {2, 0}}, {{1, 3}, {1, 9}}), {{1, 3}, {2, 0}}, 0);
  expect_near(on_complex(Op::kMinimum, {{1, 2}, {2, 0}}, {{1, 3}, {1, 9}}), {{1, 2}, {1, 9}}, 0);
  expect_near(on_complex(Op::kAtan2, {{1, 0}}, {{1, 0}}), {{M_PI / 4, 0}}, 1e-7);
  const Literal z = value(Op::kComplex, {floats(Dtype::kF64, {1}), floats(Dtype::kF64, {-0.0})});
  EXPECT_EQ(z.dtype(), Dtype::kC128);
  EXPECT_TRUE(std::signbit(z.get_complex(0).imag()));
}

TEST(Binary, Refusals) {
  const Literal f2 = floats(Dtype::kF32, {1, 2}), f3 = floats(Dtype::kF32, {1, 2, 3});
  const Literal s2 = ints(Dtype::kS32, {1, 2}), p2 = ints(Dtype::kPred, {1, 0});
  expect_error(run(Op::kAdd, {f2, f3}), "add: operand shapes f32[2] and f32[3] differ (add_c1)");
  expect_error(run(Op::kMultiply, {f2, s2}),
               "multiply: operand element types f32 and s32 differ (multiply_c1)");
  expect_error(run(Op::kAnd, {f2, f2}), "(and_i1)");
  expect_error(run(Op::kSubtract, {p2, p2}), "(subtract_i1)");
  expect_error(run(Op::kShiftLeft, {s2, f2}), "(shift_left_i2)");
  expect_error(run(Op::kAtan2, {s2, s2}), "(atan2_i1)");
  expect_error(run(Op::kComplex, {floats(Dtype::kF16, {1}), floats(Dtype::kF16, {1})}),
               "expected f32 or f64 elements (complex_i1)");
  const Literal z = complexes(Dtype::kC64, {{1, 1}});
  expect_error(run(Op::kRemainder, {z, z}), "(remainder_i1)");
  expect_error(run(Op::kAdd, {floats(Dtype::kF32, {1}), Literal::scalar(Dtype::kF32, 1)}),
               "(add_c1)");
}

TEST(Binary, QuantizedOperandsCarryTheirParameters) {
  Shape q = Shape::array(Dtype::kS8, {4});
  q.quant = std::make_shared<Quantization>(Quantization{Dtype::kF32, {0.5}, {0}, -1, -128, 127});
  const Shape plain = Shape::array(Dtype::kS8, {4});
  auto both = infer_shape(Op::kMultiply, {&q, &q}, NoAttrs{}, {});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(*both, q);
  auto one = infer_shape(Op::kAdd, {&q, &plain}, NoAttrs{}, {});
  EXPECT_EQ(one.status().message(), "add: operands 0 and 1: only one is quantized (add_c1)");
}

TEST(Binary, UnknownAndBoundedDimensionsMeet) {
  Shape a = Shape::array(Dtype::kF32, {kUnknownDim, 4}), b = Shape::array(Dtype::kF32, {3, 4});
  b.dynamic = {false, true};
  const Shape* operands[] = {&a, &b};
  auto out = infer_shape(Op::kAdd, operands, NoAttrs{}, {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(to_string(*out, false), "f32[3,<=4]");
}

}  // namespace
}  // namespace braze
