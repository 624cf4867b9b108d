// SPDX-License-Identifier: Apache-2.0
// Kernels with several outputs never wait for themselves, and fusing changes no value.
#include "passes/fuse.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/verify.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

void expect_same_after_fusing(const std::string& text) {
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) {
    Literal l(p->shape);
    for (int64_t i = 0; i < l.elements(); ++i)
      l.set_float(i, ((i * 37 + 11 * static_cast<int64_t>(args.size())) % 64 - 31) * 0.37);
    args.push_back(std::move(l));
  }
  auto want = evaluate(**m, args);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  const Status sound = verify(**m);
  ASSERT_TRUE(sound.ok()) << sound << text;
  auto got = evaluate(**m, args);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << text;
}

// Vectors and matrices that read each other at random, many of them results, as in the body of a
// batched solver: there is much to merge, and much that must not be.
std::string random_program(int seed) {
  std::mt19937 rng(seed);
  auto pick = [&](const std::vector<std::string>& from) { return from[rng() % from.size()]; };
  const std::string columns = seed % 2 ? "5" : "20";  // broadcasts to 20 are copied into their readers
  const std::string kVector = "f32[10]", kMatrix = "f32[10," + columns + "]";
  std::vector<std::string> vectors, matrices, predicates;
  std::string text = "HloModule t\nENTRY main {\n";
  int parameters = 0, n = 0;
  for (int k = 0; k < 3; ++k) {
    vectors.push_back("v" + std::to_string(k));
    text += vectors.back() + " = " + kVector + " parameter(" + std::to_string(parameters++) + ")\n";
    matrices.push_back("m" + std::to_string(k));
    text += matrices.back() + " = " + kMatrix + " parameter(" + std::to_string(parameters++) + ")\n";
  }
  auto define = [&](std::vector<std::string>& into, const std::string& type, const std::string& op) {
    into.push_back("x" + std::to_string(n++));
    text += into.back() + " = " + type + " " + op + "\n";
  };
  for (int k = 0; k < 40; ++k) {
    switch (rng() % 7) {
      case 0: define(vectors, kVector, "add(" + pick(vectors) + ", " + pick(vectors) + ")"); break;
      case 1: case 2: define(matrices, kMatrix, "multiply(" + pick(matrices) + ", " + pick(matrices) + ")"); break;
      case 3: define(matrices, kMatrix, "broadcast(" + pick(vectors) + "), dimensions={0}"); break;
      case 4: {
        const std::string m = pick(matrices);
        define(vectors, kVector, "dot(" + m + ", " + pick(matrices) +
               "), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}");
        break;
      }
      case 5: {
        std::vector<std::string> one;
        define(one, "pred[10]", "compare(" + pick(vectors) + ", " + pick(vectors) + "), direction=GT");
        define(predicates, "pred[10," + columns + "]", "broadcast(" + one[0] + "), dimensions={0}");
        define(vectors, kVector, "select(" + one[0] + ", " + pick(vectors) + ", " + pick(vectors) + ")");
        break;
      }
      default:
        if (!predicates.empty())
          define(matrices, kMatrix,
                 "select(" + pick(predicates) + ", " + pick(matrices) + ", " + pick(matrices) + ")");
    }
  }
  std::string types, names;
  for (size_t k = 3; k < matrices.size(); k += 2) types += ", " + kMatrix, names += ", " + matrices[k];
  for (size_t k = 3; k < vectors.size(); k += 2) types += ", " + kVector, names += ", " + vectors[k];
  if (names.empty()) return "";
  return text + "ROOT t = (" + types.substr(2) + ") tuple(" + names.substr(2) + ")\n}\n";
}

TEST(Fuse, RandomVectorsAndMatrices) {
  for (int seed = 0; seed < 400; ++seed) {
    const std::string text = random_program(seed);
    if (!text.empty()) expect_same_after_fusing(text);
    if (HasFatalFailure()) return;
  }
}

// How many kernels a program becomes, and how many elements they write.
std::pair<int, int64_t> fused(const std::string& text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok() || !fuse(**m, FuseOptions()).ok()) return {};
  std::pair<int, int64_t> out;
  for (const Instr* i : post_order(*(*m)->entry())) {
    if (!i->is(Op::kFusion)) continue;
    ++out.first;
    if (i->shape.is_array()) out.second += i->shape.elements();
    for (const Shape& s : i->shape.tuple) out.second += s.elements();
  }
  return out;
}

