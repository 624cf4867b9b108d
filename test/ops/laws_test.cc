// SPDX-License-Identifier: Apache-2.0
// Bad inputs of the families with many laws: each is refused, with the broken constraint's name.
#include <gtest/gtest.h>

#include "ops/builder.h"
#include "ops/op_def.h"

namespace braze {
namespace {

const Shape kF = Shape::scalar(Dtype::kF32), kI = Shape::scalar(Dtype::kS32);

Shape f32(DimSpan dims) { return Shape::array(Dtype::kF32, dims); }
Shape s32(DimSpan dims) { return Shape::array(Dtype::kS32, dims); }

struct Laws : testing::Test {
  Module m{"m"};
  Computation* main = m.add_computation("main");
  Builder b{main};
  Computation* add = b.combiner(Op::kAdd, Dtype::kF32);
  Computation* add_int = b.combiner(Op::kAdd, Dtype::kS32);

  Computation* function(absl::Span<const Shape> params,
                        std::function<Instr*(Builder&, const std::vector<Instr*>&)> make) {
    Computation* c = m.add_computation("f");
    Builder inner(c);
    for (size_t i = 0; i < params.size(); ++i) inner.parameter(static_cast<int64_t>(i), params[i]);
    c->set_root(make(inner, c->params()));
    EXPECT_TRUE(inner.status().ok()) << inner.status();
    return c;
  }
  Result<Shape> infer(Op op, std::vector<Shape> operands, Attrs attrs = NoAttrs{},
                      std::vector<Computation*> calls = {}, const Shape* proposed = nullptr) {
    std::vector<const Shape*> shapes;
    for (const Shape& s : operands) shapes.push_back(&s);
    return infer_shape(op, shapes, attrs, calls, proposed);
  }
  void refuse(std::string_view law, const Result<Shape>& r) {
    ASSERT_FALSE(r.ok()) << "accepted against " << law << ": " << to_string(*r);
    EXPECT_EQ(r.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(r.status().message()).find(law), std::string::npos)
        << r.status() << "\nshould name " << law;
  }
  void accept(std::string_view shape, const Result<Shape>& r) {
    ASSERT_TRUE(r.ok()) << r.status();
    EXPECT_EQ(to_string(*r, false), shape);
  }
};

TEST_F(Laws, Reduce) {
  auto reduce = [&](std::vector<Shape> operands, Dims dims, Computation* c) {
    return infer(Op::kReduce, operands, DimsAttrs{dims}, {c});
  };
  accept("f32[3]", reduce({f32({2, 3}), kF}, {0}, add));
  refuse("reduce (C3)", reduce({f32({2, 3})}, {0}, add));
  refuse("reduce (C1)", reduce({f32({2, 3}), f32({2, 4}), kF, kF}, {0}, add));
  refuse("reduce (C2)", reduce({f32({2, 3}), kI}, {0}, add));
  refuse("reduce (C4)", reduce({f32({2, 3}), kF}, {2}, add));
  refuse("reduce (C4)", reduce({f32({2, 3}), kF}, {-1}, add));
  refuse("reduce (C5)", reduce({f32({2, 3}), kF}, {1, 1}, add));
  refuse("reduce (C6)", reduce({f32({2, 3}), kF}, {0}, add_int));
  refuse("reduce (C6)", reduce({f32({2, 3}), s32({2, 3}), kF, kI}, {0}, add));
  const Shape bf = Shape::array(Dtype::kBF16, {2, 3});
  accept("f32[2]", reduce({bf, Shape::scalar(Dtype::kBF16)}, {1}, add));  // promotion
  EXPECT_FALSE(infer(Op::kReduce, {f32({2}), kF}, DimsAttrs{{0}}, {}).ok());
  EXPECT_FALSE(infer(Op::kReduce, {f32({2}), kF}, NoAttrs{}, {add}).ok());
  EXPECT_FALSE(infer(Op::kReduce, {Shape::token(), kF}, DimsAttrs{}, {add}).ok());
  Shape bounded = f32({2, 3, 4});
  bounded.dynamic = {false, true, false};
  accept("f32[2,<=3]", reduce({bounded, kF}, {2}, add));
  accept("f32[?,4]", reduce({f32({kUnknownDim, 3, 4}), kF}, {1}, add));
}

TEST_F(Laws, ReduceWindow) {
  auto rw = [&](WindowDim w, Shape in = f32({8}), Shape init = kF) {
    return infer(Op::kReduceWindow, {in, init}, WindowAttrs{{w}}, {add});
  };
  accept("f32[3]", rw({.size = 2, .stride = 3}));
  accept("f32[0]", rw({.size = 9}));
  refuse("reduce_window (C3)", rw({}, f32({8}), kI));
  refuse("reduce_window (C4)", rw({}, f32({8, 8})));
  refuse("reduce_window (C5)", rw({.size = 0}));
  refuse("reduce_window (C7", rw({.stride = 0}));
  refuse("reduce_window (C7, C9", rw({.base_dilation = -1}));
  refuse("reduce_window (C7, C9, C11", rw({.window_dilation = 0}));
  refuse("too large", rw({.size = INT64_MAX, .window_dilation = 5}));
  refuse("too large", rw({.pad_low = INT64_MAX, .pad_high = INT64_MAX}));
  refuse("too large", rw({.pad_low = INT64_MIN, .pad_high = INT64_MIN}));
  refuse("too large", rw({.base_dilation = INT64_MAX}));
  refuse("reduce_window (C13)",
         infer(Op::kReduceWindow, {f32({8}), kF}, WindowAttrs{{{}}}, {add_int}));
}

TEST_F(Laws, SelectAndScatter) {
  Computation* ge = function(
      {kF, kF}, [](Builder& x, auto& a) { return x.compare(CompareDirection::kGe, a[0], a[1]); });
  auto sas = [&](Shape in, Shape source, Shape init, Window w, Computation* select,
                 Computation* scatter) {
    return infer(Op::kSelectAndScatter, {in, source, init}, WindowAttrs{w}, {select, scatter});
  };
  const Window w{{.size = 2, .stride = 2}};
  accept("f32[6]", sas(f32({6}), f32({3}), kF, w, ge, add));
  refuse("select_and_scatter (C1)", sas(f32({6}), s32({3}), kF, w, ge, add));
  refuse("select_and_scatter (C2)", sas(f32({6}), f32({4}), kF, w, ge, add));
  refuse("select_and_scatter (C3)", sas(f32({6}), f32({3}), kI, w, ge, add));
  refuse("select_and_scatter (C4)", sas(f32({6}), f32({3}), kF, {}, ge, add));
  refuse("select_and_scatter (C5)", sas(f32({6}), f32({3}), kF, {{.size = -2}}, ge, add));
  refuse("select_and_scatter (C7)",
         sas(f32({6}), f32({3}), kF, {{.size = 2, .stride = -2}}, ge, add));
  refuse("select_and_scatter (C9)", sas(f32({6}), f32({3}), kF, w, add, add));
  refuse("select_and_scatter (C10)", sas(f32({6}), f32({3}), kF, w, ge, ge));
}

TEST_F(Laws, Dot) {
  auto dot = [&](Shape l, Shape r, DotAttrs a, const Shape* proposed = nullptr) {
    return infer(Op::kDot, {l, r}, a, {}, proposed);
  };
  const Shape l = f32({2, 3, 4}), r = f32({2, 4, 5});
  DotAttrs good;
  good.lhs_batch = {0}, good.rhs_batch = {0}, good.lhs_contracting = {2},
  good.rhs_contracting = {1};
  accept("f32[2,3,5]", dot(l, r, good));
  DotAttrs a = good;
  a.rhs_batch = {};
  refuse("dot_general (C1)", dot(l, r, a));
  a = good;
  a.lhs_contracting = {2, 1};
  refuse("dot_general (C2)", dot(l, r, a));
  a = good;
  a.lhs_contracting = {0};
  refuse("dot_general (C3)", dot(l, r, a));
  a = good;
  a.rhs_contracting = {0};
  refuse("dot_general (C4)", dot(l, r, a));
  a = good;
  a.lhs_batch = {3};
  refuse("dot_general (C5)", dot(l, r, a));
  a = good;
  a.lhs_contracting = {-1};
  refuse("dot_general (C6)", dot(l, r, a));
  a = good;
  a.rhs_batch = {7};
  refuse("dot_general (C7)", dot(l, r, a));
  a = good;
  a.rhs_contracting = {3};
  refuse("dot_general (C8)", dot(l, r, a));
  refuse("dot_general (C9)", dot(f32({3, 3, 4}), r, good));
  refuse("dot_general (C10)", dot(f32({2, 3, 5}), r, good));
  a = good;
  a.precision = {Precision::kHigh};
  refuse("dot_general (C11)", dot(l, r, a));
  refuse("dot_general (C13)", dot(l, s32({2, 4, 5}), good));
  const Shape wide = Shape::array(Dtype::kF64, {2, 3, 5}), wrong = s32({2, 3, 5}),
              other = f32({2, 3, 6});
  accept("f64[2,3,5]", dot(l, r, good, &wide));
  refuse("dot_general (C13)", dot(l, r, good, &wrong));
  EXPECT_FALSE(dot(l, r, good, &other).ok());
  a = good;
  a.precision = {Precision::kHigh, Precision::kDefault};
  a.algorithm = "dot_f32_f32_f32";
  refuse("dot_general (C21)", dot(l, r, a));
}

TEST_F(Laws, RaggedDot) {
  RaggedDotAttrs good;
  good.dot.lhs_contracting = {1};
  good.dot.rhs_contracting = {1};
  good.lhs_ragged = {0};
  good.rhs_group = {0};
  auto dot = [&](Shape sizes, RaggedDotAttrs a, Shape r = f32({3, 5, 7})) {
    return infer(Op::kRaggedDot, {f32({11, 5}), r, sizes}, a);
  };
  accept("f32[11,7]", dot(s32({3}), good));
  refuse("chlo.ragged_dot", dot(s32({4}), good));
  refuse("chlo.ragged_dot", dot(f32({3}), good));
  refuse("chlo.ragged_dot", dot(s32({}), good));
  refuse("chlo.ragged_dot", dot(s32({2, 3}), good));
  RaggedDotAttrs a = good;
  a.lhs_ragged = {};
  refuse("chlo.ragged_dot", dot(s32({3}), a));
  a = good;
  a.lhs_ragged = {2};
  refuse("chlo.ragged_dot", dot(s32({3}), a));
  a = good;
  a.rhs_group = {};
  refuse("chlo.ragged_dot", dot(s32({3}), a));
  a = good;
  a.rhs_group = {1};
  refuse("chlo.ragged_dot", dot(s32({3}), a));
  a = good;
  a.lhs_ragged = {1};  // contracting: rhs has no groups
  refuse("chlo.ragged_dot", dot(s32({3}), a));
  a.rhs_group = {};
  a.dot.rhs_contracting = {0};
  accept("f32[3,11,7]", dot(s32({3}), a, f32({5, 7})));
}

TEST_F(Laws, Convolution) {
  ConvAttrs good;
  good.dims = {0, 1, 0, 1, 0, 1, {2}, {2}, {2}};
  good.window = {{.size = 3, .pad_low = 1, .pad_high = 1}};
  auto conv = [&](ConvAttrs a, Shape l = f32({4, 6, 9}), Shape r = f32({6, 8, 3})) {
    return infer(Op::kConvolution, {l, r}, a);
  };
  accept("f32[4,8,9]", conv(good));
  refuse("convolution (C1)", conv(good, f32({4, 6})));
  refuse("convolution (C1)", conv(good, f32({4}), f32({4})));
  auto with = [&](auto change) {
    ConvAttrs a = good;
    change(a);
    return conv(a);
  };
  refuse("convolution (C2, C4)", with([](auto& a) { a.window.clear(); }));
  refuse("convolution (C3, C6, C8)", with([](auto& a) { a.window[0].stride = 0; }));
  refuse("convolution (C3, C6, C8)", with([](auto& a) { a.window[0].base_dilation = 0; }));
  refuse("convolution (C10)", with([](auto& a) { a.batch_groups = 3; }));
  refuse("convolution (C11)", with([](auto& a) { a.feature_groups = 4; }));
  refuse("convolution (C12)", with([](auto& a) { a.dims.input_spatial = {}; }));
  refuse("convolution (C13)", with([](auto& a) { a.dims.input_spatial = {0}; }));
  refuse("convolution (C13)", with([](auto& a) { a.dims.input_batch = 9; }));
  refuse("convolution (C14)", with([](auto& a) { a.feature_groups = 2; }));
  refuse("convolution (C17)", with([](auto& a) { a.dims.kernel_spatial = {0, 1}; }));
  refuse("convolution (C18)", with([](auto& a) { a.dims.kernel_output = 2; }));
  refuse("convolution (C19)", with([](auto& a) { a.dims.output_spatial = {}; }));
  refuse("convolution (C20)", with([](auto& a) { a.dims.output_feature = 0; }));
  refuse("convolution (C21)", with([](auto& a) { a.feature_groups = 0; }));
  refuse("convolution (C22)", with([](auto& a) { a.batch_groups = -1; }));
  refuse("convolution (C23)", with([](auto& a) { a.batch_groups = a.feature_groups = 2; }));
  refuse("convolution (C24)", with([](auto& a) { a.precision = {Precision::kHigh}; }));
  refuse("convolution (C25)", with([](auto& a) { a.window[0].size = 2; }));
  refuse("convolution (C27)", conv(good, f32({4, 6, 9}), s32({6, 8, 3})));
  ConvAttrs grouped = good;
  grouped.feature_groups = 3;
  refuse("convolution (C16)", conv(grouped, f32({4, 18, 9})));
  grouped = good;
  grouped.batch_groups = 4;
  refuse("convolution (C15)", conv(grouped, f32({4, 6, 9}), f32({6, 6, 3})));
}

TEST_F(Laws, DynamicSlices) {
  auto slice = [&](std::vector<Shape> o, Dims sizes) {
    return infer(Op::kDynamicSlice, o, DynamicSliceAttrs{sizes});
  };
  accept("f32[2,0]", slice({f32({3, 4}), kI, kI}, {2, 0}));
  refuse("dynamic_slice (C2)", slice({f32({3, 4}), kI}, {2, 0}));
  refuse("dynamic_slice (C2)", slice({f32({3, 4}), kI, kI}, {2}));
  refuse("dynamic_slice (C3)", slice({f32({3, 4}), kI, Shape::scalar(Dtype::kS64)}, {2, 2}));
  refuse("dynamic_slice (C3)", slice({f32({3, 4}), kF, kF}, {2, 2}));
  refuse("dynamic_slice (C4)", slice({f32({3, 4}), kI, kI}, {4, 2}));
  refuse("dynamic_slice (C4)", slice({f32({3, 4}), kI, kI}, {-1, 2}));
  EXPECT_FALSE(slice({}, {}).ok());
  auto update = [&](std::vector<Shape> o) { return infer(Op::kDynamicUpdateSlice, o); };
  accept("f32[3,4]", update({f32({3, 4}), f32({1, 4}), kI, kI}));
  refuse("dynamic_update_slice (C2)", update({f32({3, 4}), s32({1, 4}), kI, kI}));
  refuse("dynamic_update_slice (C3)", update({f32({3, 4}), f32({4}), kI, kI}));
  refuse("dynamic_update_slice (C4)", update({f32({3, 4}), f32({1, 4}), kI}));
  refuse("dynamic_update_slice (C5)", update({f32({3, 4}), f32({1, 4}), kI, kF}));
  refuse("dynamic_update_slice (C6)", update({f32({3, 4}), f32({4, 4}), kI, kI}));
  EXPECT_FALSE(update({f32({3})}).ok());
}

TEST_F(Laws, Gather) {
  const GatherAttrs good{.offset_dims = {2, 3},
                         .collapsed_slice_dims = {1},
                         .start_index_map = {2, 1},
                         .operand_batching_dims = {0},
                         .start_indices_batching_dims = {1},
                         .index_vector_dim = 2,
                         .slice_sizes = {1, 1, 2, 2}};
  auto gather = [&](GatherAttrs a) {
    return infer(Op::kGather, {f32({3, 4, 5, 6}), s32({7, 3, 2})}, a);
  };
  accept("f32[7,3,2,2]", gather(good));
  auto with = [&](auto change) {
    GatherAttrs a = good;
    change(a);
    return gather(a);
  };
  refuse("gather (C1)", with([](auto& a) { a.offset_dims = {2}; }));
  refuse("gather (C2)", with([](auto& a) { a.index_vector_dim = 4; }));
  refuse("gather (C2)", with([](auto& a) { a.index_vector_dim = -1; }));
  refuse("gather (C3)", with([](auto& a) { a.start_index_map = {2}; }));
  refuse("gather (C4)", with([](auto& a) { a.offset_dims = {3, 2}; }));
  refuse("gather (C4)", with([](auto& a) { a.offset_dims = {2, 2}; }));
  refuse("gather (C5)", with([](auto& a) { a.offset_dims = {2, 4}; }));
  refuse("gather (C6)", with([](auto& a) { a.collapsed_slice_dims = {0}; }));
  refuse("gather (C8)", with([](auto& a) { a.collapsed_slice_dims = {4}; }));
  refuse("gather (C9)", with([](auto& a) { a.slice_sizes[1] = 2; }));
  refuse("gather (C11)", with([](auto& a) { a.operand_batching_dims = {-1}; }));
  refuse("gather (C12)", with([](auto& a) { a.slice_sizes[0] = 2; }));
  refuse("gather (C14)", with([](auto& a) { a.start_indices_batching_dims = {3}; }));
  refuse("gather (C15)", with([](auto& a) { a.start_indices_batching_dims = {2}; }));
  refuse("gather (C16)", with([](auto& a) { a.start_indices_batching_dims = {}; }));
  refuse("gather (C17)", with([](auto& a) { a.start_indices_batching_dims = {0}; }));
  refuse("gather (C18)", with([](auto& a) { a.start_index_map = {2, 0}; }));
  refuse("gather (C19)", with([](auto& a) { a.start_index_map = {2, 4}; }));
  refuse("gather (C20)", with([](auto& a) { a.slice_sizes = {1, 1, 2}; }));
  refuse("gather (C21)", with([](auto& a) { a.slice_sizes[2] = 6; }));
  refuse("indices must be integers", infer(Op::kGather, {f32({3, 4, 5, 6}), f32({7, 3, 2})}, good));
}

TEST_F(Laws, Scatter) {
  const ScatterAttrs good{.update_window_dims = {2, 3}, .inserted_window_dims = {1},
                          .scatter_dims_to_operand_dims = {2, 1}, .input_batching_dims = {0},
                          .scatter_indices_batching_dims = {1}, .index_vector_dim = 2};
  const Shape in = f32({3, 4, 5, 6}), at = s32({7, 3, 2}), up = f32({7, 3, 2, 2});
  auto scatter = [&](std::vector<Shape> o, ScatterAttrs a, Computation* c) {
    return infer(Op::kScatter, o, a, {c});
  };
  accept("f32[3,4,5,6]", scatter({in, at, up}, good, add));
  auto with = [&](auto change) {
    ScatterAttrs a = good;
    change(a);
    return scatter({in, at, up}, a, add);
  };
  refuse("scatter (C1)", scatter({in, f32({3, 4, 5, 7}), at, up, up}, good, add));
  refuse("scatter (C2)", with([](auto& a) { a.inserted_window_dims = {}; }));
  refuse("scatter (C3)", scatter({in, in, at, up, f32({7, 3, 2, 1})}, good, add));
  refuse("scatter (C4)", scatter({in, at, f32({7, 3, 6, 2})}, good, add));
  refuse("scatter (C4)", scatter({in, at, f32({6, 3, 2, 2})}, good, add));
  refuse("scatter (C4)", scatter({in, at, f32({7, 3, 2, 2, 1})}, good, add));
  refuse("scatter (C5)", scatter({in, at}, good, add));
  refuse("scatter (C6)", scatter({in, at, s32({7, 3, 2, 2})}, good, add));
  refuse("scatter (C7)", with([](auto& a) { a.update_window_dims = {3, 2}; }));
  refuse("scatter (C8)", with([](auto& a) { a.update_window_dims = {2, 4}; }));
  refuse("scatter (C9)", with([](auto& a) { a.inserted_window_dims = {0}; }));
  refuse("scatter (C11)", with([](auto& a) { a.inserted_window_dims = {5}; }));
  refuse("scatter (C13)", with([](auto& a) { a.input_batching_dims = {4}; }));
  refuse("scatter (C15)", with([](auto& a) { a.scatter_indices_batching_dims = {9}; }));
  refuse("scatter (C16)", with([](auto& a) { a.scatter_indices_batching_dims = {2}; }));
  refuse("scatter (C17)", with([](auto& a) { a.scatter_indices_batching_dims = {}; }));
  refuse("scatter (C18)", with([](auto& a) { a.scatter_indices_batching_dims = {0}; }));
  refuse("scatter (C19)", with([](auto& a) { a.scatter_dims_to_operand_dims = {2}; }));
  refuse("scatter (C20)", with([](auto& a) { a.scatter_dims_to_operand_dims = {2, 2}; }));
  refuse("scatter (C21)", with([](auto& a) { a.scatter_dims_to_operand_dims = {2, -1}; }));
  refuse("scatter (C22)", with([](auto& a) { a.index_vector_dim = 5; }));
  refuse("scatter (C23)", scatter({in, at, up}, good, add_int));
}

TEST_F(Laws, SortAndTopK) {
  Computation* lt = function(
      {kF, kF}, [](Builder& x, auto& a) { return x.compare(CompareDirection::kLt, a[0], a[1]); });
  auto sort = [&](std::vector<Shape> o, int64_t d, Computation* c) {
    return infer(Op::kSort, o, SortAttrs{d}, {c});
  };
  accept("f32[3,4]", sort({f32({3, 4})}, 1, lt));
  refuse("sort (C1)", sort({}, 0, lt));
  refuse("sort (C3)", sort({f32({3, 4}), f32({4, 3})}, 0, lt));
  refuse("sort (C4)", sort({f32({3, 4})}, 2, lt));
  refuse("sort (C4)", sort({kF}, 0, lt));
  refuse("sort (C5)", sort({f32({3, 4})}, 0, add));
  refuse("sort (C5)", sort({f32({3, 4}), f32({3, 4})}, 0, lt));
  refuse("sort (C5)", sort({s32({3, 4})}, 0, lt));
  accept("(f32[3,2], s32[3,2])", infer(Op::kTopK, {f32({3, 4})}, TopKAttrs{2}));
  refuse("topk", infer(Op::kTopK, {f32({3, 4})}, TopKAttrs{5}));
  refuse("topk", infer(Op::kTopK, {f32({3, 4})}, TopKAttrs{-1}));
  refuse("topk", infer(Op::kTopK, {kF}, TopKAttrs{1}));
  refuse("topk", infer(Op::kTopK, {Shape::array(Dtype::kC64, {4})}, TopKAttrs{1}));
}

TEST_F(Laws, Control) {
  Computation* test = function({kF}, [](Builder& x, auto&) { return x.scalar(Dtype::kPred, 1); });
  Computation* twice = function({kF}, [](Builder& x, auto& a) { return x.add(a[0], a[0]); });
  Computation* to_int =
      function({kF}, [](Builder& x, auto& a) { return x.convert(Dtype::kS32, a[0]); });
  accept("f32[]", infer(Op::kWhile, {kF}, NoAttrs{}, {test, twice}));
  refuse("while (C1)", infer(Op::kWhile, {kF}, NoAttrs{}, {twice, twice}));
  refuse("while (C1)", infer(Op::kWhile, {kI}, NoAttrs{}, {test, twice}));
  refuse("while (C2)", infer(Op::kWhile, {kF}, NoAttrs{}, {test, to_int}));
  refuse("while (C2)", infer(Op::kWhile, {kF}, NoAttrs{}, {test, add}));
  const Shape pred = Shape::scalar(Dtype::kPred);
  accept("f32[]", infer(Op::kConditional, {pred, kF, kF}, NoAttrs{}, {twice, twice}));
  accept("f32[]", infer(Op::kConditional, {kI, kF}, NoAttrs{}, {twice}));
  refuse("if (C1)", infer(Op::kConditional, {pred, kF}, NoAttrs{}, {twice}));
  refuse("if (C2)", infer(Op::kConditional, {pred, kF, kF}, NoAttrs{}, {twice, to_int}));
  refuse("case (C1)", infer(Op::kConditional, {kI}, NoAttrs{}, {}));
  refuse("case (C3)", infer(Op::kConditional, {kI, kF, kF}, NoAttrs{}, {twice, to_int}));
  refuse("conditional", infer(Op::kConditional, {kF, kF, kF}, NoAttrs{}, {twice, twice}));
  refuse("conditional", infer(Op::kConditional, {kI, kF, kI}, NoAttrs{}, {twice, twice}));
  refuse("conditional", infer(Op::kConditional, {}, NoAttrs{}, {twice, twice}));
  refuse("call", infer(Op::kCall, {kI}, NoAttrs{}, {twice}));
  refuse("call", infer(Op::kCall, {kF}, NoAttrs{}, {nullptr}));
  refuse("get_tuple_element (C1)",
         infer(Op::kGetTupleElement, {Shape::tuple_of({kF})}, IndexAttrs{1}));
  refuse("get-tuple-element", infer(Op::kGetTupleElement, {kF}, IndexAttrs{0}));
  refuse("after_all", infer(Op::kAfterAll, {kF}));
  refuse("add-dependency", infer(Op::kAddDependency, {kF, kF}));
  refuse("map (C1)", infer(Op::kMap, {f32({2}), f32({3})}, DimsAttrs{{0}}, {add}));
  refuse("map (C2)", infer(Op::kMap, {}, DimsAttrs{}, {add}));
  refuse("map (C3)", infer(Op::kMap, {f32({2, 3}), f32({2, 3})}, DimsAttrs{{1, 0}}, {add}));
  refuse("map (C4)", infer(Op::kMap, {f32({2})}, DimsAttrs{{0}}, {add}));
}

}  // namespace
}  // namespace braze
