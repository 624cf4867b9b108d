// SPDX-License-Identifier: Apache-2.0
// Expanded programs against the evaluator running every device on a thread of its own.
#include "spmd/expand.h"

#include <gtest/gtest.h>

#include <thread>

#include "analysis/verify.h"
#include "backend/conformance.h"
#include "backend/inputs.h"
#include "eval/evaluator.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "passes/inline_calls.h"

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

std::string bytes_of(const Literal& l) {
  if (!l.shape().is_tuple()) return std::string(static_cast<const char*>(l.bytes()), l.size_bytes());
  std::string out;
  for (const Literal& p : l.parts()) out += bytes_of(p);
  return out;
}

// A program of n replicas: each evaluated on its own thread, and all expanded into one.
void expect_as_on_devices(std::string_view text) {
  SCOPED_TRACE(text);
  auto m = import_text(text);
  ASSERT_TRUE(m);
  const int64_t n = m->num_replicas;
  ASSERT_GT(n, 1);
  ASSERT_TRUE(inline_calls(*m).ok());
  std::vector<std::vector<Literal>> arguments(n);
  std::vector<Literal> flat;
  for (size_t k = 0; k < m->entry()->params().size(); ++k)
    for (int64_t r = 0; r < n; ++r) {
      auto l = make_input(m->entry()->params()[k]->shape, "random:1", static_cast<int64_t>(k) * n + r);
      ASSERT_TRUE(l.ok());
      arguments[r].push_back(*l);
      flat.push_back(*l);
    }
  std::vector<Result<Literal>> want(n, Literal());
  auto grid = make_grid(n, 1, {});
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      auto world = grid_world(grid, r, 0);
      EvalOptions o;
      o.world = world.get();
      want[r] = evaluate(*m, arguments[r], o);
    });
  for (std::thread& t : threads) t.join();
  auto expanded = spmd::expand_devices(*m);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  ASSERT_TRUE(verify(*m).ok()) << verify(*m);
  EXPECT_EQ(m->num_replicas, 1);
  auto got = evaluate(*m, flat);
  ASSERT_TRUE(got.ok()) << got.status();
  for (int64_t r = 0; r < n; ++r) {
    ASSERT_TRUE(want[r].ok()) << want[r].status();
    EXPECT_EQ(bytes_of(got->parts()[r]), bytes_of(*want[r])) << "replica " << r;
  }
}

TEST(ExpandDevices, AllReduce) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.multiply %0, %x : tensor<3x2xf32>
    return %1 : tensor<3x2xf32>
  }
})");
}

TEST(ExpandDevices, AllReduceOfAnyFunction) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 3 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.multiply %a, %a : tensor<f32>
      %t = stablehlo.subtract %s, %b : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
}

TEST(ExpandDevices, GatherScatterAllToAll) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<2x2xf32>, tensor<2x4xf32>) {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}>
        : (tensor<4x2xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %2 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x2xf32>) -> tensor<2x4xf32>
    return %0, %1, %2 : tensor<4x4xf32>, tensor<2x2xf32>, tensor<2x4xf32>
  }
})");
}

TEST(ExpandDevices, PermuteBroadcastAndNumbers) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<ui32>) {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 3]]> : tensor<2x2xi64>}>
        : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}>
        : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.replica_id : tensor<ui32>
    return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<ui32>
  }
})");
}

// The state splits in the course of the loop: %b begins equal everywhere and becomes each device's own.
TEST(ExpandDevices, LoopInLockstep) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 3 : i32} {
  func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.constant dense<1.0> : tensor<2xf32>
    %0:4 = stablehlo.while(%i = %zero, %a = %x, %b = %c, %d = %c) : tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    cond {
      %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %m = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}>
          : (tensor<2xf32>) -> tensor<2xf32>
      %e = stablehlo.add %m, %b : tensor<2xf32>
      stablehlo.return %n, %m, %d, %e : tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    }
    return %0#1, %0#2 : tensor<2xf32>, tensor<2xf32>
  }
})");
}

// Replica r goes round r + 1 times; the collective joins pairs that go on together.
TEST(ExpandDevices, LoopOfDifferentLength) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %id = stablehlo.replica_id : tensor<ui32>
    %pair = stablehlo.divide %id, %two : tensor<ui32>
    %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<ui32>, tensor<2xf32>
    cond {
      %p = stablehlo.compare LE, %i, %pair : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<ui32>
      %s = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %t = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      %u = stablehlo.subtract %s, %x : tensor<2xf32>
      stablehlo.return %n, %u : tensor<ui32>, tensor<2xf32>
    }
    return %0#1 : tensor<2xf32>
  }
})");
}

TEST(ExpandDevices, Conditionals) {
  expect_as_on_devices(R"(
module attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %id = stablehlo.replica_id : tensor<ui32>
    %k = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %pair = stablehlo.divide %k, %two : tensor<i32>
    %0 = "stablehlo.case"(%pair) ({
      %s = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}>
          : (tensor<2xf32>) -> tensor<4xf32>
      %t = stablehlo.slice %s [1:3] : (tensor<4xf32>) -> tensor<2xf32>
      stablehlo.return %t : tensor<2xf32>
    }, {
      %n = stablehlo.negate %x : tensor<2xf32>
      stablehlo.return %n : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})");
}

