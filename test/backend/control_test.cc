// SPDX-License-Identifier: Apache-2.0
// Loops and conditionals: native drivers, unrolling, state that passes through or swaps.
#include "agree.h"

namespace braze {
namespace {

int64_t count_loops(const PlanSteps& steps, bool native) {
  int64_t n = 0;
  for (const PlanStep& s : steps) {
    n += s.kind == PlanStep::Kind::kWhile && (s.driver >= 0) == native;
    for (const PlanSteps& inner : s.nested) n += count_loops(inner, native);
  }
  return n;
}

TEST(Control, ScalarLoopIsNative) {
  auto exe = agree(R"(HloModule m
cond { s = (s32[], f32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(1000)  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1  a = f32[] get-tuple-element(s), index=2
  one = s32[] constant(1)  j = s32[] add(i, one)  y = f32[] multiply(x, a)  z = f32[] cosine(y)
  ROOT r = (s32[], f32[], f32[]) tuple(j, z, a) }
ENTRY main { x = f32[] parameter(0)  a = f32[] parameter(1)  zero = s32[] constant(0)
  t = (s32[], f32[], f32[]) tuple(zero, x, a)
  ROOT w = (s32[], f32[], f32[]) while(t), condition=cond, body=body })", 1e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(count_loops(exe->plan()->steps, true), 1);
  EXPECT_EQ(count_loops(exe->plan()->steps, false), 0);
}

TEST(Control, LoopMayRunNeverAndSwapItsState) {
  for (int trips : {0, 1, 2, 7, 100}) {
    auto exe = agree(str_cat(R"(HloModule m
cond { s = (s32[], f32[3], f32[3], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  k = s32[2] get-tuple-element(s), index=3  z = s32[] constant(0)
  f = s32[1] dynamic-slice(k, z), dynamic_slice_sizes={1}  n = s32[] reshape(f)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[3], f32[3], s32[2]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  a = f32[3] get-tuple-element(s), index=1  b = f32[3] get-tuple-element(s), index=2
  k = s32[2] get-tuple-element(s), index=3  one = s32[] constant(1)  j = s32[] add(i, one)
  c = f32[3] add(a, b)
  ROOT r = (s32[], f32[3], f32[3], s32[2]) tuple(j, b, c, k) }
ENTRY main { a = f32[3] parameter(0)  b = f32[3] parameter(1)  i = s32[] constant(0)
  k = s32[2] constant({)", trips, R"(, 0})  t = (s32[], f32[3], f32[3], s32[2]) tuple(i, a, b, k)
  ROOT w = (s32[], f32[3], f32[3], s32[2]) while(t), condition=cond, body=body })"));
    ASSERT_NE(exe, nullptr) << trips;
  }
}

TEST(Control, ConditionalsAndArraysInsideANativeLoop) {
  auto exe = agree(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
cond { s = (s32[], f32[64], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(64)  ROOT r = pred[] compare(i, n), direction=LT }
up { x = f32[] parameter(0)  h = f32[] constant(1.5)  ROOT r = f32[] multiply(x, h) }
down { x = f32[] parameter(0)  ROOT r = f32[] negate(x) }
same { x = f32[] parameter(0)  ROOT r = f32[] copy(x) }
body { s = (s32[], f32[64], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  a = f32[64] get-tuple-element(s), index=1  x = f32[] get-tuple-element(s), index=2
  three = s32[] constant(3)  k = s32[] remainder(i, three)
  y = f32[] conditional(k, x, x, x), branch_computations={up, down, same}
  e = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}  f = f32[] reshape(e)
  g = f32[] add(f, y)  u = f32[1] reshape(g)  b = f32[64] dynamic-update-slice(a, u, i)
  zero = f32[] constant(0)  t = f32[] reduce(b, zero), dimensions={0}, to_apply=add
  small = f32[] constant(0.01)  v = f32[] multiply(t, small)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT r = (s32[], f32[64], f32[]) tuple(j, b, v) }
ENTRY main { a = f32[64] parameter(0)  x = f32[] parameter(1)  i = s32[] constant(0)
  t = (s32[], f32[64], f32[]) tuple(i, a, x)
  ROOT w = (s32[], f32[64], f32[]) while(t), condition=cond, body=body })", 1e-4);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(count_loops(exe->plan()->steps, true), 1);
}

TEST(Control, ElementwiseLoopOfKnownLengthBecomesOneKernel) {
  auto exe = agree(R"(HloModule m
cond { s = (s32[], f32[1000], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[1000], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1  a = f32[] get-tuple-element(s), index=2
  f = f32[] convert(i)  g = f32[] add(f, a)  b = f32[1000] broadcast(g), dimensions={}
  y = f32[1000] multiply(x, b)  z = f32[1000] tanh(y)
  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT r = (s32[], f32[1000], f32[]) tuple(j, z, a) }
ENTRY main { x = f32[1000] parameter(0)  a = f32[] parameter(1)  zero = s32[] constant(0)
  t = (s32[], f32[1000], f32[]) tuple(zero, x, a)
  w = (s32[], f32[1000], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[1000] get-tuple-element(w), index=1 })", 1e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().launches, 1);
  EXPECT_EQ(count_loops(exe->plan()->steps, true) + count_loops(exe->plan()->steps, false), 0);
}

TEST(Control, ConditionalOfAConstantIsItsBranch) {
  for (int index : {-1, 0, 1, 2, 9}) {
    auto exe = agree(str_cat(R"(HloModule m
a { x = f32[9] parameter(0)  ROOT r = f32[9] negate(x) }
b { x = f32[9] parameter(0)  ROOT r = f32[9] abs(x) }
c { x = f32[9] parameter(0)  ROOT r = f32[9] multiply(x, x) }
ENTRY main { x = f32[9] parameter(0)  i = s32[] constant()", index, R"()
  ROOT r = f32[9] conditional(i, x, x, x), branch_computations={a, b, c} })"));
    ASSERT_NE(exe, nullptr) << index;
    EXPECT_EQ(exe->stats().launches, 1) << index;
  }
}

}  // namespace
}  // namespace braze
