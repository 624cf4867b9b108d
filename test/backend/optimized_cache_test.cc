// SPDX-License-Identifier: Apache-2.0
// Modules as bytes, and the modules after the passes that the cache keeps: a copy is the original to
// whatever reads it, and programs found there are those that a fresh compilation makes.
#include "backend/optimized_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "backend/inputs.h"
#include "backend/read_module.h"
#include "codegen/code_pool.h"
#include "ir/module_bytes.h"
#include "text/print.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What print_hlo does not show: order, numbers of users, what is dead.
std::string links(const Module& m) {
  std::string out;
  for (const auto& c : m.computations()) {
    out += str_cat(c->name(), c->root() ? c->root()->name : "", "\n");
    for (const auto& i : c->instrs()) {
      out += str_cat(i->name, " ", i->attrs.index(), i->extras ? " extras" : "", ":");
      for (const Instr* u : i->users) out += str_cat(" ", u->name);
      for (const Computation* callee : i->calls) out += str_cat(" ", callee->name());
      out += "\n";
    }
  }
  return out;
}

void expect_copy(const Module& m, std::string_view what) {
  const std::vector<Literal> large = large_literals(m);
  const std::string bytes = module_bytes(m, large);
  auto copy = module_from_bytes(bytes, large);
  ASSERT_TRUE(copy.ok()) << what << ": " << copy.status();
  EXPECT_EQ(print_hlo(**copy, PrintOptions::long_form()), print_hlo(m, PrintOptions::long_form())) << what;
  EXPECT_EQ(links(**copy), links(m)) << what;
  EXPECT_EQ(module_bytes(**copy, large), bytes) << what;
  EXPECT_FALSE(module_from_bytes(std::string_view(bytes).substr(0, bytes.size() - 1), large).ok()) << what;
}

TEST(ModuleBytes, CopiesOfManyPrograms) {
  int64_t read = 0;
  for (const char* folder : {"golden", "fuzz/corpus/hlo_text", "fuzz/corpus/mlir_text", "fuzz/corpus/mlir_bytecode", "fuzz/corpus/hlo_proto"})
    for (const auto& e : fs::directory_iterator(fs::path(BRAZE_ROOT) / "test" / folder)) {
      std::string text = content(e.path());
      text.resize(std::min(text.size(), text.find("====")));
      auto m = read_module(text);
      if (!m.ok()) continue;  // some are there to be refused
      ++read;
      expect_copy(**m, e.path().string());
      if (optimize(**m, {}).ok()) expect_copy(**m, str_cat("optimized ", e.path().string()));
    }
  EXPECT_GE(read, 150);
}

TEST(ModuleBytes, LargeConstantsStayOut) {
  const std::string program = R"(HloModule m
    ENTRY e { a = f32[2000] parameter(0)  i = f32[2000] iota(), iota_dimension=0  ROOT r = f32[2000] add(a, i) })";
  auto m = read_module(program);
  ASSERT_TRUE(m.ok());
  Computation* e = (*m)->entry();
  Literal values(Shape::array(Dtype::kF32, {2000}));
  for (int64_t k = 0; k < 2000; ++k) values.set_float(k, 0.5 * static_cast<double>(k));
  Instr* c = e->add(Op::kConstant, values.shape(), {}, ConstantAttrs{values});
  Instr* other = e->add(Op::kConstant, Shape::array(Dtype::kF32, {40, 50}), {},
                        ConstantAttrs{values.reshaped(Shape::array(Dtype::kF32, {40, 50}))});
  e->set_root(e->add(Op::kTuple, Shape::tuple_of({c->shape, other->shape}), {c, other}));
  const std::vector<Literal> large = large_literals(**m);
  ASSERT_EQ(large.size(), 1u);
  EXPECT_LT(module_bytes(**m, large).size(), 1000u);
  EXPECT_GT(module_bytes(**m).size(), 16000u);
  expect_copy(**m, "both forms of one constant");
  EXPECT_FALSE(module_from_bytes(module_bytes(**m, large)).ok()) << "without the constants";
}

