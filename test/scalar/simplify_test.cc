// SPDX-License-Identifier: Apache-2.0
// Every law of Graph::make: random expressions mean the same built plainly (intern) and simplified.
#include <gtest/gtest.h>

#include "test/scalar/random_expression.h"

namespace braze::scalar {
namespace {

TEST(Simplify, RandomExpressionsKeepTheirMeaning) {
  Rng rng(1);
  for (int round = 0; round < 30000; ++round) {
    Graph plain, made;
    Generator gen(plain, made, rng);
    const Dtype t = pick(rng, kExpressions);
    const Pair p = gen.expression(t, 1 + static_cast<int>(rng() % 5));
    ASSERT_EQ(made.type(p.made), t);
    for (int sample = 0; sample < 6; ++sample) {
      RandomEnv env;
      for (const auto& [id, type] : gen.vars) env.values[id] = random_cell(rng, type);
      const Cell a = evaluate(plain, p.plain, env), b = evaluate(made, p.made, env);
      ASSERT_TRUE(same(t, a, b)) << "plain " << to_string(plain, p.plain) << "\nmade "
                                 << to_string(made, p.made) << "\n" << a.i << " " << a.f << " vs "
                                 << b.i << " " << b.f;
      if (!is_float(t)) {
        const Range r = made.range(p.made);
        if (t != Dtype::kU64 || r.lo >= 0) {
          ASSERT_GE(b.i, r.lo) << to_string(made, p.made);
          ASSERT_LE(b.i, r.hi) << to_string(made, p.made);
        }
      }
    }
  }
}

TEST(Simplify, CastsRoundOnce) {
  // Every pair of types, on values around the halfway points of the narrow ones.
  Rng rng(2);
  for (Dtype from : kAll) {
    for (Dtype to : kAll) {
      Graph plain, made;
      const Scalar a = plain.intern({.op = Op::kCast, .type = to, .args = {plain.var(from, 1)}});
      const Scalar b = made.cast(to, made.var(from, 1));
      for (int i = 0; i < 600; ++i) {
        RandomEnv env;
        Cell c = random_cell(rng, from);
        if (is_float(from) && is_float(to) && i % 2) {  // a midpoint of `to`, perhaps nudged
          const double v = decode(to, rng() & 0xffff), w = decode(to, (rng() & 0xffff) + 1);
          c.f = round_to(from, i % 4 == 1 ? (v + w) / 2 : std::nextafter((v + w) / 2, v));
        }
        env.values[1] = c;
        const Cell x = evaluate(plain, a, env), y = evaluate(made, b, env);
        ASSERT_TRUE(same(to, x, y))
            << name(from) << " to " << name(to) << " of " << c.f << " " << c.i << ": " << x.f << " "
            << x.i << " vs " << y.f << " " << y.i;
      }
    }
  }
}

TEST(Simplify, FloatLaws) {
  Graph g;
  const Scalar x = g.var(Dtype::kF32, 0), y = g.var(Dtype::kF32, 1);
  const auto c = [&](double v) { return g.constant(Dtype::kF32, v); };
  EXPECT_EQ(g.mul(x, c(1)), x);
  EXPECT_EQ(g.add(x, c(-0.0)), x);
  EXPECT_NE(g.add(x, c(0.0)), x);
  EXPECT_EQ(g.sub(x, c(0.0)), x);
  EXPECT_EQ(g.neg(g.neg(x)), x);
  EXPECT_EQ(g.add(x, g.neg(y)), g.sub(x, y));
  EXPECT_EQ(g.div(x, c(8)), g.mul(x, c(0.125)));
  EXPECT_EQ(g[g.div(x, c(3))].op, Op::kDiv);
  EXPECT_EQ(g.max(x, c(-INFINITY)), x);
  EXPECT_EQ(g.add(x, y), g.add(y, x));
  const Scalar magnitude = g.make(Op::kAbs, Dtype::kF32, x);
  EXPECT_EQ(g.make(Op::kCopySign, Dtype::kF32, g.neg(x), c(2)), magnitude);
  EXPECT_EQ(g.make(Op::kCopySign, Dtype::kF32, x, c(-2)), g.neg(magnitude));
  EXPECT_EQ(g.cast(Dtype::kF32, g.cast(Dtype::kF64, x)), x);
  const Scalar h = g.var(Dtype::kBF16, 2);
  EXPECT_EQ(g.cast(Dtype::kBF16, g.cast(Dtype::kF32, h)), h);
  EXPECT_NE(g.cast(Dtype::kF32, g.cast(Dtype::kBF16, x)), x);
  const Scalar i = g.var(Dtype::kS16, 3);
  EXPECT_EQ(g.cast(Dtype::kS32, g.cast(Dtype::kF32, i)), g.cast(Dtype::kS32, i));
}

// √x < c is asked of x: the bound must be exact, at its neighbours too.
TEST(Simplify, RootsAreComparedByTheirSquares) {
  const std::vector<double> numbers = {-INFINITY, -1, -0.0, 0.0, 1e-310, 1e-45, 1e-22, 0.1, 1, 1.4142135, 2, 3, 1e19, 1e30, INFINITY, NAN};
  for (Dtype from : {Dtype::kF32, Dtype::kF64})
    for (Dtype to : {Dtype::kF32, Dtype::kF64}) {
      if (from == Dtype::kF32 && to == Dtype::kF64) continue;
      for (double bound : numbers)
        for (int form = 0; form < 4; ++form) {
          Graph g;
          const Scalar x = g.var(from, 0);
          Scalar root = g.make(Op::kSqrt, from, x);
          if (to != from) root = g.cast(to, root);
          const double c = to == Dtype::kF32 ? static_cast<float>(bound) : bound;
          const Scalar k = g.constant(to, c);
          const Op op = form % 2 ? Op::kLe : Op::kLt;
          const Scalar asked = form < 2 ? g.compare(op, root, k) : g.compare(op, k, root);
          std::vector<double> values = numbers;
          for (double near = c * c; const double toward : {-INFINITY, INFINITY})
            for (int steps = 0; steps < 4; ++steps, near = from == Dtype::kF32 ? std::nextafterf(near, toward) : std::nextafter(near, toward))
              values.push_back(near);
          for (double v : values) {
            if (from == Dtype::kF32) v = static_cast<float>(v);
            const double r = from == Dtype::kF32 ? double{std::sqrt(static_cast<float>(v))} : std::sqrt(v);
            const double s = to == Dtype::kF32 ? double{static_cast<float>(r)} : r, l = form < 2 ? s : c, h = form < 2 ? c : s;
            RandomEnv env;
            env.values[0].f = v;
            EXPECT_EQ(evaluate(g, asked, env).i, (form % 2 ? l <= h : l < h) ? 1 : 0) << v << " " << c << " " << form;
          }
        }
    }
}

TEST(Simplify, DeepGraphsNeedNoStack) {
  Graph g;
  Scalar x = g.var(Dtype::kF32, 0), i = g.var(Dtype::kS32, 1);
  const Scalar step = g.constant(Dtype::kF32, 1.5);
  for (int k = 0; k < 300000; ++k) {
    x = g.fma(x, step, g.var(Dtype::kF32, 2));
    i = g.add(g.make(Op::kXor, Dtype::kS32, i, g.constant_int(Dtype::kS32, k)), i);
  }
  EXPECT_TRUE(g.depends_on(x, 0));
  EXPECT_FALSE(g.depends_on(x, 1));
  int64_t stride = 0;
  EXPECT_FALSE(g.stride_in(i, 1, &stride));
  const int64_t ids[] = {0};
  const Scalar values[] = {g.constant(Dtype::kF32, 2)};
  EXPECT_FALSE(g.depends_on(g.substitute(x, ids, values), 0));
  EXPECT_FALSE(to_string(g, i).empty());
  RandomEnv env;
  evaluate(g, i, env);
}

TEST(Simplify, ManyVariables) {
  Graph g;
  std::vector<Scalar> sums;
  for (int k = 0; k < 200; ++k)
    sums.push_back(g.add(g.var(Dtype::kF32, k), g.var(Dtype::kF32, k + 1)));
  for (int k = 0; k < 200; ++k) {
    EXPECT_TRUE(g.depends_on(sums[k], k));
    EXPECT_TRUE(g.depends_on(sums[k], k + 1));
    EXPECT_FALSE(g.depends_on(sums[k], k + 2));
  }
}

}  // namespace
}  // namespace braze::scalar
