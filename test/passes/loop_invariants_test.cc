// SPDX-License-Identifier: Apache-2.0
// What a loop computes from what no turn changes moves before it, where it is worth an array; results do not change by a bit.
#include "passes/loop_invariants.h"

#include <gtest/gtest.h>

#include "test/passes/same_value.h"

namespace braze {
namespace {

// x = dot(x, W) for W of `made`, f32[48,48] of u and v = f32[24,48], which the loop does not change; so many times.
std::string program(const std::string& made, int64_t turns = 5, const std::string& next_u = "u") {
  std::string s = str_cat(
      "HloModule l\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
      "c { p = $T parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(", turns, ")\n"
      " ROOT r = pred[] compare(i, n), direction=LT }\n"
      "b { p = $T parameter(0)\n i = s32[] get-tuple-element(p), index=0\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
      " x = f32[8,48] get-tuple-element(p), index=1\n u = f32[24,48] get-tuple-element(p), index=2\n"
      " v = f32[24,48] get-tuple-element(p), index=3\n", made,
      " d = f32[8,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n y = f32[8,48] tanh(d)\n"
      " t = f32[24,48] negate(u)\n ROOT r = $T tuple(j, y, ", next_u, ", v) }\n"
      "ENTRY e { x = f32[8,48] parameter(0)\n u = f32[24,48] parameter(1)\n v = f32[24,48] parameter(2)\n z = s32[] constant(0)\n"
      " s = $T tuple(z, x, u, v)\n l = $T while(s), condition=c, body=b\n ROOT r = f32[8,48] get-tuple-element(l), index=1 }\n");
  for (size_t at; (at = s.find("$T")) != std::string::npos;)
    s.replace(at, 2, "(s32[], f32[8,48], f32[24,48], f32[24,48])");
  return s;
}

const std::string kJoined = " w = f32[48,48] concatenate(u, v), dimensions={0}\n";

// How many elements the loop's state has got.
int64_t moved(const std::string& text) {
  const auto m = same_value_after(text, 0.01, loop_invariants);
  if (!m) return -1;
  for (auto& i : m->entry()->instrs())
    if (i->is(Op::kWhile)) return static_cast<int64_t>(i->operand(0)->operands.size()) - 4;
  return -1;
}

TEST(LoopInvariants, OperandsOfProductsMove) {
  EXPECT_EQ(moved(program(kJoined)), 1);
  EXPECT_EQ(moved(program(" h = f32[48,48] concatenate(u, v), dimensions={0}\n w = f32[48,48] exponential(h)\n")), 1) << "as one";
  EXPECT_EQ(moved(program(" h = f32[48,48] concatenate(v, u), dimensions={0}\n w = f32[48,48] transpose(h), dimensions={1,0}\n")), 1);
}

TEST(LoopInvariants, CostlyValuesMove) {
  const std::string changing = " f = f32[] convert(i)\n g = f32[48,48] broadcast(f), dimensions={}\n w = f32[48,48] add(h, g)\n";
  EXPECT_EQ(moved(program(" h = f32[48,48] dot(u, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n" + changing)), 1);
  EXPECT_EQ(moved(program(" h = f32[48,48] concatenate(u, v), dimensions={0}\n" + changing)), 1);
}

TEST(LoopInvariants, OthersStay) {
  EXPECT_EQ(moved(program(kJoined, 1)), 0) << "one turn";
  EXPECT_EQ(moved(program(kJoined, 5, "t")), 0) << "u changes";
  EXPECT_EQ(moved(program(" zero = f32[] constant(0)\n w = f32[48,48] pad(u, zero), padding=0_24x0_0\n")), 0)
      << "larger than what it is made of";
  EXPECT_EQ(moved(program(" f = f32[] convert(i)\n g = f32[24,48] broadcast(f), dimensions={}\n h = f32[24,48] exponential(u)\n"
                          " k = f32[24,48] add(h, g)\n w = f32[48,48] concatenate(k, v), dimensions={0}\n")), 0) << "elementwise";
}

}  // namespace
}  // namespace braze
