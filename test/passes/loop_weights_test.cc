// SPDX-License-Identifier: Apache-2.0
// Matrices that a loop reads unchanged are laid out before it; the loop's results do not change by a bit, and other
// matrices stay as they are.
#include "passes/loop_weights.h"

#include <gtest/gtest.h>

#include "test/passes/same_value.h"

namespace braze {
namespace {

// A loop of `turns` whose state is (i, x, w): y = f of dot(x, w), w as `next_w` says.
struct LoopProgram {
  int64_t turns = 32, rows = 4, size = 256;  // w is size by size
  const char* type = "f32";
  const char* contracted = "0";  // dimension of w
  std::string next_w = "w";
  std::string body = " y = $X tanh(d)\n";
  std::string after = " ROOT r = $X get-tuple-element(l), index=1\n";

  std::string text() const {
    const std::string x = str_cat(type, "[", rows, ",", size, "]"), w = str_cat(type, "[", size, ",", size, "]");
    const std::string t = str_cat("(s32[], ", x, ", ", w, ")");
    std::string s = str_cat(
        "HloModule l\nc { p = $T parameter(0)\n i = s32[] get-tuple-element(p), index=0\n k = s32[] constant(", turns, ")\n"
        " ROOT r = pred[] compare(i, k), direction=LT }\n"
        "b { p = $T parameter(0)\n i = s32[] get-tuple-element(p), index=0\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
        " x = $X get-tuple-element(p), index=1\n w = $W get-tuple-element(p), index=2\n"
        " d = $X dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={", contracted, "}\n", body,
        " v = $W negate(w)\n ROOT r = $T tuple(j, y, ", next_w, ") }\n"
        "ENTRY e { x = $X parameter(0)\n w = $W parameter(1)\n z = s32[] constant(0)\n t = $T tuple(z, x, w)\n"
        " l = $T while(t), condition=c, body=b\n", after, "}\n");
    for (const auto& [mark, what] : {std::pair("$T", t), std::pair("$X", x), std::pair("$W", w)})
      for (size_t at; (at = s.find(mark)) != std::string::npos;) s.replace(at, 2, what);
    return s;
  }
};

// How many panels are made before all loops.
int64_t panels_of(const std::string& text) {
  const auto m = same_value_after(text, 0.003, [](Module& m) { return loop_weights(m, 256); });
  if (!m) return -1;
  int64_t n = 0;
  for (auto& i : m->entry()->instrs()) n += i->is(Op::kTranspose);
  return n;
}
int64_t panels(const LoopProgram& p) { return panels_of(p.text()); }

TEST(LoopWeights, PanelsBeforeTheLoop) {
  EXPECT_EQ(panels({}), 1);
  EXPECT_EQ(panels({.contracted = "1"}), 1);
  EXPECT_EQ(panels({.size = 192, .type = "f64"}), 1);
}

TEST(LoopWeights, ProductsWithOneMatrixShareItsPanels) {
  EXPECT_EQ(panels({.body = " h = $X tanh(d)\n g = $X dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n y = $X tanh(g)\n"}), 1);
  EXPECT_EQ(panels({.body = " h = $X tanh(d)\n g = $X dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n y = $X tanh(g)\n"}), 2);
}

TEST(LoopWeights, BeforeTheOutermostLoop) {
  const std::string text = R"(HloModule n
    ic { p = (s32[], f32[4,256], f32[256,256]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      k = s32[] constant(8)  ROOT r = pred[] compare(i, k), direction=LT }
    ib { p = (s32[], f32[4,256], f32[256,256]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      one = s32[] constant(1)  j = s32[] add(i, one)  x = f32[4,256] get-tuple-element(p), index=1
      w = f32[256,256] get-tuple-element(p), index=2
      d = f32[4,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      y = f32[4,256] tanh(d)  ROOT r = (s32[], f32[4,256], f32[256,256]) tuple(j, y, w) }
    oc { p = (s32[], f32[4,256], f32[256,256]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      k = s32[] constant($)  ROOT r = pred[] compare(i, k), direction=LT }
    ob { p = (s32[], f32[4,256], f32[256,256]) parameter(0)  i = s32[] get-tuple-element(p), index=0
      one = s32[] constant(1)  j = s32[] add(i, one)  x = f32[4,256] get-tuple-element(p), index=1
      w = f32[256,256] get-tuple-element(p), index=2  z = s32[] constant(0)
      t = (s32[], f32[4,256], f32[256,256]) tuple(z, x, w)
      l = (s32[], f32[4,256], f32[256,256]) while(t), condition=ic, body=ib
      y = f32[4,256] get-tuple-element(l), index=1  ROOT r = (s32[], f32[4,256], f32[256,256]) tuple(j, y, w) }
    ENTRY e { x = f32[4,256] parameter(0)  w = f32[256,256] parameter(1)  z = s32[] constant(0)
      t = (s32[], f32[4,256], f32[256,256]) tuple(z, x, w)
      l = (s32[], f32[4,256], f32[256,256]) while(t), condition=oc, body=ob
      ROOT r = f32[4,256] get-tuple-element(l), index=1 })";
  auto turns = [&](const char* outer) { return std::string(text).replace(text.find('$'), 1, outer); };
  EXPECT_EQ(panels_of(turns("4")), 1) << "32 turns";
  EXPECT_EQ(panels_of(turns("3")), 0) << "24 turns";
}

TEST(LoopWeights, OthersStay) {
  EXPECT_EQ(panels({.turns = 31}), 0) << "few turns of few rows";
  EXPECT_EQ(panels({.turns = 8, .rows = 12}), 1);
  EXPECT_EQ(panels({.turns = 7, .rows = 12}), 0) << "few turns";
  EXPECT_EQ(panels({.rows = 1}), 0) << "one row";
  EXPECT_EQ(panels({.rows = 129}), 0) << "many rows pay for packing";
  EXPECT_EQ(panels({.size = 128}), 0) << "small";
  EXPECT_EQ(panels({.size = 264}), 0) << "columns that are no whole panels";
  EXPECT_EQ(panels({.next_w = "v"}), 0) << "it changes";
  EXPECT_EQ(panels({.after = " ROOT r = $T copy(l)\n"}), 0) << "the state is read as a whole";
  EXPECT_EQ(panels({.body = " q = $T opt-barrier(p)\n h = $X get-tuple-element(q), index=1\n y = $X add(h, d)\n"}), 0) << "in the body";
  EXPECT_EQ(panels({.body = " y = $X tanh(d), control-predecessors={x}\n"}), 0) << "something waits";
}

}  // namespace
}  // namespace braze
