// SPDX-License-Identifier: Apache-2.0
// Known answers of reductions, contractions, indexing, sort and control, hand-computed or figures
// of the StableHLO conformance programs.
#include <gtest/gtest.h>

#include <limits>

#include "test/eval/program.h"

namespace braze {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

Window window(std::initializer_list<WindowDim> dims) { return Window(dims); }

TEST(Reduce, SumsRows) {
  Program p;
  Instr* sum = p.b.reduce(Op::kAdd, p.ints({1, 6}, {0, 1, 2, 3, 4, 5}), p.ints({}, {0}), {1});
  EXPECT_EQ(int_values(p.run(sum)), Ints({15}));
}

TEST(Reduce, StartsFromInitAndKeepsOuterOrder) {
  Program p;
  Instr* x = p.counting({2, 3, 2});
  EXPECT_EQ(int_values(p.run(p.b.reduce(Op::kAdd, x, p.ints({}, {100}), {0, 2}))),
            Ints({100 + 1 + 2 + 7 + 8, 100 + 3 + 4 + 9 + 10, 100 + 5 + 6 + 11 + 12}));
}

TEST(Reduce, OfNothingIsInit) {
  Program p;
  Instr* x = p.b.constant(Literal(Shape::array(Dtype::kF32, {0, 2})));
  EXPECT_EQ(float_values(p.run(p.b.reduce(Op::kMaximum, x, p.floats({}, {-kInf}), {0}))),
            Floats({-kInf, -kInf}));
}

TEST(Reduce, RoundsLongSumsOnce) {
  Program p;
  // In f32 steps each 1 is lost beside 2^24: what a short sum must do, in order, and a long one not.
  Instr* x = p.floats({5}, {0x1p24, 1, 1, 1, 1});
  EXPECT_EQ(float_values(p.run(p.b.reduce(Op::kAdd, x, p.floats({}, {0}), {0}))),
            Floats({0x1p24}));
  Literal many(Shape::array(Dtype::kF32, {65}));
  for (int k = 0; k < 65; ++k) many.set_float(k, k == 0 ? 0x1p24 : 1);
  Instr* longer = p.b.constant(many);
  EXPECT_EQ(float_values(p.run(p.b.reduce(Op::kAdd, longer, p.floats({}, {0}), {0}))),
            Floats({0x1p24 + 64}));
  // A combiner that is not plain works in its declared type.
  const Shape f = Shape::scalar(Dtype::kF32);
  Computation* body = p.function({f, f}, [](Builder& b, auto& a) {
    return b.add(b.add(a[0], a[1]), b.scalar(Dtype::kF32, 0));
  });
  Instr* slow = p.b.op(Op::kReduce, {x, p.floats({}, {0})}, DimsAttrs{{0}}, {body});
  EXPECT_EQ(float_values(p.run(slow)), Floats({0x1p24}));
}

TEST(Reduce, MaximumTakesNanAndSignOfZero) {
  Program p;
  Instr* x = p.floats({2, 2}, {1, std::nan(""), -0.0, 0.0});
  auto v = float_values(p.run(p.b.reduce(Op::kMaximum, x, p.floats({}, {-kInf}), {1})));
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_FALSE(std::signbit(v[1]));
  v = float_values(p.run(p.b.reduce(Op::kMinimum, x, p.floats({}, {kInf}), {1})));
  EXPECT_TRUE(std::isnan(v[0]));
  EXPECT_TRUE(std::signbit(v[1]));
}

TEST(Reduce, ComplexMaximumOrdersByRealThenImaginaryPart) {
  Program p;
  Instr* x =
      p.b.constant(Literal::of<std::complex<double>>(Dtype::kC64, {3}, {{1, 2}, {1, 5}, {0, 9}}));
  Instr* init = p.b.constant(Literal::of<std::complex<double>>(Dtype::kC64, {}, {{-9, 0}}));
  auto v = p.run(p.b.reduce(Op::kMaximum, x, init, {0}));
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->get_complex(0), std::complex<double>(1, 5));
}

