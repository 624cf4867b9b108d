// SPDX-License-Identifier: Apache-2.0
// The importer: single ops and their errors, and every program of the shared corpora.
#include "frontend/stablehlo_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "analysis/verify.h"
#include "base/npy.h"
#include "eval/evaluator.h"
#include "frontend/mlir_read.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<Module>> import_text(std::string_view text,
                                            const std::string& entry = "main") {
  ASSIGN(mlir::Module tree, mlir::read_mlir_text(text, "test.mlir"));
  ImportOptions options;
  options.entry = entry;
  return import_stablehlo(tree, options);
}

std::string error_of(std::string_view text) {
  auto m = import_text(text);
  return m.ok() ? "" : std::string(m.status().message());
}

std::string shared() { return std::string(BRAZE_ROOT) + "/../shared"; }

std::vector<std::string> files(const std::string& dir,
                               std::initializer_list<std::string_view> endings) {
  std::vector<std::string> out;
  std::error_code ec;
  for (const auto& e : fs::recursive_directory_iterator(dir, ec)) {
    const std::string p = e.path().string();
    for (std::string_view end : endings)
      if (p.size() > end.size() && p.compare(p.size() - end.size(), end.size(), end) == 0)
        out.push_back(p);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Imports a file, or each function of it if it has no @main; the errors, with the function's name.
std::vector<std::string> import_file(const std::string& path) {
  auto bytes = read_file(path);
  if (bytes.ok() && is_gzip(*bytes)) bytes = gunzip(*bytes);
  if (!bytes.ok()) return {std::string(bytes.status().message())};
  std::vector<std::string_view> parts = {*bytes};
  if (!mlir::is_bytecode(*bytes)) parts = mlir::split_mlir(*bytes);
  std::vector<std::string> errors;
  for (std::string_view part : parts) {
    auto tree = mlir::is_bytecode(part) ? mlir::read_mlir(part) : mlir::read_mlir_text(part, path);
    if (!tree.ok()) return {std::string(tree.status().message())};
    std::vector<std::string> entries;
    if (tree->symbol("main")) entries = {"main"};
    else
      for (const mlir::Op* op : tree->body().ops)
        if (op->name == "func.func" && op->block(0))
          entries.emplace_back(op->attr("sym_name")->text);
    for (const std::string& entry : entries) {
      ImportOptions options;
      options.entry = entry;
      auto m = import_stablehlo(*tree, options);
      if (!m.ok()) errors.push_back("@" + entry + ": " + std::string(m.status().message()));
      else if (Status law = verify(**m); !law.ok())
        errors.push_back("@" + entry + ": " + std::string(law.message()));
      else if (!(*m)->entry() || !(*m)->entry()->root())
        errors.push_back("@" + entry + ": no root");
    }
  }
  return errors;
}

// `refused`: parts of the messages for programs that are wrong, such as those of tests of messages.
void import_all(const std::vector<std::string>& paths, size_t at_least,
                std::initializer_list<std::string_view> refused = {}) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no shared corpora beside the source tree";
  ASSERT_GE(paths.size(), at_least);
  int failed = 0;
  for (const std::string& p : paths) {
    for (const std::string& error : import_file(p)) {
      const bool known = std::any_of(refused.begin(), refused.end(), [&](std::string_view part) {
        return error.find(part) != std::string::npos;
      });
      if (!known && ++failed <= 40) ADD_FAILURE() << p << ": " << error;
    }
  }
  EXPECT_EQ(failed, 0) << "of " << paths.size();
}

const Instr& root(const std::unique_ptr<Module>& m) { return *m->entry()->root(); }

TEST(Import, ResultTypesMayBeLessPreciseThanInferredOnes) {
  auto m = import_text(R"(
func.func @main(%x: tensor<4xf32>, %y: tensor<?x4xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = stablehlo.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_TRUE(verify(**m).ok()) << verify(**m);
}

TEST(Import, SplatConstantIsScalarAndBroadcast) {
  auto m = import_text("func.func @main() -> tensor<1000x1000xf32> {\n"
                       "  %0 = stablehlo.constant dense<1.5> : tensor<1000x1000xf32>\n"
                       "  return %0 : tensor<1000x1000xf32>\n}");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_EQ(root(*m).op, Op::kBroadcast);
  EXPECT_EQ(root(*m).operand(0)->literal().get_float(0), 1.5);
  EXPECT_EQ(to_string(root(*m).shape, false), "f32[1000,1000]");
}

TEST(Import, DenseConstantKeepsItsElements) {
  auto m = import_text("func.func @main() -> tensor<2x2xi32> {\n"
                       "  %0 = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>\n"
                       "  return %0 : tensor<2x2xi32>\n}");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(root(*m).is_constant());
  EXPECT_EQ(root(*m).literal().get_int(1), -2);
}

TEST(Import, BroadcastOfSizeOneDropsTheDimension) {
  auto m = import_text(
      "func.func @main(%a: tensor<4x1xf32>) -> tensor<2x4x3xf32> {\n"
      "  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<4x1xf32>) -> "
      "tensor<2x4x3xf32>\n"
      "  return %0 : tensor<2x4x3xf32>\n}");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_EQ(root(*m).op, Op::kBroadcast);
  EXPECT_EQ(root(*m).as<DimsAttrs>().dimensions, Dims({1}));
  EXPECT_EQ(root(*m).operand(0)->op, Op::kReshape);
}

TEST(Import, WhileStateHoldsWhatItCaptures) {
  auto m = import_text(R"(
func.func @main(%n: tensor<i32>, %step: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.add %i, %step : tensor<i32>
    %two = stablehlo.add %one, %zero : tensor<i32>
    stablehlo.return %two : tensor<i32>
  }
  return %0 : tensor<i32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  const Instr& loop = *root(*m).operand(0);
  ASSERT_EQ(loop.op, Op::kWhile);
  EXPECT_EQ(to_string(loop.shape, false), "(s32[], s32[], s32[])");  // i, n, step: not the constant
  EXPECT_EQ(loop.calls[1]->root()->op, Op::kTuple);
}

TEST(Import, ConditionalBranchesTakeTuples) {
  auto m = import_text(R"(
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  const Instr& i = root(*m);
  ASSERT_EQ(i.op, Op::kConditional);
  EXPECT_EQ(i.operands.size(), 3u);
  EXPECT_EQ(to_string(i.operand(1)->shape, false), "(f32[4])");
  EXPECT_EQ(to_string(i.shape, false), "f32[4]");
}

TEST(Import, ReduceRegionsShareCombiners) {
  auto m = import_text(R"(
func.func @main(%x: tensor<4x5xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(root(*m).calls[0], root(*m).operand(0)->calls[0]);
}

TEST(Import, FunctionsStayComputations) {
  auto m = import_text(R"(
module @twice attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : i32} {
  func.func public @main(%x: tensor<f32> {tf.aliasing_output = 1 : i32}, %y: tensor<f32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}) -> (tensor<f32>, tensor<f32>) {
    %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
    %1 = call @f(%y) : (tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
  func.func private @f(%x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.exponential %x : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unused(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
})");
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ((*m)->name(), "twice");
  EXPECT_EQ((*m)->computations().size(), 2u);
  EXPECT_EQ((*m)->num_partitions, 2);
  EXPECT_EQ((*m)->num_replicas, 3);
  ASSERT_EQ((*m)->aliases.size(), 1u);
  EXPECT_EQ((*m)->aliases[0].output_index, Dims({1}));
  EXPECT_EQ((*m)->buffer_donors, std::vector<int64_t>({1}));
  EXPECT_EQ((*m)->entry()->params()[1]->extras->sharding, "{replicated}");
  const Instr& t = root(*m);
  ASSERT_EQ(t.op, Op::kTuple);
  EXPECT_EQ(t.operand(0)->calls[0], t.operand(1)->calls[0]);
}

TEST(Import, AliasesOfTheModule) {
  auto m = import_text(
      "module attributes {mhlo.input_output_alias = [{alias = {kind = \"may_alias\", parameter_index = array<i64>, "
      "parameter_number = 1 : i64}, output_index = array<i64: 0>}, {alias = {kind = \"must_alias\", parameter_index = "
      "array<i64>, parameter_number = 0 : i64}, output_index = array<i64: 1>}]} {\n"
      "func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n"
      "  return %y, %x : tensor<f32>, tensor<f32>\n}}");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_EQ((*m)->aliases.size(), 2u);
  EXPECT_EQ((*m)->aliases[0].parameter, 1);
  EXPECT_EQ((*m)->aliases[0].output_index, Dims({0}));
  EXPECT_FALSE((*m)->aliases[0].must_alias);
  EXPECT_EQ((*m)->aliases[1].output_index, Dims({1}));
  EXPECT_TRUE((*m)->aliases[1].must_alias);
}

TEST(Import, AliasesOfWhatIsNotThereAreRefused) {
  const auto aliases = [](std::string_view x, std::string_view y) {
    return import_text(str_cat("func.func @main(%x: tensor<f32> {tf.aliasing_output = ", x,
                               " : i32}, %y: tensor<f32> {tf.aliasing_output = ", y,
                               " : i32}) -> (tensor<f32>, tensor<f32>) {\n  return %y, %x : tensor<f32>, tensor<f32>\n}")).status();
  };
  EXPECT_TRUE(aliases("0", "1").ok());
  for (const auto& [x, y] : {std::pair{"0", "2"}, {"-1", "0"}, {"1", "2147483647"}})
    EXPECT_THAT(std::string(aliases(x, y).message()), ::testing::HasSubstr("the result has no part")) << x << y;
  EXPECT_THAT(std::string(aliases("1", "1").message()), ::testing::HasSubstr("two parameters are to become part {1}"));
}

TEST(Import, LocationsBecomeMetadata) {
  auto m = import_text(
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.exponential %x : tensor<f32> loc(\"jit(f)/exp\"(\"model.py\":12:3))\n"
      "  return %0 : tensor<f32>\n}");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(root(*m).extras);
  EXPECT_EQ(root(*m).extras->metadata.source_file, "model.py");
  EXPECT_EQ(root(*m).extras->metadata.source_line, 12);
  EXPECT_EQ(root(*m).extras->metadata.op_name, "jit(f)/exp");
}

TEST(Import, EinsumIsDot) {
  auto m = import_text(R"(
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<4x5x2xf32>) -> tensor<5x3x2xf32> {
  %0 = "stablehlo.einsum"(%a, %b) {einsum_config = "bik,kjb->jib"} : (tensor<2x3x4xf32>, tensor<4x5x2xf32>) -> tensor<5x3x2xf32>
  return %0 : tensor<5x3x2xf32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_EQ(root(*m).op, Op::kTranspose);
  EXPECT_EQ(root(*m).operand(0)->op, Op::kDot);
}

TEST(Import, ReplicaGroupsByMeshAxes) {
  auto m = import_text(R"(
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) {
    replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = @mesh,
      axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>,
    use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
  } : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  // Device = 4·x1 + 2·x2 + y; a group runs over y, then over the major half of x.
  EXPECT_EQ(root(*m).as<CollectiveAttrs>().replica_groups,
            ReplicaGroups({{0, 4, 1, 5}, {2, 6, 3, 7}}));
}

TEST(Import, ScanIsAWhile) {
  auto m = import_text(R"(
func.func @main(%x: tensor<4xi32>, %k: tensor<i32>) -> (tensor<4xi32>, tensor<i32>) {
  %init = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = chlo.scan(%x) inits(%init) dimension=0 {
  ^bb0(%a: tensor<i32>, %c: tensor<i32>):
    %1 = stablehlo.add %a, %c : tensor<i32>
    %2 = stablehlo.add %1, %k : tensor<i32>
    stablehlo.return %2, %2 : tensor<i32>, tensor<i32>
  } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<i32>
})");
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(root(*m).operand(0)->operand(0)->op, Op::kWhile);
  auto v = evaluate(**m, {Literal::of<int>(Dtype::kS32, {4}, {1, 2, 3, 4}),
                          Literal::scalar_int(Dtype::kS32, 10)});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->parts()[0].get_int(3), 50);
  EXPECT_EQ(v->parts()[1].get_int(0), 50);
}

TEST(Import, BoundedDimensionsAreFlagged) {
  auto m = import_text(
      "func.func @main(%x: tensor<?x3xf32, #stablehlo.bounds<40, ?>>) -> tensor<?x3xf32, "
      "#stablehlo.bounds<40, ?>> {\n"
      "  return %x : tensor<?x3xf32, #stablehlo.bounds<40, ?>>\n}");
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(to_string(root(*m).shape, false), "f32[<=40,3]");
}

TEST(ImportErrors, TellWhereAndWhat) {
  std::string e = error_of(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = \"stablehlo.frobnicate\"(%x) : (tensor<4xf32>) -> tensor<4xf32> "
      "loc(\"model.py\":12:3)\n"
      "  return %0 : tensor<4xf32>\n}");
  EXPECT_NE(e.find("model.py:12:3"), std::string::npos) << e;
  EXPECT_NE(e.find("stablehlo.frobnicate"), std::string::npos) << e;
  EXPECT_NE(e.find("tensor<4xf32>"), std::string::npos) << e;
}

TEST(ImportErrors, ResultTypeMustMatch) {
  std::string e = error_of(
      "func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {\n"
      "  %0 = \"stablehlo.transpose\"(%x) {permutation = array<i64: 0>} : (tensor<4xf32>) -> "
      "tensor<5xf32>\n"
      "  return %0 : tensor<5xf32>\n}");
  EXPECT_NE(e.find("f32[5]"), std::string::npos) << e;
  EXPECT_NE(e.find("f32[4]"), std::string::npos) << e;
}

TEST(ImportErrors, LoopStateMustMatchItsRegions) {
  std::string e = error_of(R"(
func.func @main(%x: tensor<f32>) -> tensor<7xf32> {
  %0 = "stablehlo.while"(%x) ({
   ^bb0(%i: tensor<7xf32>):
    %c = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
   ^bb0(%i: tensor<7xf32>):
    stablehlo.return %i : tensor<7xf32>
  }) : (tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
})");
  EXPECT_NE(e.find("f32[7]"), std::string::npos) << e;
  EXPECT_NE(e.find("stablehlo.while"), std::string::npos) << e;
}

TEST(ImportErrors, RecursionIsRejected) {
  std::string e = error_of(
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = func.call @main(%x) : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}");
  EXPECT_NE(e.find("recursive"), std::string::npos) << e;
}

TEST(ImportErrors, OperandCountsAreChecked) {
  std::string e = error_of(
      "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = \"stablehlo.select\"(%x) : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}");
  EXPECT_NE(e.find("expects 3 operands, got 1"), std::string::npos) << e;
}

TEST(ImportErrors, MissingEntry) {
  EXPECT_NE(
      error_of("module { func.func @a() { return } func.func @b() { return } }").find("@main"),
      std::string::npos);
}

TEST(Corpus, ModelTexts) { import_all(files(shared() + "/models", {".mlir", ".mlir.gz"}), 180); }
TEST(Corpus, ModelBytecode) { import_all(files(shared() + "/models", {".mlirbc"}), 180); }
TEST(Corpus, Benchmarks) {
  import_all(files(shared() + "/bench", {".mlir", ".mlirbc", ".mlir.gz"}), 1);
}
TEST(Corpus, Jax) {
  import_all(files(shared() + "/corpus", {".mlirbc"}), 6000,
             {"must hold f32, f64, c64 or c128 numbers, got f16"});
}
TEST(Corpus, ConformanceInterpret) {
  import_all(files(shared() + "/conformance/stablehlo/interpret", {".mlir"}), 60);
}
TEST(Corpus, ConformanceTestdata) {
  import_all(files(shared() + "/conformance/stablehlo/testdata", {".mlir"}), 1500);
}
TEST(Corpus, EveryOp) {
  auto paths = files(shared() + "/conformance/stablehlo/vhlo", {".mlir", ".mlir.bc"});
  std::erase_if(paths, [](const std::string& p) { return p.find("invalid") != std::string::npos; });
  // Written for the serialiser's test, not to obey the ops' laws.
  import_all(paths, 40,
             {"_all_gather: ", "initial_state must be a list of ui64",
              "_all_gather_variadic: ", "unknown mesh"});
}

}  // namespace
}  // namespace braze
