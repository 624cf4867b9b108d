// SPDX-License-Identifier: Apache-2.0
// Known answers of the unary elementwise ops.
#include "base/floats.h"
#include "test/ops/one_op.h"

namespace braze {
namespace {

Literal f32(Op op, const Numbers& v) { return value(op, {floats(Dtype::kF32, v)}); }
Literal s8(Op op, const std::vector<int64_t>& v) { return value(op, {ints(Dtype::kS8, v)}); }

TEST(Unary, Integers) {
  expect_ints(s8(Op::kAbs, {-128, -1, 0, 5}), {-128, 1, 0, 5});
  expect_ints(s8(Op::kNegate, {-128, -1, 7}), {-128, 1, -7});
  expect_ints(s8(Op::kSign, {-128, 0, 7}), {-1, 0, 1});
  expect_ints(s8(Op::kNot, {0, -1, 5}), {-1, 0, -6});
  expect_ints(s8(Op::kClz, {0, 1, -1, 64}), {8, 7, 0, 1});
  expect_ints(s8(Op::kPopcnt, {0, -1, 5, -128}), {0, 8, 2, 1});
  expect_ints(value(Op::kClz, {ints(Dtype::kS4, {0, 1, -1})}), {4, 3, 0});
  expect_ints(value(Op::kPopcnt, {ints(Dtype::kS4, {-1, 5})}), {4, 2});
  expect_ints(value(Op::kClz, {ints(Dtype::kU2, {0, 1, 2})}), {2, 1, 0});
  expect_ints(value(Op::kPopcnt, {ints(Dtype::kU64, {-1})}), {64});
  expect_ints(value(Op::kClz, {ints(Dtype::kU64, {0, 1})}), {64, 63});
  expect_ints(value(Op::kNot, {ints(Dtype::kPred, {0, 1})}), {1, 0});
  expect_ints(value(Op::kNot, {ints(Dtype::kU4, {0, 5})}), {15, 10});
  expect_ints(value(Op::kNegate, {ints(Dtype::kU8, {1, 0})}), {255, 0});
}

TEST(Unary, SignsAndRounding) {
  expect_floats(f32(Op::kSign, {kNan, -0.0, 0.0, -kInf, 3}), {kNan, -0.0, 0.0, -1, 1});
  expect_floats(f32(Op::kAbs, {-0.0, -kInf, -2, kNan}), {0, kInf, 2, kNan});
  expect_floats(f32(Op::kRoundAfz, {0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997}), {1, -1, 2, 3, -3, 0});
  expect_floats(f32(Op::kRoundEven, {0.5, -0.5, 1.5, 2.5, -2.5, 1e30}),
                {0, -0.0, 2, 2, -2, double(float(1e30))});
  expect_floats(f32(Op::kFloor, {-0.0, -0.5, 1.5, kInf}), {-0.0, -1, 1, kInf});
  expect_floats(f32(Op::kCeil, {-0.5, 1.5, -0.0}), {-0.0, 2, -0.0});
  expect_ints(f32(Op::kIsFinite, {0, kInf, -kInf, kNan, 3e38}), {1, 0, 0, 0, 1});
  EXPECT_EQ(f32(Op::kIsFinite, {1}).dtype(), Dtype::kPred);
  expect_ints(value(Op::kIsFinite, {floats(Dtype::kF8E4M3FN, {448, kNan})}), {1, 0});
}

TEST(Unary, Transcendentals) {
  expect_floats(f32(Op::kLog, {0, -1, 1, kInf, -0.0}), {-kInf, kNan, 0, kInf, -kInf});
  expect_floats(f32(Op::kLog1p, {-1, -2, -0.0, 1e-30}), {-kInf, kNan, -0.0, double(1e-30f)});
  expect_floats(f32(Op::kExp, {89, -1000, 0, kInf, -kInf}), {kInf, 0, 1, kInf, 0});
  expect_floats(f32(Op::kExpm1, {-0.0, 1e-30, -kInf}), {-0.0, double(1e-30f), -1});
  expect_floats(f32(Op::kSqrt, {-0.0, 4, -1}), {-0.0, 2, kNan});
  expect_floats(f32(Op::kRsqrt, {0, -0.0, 4, kInf, -1}), {kInf, -kInf, 0.5, 0, kNan});
  expect_floats(f32(Op::kCbrt, {-27, 8, -0.0}), {-3, 2, -0.0});
  expect_floats(f32(Op::kLogistic, {0, kInf, -kInf, 100}), {0.5, 1, 0, 1});
  expect_floats(f32(Op::kTanh, {0, kInf, -kInf, -0.0, 20}), {0, 1, -1, -0.0, 1});
  expect_floats(f32(Op::kErf, {0, kInf, -kInf, 10}), {0, 1, -1, 1});
  expect_floats(f32(Op::kAtanh, {1, -1, 2, -0.0}), {kInf, -kInf, kNan, -0.0});
  expect_floats(f32(Op::kAcosh, {1, 0.5, kInf}), {0, kNan, kInf});
  expect_floats(f32(Op::kAsin, {2, -0.0}), {kNan, -0.0});
  expect_floats(f32(Op::kSin, {kInf, -0.0}), {kNan, -0.0});
  // f32 results are those of the exact function, rounded.
  expect_floats(f32(Op::kExp, {1}), {double(2.71828182845904523536f)});
  expect_floats(f32(Op::kTan, {1}), {double(1.55740772465490223051f)});
  expect_floats(value(Op::kAcos, {floats(Dtype::kF64, {-1})}), {M_PI});
}

// 16-bit results come from one rounding of the exact value.
TEST(Unary, NarrowTypesRoundOnce) {
  for (Dtype t : {Dtype::kF16, Dtype::kBF16, Dtype::kF8E5M2, Dtype::kF8E4M3FN}) {
    const FloatFormat& f = t == Dtype::kF16      ? kF16Format
                           : t == Dtype::kBF16   ? kBF16Format
                           : t == Dtype::kF8E5M2 ? kF8E5M2Format
                                                 : kF8E4M3FNFormat;
    for (uint64_t bits = 0; bits<uint64_t{1} << f.bits(); bits += f.bits()> 8 ? 37 : 1) {
      const double x = decode(f, bits);
      const Literal y = value(Op::kExp, {floats(t, {x})});
      const double want = round_to(f, std::exp(x));
      EXPECT_TRUE(y.get_float(0) == want || (std::isnan(want) && std::isnan(y.get_float(0)))) << x;
    }
  }
}

TEST(Unary, F64IsWithinHalfAnUlp) {
  const Literal y = value(Op::kExpm1, {floats(Dtype::kF64, {1e-5, 0.7, 3})});
  for (int i = 0; i < 3; ++i) {
    const double x = i == 0 ? 1e-5 : i == 1 ? 0.7 : 3;
    EXPECT_EQ(y.get_float(i), static_cast<double>(std::expm1(static_cast<long double>(x))));
  }
}

Literal c64(Op op, const ComplexNumbers& v) { return value(op, {complexes(Dtype::kC64, v)}); }

TEST(Unary, Complex) {
  EXPECT_EQ(c64(Op::kAbs, {{3, 4}}).dtype(), Dtype::kF32);
  expect_floats(c64(Op::kAbs, {{3, 4}, {3e38, 0}, {-kInf, kNan}}), {5, double(3e38f), kInf});
  expect_floats(c64(Op::kReal, {{3, 4}}), {3});
  expect_floats(c64(Op::kImag, {{3, -0.0}}), {-0.0});
  expect_floats(f32(Op::kImag, {3}), {0});
  expect_near(c64(Op::kNegate, {{1, -2}}), {{-1, 2}}, 0);
  expect_near(c64(Op::kSign, {{3, 4}, {0, 0}}), {{0.6f, 0.8f}, {0, 0}}, 1e-7);
  EXPECT_TRUE(std::isnan(c64(Op::kSign, {{kNan, 0}}).get_complex(0).imag()));
  // Branch cuts: the sign of a zero imaginary part chooses the side.
  expect_near(c64(Op::kSqrt, {{-4, 0.0}, {-4, -0.0}}), {{0, 2}, {0, -2}}, 1e-7);
  expect_near(c64(Op::kLog, {{-1, 0.0}, {-1, -0.0}}), {{0, M_PI}, {0, -M_PI}}, 1e-7);
  expect_near(c64(Op::kRsqrt, {{-4, 0.0}}), {{0, -0.5}}, 1e-7);
  expect_near(c64(Op::kCbrt, {{0, 8}}), {{1.7320508075688772, 1}}, 1e-7);
  // Cancellation: exact values from the series.
  expect_near(c64(Op::kExpm1, {{1e-10, 2e-10}}), {{1e-10f, 2e-10f}}, 1e-6);
  const double x = -0x1p-20, y = 0x1p-10;  // |1 + z| = 1 + tiny
  const double square = 2 * x + x * x + y * y;
  EXPECT_NE(square, 0);
  expect_near(c64(Op::kLog1p, {{x, y}}), {{std::log1p(square) / 2, std::atan2(y, 1 + x)}}, 1e-7);
  expect_near(c64(Op::kTanh, {{1000, 1}}), {{1, 0}}, 1e-7);
  expect_near(c64(Op::kLogistic, {{0, 0}, {-1000, 1}}), {{0.5, 0}, {0, 0}}, 1e-7);
  expect_near(value(Op::kExp, {complexes(Dtype::kC128, {{1, 2}})}),
              {std::exp(std::complex<double>(1, 2))}, 1e-15);
}

TEST(Unary, RefusesOtherTypes) {
  expect_error(run(Op::kTanh, {ints(Dtype::kS32, {1})}),
               "tanh: operand 0 is s32[1], expected floating-point or complex elements (tanh_i1)");
  expect_error(run(Op::kNot, {floats(Dtype::kF32, {1})}), "(not_i1)");
  expect_error(run(Op::kAbs, {ints(Dtype::kPred, {1})}), "(abs_i1)");
  expect_error(run(Op::kIsFinite, {complexes(Dtype::kC64, {{1, 1}})}), "(is_finite_i1)");
  expect_error(run(Op::kPopcnt, {ints(Dtype::kPred, {1})}), "(popcnt_i1)");
  expect_error(run(Op::kFloor, {ints(Dtype::kS8, {1})}), "(floor_i1)");
}

TEST(Unary, ShapesAreCarried) {
  Shape s = Shape::array(Dtype::kF32, {4, 5});
  s.dynamic = {true, false};
  const Shape* operands[] = {&s};
  auto out = infer_shape(Op::kTanh, operands, NoAttrs{}, {});
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out->is_dynamic(0));
  Shape q = Shape::array(Dtype::kS8, {4});
  q.quant = std::make_shared<Quantization>(Quantization{Dtype::kF32, {0.5}, {0}, -1, -128, 127});
  operands[0] = &q;
  out = infer_shape(Op::kTanh, operands, NoAttrs{}, {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, q);
}

}  // namespace
}  // namespace braze