TEST(Fuse, BroadcastsAreMadeInEachReader) {
  // The scale is the one value that both large kernels read.
  const auto [kernels, elements] = fused(R"(HloModule t
ENTRY main {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  x = f32[64,64] parameter(2)
  y = f32[64,64] parameter(3)
  w = f32[64,64] parameter(4)
  s = f32[] divide(a, b)
  all = f32[64,64] broadcast(s), dimensions={}
  p = f32[64,64] multiply(x, all)
  d = f32[64,64] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[64,64] multiply(d, all)
  ROOT r = (f32[64,64], f32[64,64]) tuple(q, y)
}
)");
  EXPECT_EQ(kernels, 3);
  EXPECT_EQ(elements, 1 + 2 * 64 * 64);
}

// Whether a value is cheap is asked of every link of a chain, and must not be found out anew each time.
// Before a pooling that reads each element several times: the convolution's kernel ends with the elementwise steps.
TEST(Fuse, StepsBeforeAPoolingEndTheConvolution) {
  const std::string text =
      "HloModule p\nmax { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
      "ENTRY e { x = f32[1,8,8,4] parameter(0)\n k = f32[3,3,4,8] parameter(1)\n s = f32[8] parameter(2)\n"
      " c = f32[1,8,8,8] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
      " w = f32[1,8,8,8] broadcast(s), dimensions={3}\n m = f32[1,8,8,8] multiply(c, w)\n"
      " z = f32[] constant(0)\n zs = f32[1,8,8,8] broadcast(z), dimensions={}\n r = f32[1,8,8,8] maximum(m, zs)\n"
      " l = f32[] constant(-inf)\n"
      " ROOT p = f32[1,4,4,8] reduce-window(r, l), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, to_apply=max }";
  expect_same_after_fusing(text);
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  const Instr* pool = (*m)->entry()->root();
  ASSERT_TRUE(pool->is(Op::kFusion));
  const Instr* made = pool->operand(0)->is(Op::kFusion) ? pool->operand(0) : pool->operand(1);
  ASSERT_TRUE(made->is(Op::kFusion));
  EXPECT_EQ(made->calls[0]->root()->op, Op::kMaximum);
  EXPECT_EQ(pool->calls[0]->root()->op, Op::kReduceWindow);
}

TEST(Fuse, LongChainOfReshapes) {
  constexpr int kLinks = 20000;
  std::string text = "HloModule t\nENTRY main {\nx0 = f32[8,6] parameter(0)\n";
  for (int i = 0; i < kLinks; ++i)
    text += (i + 1 == kLinks ? "ROOT x" : "x") + std::to_string(i + 1) + (i % 2 ? " = f32[8,6]" : " = f32[6,8]") +
            " reshape(x" + std::to_string(i) + ")\n";
  auto m = parse_hlo(text + "}\n");
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  EXPECT_TRUE(verify(**m).ok());
  EXPECT_LE((*m)->entry()->size(), kLinks / 100);
}

// A normalisation and its gradient: what several groups read at first is read by one once these are
// merged, and moves into it.
constexpr char kNormalisation[] = R"(HloModule t
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[64,96] parameter(0)
  dy = f32[64,96] parameter(1)
  zero = f32[] constant(0)
  s = f32[64] reduce(x, zero), dimensions={1}, to_apply=add
  c = f32[] constant(0.01)
  cb = f32[64] broadcast(c), dimensions={}
  m = f32[64] multiply(s, cb)
  mb = f32[64,96] broadcast(m), dimensions={0}
  d = f32[64,96] subtract(x, mb)
  q = f32[64,96] multiply(d, d)
  v = f32[64] reduce(q, zero), dimensions={1}, to_apply=add
  w = f32[64] add(v, cb)
  r = f32[64] rsqrt(w)
  rb = f32[64,96] broadcast(r), dimensions={0}
  y = f32[64,96] multiply(d, rb)
  g = f32[64,96] multiply(dy, d)
  t = f32[64] reduce(g, zero), dimensions={1}, to_apply=add
  k = f32[64] divide(r, w)
  tk = f32[64] multiply(t, k)
  tb = f32[64,96] broadcast(tk), dimensions={0}
  gd = f32[64,96] multiply(tb, d)
  dx = f32[64,96] subtract(dy, gd)
  ROOT o = (f32[64,96], f32[64,96]) tuple(y, dx)
}
)";

TEST(Fuse, RowsMoveIntoTheirOnlyReader) {
  expect_same_after_fusing(kNormalisation);
  auto m = parse_hlo(kNormalisation);
  ASSERT_TRUE(m.ok()) << m.status();
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  int64_t fusions = 0;
  for (auto& i : (*m)->entry()->instrs()) fusions += i->op == Op::kFusion;
  EXPECT_EQ(fusions, 1);
}

