// SPDX-License-Identifier: Apache-2.0
// Loops and conditionals that carry tuples of tuples carry arrays afterwards, with the same value, and lists in them
// are written in place.
#include "passes/flat_tuples.h"

#include <gtest/gtest.h>

#include "analysis/verify.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

bool any_nested(const Module& m) {
  for (const Computation* c : computation_post_order(m))
    for (const auto& i : c->instrs()) {
      if (!i->is(Op::kWhile) && !i->is(Op::kConditional)) continue;
      for (const Shape& s : i->shape.tuple)
        if (s.is_tuple()) return true;
      for (const Instr* o : i->operands)
        for (const Shape& s : o->shape.tuple)
          if (s.is_tuple()) return true;
    }
  return false;
}

void expect_flat(const std::string& text) {
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(any_nested(**m));
  ASSERT_TRUE(flat_tuples(**m).ok());
  const Status sound = verify(**m);
  ASSERT_TRUE(sound.ok()) << sound;
  EXPECT_FALSE(any_nested(**m));
  agree(text, 1e-6);
}

// A list of TensorFlow's: elements and their number, written at one place in each iteration.
constexpr char kList[] =
    "HloModule l\n"
    "c { s = (s32[], (f32[40,256], s32[]), f32[256]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " n = s32[] constant(40)\n ROOT r = pred[] compare(i, n), direction=LT }\n"
    "b { s = (s32[], (f32[40,256], s32[]), f32[256]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " l = (f32[40,256], s32[]) get-tuple-element(s), index=1\n x = f32[256] get-tuple-element(s), index=2\n"
    " e = f32[40,256] get-tuple-element(l), index=0\n k = s32[] get-tuple-element(l), index=1\n"
    " f = f32[] convert(i)\n g = f32[256] broadcast(f), dimensions={}\n y = f32[256] add(x, g)\n"
    " u = f32[1,256] reshape(y)\n z = s32[] constant(0)\n w = f32[40,256] dynamic-update-slice(e, u, i, z)\n"
    " one = s32[] constant(1)\n j = s32[] add(i, one)\n q = s32[] add(k, one)\n"
    " t = (f32[40,256], s32[]) tuple(w, q)\n ROOT r = (s32[], (f32[40,256], s32[]), f32[256]) tuple(j, t, x) }\n"
    "ENTRY e { x = f32[256] parameter(0)\n z = s32[] constant(0)\n o = f32[] constant(0)\n"
    " a = f32[40,256] broadcast(o), dimensions={}\n l = (f32[40,256], s32[]) tuple(a, z)\n"
    " s = (s32[], (f32[40,256], s32[]), f32[256]) tuple(z, l, x)\n"
    " w = (s32[], (f32[40,256], s32[]), f32[256]) while(s), condition=c, body=b\n"
    " m = (f32[40,256], s32[]) get-tuple-element(w), index=1\n ROOT r = f32[40,256] get-tuple-element(m), index=0 }\n";

TEST(FlatTuples, AListIsWrittenInPlace) {
  expect_flat(kList);
  auto exe = compile(*parse_hlo(kList), {});
  ASSERT_TRUE(exe.ok()) << exe.status();
  EXPECT_LT((*exe)->stats().arena_bytes, 40 * 256 * 4);  // the list is the result
}

TEST(FlatTuples, Conditionals) {
  expect_flat(
      "HloModule k\n"
      "t { p = ((f32[3], s32[]), f32[3]) parameter(0)\n l = (f32[3], s32[]) get-tuple-element(p), index=0\n"
      " x = f32[3] get-tuple-element(p), index=1\n e = f32[3] get-tuple-element(l), index=0\n y = f32[3] add(e, x)\n"
      " n = s32[] get-tuple-element(l), index=1\n q = (f32[3]) tuple(x)\n v = (s32[], (f32[3])) tuple(n, q)\n"
      " ROOT r = (f32[3], (s32[], (f32[3]))) tuple(y, v) }\n"
      "f { p = f32[3] parameter(0)\n z = s32[] constant(7)\n q = (f32[3]) tuple(p)\n v = (s32[], (f32[3])) tuple(z, q)\n"
      " ROOT r = (f32[3], (s32[], (f32[3]))) tuple(p, v) }\n"
      "ENTRY e { x = f32[3] parameter(0)\n c = pred[] parameter(1)\n z = s32[] constant(1)\n l = (f32[3], s32[]) tuple(x, z)\n"
      " a = ((f32[3], s32[]), f32[3]) tuple(l, x)\n"
      " ROOT k = (f32[3], (s32[], (f32[3]))) conditional(c, a, x), true_computation=t, false_computation=f }\n");
}

}  // namespace
}  // namespace braze
