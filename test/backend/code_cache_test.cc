// SPDX-License-Identifier: Apache-2.0
// Compiled code that is kept and found again: in the process, on disk, as bytes. Whatever the bytes
// are, results are those of a fresh compilation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "backend/compile.h"
#include "backend/inputs.h"
#include "backend/read_module.h"
#include "codegen/code_image.h"
#include "codegen/code_pool.h"
#include "loop/kernel_key.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

// Kernels, a contraction with an epilogue, a native loop that calls a kernel, a library call.
constexpr const char* kProgram = R"(
HloModule program
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
cond { s = (s32[], f32[300]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[300]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[300] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  f = f32[] convert(i)  g = f32[300] broadcast(f), dimensions={}  y = f32[300] add(x, g)
  z = f32[300] tanh(y)  zero = f32[] constant(0)
  t = f32[] reduce(z, zero), dimensions={0}, to_apply=add  u = f32[300] broadcast(t), dimensions={}
  w = f32[300] subtract(z, u)
  ROOT r = (s32[], f32[300]) tuple(j, w) }
ENTRY main {
  a = f32[40,50] parameter(0)  b = f32[50,60] parameter(1)  c = f32[300] parameter(2)
  p = f32[40,60] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[40,60] tanh(p)
  zero = s32[] constant(0)  s = (s32[], f32[300]) tuple(zero, c)
  l = (s32[], f32[300]) while(s), condition=cond, body=body
  v = f32[300] get-tuple-element(l), index=1
  o = f32[300] sort(v), dimensions={0}, to_apply=less
  ROOT r = (f32[40,60], f32[300]) tuple(e, o)
})";

class CodeCache : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/braze_code_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    codegen::forget_code();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::unique_ptr<Executable> compiled(const std::string& program, const CompileOptions& o) {
    auto m = read_module(program);
    EXPECT_TRUE(m.ok()) << m.status();
    auto x = compile(std::move(*m), o);
    EXPECT_TRUE(x.ok()) << x.status();
    return x.ok() ? std::move(*x) : nullptr;
  }
  static Literal result(Executable& x) {
    std::vector<Literal> args;
    for (size_t k = 0; k < x.parameters().size(); ++k) {
      auto a = make_input(x.parameters()[k], "random:3", static_cast<int64_t>(k));
      EXPECT_TRUE(a.ok());
      args.push_back(std::move(*a));
    }
    auto r = x.run(args);
    EXPECT_TRUE(r.ok()) << r.status();
    return std::move(*r);
  }
  // As a process that starts: nothing compiled is at hand.
  std::unique_ptr<Executable> again(const CompileOptions& o) {
    codegen::forget_code();
    return compiled(kProgram, o);
  }
  // Files of code; the modules after the passes lie beside them.
  std::vector<std::string> code_files() const {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(folder_)) {
      std::ifstream in(e.path(), std::ios::binary);
      if (std::string(std::istreambuf_iterator<char>(in), {}).find("BRZOBJ") != std::string::npos)
        all.push_back(e.path().string());
    }
    return all;
  }
  std::string only_file() const {
    const std::vector<std::string> all = code_files();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? std::string() : all[0];
  }

  std::string folder_;
};

int64_t units(const Executable& x) {
  return x.stats().code_compiled + x.stats().code_shared + x.stats().code_loaded;
}

TEST_F(CodeCache, KernelsAreSharedInAProcess) {
  auto first = compiled(kProgram, {});
  ASSERT_NE(first, nullptr);
  EXPECT_GE(first->stats().code_compiled, 3);
  EXPECT_EQ(first->stats().code_shared, 0);
  auto second = compiled(kProgram, {});
  EXPECT_EQ(second->stats().code_compiled, 0);
  EXPECT_EQ(second->stats().code_shared, units(*first));
  const Literal expected = result(*first);
  EXPECT_TRUE(result(*second) == expected);
  first = nullptr;  // the code stays with whoever runs it
  codegen::forget_code();
  EXPECT_TRUE(result(*second) == expected);
  auto third = compiled(kProgram, {});
  EXPECT_EQ(third->stats().code_compiled, units(*third));
}