// Bytes that end anywhere too early.
TEST(ModuleBytes, CutBytesAreErrors) {
  auto m = read_module(content(fs::path(BRAZE_ROOT) / "examples/seed.mlir"));
  ASSERT_TRUE(m.ok()) << m.status();
  const std::string bytes = module_bytes(**m);
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(module_from_bytes(bytes.substr(0, n)).ok()) << n;
}

constexpr const char* kProgram = R"(HloModule program
  max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
  sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
  ENTRY main {
    a = f32[64,48] parameter(0)  b = f32[48,96] parameter(1)
    p = f32[64,96] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    low = f32[] constant(-inf)  m = f32[64] reduce(p, low), dimensions={1}, to_apply=max
    mm = f32[64,96] broadcast(m), dimensions={0}  d = f32[64,96] subtract(p, mm)  e = f32[64,96] exponential(d)
    zero = f32[] constant(0)  s = f32[64] reduce(e, zero), dimensions={1}, to_apply=sum
    ss = f32[64,96] broadcast(s), dimensions={0}  ROOT r = f32[64,96] divide(e, ss), metadata={op_name="softmax" source_file="f.py" source_line=3} })";

class Optimized : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/braze_optimized_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    disk_ = std::make_unique<DiskCache>(folder_, 1 << 30);
    options_.cache = disk_.get();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Executable> compiled() {
    codegen::forget_code();
    auto m = read_module(kProgram);
    EXPECT_TRUE(m.ok()) << m.status();
    auto x = compile(std::move(*m), options_);
    EXPECT_TRUE(x.ok()) << x.status();
    return x.ok() ? std::move(*x) : nullptr;
  }
  static bool ran_passes(const Executable& x) {
    const auto& phases = x.stats().phases;
    return std::any_of(phases.begin(), phases.end(), [](const auto& p) { return p.first == "fuse"; });
  }
  static Literal result(Executable& x) {
    std::vector<Literal> args;
    for (size_t k = 0; k < x.parameters().size(); ++k)
      args.push_back(*make_input(x.parameters()[k], "random:3", static_cast<int64_t>(k)));
    auto r = x.run(args);
    EXPECT_TRUE(r.ok()) << r.status();
    return std::move(*r);
  }

  std::string folder_;
  std::unique_ptr<DiskCache> disk_;
  CompileOptions options_;
};

TEST_F(Optimized, TheSamePlanWithoutPasses) {
  auto fresh = compiled(), found = compiled();
  EXPECT_TRUE(ran_passes(*fresh));
  EXPECT_FALSE(ran_passes(*found));
  EXPECT_EQ(found->stats().code_compiled, 0);
  EXPECT_EQ(to_string(*found->plan()), to_string(*fresh->plan()));
  EXPECT_TRUE(result(*found) == result(*fresh));
}

TEST_F(Optimized, PassesThatAreWatchedRun) {
  const int64_t kernels = compiled()->stats().kernels;
  int64_t passes = 0;
  options_.after_pass = [&](std::string_view, const Module&) { ++passes; };
  EXPECT_TRUE(ran_passes(*compiled()));
  EXPECT_GT(passes, 5);
  options_.after_pass = nullptr;
  options_.passes = "inline,cleanup";
  EXPECT_LT(compiled()->stats().kernels, kernels) << "nothing is fused";
  options_.passes.clear();
  options_.target = "baseline";
  EXPECT_TRUE(ran_passes(*compiled()));
}

TEST_F(Optimized, DamagedFilesAreMadeAnew) {
  const Literal expected = result(*compiled());
  std::mt19937 random(11);
  for (int n = 0; n < 6; ++n) {
    for (const auto& e : fs::directory_iterator(folder_)) {
      std::string bytes = content(e.path());
      if (n % 2) bytes.resize(random() % bytes.size());
      else bytes[random() % bytes.size()] ^= 16;
      std::ofstream(e.path(), std::ios::binary | std::ios::trunc) << bytes;
    }
    auto x = compiled();
    EXPECT_TRUE(ran_passes(*x));
    EXPECT_TRUE(result(*x) == expected);
    EXPECT_FALSE(ran_passes(*compiled())) << "and the file is whole again";
  }
}

}  // namespace
}  // namespace braze
