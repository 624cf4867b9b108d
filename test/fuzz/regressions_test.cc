// SPDX-License-Identifier: Apache-2.0
// Modules that random ones were shrunk to when they failed, each with what was wrong. The arguments are
// ordinary random values.
#include <gtest/gtest.h>

#include "ops/sample.h"
#include "test/fuzz/module_check.h"
#include "text/parse.h"

namespace braze::fuzz {
namespace {

struct Program {
  const char* what;
  const char* text;
};

constexpr Program kPrograms[] = {
    {"the unsigned high product of a vector by 1, known late: LLVM 19 made it poison",
     R"(HloModule m
ENTRY main { p = u32[7,1,3] parameter(0)
  x = u32[21] reshape(p)
  eight = u32[] constant(8)
  y = u32[960] pad(x, eight), padding=161_778
  none = u32[0] parameter(1)
  one = u32[] constant(1)
  z = u32[960] pad(none, one), padding=211_749
  ROOT m = u32[960] mulhi(y, z) })"},
    {"short reductions of narrow floats add up in f32, as long ones",
     R"(HloModule m
add { a = f8e4m3[] parameter(0)
  b = f8e4m3[] parameter(1)
  ROOT r = f8e4m3[] add(a, b) }
ENTRY main { x = f8e4m3[8,5,13] parameter(0)
  zero = f8e4m3[] constant(0)
  ROOT r = f8e4m3[8,13] reduce(x, zero), dimensions={1}, to_apply=add })"},
    {"nothing of a loop that never runs is hoisted out of it",
     R"(HloModule m
ENTRY main { x = f64[0,1,7] parameter(0)
  t = f64[0,1,7] tan(x)
  p = pred[0,1,7] convert(t)
  ROOT r = pred[0,3] reshape(p) })"},
    {"the same in a reduction over nothing",
     R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY main { x = f32[0,40000] parameter(0)
  e = f32[0,40000] exponential(x)
  zero = f32[] constant(3)
  ROOT r = f32[40000] reduce(e, zero), dimensions={0}, to_apply=add })"},
    {"contractions without a generated kernel for the target become loops (f16 without F16C)",
     R"(HloModule m
ENTRY main { x = f16[4,3] parameter(0)
  y = f16[3,5] parameter(1)
  ROOT r = f16[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"the same for convolutions",
     R"(HloModule m
ENTRY main { x = f16[3,3,3,3,1] parameter(0)
  y = f16[5,9,3,3,6] parameter(1)
  ROOT r = f16[3,4,5,7,3] convolution(y, x), window={size=3x1x3 pad=2_2x-1_-1x2_2}, dim_labels=2b0f1_o2i01->b102f, batch_group_count=3 })"},
    {"code for a plain x86-64 may call fmin of the C library",
     R"(HloModule m
condition { p = (s32[], f16[5,17], u32[], u32[]) parameter(0)
  n = s32[] constant(3)
  i = s32[] get-tuple-element(p), index=0
  ROOT r = pred[] compare(i, n), direction=LT }
body { p = (s32[], f16[5,17], u32[], u32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  zero = u32[] constant(0)
  low = f16[3,1] constant({ {0}, {0}, {0} })
  h = f16[] convert(i)
  c = f16[3,1] clamp(low, low, h)
  u = u32[3,1] convert(c)
  flat = u32[3] reshape(u)
  first = u32[1] slice(flat), slice={[0:1]}
  last = u32[] reshape(first)
  same = f16[5,17] get-tuple-element(p), index=1
  ROOT t = (s32[], f16[5,17], u32[], u32[]) tuple(next, same, zero, last) }
ENTRY main { p = (s32[], f16[5,17], u32[], u32[]) parameter(0)
  ROOT w = (s32[], f16[5,17], u32[], u32[]) while(p), condition=condition, body=body })"},
};

TEST(RandomModules, OldFindings) {
  for (const Program& p : kPrograms) {
    auto m = parse_hlo(p.text);
    ASSERT_TRUE(m.ok()) << p.what << ": " << m.status();
    Case c{*std::move(m), {}};
    sample::Rng rng(7);
    for (const Instr* q : c.module->entry()->params()) c.args.push_back(sample::literal(rng, q->shape));
    for (uint64_t seed = 0; seed < 12; ++seed) {  // several targets
      const Finding f = check(c, seed);
      EXPECT_FALSE(is_bad(f.verdict)) << p.what << ": " << std::string(name(f.verdict)) << " " << f.text;
    }
  }
}

}  // namespace
}  // namespace braze::fuzz
