// SPDX-License-Identifier: Apache-2.0
// Calls and compilations from several threads at once: one answer, no data race (under TSan).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend/compile.h"
#include "ops/sample.h"
#include "text/parse.h"

namespace braze {
namespace {

constexpr char kProgram[] = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
condition { p = (s32[], f32[64,64]) parameter(0)
  n = s32[] constant(5)
  i = s32[] get-tuple-element(p), index=0
  ROOT r = pred[] compare(i, n), direction=LT }
body { p = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[64,64] get-tuple-element(p), index=1
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,64] tanh(d)
  ROOT r = (s32[], f32[64,64]) tuple(next, t) }
ENTRY main { x = f32[64,64] parameter(0)
  big = f32[100000] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[64,64]) tuple(zero, x)
  w = (s32[], f32[64,64]) while(init), condition=condition, body=body
  y = f32[64,64] get-tuple-element(w), index=1
  z = f32[] constant(0)
  e = f32[100000] exponential(big)
  total = f32[] reduce(e, z), dimensions={0}, to_apply=add
  sorted = f32[64,64] sort(y), dimensions={1}, to_apply=less
  ROOT r = (f32[], f32[64,64], f32[64,64]) tuple(total, y, sorted) })";

Result<std::unique_ptr<Executable>> build(int threads) {
  ASSIGN(std::unique_ptr<Module> m, parse_hlo(kProgram));
  CompileOptions o;
  o.threads = threads;
  return compile(std::move(m), o);
}

std::vector<Literal> arguments(const Executable& e) {
  sample::Rng rng(3);
  std::vector<Literal> out;
  for (const Shape& s : e.parameters()) out.push_back(sample::literal(rng, s));
  return out;
}

void run_many(Executable& exe) {
  const auto args = arguments(exe);
  auto want = exe.run(args);
  ASSERT_TRUE(want.ok()) << want.status();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      for (int n = 0; n < 8; ++n) {
        auto got = exe.run(args);
        if (!got.ok() || !(*got == *want)) ++wrong;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrent, CallsOfOneExecutableOnTheSharedPool) {
  auto exe = build(0);
  ASSERT_TRUE(exe.ok()) << exe.status();
  run_many(**exe);
}

TEST(Concurrent, CallsOfOneExecutableOnThreeThreads) {
  auto exe = build(3);
  ASSERT_TRUE(exe.ok()) << exe.status();
  run_many(**exe);
}

TEST(Concurrent, CompilationsSideBySide) {
  std::atomic<int> failed{0};
  std::vector<std::thread> compilers;
  for (int k = 0; k < 4; ++k)
    compilers.emplace_back([&] {
      auto exe = build(0);
      if (!exe.ok() || !(*exe)->run(arguments(**exe)).ok()) ++failed;
    });
  for (std::thread& t : compilers) t.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace braze
