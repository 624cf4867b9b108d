// SPDX-License-Identifier: Apache-2.0
#include "passes/refine_shapes.h"

#include <gtest/gtest.h>

#include "eval/evaluator.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"

namespace braze {
namespace {

std::unique_ptr<Module> import_text(std::string_view text) {
  auto tree = mlir::read_mlir_text(text, "test.mlir");
  EXPECT_TRUE(tree.ok()) << tree.status();
  if (!tree.ok()) return nullptr;
  auto m = import_stablehlo(*tree);
  EXPECT_TRUE(m.ok()) << m.status();
  return m.ok() ? *std::move(m) : nullptr;
}

bool all_static(const Module& m) { return !has_unknown_shapes(m); }

constexpr std::string_view kIota = R"(
func.func @main(%x: tensor<?x4xf32>) -> tensor<?xi32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %m = stablehlo.multiply %n, %two : tensor<i32>
  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
})";

TEST(RefineShapes, DynamicIotaBecomesIota) {
  auto m = import_text(kIota);
  ASSERT_TRUE(m);
  ASSERT_TRUE(refine_shapes(*m, {Shape::array(Dtype::kF32, {3, 4})}).ok());
  EXPECT_TRUE(all_static(*m));
  EXPECT_EQ(to_string(m->entry()->root()->shape, false), "s32[6]");
  auto v = evaluate(*m, {Literal(Shape::array(Dtype::kF32, {3, 4}))});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->get_int(5), 5);
}

TEST(RefineShapes, ArgumentsMustFit) {
  auto m = import_text(kIota);
  ASSERT_TRUE(m);
  Status s = refine_shapes(*m, {Shape::array(Dtype::kF32, {3, 5})});
  EXPECT_FALSE(s.ok());
  EXPECT_NE(s.message().find("f32[3,5]"), std::string::npos) << s;
}

TEST(RefineShapes, CalleesAreSpecialised) {
  auto m = import_text(R"(
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = call @f(%y) : (tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}
func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.exponential %x : tensor<?xf32>
  return %0 : tensor<?xf32>
})");
  ASSERT_TRUE(m);
  ASSERT_TRUE(
      refine_shapes(*m, {Shape::array(Dtype::kF32, {3}), Shape::array(Dtype::kF32, {7})}).ok());
  EXPECT_TRUE(all_static(*m));
  EXPECT_EQ(to_string(m->entry()->root()->shape, false), "(f32[3], f32[7])");
}

TEST(RefineShapes, LoopInvariantSizesAreKnown) {
  auto m = import_text(R"(
func.func @main(%x: tensor<?xf32>, %k: tensor<i32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<?xf32>
   cond {
    %c = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %h = stablehlo.dynamic_broadcast_in_dim %half, %s, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %b = stablehlo.multiply %a, %h : tensor<?xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<?xf32>
  }
  return %0#1 : tensor<?xf32>
})");
  ASSERT_TRUE(m);
  Status s = refine_shapes(*m, {Shape::array(Dtype::kF32, {2}), Shape::scalar(Dtype::kS32)});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_TRUE(all_static(*m));
  auto v = evaluate(
      *m, {Literal::of<double>(Dtype::kF32, {2}, {8, 4}), Literal::scalar_int(Dtype::kS32, 3)});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->get_float(0), 1);
}

TEST(RefineShapes, FalseAssertionIsAnErrorWithItsMessage) {
  auto m = import_text(R"(
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %c = stablehlo.compare GE, %n, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%c, %n) {error_message = "need four rows, got {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  return %x : tensor<?xf32>
})");
  ASSERT_TRUE(m);
  auto good = m->clone();
  Status s = refine_shapes(*m, {Shape::array(Dtype::kF32, {3})});
  EXPECT_NE(s.message().find("need four rows, got 3"), std::string::npos) << s;
  ASSERT_TRUE(refine_shapes(*good, {Shape::array(Dtype::kF32, {5})}).ok());
  EXPECT_TRUE(all_static(*good));
}

TEST(RefineShapes, GrowingDimensionOfSizeOne) {
  auto m = import_text(R"(
func.func @main(%x: tensor<?x1xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %s = stablehlo.concatenate %r, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %b = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<?x1xf32>, tensor<2xi32>) -> tensor<?x3xf32>
  %0 = stablehlo.add %b, %y : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
})");
  ASSERT_TRUE(m);
  Status s =
      refine_shapes(*m, {Shape::array(Dtype::kF32, {1, 1}), Shape::array(Dtype::kF32, {2, 3})});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_TRUE(all_static(*m));
  auto v = evaluate(*m, {Literal::of<double>(Dtype::kF32, {1, 1}, {5}),
                         Literal(Shape::array(Dtype::kF32, {2, 3}))});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->get_float(5), 5);
}

}  // namespace
}  // namespace braze