TEST_F(CodeCache, OtherProgramsShareWhatTheyHaveInCommon) {
  auto first = compiled(kProgram, {});
  const std::string half = R"(
    HloModule half
    ENTRY main { a = f32[40,50] parameter(0)  b = f32[50,60] parameter(1)
      p = f32[40,60] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      e = f32[40,60] tanh(p)  n = f32[40,60] exponential(e)  s = f32[60,40] transpose(n), dimensions={1,0}
      ROOT r = (f32[40,60], f32[60,40]) tuple(e, s) })";
  auto second = compiled(half, {});
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(result(*second).parts()[0] == result(*first).parts()[0]);
}

TEST_F(CodeCache, AnotherProcessCompilesNothing) {
  DiskCache cache(folder_, 1 << 30);
  CompileOptions o;
  o.cache = &cache;
  auto fresh = compiled(kProgram, o);
  EXPECT_EQ(fresh->stats().code_loaded, 0);
  const Literal expected = result(*fresh);
  const int64_t all = units(*fresh);
  fresh = nullptr;
  auto warm = again(o);
  EXPECT_EQ(warm->stats().code_compiled, 0);
  EXPECT_EQ(warm->stats().code_loaded, all);
  EXPECT_TRUE(result(*warm) == expected);
  EXPECT_FALSE(only_file().empty());
}

TEST_F(CodeCache, OtherTargetsHaveOtherCode) {
  DiskCache cache(folder_, 1 << 30);
  CompileOptions o;
  o.cache = &cache;
  auto host = compiled(kProgram, o);
  const std::string image = host->code_image();
  o.target = "baseline";
  o.code = image;
  auto baseline = again(o);
  EXPECT_EQ(baseline->stats().code_loaded, 0);
  EXPECT_EQ(baseline->stats().code_compiled, units(*baseline));
  EXPECT_EQ(code_files().size(), 2u);
}

TEST_F(CodeCache, DamagedFilesAreCompiledAnew) {
  DiskCache cache(folder_, 1 << 30);
  CompileOptions o;
  o.cache = &cache;
  const Literal expected = result(*compiled(kProgram, o));
  const std::string path = only_file();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(7);
  for (int n = 0; n < 6; ++n) {
    std::string bad = good;
    if (n % 2) bad.resize(random() % bad.size());
    else bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    auto x = again(o);
    ASSERT_NE(x, nullptr);
    EXPECT_EQ(x->stats().code_loaded, 0);
    EXPECT_TRUE(result(*x) == expected);
    x = again(o);  // and the file is whole again
    EXPECT_EQ(x->stats().code_compiled, 0);
  }
}

TEST_F(CodeCache, FoldersThatCannotBeWritten) {
  std::ofstream(folder_ + "/file") << "in the way";
  DiskCache cache(folder_ + "/file/folder", 1 << 30);
  CompileOptions o;
  o.cache = &cache;
  auto x = compiled(kProgram, o);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->stats().code_compiled, units(*x));
  result(*x);
}

TEST_F(CodeCache, TheBoundHolds) {
  DiskCache cache(folder_, 60000);
  CompileOptions o;
  o.cache = &cache;
  for (int n = 1; n < 30; ++n) {
    const std::string s = std::to_string(n * 16);
    compiled("HloModule p\nENTRY e { a = f32[" + s + "] parameter(0)  ROOT r = f32[" + s + "] exponential(a) }", o);
  }
  int64_t bytes = 0;
  for (const auto& e : fs::directory_iterator(folder_)) bytes += static_cast<int64_t>(e.file_size());
  EXPECT_GT(bytes, 0);
  EXPECT_LE(bytes, 60000);
}