TEST(Reduce, ArgMaxOfTwoArrays) {
  Program p;
  const Shape f = Shape::scalar(Dtype::kF32), i = Shape::scalar(Dtype::kS32);
  Computation* body = p.function({f, i, f, i}, [](Builder& b, auto& a) {
    Instr* keep = b.compare(CompareDirection::kGe, a[0], a[2]);
    return b.tuple({b.select(keep, a[0], a[2]), b.select(keep, a[1], a[3])});
  });
  Instr* r = p.b.op(Op::kReduce,
                    {p.floats({2, 3}, {1, 5, 5, 9, 2, 3}),
                     p.ints({2, 3}, {0, 1, 2, 0, 1, 2}, Dtype::kS32), p.floats({}, {-kInf}),
                     p.ints({}, {-1}, Dtype::kS32)},
                    DimsAttrs{{1}}, {body});
  auto out = p.run(r);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(float_values(out->parts()[0]), Floats({5, 9}));
  EXPECT_EQ(int_values(out->parts()[1]), Ints({1, 0}));
}

TEST(ReduceWindow, Dilations) {
  Program p;
  Instr* x = p.counting({3, 2});
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  auto run = [&](int64_t size) {
    WindowAttrs a{window({{.size = size, .stride = 4, .pad_low = 2, .pad_high = 1,
                           .window_dilation = 3, .base_dilation = 2},
                          {}})};
    return int_values(p.run(p.b.op(Op::kReduceWindow, {x, p.ints({}, {0})}, a, {add})));
  };
  EXPECT_EQ(run(2), Ints({0, 0, 3, 4}));
  EXPECT_EQ(run(3), Ints({5, 6}));
}

TEST(ReduceWindow, NegativePaddingCrops) {
  Program p;
  WindowAttrs a{window({{.size = 2, .pad_low = -1, .pad_high = -1}})};
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  EXPECT_EQ(
      int_values(p.run(p.b.op(Op::kReduceWindow, {p.counting({5}), p.ints({}, {0})}, a, {add}))),
      Ints({2 + 3, 3 + 4}));
}

TEST(ReduceWindow, WiderThanTheArrayIsEmpty) {
  Program p;
  WindowAttrs a{window({{.size = 4}})};
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  EXPECT_EQ(
      int_values(p.run(p.b.op(Op::kReduceWindow, {p.counting({3}), p.ints({}, {0})}, a, {add}))),
      Ints({}));
}

TEST(SelectAndScatter, MaxPoolGradient) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* ge = p.function({s, s}, [](Builder& b, auto& a) {
    return b.compare(CompareDirection::kGe, a[0], a[1]);
  });
  WindowAttrs a{window({{.size = 3, .stride = 2, .pad_low = 0, .pad_high = 1}, {}})};
  Instr* r = p.b.op(Op::kSelectAndScatter,
                    {p.ints({4, 2}, {1, 5, 2, 5, 3, 6, 4, 4}), p.ints({2, 2}, {5, 6, 7, 8}),
                     p.ints({}, {0})},
                    a, {ge, p.b.combiner(Op::kAdd, Dtype::kS64)});
  EXPECT_EQ(int_values(p.run(r)), Ints({0, 0, 0, 0, 5, 14, 7, 0}));
}

TEST(Dot, BatchAndOuterProduct) {
  Program p;
  DotAttrs batch;
  batch.lhs_batch = batch.rhs_batch = {0};
  batch.lhs_contracting = {2};
  batch.rhs_contracting = {1};
  Instr* identity = p.ints({2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1});
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kDot, {p.counting({2, 2, 2}), identity}, batch))),
            Ints({1, 2, 3, 4, 5, 6, 7, 8}));
  Instr* outer =
      p.b.op(Op::kDot, {p.ints({2, 2}, {1, 2, 3, 4}), p.ints({2, 2}, {1, 0, 0, 1})}, DotAttrs{});
  EXPECT_EQ(int_values(p.run(outer)), Ints({1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3, 4, 0, 0, 4}));
}