// ---- whole arrays ----

constexpr std::string_view kManual = R"(
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>]
        manual_axes={"x", "y"} (%a: tensor<2x2xf32>) {
      %1 = stablehlo.add %a, %a : tensor<2x2xf32>
      sdy.return %1 : tensor<2x2xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
})";

TEST(ExpandDevices, ManualRegionOnWholeArrays) {
  auto m = import_text(kManual);
  ASSERT_TRUE(m);
  ASSERT_TRUE(spmd::expand_devices(*m).ok());
  auto x = make_input(Shape::array(Dtype::kF32, {4, 4}), "random:1", 0);
  auto y = evaluate(*m, {*x});
  ASSERT_TRUE(y.ok()) << y.status();
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y->get_float(i), 2 * x->get_float(i));
}

// Parts go through a region as they are: nothing is assembled or cut.
TEST(ExpandDevices, PartsAreNotAssembled) {
  auto m = import_text(kManual);
  ASSERT_TRUE(m);
  spmd::ExpandOptions o;
  o.by_device = true;
  auto e = spmd::expand_devices(*m, o);
  ASSERT_TRUE(e.ok()) << e.status();
  EXPECT_EQ(e->parameters[0], (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(e->results[0], (std::vector<int64_t>{0, 1, 2, 3}));
  for (const auto& i : m->entry()->instrs())
    EXPECT_TRUE(i->is(Op::kParameter) || i->is(Op::kAdd) || i->is(Op::kTuple)) << i->name;
}

// What only leads to tiles is computed in tiles; what somebody needs whole is not.
TEST(ExpandDevices, UpdatesAreComputedInTiles) {
  constexpr std::string_view kText = R"(
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%p: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %g: tensor<4x3xf32>,
                  %r: tensor<f32>)
      -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<f32>) {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.sine %p : tensor<4x3xf32>
    %n = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %1 = stablehlo.multiply %b, %g : tensor<4x3xf32>
    %2 = stablehlo.add %s, %1 : tensor<4x3xf32>
    return %2, %n : tensor<4x3xf32>, tensor<f32>
  }
})";
  auto whole = import_text(kText), parts = import_text(kText);
  ASSERT_TRUE(whole && parts);
  spmd::ExpandOptions o;
  o.by_device = true;
  auto e = spmd::expand_devices(*parts, o);
  ASSERT_TRUE(e.ok()) << e.status();
  ASSERT_TRUE(verify(*parts).ok()) << verify(*parts);
  for (const auto& i : parts->entry()->instrs()) {
    if (i->is(Op::kMultiply) || i->is(Op::kAdd)) EXPECT_EQ(i->shape.dims, (Dims{2, 3})) << i->name;
    if (i->is(Op::kSin)) EXPECT_EQ(i->shape.dims, (Dims{4, 3}));
  }
  ASSERT_TRUE(spmd::expand_devices(*whole).ok());
  auto p = make_input(Shape::array(Dtype::kF32, {4, 3}), "random:1", 0);
  auto g = make_input(Shape::array(Dtype::kF32, {4, 3}), "random:1", 1);
  auto r = make_input(Shape::scalar(Dtype::kF32), "random:1", 2);
  const std::string bytes = bytes_of(*p);
  auto half = [&](size_t k) {
    return Literal::from_bytes(Shape::array(Dtype::kF32, {2, 3}), std::string_view(bytes).substr(k * 24, 24));
  };
  auto want = evaluate(*whole, {*p, *g, *r});
  auto got = evaluate(*parts, {half(0), half(1), *g, *r});
  ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  EXPECT_EQ(bytes_of(*got), bytes_of(*want));
}

TEST(ExpandDevices, ReplicatedRegionsAreComputedOnce) {
  auto m = import_text(R"(
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
        manual_axes={"x", "y"} (%a: tensor<2xf32>) {
      %1 = stablehlo.sine %a : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
  ASSERT_TRUE(m);
  ASSERT_TRUE(spmd::expand_devices(*m).ok());
  int sines = 0;
  for (const auto& i : m->entry()->instrs()) sines += i->is(Op::kSin);
  EXPECT_EQ(sines, 2);
}

TEST(ExpandDevices, RegionTooLargeIsRefused) {
  std::string text = R"(
module attributes {mhlo.num_replicas = 4096 : i32} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.sine %x : tensor<f32>
)";
  for (int k = 0; k < 200; ++k)
    text += str_cat("    %", k + 1, " = stablehlo.add %", k, ", %x : tensor<f32>\n");
  text += "    return %200 : tensor<f32>\n  }\n}\n";
  auto m = import_text(text);
  ASSERT_TRUE(m);
  EXPECT_EQ(spmd::expand_devices(*m).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace braze