TEST_F(CodeCache, BytesLoadWithoutCompiling) {
  auto fresh = compiled(kProgram, {});
  const Literal expected = result(*fresh);
  const std::string image = fresh->code_image();
  const int64_t all = units(*fresh);
  fresh = nullptr;
  CompileOptions o;
  o.code = image;
  auto x = again(o);
  EXPECT_EQ(x->stats().code_compiled, 0);
  EXPECT_EQ(x->stats().code_loaded, all);
  EXPECT_TRUE(result(*x) == expected);
  EXPECT_EQ(x->code_image(), image);
}

TEST_F(CodeCache, DamagedBytesAreCompiledAnew) {
  auto fresh = compiled(kProgram, {});
  const Literal expected = result(*fresh);
  const std::string image = fresh->code_image();
  for (size_t n = 0; n < image.size(); n += 1 + image.size() / 50)
    EXPECT_FALSE(codegen::read_code_image(std::string_view(image).substr(0, n)).ok());
  std::mt19937 random(11);
  for (int n = 0; n < 200; ++n) {
    std::string bad = image;
    bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    EXPECT_FALSE(codegen::read_code_image(bad).ok());
  }
  const std::string cut = image.substr(0, image.size() / 2);
  CompileOptions o;
  o.code = cut;
  auto x = again(o);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->stats().code_compiled, units(*x));
  EXPECT_TRUE(result(*x) == expected);
}

// Code of another program, under a right checksum: nothing of it is used.
TEST_F(CodeCache, CodeOfAnotherProgramIsPassedOver) {
  auto other = compiled("HloModule p\nENTRY e { a = f32[99] parameter(0)  ROOT r = f32[99] exponential(a) }", {});
  const std::string image = other->code_image();
  CompileOptions o;
  o.code = image;
  auto x = again(o);
  EXPECT_EQ(x->stats().code_loaded, 0);
  // Objects without the functions that their units name do not link, and are passed over too.
  auto objects = codegen::read_code_image(x->code_image());
  ASSERT_TRUE(objects.ok());
  for (codegen::CodeObject& object : *objects) object.bytes = "no object";
  std::vector<const codegen::CodeObject*> pointers;
  for (const codegen::CodeObject& object : *objects) pointers.push_back(&object);
  const std::string nonsense = codegen::write_code_image(pointers);
  const Literal expected = result(*x);
  x = nullptr;
  o.code = nonsense;
  x = again(o);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->stats().code_compiled, units(*x));
  EXPECT_TRUE(result(*x) == expected);
}

TEST_F(CodeCache, ThreadsAtOnce) {
  const Literal expected = result(*compiled(kProgram, {}));
  codegen::forget_code();
  DiskCache cache(folder_, 1 << 30);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      CompileOptions o;
      o.cache = &cache;
      for (int n = 0; n < 3; ++n) {
        auto x = compiled(kProgram, o);
        if (n == 1) codegen::forget_code();
        EXPECT_TRUE(x && result(*x) == expected);
      }
    });
  for (std::thread& t : threads) t.join();
}

// What code generation reads is in the key, names are not.
TEST(KernelKey, TellsKernelsApart) {
  auto keys = [](const std::string& name, const std::string& op, int n) {
    const std::string s = std::to_string(n);
    auto m = read_module("HloModule p\nENTRY e { " + name + " = f32[" + s + "] parameter(0)  ROOT r = f32[" +
                         s + "] " + op + "(" + name + ") }");
    auto x = compile(std::move(*m));
    std::vector<Hash128> out;
    for (const auto& k : (*x)->plan()->kernels) out.push_back(loop::kernel_key(*k));
    EXPECT_EQ(out.size(), 1u);
    return out[0];
  };
  EXPECT_TRUE(keys("a", "tanh", 10) == keys("b", "tanh", 10));
  EXPECT_FALSE(keys("a", "tanh", 10) == keys("a", "sine", 10));
  EXPECT_FALSE(keys("a", "tanh", 10) == keys("a", "tanh", 11));
}

}  // namespace
}  // namespace braze