TEST(Dot, ResultTypes) {
  Program p;
  DotAttrs a;
  a.lhs_contracting = a.rhs_contracting = {0};
  auto dot = [&](Instr* x, Instr* y, Dtype t) {
    return p.b.op_shaped(Op::kDot, Shape::scalar(t), {x, y}, a);
  };
  Instr* s8 = p.ints({3}, {-128, 100, 100}, Dtype::kS8);
  Instr* u8 = p.ints({3}, {255, 255, 2}, Dtype::kU8);
  EXPECT_EQ(int_values(p.run(dot(s8, u8, Dtype::kS32))), Ints({-128 * 255 + 100 * 255 + 200}));
  EXPECT_EQ(int_values(p.run(dot(s8, s8, Dtype::kS8))), Ints({static_cast<int8_t>(16384 + 20000)}));
  Instr* e = p.floats({8}, {0, 1, 2, 3, 4, 5, 6, 7}, Dtype::kF8E4M3);
  EXPECT_EQ(float_values(p.run(dot(e, e, Dtype::kF8E4M3))),
            Floats({144}));  // 140 is between 136 and 144
  Instr* h = p.floats({2}, {256, 1}, Dtype::kBF16);
  EXPECT_EQ(float_values(p.run(dot(h, h, Dtype::kF32))), Floats({65537}));
  EXPECT_EQ(float_values(p.run(dot(h, h, Dtype::kBF16))), Floats({65536}));
  Instr* t = p.ints({2}, {1, 1}, Dtype::kPred);
  EXPECT_EQ(int_values(p.run(dot(t, t, Dtype::kPred))), Ints({1}));
  Instr* c = p.b.constant(Literal::of<std::complex<double>>(Dtype::kC64, {2}, {{1, 2}, {0, 1}}));
  auto v = p.run(dot(c, c, Dtype::kC64));
  ASSERT_TRUE(v.ok());
  EXPECT_EQ(v->get_complex(0), std::complex<double>(-4, 4));
}

TEST(RaggedDot, RowsMeetTheirGroup) {
  Program p;
  RaggedDotAttrs a;
  a.dot.lhs_contracting = {1};
  a.dot.rhs_contracting = {1};
  a.lhs_ragged = {0};
  a.rhs_group = {0};
  Instr* lhs = p.ints({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Instr* rhs = p.ints({2, 2, 1}, {1, 1, 10, 10});
  Instr* sizes = p.ints({2}, {1, 2});
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kRaggedDot, {lhs, rhs, sizes}, a))), Ints({3, 70, 110, 0}));
}

TEST(RaggedDot, GroupsOfTheSum) {
  Program p;
  RaggedDotAttrs a;
  a.dot.lhs_contracting = {1};
  a.dot.rhs_contracting = {0};
  a.lhs_ragged = {1};
  Instr* lhs = p.ints({1, 4}, {1, 2, 3, 4});
  Instr* rhs = p.ints({4, 1}, {1, 10, 100, 1000});
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kRaggedDot, {lhs, rhs, p.ints({3}, {1, 0, 2})}, a))),
            Ints({1, 0, 320}));
}

ConvAttrs conv_2d(std::initializer_list<int64_t> in, std::initializer_list<int64_t> kernel,
                  std::initializer_list<int64_t> out, std::initializer_list<WindowDim> w) {
  // Places of batch, feature (kernel: input, output), then spatial dimensions.
  auto at = [](auto& l, int i) { return l.begin()[i]; };
  ConvAttrs a;
  a.window = w;
  a.dims = {at(in, 0), at(in, 1), at(kernel, 0), at(kernel, 1), at(out, 0), at(out, 1),
            {at(in, 2), at(in, 3)}, {at(kernel, 2), at(kernel, 3)}, {at(out, 2), at(out, 3)}};
  return a;
}

constexpr std::initializer_list<int64_t> kGrid = {1,  2,  5,  6,  3,  4,  7,  8,
                                                  10, 11, 14, 15, 12, 13, 16, 17};

TEST(Convolution, PaddingAndBaseDilation) {
  Program p;
  const WindowDim w{.size = 3, .stride = 4, .pad_low = 1, .pad_high = 1, .base_dilation = 2};
  ConvAttrs a = conv_2d({0, 3, 1, 2}, {2, 3, 0, 1}, {0, 3, 1, 2}, {w, w});
  Instr* ones = p.b.splat(Shape::array(Dtype::kS64, {3, 3, 1, 1}), 1);
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kConvolution, {p.ints({1, 4, 4, 1}, kGrid), ones}, a))),
            Ints({1, 5, 10, 14}));
}

