// SPDX-License-Identifier: Apache-2.0
// Known answers and laws of the dynamic-shape ops, feeds and channels.
#include "test/ops/one_op.h"

namespace braze {
namespace {

Literal list(const std::vector<int64_t>& v) { return ints(Dtype::kS64, v); }
Shape f32(std::initializer_list<int64_t> dims) { return Shape::array(Dtype::kF32, dims); }

TEST(Dynamic, BroadcastExpandsOnes) {
  const Shape out = f32({2, 3});
  const Literal x = Literal::of(Dtype::kF32, {2, 1}, {5.0, 6.0});
  expect_floats(value(Op::kDynamicBroadcast, {x, list({2, 3})}, DimsAttrs{{0, 1}}, &out), {5, 5, 5, 6, 6, 6});
  const Shape unknown = Shape::array(Dtype::kF32, {kUnknownDim, kUnknownDim});
  EXPECT_EQ(value(Op::kDynamicBroadcast, {x, list({2, 3})}, DimsAttrs{{0, 1}}, &unknown).shape(), out);
  expect_error(run(Op::kDynamicBroadcast, {x, list({3, 3})}, DimsAttrs{{0, 1}}, &unknown),
               "stablehlo.dynamic_broadcast_in_dim (C5): dim(operand, 0) = 2 must be 1 or 3");
  expect_error(run(Op::kDynamicBroadcast, {x, list({2, 3})}, DimsAttrs{{0}}, &out), "(C2)");
  expect_error(run(Op::kDynamicBroadcast, {x, list({2, 3})}, DimsAttrs{{0, 0}}, &out), "(C4)");
  expect_error(run(Op::kDynamicBroadcast, {x, list({2})}, DimsAttrs{{0, 1}}, &out), "(C7)");
}

TEST(Dynamic, ReshapeIotaPadAndSlice) {
  const Shape out = f32({3, 2});
  const Literal x = floats(Dtype::kF32, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(value(Op::kDynamicReshape, {x, list({3, 2})}, NoAttrs{}, &out).shape(), out);
  const Shape wrong = f32({4});
  expect_error(run(Op::kDynamicReshape, {x, list({4})}, NoAttrs{}, &wrong), "stablehlo.dynamic_reshape (C2)");
  const Shape four = Shape::array(Dtype::kS32, {2, 2});
  expect_ints(value(Op::kDynamicIota, {list({2, 2})}, IotaAttrs{1}, &four), {0, 1, 0, 1});
  expect_error(run(Op::kDynamicIota, {list({2, 2})}, IotaAttrs{2}, &four), "stablehlo.dynamic_iota (C1)");
  const Literal zero = Literal::scalar(Dtype::kF32, 0), short_x = floats(Dtype::kF32, {1, 2});
  expect_floats(value(Op::kDynamicPad, {short_x, zero, list({1}), list({-1}), list({1})}), {0, 1, 0});
  expect_error(run(Op::kDynamicPad, {short_x, zero, list({1, 1}), list({1}), list({1})}),
               "stablehlo.dynamic_pad (C2)");
  expect_error(run(Op::kDynamicPad, {short_x, Literal::scalar(Dtype::kF64, 0), list({1}), list({1}), list({1})}),
               "stablehlo.dynamic_pad (C1)");
  expect_floats(value(Op::kRealDynamicSlice, {x, list({1}), list({6}), list({2})}), {2, 4, 6});
  expect_error(run(Op::kRealDynamicSlice, {x, list({1}), list({9}), list({2})}), "slice");
}

TEST(Dynamic, SizesOfDimensions) {
  const Literal x(f32({2, 5}));
  expect_ints(value(Op::kGetDimensionSize, {x}, DimAttrs{1}), {5});
  expect_error(run(Op::kGetDimensionSize, {x}, DimAttrs{2}), "stablehlo.get_dimension_size (C1)");
  const Literal y = floats(Dtype::kF32, {1, 2, 3});
  const Literal two = Literal::scalar_int(Dtype::kS32, 2), nine = Literal::scalar_int(Dtype::kS32, 9);
  const Literal cut = value(Op::kSetDimensionSize, {y, two}, DimAttrs{0});
  expect_floats(cut, {1, 2});
  expect_error(run(Op::kSetDimensionSize, {y, nine}, DimAttrs{0}), "0 <= size <= 3, got 9");
  Module m("m");
  Builder b(m.add_computation("main"));
  Instr* i = b.op(Op::kSetDimensionSize, {b.parameter(0, y.shape()), b.parameter(1, two.shape())}, DimAttrs{0});
  EXPECT_TRUE(i->shape.is_dynamic(0));
  EXPECT_EQ(i->shape.dims[0], 3);
}

TEST(Dynamic, ExpansionNeedsKnownShapes) {
  Module m("m");
  Builder b(m.add_computation("main"));
  const Shape out = f32({3, 2});
  Instr* x = b.parameter(0, f32({6}));
  Instr* known = b.op_shaped(Op::kDynamicReshape, out, {x, b.constant(list({3, 2}))});
  auto made = def(Op::kDynamicReshape).expand(b, *known);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)->op, Op::kReshape);
  Instr* open = b.op_shaped(Op::kDynamicReshape, out, {x, b.parameter(1, Shape::array(Dtype::kS64, {2}))});
  auto failed = def(Op::kDynamicReshape).expand(b, *open);
  EXPECT_NE(std::string(failed.status().message()).find("output_shape (operand 1) must be known"),
            std::string::npos);
}

TEST(Effects, ShapesFollowHlo) {
  Module m("m");
  Builder b(m.add_computation("main"));
  Instr* token = b.op(Op::kAfterAll, {});
  Instr* x = b.parameter(0, f32({2}));
  const ChannelAttrs channel{.channel_id = 1};
  Instr* sent = b.op(Op::kSend, {x, token}, channel);
  EXPECT_EQ(to_string(sent->shape, false), "(f32[2], u32[], token[])");
  EXPECT_TRUE(b.op(Op::kSendDone, {sent}, channel)->shape.is_token());
  EXPECT_EQ(to_string(b.op(Op::kRecvDone, {sent}, channel)->shape, false), "(f32[2], token[])");
  EXPECT_TRUE(b.op(Op::kOutfeed, {x, x, token}, ChannelAttrs{})->shape.is_token());
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST(Effects, Laws) {
  const Literal token{Shape::token()}, x = floats(Dtype::kF32, {1, 2});
  auto infeed = [&](const Shape& s) { return run(Op::kInfeed, {token}, ChannelAttrs{}, &s); };
  expect_error(infeed(f32({2})), "stablehlo.infeed (C1)");
  expect_error(infeed(Shape::tuple_of({Shape::token(), Shape::token()})), "stablehlo.infeed (C2)");
  expect_error(infeed(Shape::tuple_of({f32({2})})), "stablehlo.infeed (C3)");
  expect_error(infeed(Shape::tuple_of({f32({2}), Shape::token()})), "no feed is connected");
  expect_error(run(Op::kOutfeed, {x, x}, ChannelAttrs{}), "operand 1 must be a token");
  expect_error(run(Op::kSend, {x, token}, ChannelAttrs{}), "no channel is connected");
  expect_error(run(Op::kSendDone, {x}, ChannelAttrs{}), "operand must be (data, u32[], token[])");
  const Shape wrong = f32({2});
  expect_error(run(Op::kRecv, {token}, ChannelAttrs{}, &wrong), "result must be (data, u32[], token[])");
}

}  // namespace
}  // namespace braze
