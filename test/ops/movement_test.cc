// SPDX-License-Identifier: Apache-2.0
// Known answers of creation and movement ops.
#include "test/ops/one_op.h"

namespace braze {
namespace {

Literal counting(DimSpan dims, Dtype t = Dtype::kS32) {
  Literal l(Shape::array(t, dims));
  for (int64_t i = 0; i < l.elements(); ++i) l.set_int(i, i);
  return l;
}
Literal shaped(Op op, const Literal& x, const Shape& s, Attrs a = NoAttrs{}) {
  return value(op, {x}, std::move(a), &s);
}

TEST(Create, Iota) {
  const Shape s = Shape::array(Dtype::kS8, {2, 3});
  expect_ints(value(Op::kIota, {}, IotaAttrs{1}, &s), {0, 1, 2, 0, 1, 2});
  expect_ints(value(Op::kIota, {}, IotaAttrs{0}, &s), {0, 0, 0, 1, 1, 1});
  const Shape wide = Shape::array(Dtype::kS8, {129});
  EXPECT_EQ(value(Op::kIota, {}, IotaAttrs{0}, &wide).get_int(128), -128);
  const Shape c = Shape::array(Dtype::kC64, {2});
  expect_near(value(Op::kIota, {}, IotaAttrs{0}, &c), {{0, 0}, {1, 0}}, 0);
  expect_error(run(Op::kIota, {}, IotaAttrs{2}, &s), "(iota_c1)");
  const Shape p = Shape::array(Dtype::kPred, {2});
  expect_error(run(Op::kIota, {}, IotaAttrs{0}, &p), "(iota_o1)");
}

TEST(Create, ConstantMustHaveItsShape) {
  const Shape s = Shape::array(Dtype::kF32, {3});
  EXPECT_EQ(value(Op::kConstant, {}, ConstantAttrs{floats(Dtype::kF32, {1, 2, 3})}, &s).shape(), s);
  expect_error(run(Op::kConstant, {}, ConstantAttrs{floats(Dtype::kF32, {1})}, &s),
               "result shape f32[3] given, f32[1] inferred");
}

TEST(Movement, Broadcast) {
  const Literal x = ints(Dtype::kS32, {1, 2});
  const Shape s = Shape::array(Dtype::kS32, {2, 3}), t = Shape::array(Dtype::kS32, {3, 2});
  expect_ints(shaped(Op::kBroadcast, x, s, DimsAttrs{{0}}), {1, 1, 1, 2, 2, 2});
  expect_ints(shaped(Op::kBroadcast, x, t, DimsAttrs{{1}}), {1, 2, 1, 2, 1, 2});
  expect_ints(shaped(Op::kBroadcast, ints(Dtype::kS32, {7}), t, DimsAttrs{{0}}),
              {7, 7, 7, 7, 7, 7});
  const Literal four = Literal::scalar_int(Dtype::kS32, 4);
  const DimSpan none;
  expect_ints(shaped(Op::kBroadcast, four, x.shape(), DimsAttrs{Dims(none.begin(), none.end())}),
              {4, 4});
  // Dimensions may be permuted.
  expect_ints(shaped(Op::kBroadcast, counting({2, 3}), t, DimsAttrs{{1, 0}}), {0, 3, 1, 4, 2, 5});
  auto error = [&](const Shape& r, Dims d, std::string_view text) {
    expect_error(run(Op::kBroadcast, {x}, DimsAttrs{d}, &r), text);
  };
  error(Shape::array(Dtype::kF32, {2}), {0}, "(broadcast_in_dim_c1)");
  error(s, {0, 1}, "(broadcast_in_dim_c2)");
  error(s, {2}, "(broadcast_in_dim_c3)");
  error(s, {-1}, "(broadcast_in_dim_c3)");
  error(s, {1}, "(broadcast_in_dim_c5)");
  expect_error(run(Op::kBroadcast, {counting({2, 2})}, DimsAttrs{{0, 0}}, &s),
               "(broadcast_in_dim_c4)");
}

TEST(Movement, Concatenate) {
  const Literal a = counting({2, 1}), b = counting({2, 2}), none = counting({2, 0});
  const Literal out = value(Op::kConcatenate, {a, none, b}, DimsAttrs{{1}});
  EXPECT_EQ(to_string(out), "{ {0, 0, 1}, {1, 2, 3} }");
  expect_error(run(Op::kConcatenate, {a, b}, DimsAttrs{{0}}), "(concatenate_c2)");
  expect_error(run(Op::kConcatenate, {a, counting({2})}, DimsAttrs{{1}}), "(concatenate_c2)");
  expect_error(run(Op::kConcatenate, {}, DimsAttrs{{0}}), "(concatenate_c3)");
  expect_error(run(Op::kConcatenate, {a}, DimsAttrs{{2}}), "(concatenate_c4)");
  expect_error(run(Op::kConcatenate, {a, counting({2, 1}, Dtype::kS64)}, DimsAttrs{{1}}),
               "(concatenate_c1)");
}

TEST(Movement, Pad) {
  const Literal x = ints(Dtype::kS32, {1, 2, 3}), v = Literal::scalar_int(Dtype::kS32, 9);
  auto pad = [&](int64_t low, int64_t high, int64_t interior) {
    return value(Op::kPad, {x, v}, PadAttrs{{low}, {high}, {interior}});
  };
  expect_ints(pad(1, 2, 0), {9, 1, 2, 3, 9, 9});
  expect_ints(pad(0, 0, 2), {1, 9, 9, 2, 9, 9, 3});
  expect_ints(pad(-1, 1, 1), {9, 2, 9, 3, 9});
  expect_ints(pad(-2, -1, 0), {});
  expect_ints(value(Op::kPad, {ints(Dtype::kS32, {}), v}, PadAttrs{{1}, {1}, {5}}), {9, 9});
  auto error = [&](PadAttrs a, std::string_view text) {
    expect_error(run(Op::kPad, {x, v}, a), text);
  };
  error({{1, 1}, {1}, {0}}, "(pad_c2)");
  error({{1}, {1}, {-1}}, "(pad_c3)");
  error({{-4}, {0}, {0}}, "(pad_c4)");
  error({{0}, {0}, {std::numeric_limits<int64_t>::max()}}, "(pad_c4)");
  expect_error(run(Op::kPad, {x, Literal::scalar(Dtype::kF32, 1)}, PadAttrs{{0}, {0}, {0}}),
               "(pad_c1)");
  expect_error(run(Op::kPad, {x, ints(Dtype::kS32, {1})}, PadAttrs{{0}, {0}, {0}}), "(pad_i2)");
}

TEST(Movement, ReshapeReverseSliceTranspose) {
  const Literal x = counting({2, 3});
  const Shape flat = Shape::array(Dtype::kS32, {6}), five = Shape::array(Dtype::kS32, {5});
  expect_ints(shaped(Op::kReshape, x, flat), {0, 1, 2, 3, 4, 5});
  expect_error(run(Op::kReshape, {x}, NoAttrs{}, &five), "(reshape_c2)");
  const Shape other = Shape::array(Dtype::kF32, {6});
  expect_error(run(Op::kReshape, {x}, NoAttrs{}, &other), "(reshape_c1)");

  expect_ints(value(Op::kReverse, {x}, DimsAttrs{{1}}), {2, 1, 0, 5, 4, 3});
  expect_ints(value(Op::kReverse, {x}, DimsAttrs{{0, 1}}), {5, 4, 3, 2, 1, 0});
  expect_error(run(Op::kReverse, {x}, DimsAttrs{{0, 0}}), "(reverse_c2)");
  expect_error(run(Op::kReverse, {x}, DimsAttrs{{2}}), "(reverse_c3)");

  expect_ints(value(Op::kSlice, {x}, SliceAttrs{{0, 1}, {2, 3}, {1, 1}}), {1, 2, 4, 5});
  expect_ints(value(Op::kSlice, {x}, SliceAttrs{{0, 0}, {2, 3}, {2, 2}}), {0, 2});
  expect_ints(value(Op::kSlice, {x}, SliceAttrs{{1, 1}, {1, 3}, {1, 1}}), {});
  auto error = [&](SliceAttrs a, std::string_view text) {
    expect_error(run(Op::kSlice, {x}, a), text);
  };
  error({{0}, {2}, {1}}, "(slice_c2)");
  error({{0, 0}, {2, 4}, {1, 1}}, "(slice_c3)");
  error({{0, 2}, {2, 1}, {1, 1}}, "(slice_c3)");
  error({{-1, 0}, {2, 1}, {1, 1}}, "(slice_c3)");
  error({{0, 0}, {2, 3}, {1, 0}}, "(slice_c4)");

  expect_ints(value(Op::kTranspose, {x}, DimsAttrs{{1, 0}}), {0, 3, 1, 4, 2, 5});
  expect_error(run(Op::kTranspose, {x}, DimsAttrs{{0}}), "(transpose_c2)");
  expect_error(run(Op::kTranspose, {x}, DimsAttrs{{1, 1}}), "(transpose_c2)");
}

TEST(Movement, BitcastAndCopy) {
  const Literal x = floats(Dtype::kF32, {1, 2});
  const Shape s = Shape::array(Dtype::kU32, {2, 1});
  expect_ints(shaped(Op::kBitcast, x, s), {0x3f800000, 0x40000000});
  EXPECT_EQ(value(Op::kCopy, {x}), x);
  const Shape bad = Shape::array(Dtype::kF64, {1});
  expect_error(run(Op::kBitcast, {x}, NoAttrs{}, &bad), "bitcast: f32[2] to f64[1]");
}

TEST(Movement, QuantizedAxesMove) {
  Shape x = Shape::array(Dtype::kS8, {2, 3});
  x.quant = std::make_shared<Quantization>(
      Quantization{Dtype::kF32, {0.5, 1, 2}, {0, 0, 0}, 1, -128, 127});
  const Shape* operands[] = {&x};
  auto t = infer_shape(Op::kTranspose, operands, DimsAttrs{{1, 0}}, {});
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->quant->axis, 0);
}

TEST(Movement, BoundedDimensionsAreCarried) {
  Shape x = Shape::array(Dtype::kS8, {2, 3});
  x.dynamic = {false, true};
  const Shape* operands[] = {&x};
  EXPECT_EQ(to_string(*infer_shape(Op::kTranspose, operands, DimsAttrs{{1, 0}}, {}), false),
            "s8[<=3,2]");
  EXPECT_EQ(
      to_string(*infer_shape(Op::kSlice, operands, SliceAttrs{{0, 0}, {1, 3}, {1, 1}}, {}), false),
      "s8[1,<=3]");
  EXPECT_EQ(
      to_string(*infer_shape(Op::kSlice, operands, SliceAttrs{{0, 0}, {1, 2}, {1, 1}}, {}), false),
      "s8[1,2]");
}

}  // namespace
}  // namespace braze