TEST(Convolution, Groups) {
  Program p;
  auto spatial = [](int64_t size) {
    return WindowDim{.size = size, .stride = 4, .base_dilation = 2};
  };
  Instr* ones = p.b.splat(Shape::array(Dtype::kS64, {1, 2, 1, 4}), 1);
  ConvAttrs batch = conv_2d({1, 3, 0, 2}, {2, 3, 0, 1}, {0, 3, 1, 2}, {spatial(1), spatial(2)});
  batch.batch_groups = 4;
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kConvolution, {p.ints({1, 4, 4, 1}, kGrid), ones}, batch))),
            Ints({1, 3, 10, 12, 5, 7, 14, 16}));
  ConvAttrs feature = conv_2d({0, 2, 1, 3}, {1, 3, 0, 2}, {0, 3, 1, 2}, {spatial(1), spatial(1)});
  feature.feature_groups = 2;
  EXPECT_EQ(
      int_values(p.run(p.b.op(Op::kConvolution, {p.ints({1, 4, 4, 1}, kGrid), ones}, feature))),
      Ints({3, 3, 11, 11, 21, 21, 29, 29}));
}

TEST(Convolution, ReversalAndNegativePadding) {
  Program p;
  ConvAttrs a;
  a.dims = {0, 1, 0, 1, 0, 1, {2}, {2}, {2}};
  a.window = {{.size = 2, .pad_low = -1, .pad_high = 1, .reversal = true}};
  // Input 2 3 0 under the kernel 10 1.
  EXPECT_EQ(int_values(p.run(p.b.op(
                Op::kConvolution, {p.ints({1, 1, 3}, {1, 2, 3}), p.ints({1, 1, 2}, {1, 10})}, a))),
            Ints({23, 30}));
}

TEST(DynamicSlice, ClampsStarts) {
  Program p;
  Instr* x = p.counting({3, 4});
  auto slice = [&](Instr* i, Instr* j) {
    return int_values(p.run(p.b.op(Op::kDynamicSlice, {x, i, j}, DynamicSliceAttrs{{2, 2}})));
  };
  EXPECT_EQ(slice(p.ints({}, {0}), p.ints({}, {1})), Ints({2, 3, 6, 7}));
  EXPECT_EQ(slice(p.ints({}, {-5}), p.ints({}, {99})), Ints({3, 4, 7, 8}));
  EXPECT_EQ(slice(p.ints({}, {-1}, Dtype::kU64), p.ints({}, {0}, Dtype::kU64)),
            Ints({5, 6, 9, 10}));
}

TEST(DynamicUpdateSlice, ClampsStarts) {
  Program p;
  Instr* x = p.ints({4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 2, 2, 2});
  Instr* one = p.b.splat(Shape::array(Dtype::kS64, {2, 3}), 1);
  Instr* r = p.b.op(Op::kDynamicUpdateSlice, {x, one, p.ints({}, {4}), p.ints({}, {4})});
  EXPECT_EQ(int_values(p.run(r)), Ints(16, 1));
}

TEST(Gather, ClampsAndOrdersDimensions) {
  Program p;
  GatherAttrs a{.offset_dims = {2, 3}, .collapsed_slice_dims = {0}, .start_index_map = {1, 0},
                .index_vector_dim = 2, .slice_sizes = {1, 2, 2}};
  Instr* starts = p.ints({2, 3, 2}, {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9});
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kGather, {p.counting({3, 4, 2}), starts}, a))),
            Ints({1, 2,  3,  4,  3,  4,  5,  6,  13, 14, 15, 16,
                  9, 10, 11, 12, 11, 12, 13, 14, 17, 18, 19, 20}));
}

constexpr std::initializer_list<int64_t> kBatchedStarts = {0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9,
                                                           0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0};

