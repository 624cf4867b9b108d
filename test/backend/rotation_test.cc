// SPDX-License-Identifier: Apache-2.0
// Loops whose large arrays change places: any mixture of new, moved, kept and updated leaves, any number of
// iterations. What the loops compute is compared with the evaluator.
#include <random>

#include "absl/strings/str_join.h"
#include "plan/rotate.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

constexpr const char* kArray = "f32[64,65]";

// A loop of `steps` iterations over a counter and arrays x0, x1, …; `body` makes the next state, values n0, n1, ….
std::string loop_program(int64_t arrays, int64_t steps, const std::string& body) {
  std::string state = "(s32[]", parts, next, results, parameters;
  for (int64_t k = 0; k < arrays; ++k) {
    state += str_cat(", ", kArray);
    parts += str_cat("  x", k, " = ", kArray, " get-tuple-element(s), index=", k + 1, "\n");
    next += str_cat(", n", k);
    parameters += str_cat("  p", k, " = ", kArray, " parameter(", k, ")\n");
  }
  state += ")";
  std::string initial;
  for (int64_t k = 0; k < arrays; ++k) initial += str_cat(", p", k);
  return str_cat("HloModule t\ncond {\n  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(",
                 steps, ")\n  ROOT r = pred[] compare(i, n), direction=LT\n}\nbody {\n  s = ", state,
                 " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n",
                 parts, "  half = f32[] constant(0.5)\n  halves = ", kArray, " broadcast(half), dimensions={}\n  row = f32[1,65] broadcast(half), dimensions={}\n  zero = s32[] constant(0)\n",
                 body, "  ROOT r = ", state, " tuple(j", next, ")\n}\nENTRY e {\n", parameters, "  z = s32[] constant(0)\n  s = ", state, " tuple(z", initial,
                 ")\n  ROOT w = ", state, " while(s), condition=cond, body=body\n}\n");
}

std::string fresh(int64_t k, int64_t a, int64_t b) {
  return str_cat("  h", k, " = ", kArray, " multiply(x", a, ", halves)\n  v", k, " = ", kArray, " reverse(x", b, "), dimensions={0}\n  n", k,
                 " = ", kArray, " subtract(v", k, ", h", k, ")\n");
}

TEST(Rotation, WaveEquation) {
  for (int64_t steps = 0; steps < 8; ++steps)
    agree(loop_program(2, steps, fresh(0, 1, 0) + str_cat("  n1 = ", kArray, " reshape(x0)\n")), 0);
}

TEST(Rotation, Mixtures) {
  std::mt19937 rng(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  for (int program = 0; program < 60; ++program) {
    const int64_t arrays = 1 + below(5);
    std::string body;
    for (int64_t k = 0; k < arrays; ++k) {
      const int64_t a = below(arrays), b = below(arrays);
      switch (below(6)) {
        case 0: case 1: body += fresh(k, a, b); break;
        case 2: body += str_cat("  n", k, " = ", kArray, " reshape(x", a, ")\n"); break;
        case 3: body += str_cat("  n", k, " = ", kArray, " reshape(x", (k + 1) % arrays, ")\n"); break;
        case 4: body += str_cat("  n", k, " = ", kArray, " dynamic-update-slice(x", a, ", row, i, zero)\n"); break;
        default:  // an update of what is new
          body += str_cat("  m", k, " = ", kArray, " add(x", a, ", x", b, ")\n  n", k, " = ", kArray, " dynamic-update-slice(m", k, ", row, i, zero)\n");
      }
    }
    SCOPED_TRACE(body);
    agree(loop_program(arrays, below(8), body), 0);
  }
}

// A loop in a loop, both of the same array.
TEST(Rotation, Nested) {
  for (int64_t outer = 0; outer < 4; ++outer)
    for (int64_t inner = 0; inner < 4; ++inner) {
      const std::string state = str_cat("(s32[], ", kArray, ")");
      const auto cond = [&](const char* name, int64_t n) {
        return str_cat(name, " {\n  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(", n,
                       ")\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n");
      };
      const std::string open = str_cat("  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n"
                                       "  j = s32[] add(i, one)\n  x = ", kArray, " get-tuple-element(s), index=1\n");
      agree(str_cat("HloModule t\n", cond("c1", inner), cond("c2", outer), "b1 {\n", open, "  v = ", kArray, " reverse(x), dimensions={0}\n  y = ",
                    kArray, " add(x, v)\n  ROOT r = ", state, " tuple(j, y)\n}\nb2 {\n", open, "  h = ", kArray, " negate(x)\n  z = s32[] constant(0)\n  t = ", state,
                    " tuple(z, h)\n  w = ", state, " while(t), condition=c1, body=b1\n  y = ", kArray, " get-tuple-element(w), index=1\n  q = ", kArray,
                    " abs(y)\n  ROOT r = ", state, " tuple(j, q)\n}\nENTRY e {\n  p = ", kArray, " parameter(0)\n  z = s32[] constant(0)\n  s = ", state,
                    " tuple(z, p)\n  ROOT w = ", state, " while(s), condition=c2, body=b2\n}\n"), 0);
    }
}

TEST(Rotation, Advance) {
  Rotation r;
  r.period = 3;
  r.from = {Rotation::kStays, Rotation::kFresh, 1};
  r.end = {-1, 2, -1};
  std::vector<int64_t> at = {0, 1, 2}, spare = {-1, 3, -1};
  at = r.advance(at, &spare);
  EXPECT_EQ(at, (std::vector<int64_t>{0, 3, 1}));
  at = r.advance(at, &spare);
  EXPECT_EQ(at, (std::vector<int64_t>{0, 2, 3}));
  at = r.advance(at, &spare);
  EXPECT_EQ(at, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(spare[1], 3);
}

}  // namespace
}  // namespace braze
