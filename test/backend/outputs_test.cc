// SPDX-License-Identifier: Apache-2.0
// Kernels with several outputs.
#include "agree.h"

namespace braze {
namespace {

TEST(Outputs, OptimizerUpdateIsOneKernel) {
  auto exe = agree(R"(HloModule m
ENTRY main { p = f32[300,7] parameter(0)  m = f32[300,7] parameter(1)  v = f32[300,7] parameter(2)
  g = f32[300,7] parameter(3)  c = f32[] constant(0.9)  d = f32[] constant(0.1)
  cb = f32[300,7] broadcast(c), dimensions={}  db = f32[300,7] broadcast(d), dimensions={}
  m0 = f32[300,7] multiply(m, cb)  m1 = f32[300,7] multiply(g, db)  m2 = f32[300,7] add(m0, m1)
  g2 = f32[300,7] multiply(g, g)  v0 = f32[300,7] multiply(v, cb)  v1 = f32[300,7] multiply(g2, db)
  v2 = f32[300,7] add(v0, v1)  av = f32[300,7] abs(v2)  s = f32[300,7] sqrt(av)
  e = f32[300,7] add(s, db)  u = f32[300,7] divide(m2, e)  q = f32[300,7] subtract(p, u)
  ROOT r = (f32[300,7], f32[300,7], f32[300,7]) tuple(q, m2, v2) })", 1e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().launches, 1);
  EXPECT_EQ(exe->plan()->steps.size(), 1u);  // no copies: each output is computed in its place
}

TEST(Outputs, MomentsTakeOnePass) {
  auto exe = agree(R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main { x = f32[64,33] parameter(0)  z = f32[] constant(0)
  s = f32[64] reduce(x, z), dimensions={1}, to_apply=add
  y = f32[64,33] multiply(x, x)  t = f32[64] reduce(y, z), dimensions={1}, to_apply=add
  ROOT r = (f32[64], f32[64]) tuple(s, t) })", 1e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().launches, 1);
}

// f -> dot -> g, and f read by g as well: f and g must not become one kernel.
TEST(Outputs, NoCycleThroughAnotherKernel) {
  auto exe = agree(R"(HloModule m
ENTRY main { x = f32[24,24] parameter(0)  w = f32[24,24] parameter(1)
  f = f32[24,24] tanh(x)
  d = f32[24,24] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[24,24] dot(d, f), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[24,24] multiply(f, e)  h = f32[24,24] sine(f)
  ROOT r = (f32[24,24], f32[24,24], f32[24,24]) tuple(f, g, h) })", 1e-5);
  ASSERT_NE(exe, nullptr);
}

TEST(Outputs, OneValueInSeveralPlacesOfTheResult) {
  auto exe = agree(R"(HloModule m
ENTRY main { x = f32[40] parameter(0)  a = f32[40] negate(x)  b = f32[40] abs(a)
  c = f32[8,5] reshape(a)
  ROOT r = (f32[40], f32[40], f32[40], f32[8,5]) tuple(a, b, a, c) })");
  ASSERT_NE(exe, nullptr);
}

}  // namespace
}  // namespace braze