TEST(Gather, BatchingDimensions) {
  Program p;
  GatherAttrs a{.offset_dims = {3, 4}, .collapsed_slice_dims = {1}, .start_index_map = {2, 1},
                .operand_batching_dims = {0}, .start_indices_batching_dims = {1},
                .index_vector_dim = 3, .slice_sizes = {1, 1, 2, 2}};
  Instr* starts = p.ints({2, 2, 3, 2}, kBatchedStarts);
  EXPECT_EQ(int_values(p.run(p.b.op(Op::kGather, {p.counting({2, 3, 4, 2}), starts}, a))),
            Ints({1,  2,  3,  4,  3,  4,  5,  6,  13, 14, 15, 16, 33, 34, 35, 36,
                  35, 36, 37, 38, 41, 42, 43, 44, 1,  2,  3,  4,  13, 14, 15, 16,
                  21, 22, 23, 24, 43, 44, 45, 46, 33, 34, 35, 36, 27, 28, 29, 30}));
}

TEST(Scatter, DropsWindowsOutOfBounds) {
  Program p;
  ScatterAttrs a{.update_window_dims = {2, 3}, .inserted_window_dims = {0},
                 .scatter_dims_to_operand_dims = {1, 0}, .index_vector_dim = 2};
  Instr* starts = p.ints({2, 3, 2}, {0, 2, 1, 0, 2, 1, 0, 1, 1, 0, 0, 9});
  Instr* ones = p.b.splat(Shape::array(Dtype::kS64, {2, 3, 2, 2}), 1);
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  EXPECT_EQ(
      int_values(p.run(p.b.op(Op::kScatter, {p.counting({3, 4, 2}), starts, ones}, a, {add}))),
      Ints({1,  2,  5,  6,  7,  8,  7,  8,  10, 11, 12, 13,
            14, 15, 16, 17, 18, 19, 20, 21, 21, 22, 23, 24}));
}

TEST(Scatter, PartlyOutsideIsDroppedAsAWhole) {
  Program p;
  ScatterAttrs a{
      .update_window_dims = {1}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1};
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  Instr* r =
      p.b.op(Op::kScatter,
             {p.ints({4}, {0, 0, 0, 0}), p.ints({3, 1}, {3, -1, 2}), p.counting({3, 2})}, a, {add});
  EXPECT_EQ(int_values(p.run(r)), Ints({0, 0, 5, 6}));
}

TEST(Scatter, BatchingDimensions) {
  Program p;
  ScatterAttrs a{.update_window_dims = {3, 4}, .inserted_window_dims = {1},
                 .scatter_dims_to_operand_dims = {2, 1}, .input_batching_dims = {0},
                 .scatter_indices_batching_dims = {1}, .index_vector_dim = 3};
  Instr* starts = p.ints({2, 2, 3, 2}, kBatchedStarts);
  Instr* ones = p.b.splat(Shape::array(Dtype::kS64, {2, 2, 3, 2, 2}), 1);
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kS64);
  EXPECT_EQ(
      int_values(p.run(p.b.op(Op::kScatter, {p.counting({2, 3, 4, 2}), starts, ones}, a, {add}))),
      Ints({3,  4,  6,  7,  6,  7,  7,  8,  9,  10, 11, 12, 15, 16, 17, 18,
            17, 18, 19, 20, 22, 23, 24, 25, 25, 26, 28, 29, 30, 31, 31, 32,
            35, 36, 38, 39, 38, 39, 39, 40, 41, 42, 44, 45, 46, 47, 47, 48}));
}

TEST(Sort, StableTwoArrays) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* gt = p.function({s, s, s, s}, [](Builder& b, auto& a) {
    return b.compare(CompareDirection::kGt, a[0], a[1]);
  });
  Instr* r = p.b.op(Op::kSort,
                    {p.ints({2, 3}, {1, 2, 3, 3, 2, 1}), p.ints({2, 3}, {3, 2, 1, 1, 2, 3})},
                    SortAttrs{0, true}, {gt});
  auto out = p.run(r);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(int_values(out->parts()[0]), Ints({3, 2, 3, 1, 2, 1}));
  EXPECT_EQ(int_values(out->parts()[1]), Ints({1, 2, 1, 3, 2, 3}));
}

