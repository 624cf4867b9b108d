// SPDX-License-Identifier: Apache-2.0
// Known answers of comparison, choice and conversion.
#include "test/ops/one_op.h"

namespace braze {
namespace {

using D = CompareDirection;

Literal compare(const Literal& a, const Literal& b, D d, CompareType t = CompareType::kDefault) {
  return value(Op::kCompare, {a, b}, CompareAttrs{d, t});
}
Literal convert(const Literal& x, Dtype t) {
  const Shape s = x.shape().with_dtype(t);
  return value(Op::kConvert, {x}, NoAttrs{}, &s);
}
Literal bitcast(const Literal& x, const Shape& s) {
  return value(Op::kBitcastConvert, {x}, NoAttrs{}, &s);
}

TEST(Compare, Floats) {
  const Literal a = floats(Dtype::kF32, {1, kNan, -0.0, kInf}),
                b = floats(Dtype::kF32, {2, 1, 0, kInf});
  expect_ints(compare(a, b, D::kLt), {1, 0, 0, 0});
  expect_ints(compare(a, b, D::kLe), {1, 0, 1, 1});
  expect_ints(compare(a, b, D::kEq), {0, 0, 1, 1});
  expect_ints(compare(a, b, D::kNe), {1, 1, 0, 0});
  expect_ints(compare(a, b, D::kGe), {0, 0, 1, 1});
  expect_ints(compare(a, b, D::kGt), {0, 0, 0, 0});
}

TEST(Compare, TotalOrder) {
  for (Dtype t : {Dtype::kF32, Dtype::kF64, Dtype::kBF16, Dtype::kF16, Dtype::kF8E5M2}) {
    const Literal v = floats(t, {-kNan, -kInf, -1, -0.0, 0.0, 1, kInf, kNan});
    for (int64_t i = 0; i < v.elements(); ++i)
      for (int64_t j = 0; j < v.elements(); ++j) {
        Literal x(Shape::array(t, {1})), y(Shape::array(t, {1}));
        x.copy_element(0, v, i);
        y.copy_element(0, v, j);
        EXPECT_EQ(compare(x, y, D::kLt, CompareType::kTotalOrder).get_bool(0), i < j) << i << j;
        EXPECT_EQ(compare(x, y, D::kEq, CompareType::kTotalOrder).get_bool(0), i == j) << i << j;
        EXPECT_EQ(compare(x, y, D::kGe, CompareType::kTotalOrder).get_bool(0), i >= j) << i << j;
      }
  }
  // The one NaN of a FNUZ type has the bits of -0.
  const Literal a = floats(Dtype::kF8E4M3FNUZ, {kNan, kNan}),
                b = floats(Dtype::kF8E4M3FNUZ, {-1, 0});
  expect_ints(compare(a, b, D::kGt, CompareType::kTotalOrder), {1, 0});
}

TEST(Compare, OtherTypes) {
  expect_ints(compare(ints(Dtype::kU8, {200}), ints(Dtype::kU8, {3}), D::kGt), {1});
  expect_ints(compare(ints(Dtype::kS8, {-56}), ints(Dtype::kS8, {3}), D::kGt), {0});
  expect_ints(compare(ints(Dtype::kU64, {-1}), ints(Dtype::kU64, {3}), D::kGt), {1});
  expect_ints(compare(ints(Dtype::kPred, {1}), ints(Dtype::kPred, {0}), D::kGt), {1});
  const Literal z = complexes(Dtype::kC64, {{1, 2}, {1, kNan}}),
                w = complexes(Dtype::kC64, {{1, 2}, {1, 0}});
  expect_ints(compare(z, w, D::kEq), {1, 0});
  expect_ints(compare(z, w, D::kNe), {0, 1});
  expect_error(run(Op::kCompare, {z, w}, CompareAttrs{D::kLt}), "has no order");
  const Literal s = ints(Dtype::kS32, {1}), f = floats(Dtype::kF32, {1});
  expect_error(run(Op::kCompare, {s, s}, CompareAttrs{D::kLt, CompareType::kTotalOrder}),
               "(compare_c3)");
  expect_error(run(Op::kCompare, {s, f}, CompareAttrs{}), "(compare_c1)");
  expect_error(run(Op::kCompare, {f, floats(Dtype::kF32, {1, 2})}, CompareAttrs{}), "(compare_c2)");
}

TEST(Select, ChoosesByElementOrForAll) {
  const Literal t = floats(Dtype::kF32, {1, 2}), f = floats(Dtype::kF32, {-1, kNan});
  expect_floats(value(Op::kSelect, {ints(Dtype::kPred, {1, 0}), t, f}), {1, kNan});
  expect_floats(value(Op::kSelect, {Literal::scalar_int(Dtype::kPred, 0), t, f}), {-1, kNan});
  expect_error(run(Op::kSelect, {ints(Dtype::kPred, {1}), t, f}), "(select_c1)");
  expect_error(run(Op::kSelect, {ints(Dtype::kS32, {1, 1}), t, f}), "(select_i1)");
  expect_error(run(Op::kSelect, {ints(Dtype::kPred, {1, 0}), t, floats(Dtype::kF32, {1})}),
               "(select_c2)");
  expect_error(run(Op::kSelect, {ints(Dtype::kPred, {1, 0}), t, ints(Dtype::kS32, {1, 2})}),
               "(select_c2)");
}

TEST(Clamp, BoundsAndNaN) {
  const Literal x = floats(Dtype::kF32, {-5, 0.5, 5, kNan});
  expect_floats(
      value(Op::kClamp, {Literal::scalar(Dtype::kF32, -1), x, Literal::scalar(Dtype::kF32, 1)}),
      {-1, 0.5, 1, kNan});
  expect_floats(
      value(Op::kClamp, {floats(Dtype::kF32, {0, 1, kNan, 0}), x, Literal::scalar(Dtype::kF32, 1)}),
      {0, 1, kNan, kNan});
  // min > max: max wins.
  expect_ints(
      value(Op::kClamp, {ints(Dtype::kU8, {200}), ints(Dtype::kU8, {7}), ints(Dtype::kU8, {100})}),
      {100});
  expect_error(run(Op::kClamp, {floats(Dtype::kF32, {1, 2}), x, x}), "(clamp_c1)");
  expect_error(run(Op::kClamp, {x, x, floats(Dtype::kF32, {1, 2})}), "(clamp_c2)");
  expect_error(run(Op::kClamp, {x, x, Literal::scalar(Dtype::kF64, 1)}), "(clamp_c3)");
}

TEST(Convert, FloatsToIntegersSaturate) {
  const Literal x = floats(Dtype::kF32, {1.9, -1.9, 1e30, -1e30, kNan, kInf, -0.5});
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  expect_ints(convert(x, Dtype::kS32), {1, -1, 2147483647, -2147483648, 0, 2147483647, 0});
  expect_ints(convert(x, Dtype::kS64), {1, -1, kMax, -kMax - 1, 0, kMax, 0});
  expect_ints(convert(x, Dtype::kU8), {1, 0, 255, 0, 0, 255, 0});
  expect_ints(convert(x, Dtype::kS4), {1, -1, 7, -8, 0, 7, 0});
  expect_ints(convert(x, Dtype::kU64), {1, 0, -1, 0, 0, -1, 0});
  expect_ints(convert(x, Dtype::kPred), {1, 1, 1, 1, 1, 1, 1});
  expect_ints(convert(floats(Dtype::kF32, {0, -0.0}), Dtype::kPred), {0, 0});
}

TEST(Convert, IntegersWrapAndRoundOnce) {
  expect_ints(convert(ints(Dtype::kS32, {300, -1}), Dtype::kU8), {44, 255});
  expect_ints(convert(ints(Dtype::kS4, {-8, 7}), Dtype::kS8), {-8, 7});
  expect_ints(convert(ints(Dtype::kU8, {200}), Dtype::kS8), {-56});
  expect_ints(convert(ints(Dtype::kS32, {256, 0}), Dtype::kPred), {1, 0});
  expect_floats(convert(ints(Dtype::kPred, {1, 0}), Dtype::kBF16), {1, 0});
  expect_floats(convert(ints(Dtype::kU64, {-1}), Dtype::kF32), {0x1p64});
  // 2^62 + 2^38 + 1: above the tie of f32, though double rounds it to the tie.
  const int64_t v = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  expect_floats(convert(ints(Dtype::kS64, {v}), Dtype::kF32), {double(static_cast<float>(v))});
  expect_floats(convert(ints(Dtype::kS64, {v}), Dtype::kF32), {0x1p62 + 0x1p39});
  expect_floats(convert(ints(Dtype::kS64, {-v}), Dtype::kF32), {-0x1p62 - 0x1p39});
  expect_floats(
      convert(ints(Dtype::kS64, {(int64_t{1} << 62) + (int64_t{1} << 54) + 1}), Dtype::kBF16),
      {0x1p62 + 0x1p55});
}

TEST(Convert, FloatsAndComplex) {
  const Literal x = floats(Dtype::kF64, {1 + 0x1p-11 + 0x1p-40, 65520, 1e-320});
  expect_floats(convert(x, Dtype::kF16), {1 + 0x1p-10, kInf, 0});
  expect_floats(convert(floats(Dtype::kF32, {1000, -0.0}), Dtype::kF8E4M3FN), {kNan, -0.0});
  expect_floats(convert(complexes(Dtype::kC64, {{1.5, 9}}), Dtype::kF32), {1.5});
  expect_ints(convert(complexes(Dtype::kC64, {{1.5, 9}}), Dtype::kS32), {1});
  expect_ints(convert(complexes(Dtype::kC64, {{0, 9}}), Dtype::kPred), {0});
  expect_near(convert(floats(Dtype::kF32, {2}), Dtype::kC128), {{2, 0}}, 0);
  const Shape wrong = Shape::array(Dtype::kS32, {3});
  expect_error(run(Op::kConvert, {floats(Dtype::kF32, {2})}, NoAttrs{}, &wrong), "(convert_c1)");
  expect_error(run(Op::kConvert, {floats(Dtype::kF32, {2})}), "must be stated");
}

TEST(Bitcast, SameWidth) {
  expect_ints(bitcast(floats(Dtype::kF32, {1, -0.0}), Shape::array(Dtype::kU32, {2})),
              {0x3f800000, 0x80000000});
  expect_floats(bitcast(ints(Dtype::kU16, {0x3f80}), Shape::array(Dtype::kBF16, {1})), {1});
  expect_ints(bitcast(ints(Dtype::kU4, {15, 7}), Shape::array(Dtype::kS4, {2})), {-1, 7});
}

TEST(Bitcast, WidthChanges) {
  const Literal bytes = bitcast(ints(Dtype::kU32, {0x04030201}), Shape::array(Dtype::kU8, {1, 4}));
  expect_ints(bytes, {1, 2, 3, 4});
  expect_ints(bitcast(bytes, Shape::array(Dtype::kU32, {1})), {0x04030201});
  expect_ints(bitcast(ints(Dtype::kU8, {4}), Shape::array(Dtype::kPred, {1, 8})),
              {0, 0, 1, 0, 0, 0, 0, 0});
  expect_floats(bitcast(ints(Dtype::kU8, {0x21}), Shape::array(Dtype::kF4E2M1FN, {1, 2})),
                {0.5, 1});
  expect_ints(bitcast(ints(Dtype::kU8, {0xf1}), Shape::array(Dtype::kS4, {1, 2})), {1, -1});
  expect_ints(bitcast(ints(Dtype::kS4, {1, -1}).reshaped(Shape::array(Dtype::kS4, {1, 2})),
                      Shape::array(Dtype::kU8, {1})),
              {0xf1});
  const Literal z = complexes(Dtype::kC128, {{1, 2}});
  EXPECT_EQ(bitcast(bitcast(z, Shape::array(Dtype::kC64, {1, 2})), Shape::array(Dtype::kC128, {1})),
            z);
  const Shape bad = Shape::array(Dtype::kU8, {1, 3}), real = Shape::array(Dtype::kF32, {1, 4});
  expect_error(run(Op::kBitcastConvert, {ints(Dtype::kU32, {1})}, NoAttrs{}, &bad),
               "(bitcast_convert_c1)");
  expect_error(run(Op::kBitcastConvert, {z}, NoAttrs{}, &real), "(bitcast_convert_c2)");
}

TEST(ReducePrecision, RoundsAndLimits) {
  auto reduce = [](const Literal& x, int64_t e, int64_t m) {
    return value(Op::kReducePrecision, {x}, ReducePrecisionAttrs{e, m});
  };
  // The specification's example: f64 to f16's bits.
  expect_floats(reduce(floats(Dtype::kF64, {kInf, kNan, 5e-324, 0, 65519, 65520}), 5, 10),
                {kInf, kNan, 0, 0, 65504, kInf});
  expect_floats(reduce(floats(Dtype::kF32, {1 + 0x1p-8, 1 + 0x1.8p-7, -1e-39, -3.4e38}), 8, 7),
                {1, 1 + 0x1p-6, -11 * 0x1p-133, -kInf});
  expect_floats(reduce(floats(Dtype::kF32, {0x1p-14, 0x1p-15, -0x1p-15}), 5, 23),
                {0x1p-14, 0, -0.0});
  expect_floats(reduce(floats(Dtype::kF32, {kNan, 1.5, 3}), 5, 0), {kInf, 2, 2});
  expect_floats(reduce(floats(Dtype::kF16, {1.5, 1000}), 20, 40), {1.5, 1000});
  const Literal x = floats(Dtype::kF32, {1});
  expect_error(run(Op::kReducePrecision, {x}, ReducePrecisionAttrs{0, 1}), "(reduce_precision_c2)");
  expect_error(run(Op::kReducePrecision, {x}, ReducePrecisionAttrs{1, -1}),
               "(reduce_precision_c3)");
}

TEST(StochasticConvert, RandomBitsDecide) {
  const Shape out = Shape::array(Dtype::kS8, {6});
  const Literal x = floats(Dtype::kF32, {1.25, 1.25, -1.25, 300, kNan, 127.5});
  const Literal r = ints(Dtype::kU32, {0, 1 << 30, 0, 0, 0, 0});
  expect_ints(value(Op::kStochasticConvert, {x, r}, NoAttrs{}, &out), {2, 1, -2, 127, 0, 127});
  expect_error(
      run(Op::kStochasticConvert, {x, ints(Dtype::kU16, {0, 0, 0, 0, 0, 0})}, NoAttrs{}, &out),
      "as wide as f32");
}

}  // namespace
}  // namespace braze