// Smoothings of a padded square, one after the other: each reads the one before at four places.
std::string smoothings(int steps, int n) {
  const std::string own = "f32[" + std::to_string(n) + "," + std::to_string(n) + "]", m = std::to_string(n),
                    wide = "f32[" + std::to_string(n + 2) + "," + std::to_string(n + 2) + "]", last = std::to_string(n + 1),
                    all = std::to_string(n + 2);
  std::string text = "HloModule s\nENTRY main {\n x0 = " + own + " parameter(0)\n z = f32[] constant(0)\n";
  for (int k = 0; k < steps; ++k) {
    const std::string s = std::to_string(k), p = "p" + s;
    const auto slice = [&](const std::string& name, const std::string& rows, const std::string& columns) {
      text += " " + name + s + " = " + own + " slice(" + p + "), slice={[" + rows + "], [" + columns + "]}\n";
    };
    text += " " + p + " = " + wide + " pad(x" + s + ", z), padding=1_1x1_1\n";
    slice("n", "0:" + m, "1:" + last), slice("s", "2:" + all, "1:" + last);
    slice("w", "1:" + last, "0:" + m), slice("e", "1:" + last, "2:" + all);
    text += " a" + s + " = " + own + " add(n" + s + ", s" + s + ")\n b" + s + " = " + own + " add(w" + s + ", e" + s + ")\n";
    text += std::string(k + 1 == steps ? " ROOT" : "") + " x" + std::to_string(k + 1) + " = " + own + " add(a" + s + ", b" + s + ")\n";
  }
  return text + "}\n";
}

TEST(Fuse, StencilsOfStencilsAreCutWhereMemoryIsCheaper) {
  EXPECT_EQ(fused(smoothings(1, 64)).first, 1);
  EXPECT_EQ(fused(smoothings(2, 64)).first, 1);
  EXPECT_EQ(fused(smoothings(8, 64)).first, 4);
  EXPECT_EQ(fused(smoothings(8, 64)).second, 4 * 64 * 64);  // what is stored is not padded
  expect_same_after_fusing(smoothings(5, 24));
}

TEST(Fuse, ValuesReadAtOtherPlacesAreNotMadeAgainInOneKernel) {
  // y is a result and is read at four places by what is made of it.
  std::string text = smoothings(2, 64);
  text.replace(text.find("ROOT x2"), 7, "x2");
  text.insert(text.rfind('}'), " ROOT r = (f32[64,64], f32[64,64]) tuple(x1, x2)\n");
  EXPECT_EQ(fused(text).first, 2);
  expect_same_after_fusing(text);
}

TEST(Fuse, WhatLeadingDimensionsRepeatIsStoredIfItIsManySteps) {
  // Twenty steps for each element of the row; `repeated` is the dimension of the matrix that the row lies along.
  const auto program = [](const char* along) {
    std::string text = "HloModule t\nENTRY main {\n r0 = f32[512] parameter(0)\n x = f32[512,512] parameter(1)\n";
    for (int k = 0; k < 20; ++k)
      text += " r" + std::to_string(k + 1) + " = f32[512] " + (k % 2 ? "multiply" : "add") + "(r" + std::to_string(k) + ", r0)\n";
    return text + " b = f32[512,512] broadcast(r20), dimensions={" + along + "}\n ROOT y = f32[512,512] add(x, b)\n}\n";
  };
  EXPECT_EQ(fused(program("1")).first, 2);
  EXPECT_EQ(fused(program("0")).first, 1);  // once a row
  expect_same_after_fusing(program("1"));
}

// Attention is one kernel, unless something else reads what lies between its products.
std::string attention(const char* rest) {
  return std::string(R"(HloModule t
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY main {
  q = f32[8,64,16] parameter(0)
  k = f32[8,64,16] parameter(1)
  v = f32[8,64,16] parameter(2)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  d = f32[8,64,64] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  m = f32[8,64] reduce(d, low), dimensions={2}, to_apply=max
  mb = f32[8,64,64] broadcast(m), dimensions={0,1}
  s = f32[8,64,64] subtract(d, mb)
  e = f32[8,64,64] exponential(s)
  n = f32[8,64] reduce(e, zero), dimensions={2}, to_apply=add
  nb = f32[8,64,64] broadcast(n), dimensions={0,1}
  p = f32[8,64,64] divide(e, nb)
  o = f32[8,64,16] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
)") + rest;
}

TEST(Fuse, AttentionIsOneKernel) {
  const std::string alone = attention("ROOT r = f32[8,64,16] negate(o)\n}\n");
  EXPECT_EQ(fused(alone).first, 1);
  expect_same_after_fusing(alone);
  EXPECT_EQ(fused(attention("ROOT r = (f32[8,64,16], f32[8,64,64]) tuple(o, p)\n}\n")).first, 3);
  EXPECT_EQ(fused(attention("ROOT r = (f32[8,64,16], f32[8,64,64]) tuple(o, d)\n}\n")).first, 3);
}

}  // namespace
}  // namespace braze