TEST(Sort, TotalOrderPlacesNanLast) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kF32);
  Computation* lt = p.function({s, s}, [](Builder& b, auto& a) {
    return b.op(Op::kCompare, {a[0], a[1]},
                CompareAttrs{CompareDirection::kLt, CompareType::kTotalOrder});
  });
  const double nan = std::nan("");
  Instr* r = p.b.op(Op::kSort, {p.floats({6}, {nan, 0.0, -0.0, -kInf, -nan, 3})},
                    SortAttrs{0, true}, {lt});
  auto v = float_values(p.run(r));
  EXPECT_TRUE(std::isnan(v[0]) && std::signbit(v[0]));
  EXPECT_EQ(v[1], -kInf);
  EXPECT_TRUE(std::signbit(v[2]));
  EXPECT_FALSE(std::signbit(v[3]));
  EXPECT_EQ(v[4], 3);
  EXPECT_TRUE(std::isnan(v[5]));
}

TEST(Sort, SurvivesComparatorsThatAreNoOrder) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* always =
      p.function({s, s}, [](Builder& b, auto&) { return b.scalar(Dtype::kPred, 1); });
  auto v = int_values(p.run(p.b.op(Op::kSort, {p.counting({100})}, SortAttrs{0, false}, {always})));
  std::sort(v.begin(), v.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(v[i], i + 1);
}

TEST(TopK, TiesByPosition) {
  Program p;
  auto out =
      p.run(p.b.op(Op::kTopK, {p.ints({2, 4}, {1, 7, 7, 3, -1, -5, -1, -9})}, TopKAttrs{3, true}));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(int_values(out->parts()[0]), Ints({7, 7, 3, -1, -1, -5}));
  EXPECT_EQ(int_values(out->parts()[1]), Ints({1, 2, 3, 0, 2, 1}));
}

TEST(Conditional, IndexOutOfRangeTakesTheLast) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  std::vector<Computation*> branches;
  for (double k : {10., 20., 30.})
    branches.push_back(p.function(
        {s}, [&](Builder& b, auto& a) { return b.add(a[0], b.scalar(Dtype::kS64, k)); }));
  Instr* one = p.ints({}, {1});
  auto run = [&](Instr* which, absl::Span<Computation* const> calls) {
    std::vector<Instr*> operands{which};
    operands.insert(operands.end(), calls.size(), one);
    return int_values(p.run(p.b.op(Op::kConditional, operands, NoAttrs{}, calls)));
  };
  for (auto [index, want] : {std::pair{0, 11}, {1, 21}, {2, 31}, {3, 31}, {-1, 31}})
    EXPECT_EQ(run(p.ints({}, {index}, Dtype::kS32), branches), Ints({want})) << index;
  const auto two = absl::MakeConstSpan(branches).subspan(0, 2);
  EXPECT_EQ(run(p.ints({}, {1}, Dtype::kPred), two), Ints({11}));
  EXPECT_EQ(run(p.ints({}, {0}, Dtype::kPred), two), Ints({21}));
}

TEST(While, CountsAndSums) {
  Program p;
  const Shape state = Shape::tuple_of({Shape::scalar(Dtype::kS32), Shape::scalar(Dtype::kS64)});
  Computation* cond = p.function({state}, [](Builder& b, auto& a) {
    return b.compare(CompareDirection::kLt, b.element(a[0], 0), b.scalar(Dtype::kS32, 10));
  });
  Computation* body = p.function({state}, [](Builder& b, auto& a) {
    Instr* i = b.element(a[0], 0);
    return b.tuple(
        {b.add(i, b.scalar(Dtype::kS32, 1)), b.add(b.element(a[0], 1), b.convert(Dtype::kS64, i))});
  });
  Instr* start = p.b.tuple({p.ints({}, {0}, Dtype::kS32), p.ints({}, {0})});
  auto out = p.run(p.b.op(Op::kWhile, {start}, NoAttrs{}, {cond, body}));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(int_values(out->parts()[0]), Ints({10}));
  EXPECT_EQ(int_values(out->parts()[1]), Ints({45}));
}

TEST(Map, Multiplies) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* f = p.function({s, s}, [](Builder& b, auto& a) { return b.mul(a[0], a[1]); });
  Instr* r = p.b.op(Op::kMap, {p.ints({2, 2}, {0, 1, 2, 3}), p.ints({2, 2}, {4, 5, 6, 7})},
                    DimsAttrs{{0, 1}}, {f});
  EXPECT_EQ(int_values(p.run(r)), Ints({0, 5, 12, 21}));
}

}  // namespace
}  // namespace braze
