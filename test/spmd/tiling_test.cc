// SPDX-License-Identifier: Apache-2.0
#include "spmd/tiling.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "spmd/propagate.h"

namespace braze::spmd {
namespace {

using Ids = std::vector<int64_t>;

MeshTable meshes() {
  return {{"mesh", {{{"x", 2}, {"y", 4}}, {}}}, {"turned", {{{"a", 4}}, {3, 1, 0, 2}}}, {"one", {{}, {2}}}};
}

Tiling tiling(std::string_view text, int64_t rank, int64_t devices = 8) {
  auto t = tiling_of(text, rank, meshes(), devices);
  EXPECT_TRUE(t.ok()) << t.status();
  return t.ok() ? *t : Tiling();
}

TEST(Tiling, AxesOfAMesh) {
  Tiling t = tiling(R"(#sdy.sharding<@mesh, [{"y"}, {}]>)", 2);
  EXPECT_EQ(t.tiles, (Dims{4, 1}));
  EXPECT_EQ(t.devices, (Ids{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(t.tile_of(6), 2);
  t = tiling(R"(#sdy.sharding<@mesh, [{"y", "x"}]>)", 1);
  EXPECT_EQ(t.devices, (Ids{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(t.count(), 8);
}

TEST(Tiling, PartsOfAxes) {
  const Tiling t = tiling(R"(#sdy.sharding<@mesh, [{"y":(1)2}, {"y":(2)2}]>)", 2);
  EXPECT_EQ(t.tiles, (Dims{2, 2}));
  EXPECT_EQ(t.devices, (Ids{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Tiling, OrderOfDevicesIsTheMeshs) {
  EXPECT_EQ(tiling(R"(#sdy.sharding<@turned, [{"a"}]>)", 1, 4).devices, (Ids{3, 1, 0, 2}));
}

TEST(Tiling, UnreducedTermsComeFirstAmongMembers) {
  const Tiling t = tiling(R"(#sdy.sharding<@mesh, [{}], unreduced={"y"}>)", 1);
  EXPECT_EQ(t.terms, 4);
  EXPECT_EQ(t.term_of(5), 1);
  EXPECT_EQ(t.term_of(1), 1);
  EXPECT_EQ(t.holders(), 2);
}

TEST(Tiling, OneDeviceIsNoCut) {
  EXPECT_TRUE(tiling("#sdy.sharding<@one, []>", 0).replicated());
}

TEST(Tiling, TextOfHlo) {
  Tiling t = tiling("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2);
  EXPECT_EQ(t.tiles, (Dims{2, 1}));
  EXPECT_EQ(t.members(), 4);
  t = tiling("{devices=[4,2]<=[2,4]T(1,0)}", 2);
  EXPECT_EQ(t.devices, (Ids{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_TRUE(tiling("{replicated}", 2).replicated());
  EXPECT_EQ(hlo_text(tiling("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2)),
            "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}");
}

TEST(Tiling, BadTextIsAnError) {
  for (std::string_view text :
       {"#sdy.sharding<@none, [{}]>", "#sdy.sharding<@mesh, [{\"q\"}]>", "#sdy.sharding<@mesh, [{\"x\"}",
        "#sdy.sharding<@mesh, [{\"x\", \"x\", \"x\", \"y\"}]>", "#sdy.sharding<@turned, [{\"a\"}]>",
        "#sdy.sharding<@mesh, [{\"y\":(3)2}]>", "{devices=[3]<=[3]}", "{devices=[8]0,1,2,3,4,5,6,6}", "#sdy.sharding"})
    EXPECT_FALSE(tiling_of(text, 1, meshes(), 8).ok()) << text;
}

TEST(Propagate, ForwardThroughAProgram) {
  auto tree = mlir::read_mlir_text(R"(
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                  %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
      -> (tensor<8x8xf32>, tensor<8xf32>, tensor<2x4x8xf32>, tensor<3x8xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reshape %0 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %3 = stablehlo.slice %0 [0:3, 0:8] : (tensor<8x8xf32>) -> tensor<3x8xf32>
    return %0, %1, %2, %3 : tensor<8x8xf32>, tensor<8xf32>, tensor<2x4x8xf32>, tensor<3x8xf32>
  }
})", "test.mlir");
  ASSERT_TRUE(tree.ok()) << tree.status();
  auto m = import_stablehlo(*tree);
  ASSERT_TRUE(m.ok()) << m.status();
  auto t = propagate_results(**m, *meshes_of(**m), 8);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ((*t)[0].tiles, (Dims{2, 4}));
  EXPECT_EQ((*t)[1].tiles, (Dims{4}));
  EXPECT_EQ((*t)[2].tiles, (Dims{2, 1, 4}));
  EXPECT_EQ((*t)[3].tiles, (Dims{1, 4}));
}

}  // namespace
}  // namespace braze::spmd
