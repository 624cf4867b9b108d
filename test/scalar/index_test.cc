// SPDX-License-Identifier: Apache-2.0
// Index arithmetic: what must simplify, and that ranges, strides and laws are true of random
// expressions.
#include <random>

#include <gtest/gtest.h>

#include "scalar/scalar.h"

namespace braze::scalar {
namespace {

constexpr Dtype kT = Dtype::kS64;

struct IndexEnv : EvalEnv {
  std::vector<int64_t> values;
  Cell variable(int64_t id) override { return {.i = values[id]}; }
  Cell load(int64_t, Dtype, int64_t) override { return {}; }
};

struct Index : testing::Test {
  Graph g;
  Scalar c(int64_t v, Dtype t = kT) { return g.constant_int(t, v); }
  Scalar i = g.index_var(0, 100), j = g.index_var(1, 12), k = g.index_var(2, 5),
         l = g.index_var(3, 16);
};

TEST_F(Index, DivisionOfStrips) {
  const Scalar x = g.add(g.mul(i, c(12)), j);
  EXPECT_EQ(g.div(x, c(12)), i);
  EXPECT_EQ(g.rem(x, c(12)), j);
  EXPECT_EQ(g.rem(j, c(12)), j);
  EXPECT_EQ(g.div(j, c(12)), c(0));
  const Scalar y = g.add(g.mul(x, c(5)), k);  // (i, j, k) linearised
  EXPECT_EQ(g.div(y, c(60)), i);
  EXPECT_EQ(g.rem(g.div(y, c(5)), c(12)), j);
  EXPECT_EQ(g.div(g.rem(y, c(60)), c(5)), j);
  EXPECT_EQ(g.rem(y, c(5)), k);
}

TEST_F(Index, DelinearisedAndBack) {
  const Scalar a = g.div(i, c(20)), b = g.rem(g.div(i, c(4)), c(5)), d = g.rem(i, c(4));
  EXPECT_EQ(g.add(g.add(g.mul(a, c(20)), g.mul(b, c(4))), d), i);
  // A reshape of a reshape: (10,10) → (4,25) → (10,10).
  const Scalar n = g.add(g.mul(g.div(i, c(25)), c(25)), g.rem(i, c(25)));
  EXPECT_EQ(n, i);
  EXPECT_EQ(g.add(g.mul(g.div(n, c(10)), c(10)), g.rem(n, c(10))), i);
}

TEST_F(Index, TilesStayAffine) {
  const Scalar x = g.add(g.mul(i, c(16)), l);
  int64_t stride = 0;
  ASSERT_TRUE(g.stride_in(g.rem(x, c(64)), 3, &stride));
  EXPECT_EQ(stride, 1);
  ASSERT_TRUE(g.stride_in(g.div(x, c(64)), 3, &stride));
  EXPECT_EQ(stride, 0);
  ASSERT_TRUE(g.stride_in(g.sub(c(99), g.mul(i, c(3))), 0, &stride));
  EXPECT_EQ(stride, -3);
  EXPECT_FALSE(g.stride_in(g.rem(i, c(7)), 0, &stride));
  EXPECT_FALSE(g.stride_in(g.mul(i, i), 0, &stride));
  ASSERT_TRUE(g.stride_in(g.cast(Dtype::kS32, x), 0, &stride));
  EXPECT_EQ(stride, 16);
}

TEST_F(Index, HighProducts) {
  const Scalar u = g.var(Dtype::kU32, 7), s = g.var(Dtype::kS32, 8);
  EXPECT_EQ(g.make(Op::kMulHi, Dtype::kU32, u, c(1, Dtype::kU32)), c(0, Dtype::kU32));
  EXPECT_EQ(g.make(Op::kMulHi, Dtype::kU32, c(0, Dtype::kU32), u), c(0, Dtype::kU32));
  EXPECT_EQ(g.make(Op::kMulHi, Dtype::kS32, s, c(1, Dtype::kS32)),
            g.make(Op::kShrA, Dtype::kS32, s, c(31, Dtype::kS32)));
}

TEST_F(Index, IntervalsWithoutElements) {
  const Scalar no = g.constant_int(Dtype::kPred, 0);
  EXPECT_EQ(g.logical_and(g.le(c(40), i), g.lt(i, c(40))), no);
  EXPECT_EQ(g.logical_and(g.lt(i, c(40)), g.le(c(50), i)), no);
  EXPECT_NE(g.logical_and(g.le(c(40), i), g.lt(i, c(41))), no);
}

TEST_F(Index, Sums) {
  EXPECT_EQ(g.sub(g.add(g.mul(i, c(4)), j), g.mul(i, c(4))), j);
  EXPECT_EQ(g.add(g.add(i, c(3)), g.sub(j, c(3))), g.add(j, i));
  EXPECT_EQ(g.mul(g.add(i, c(2)), c(3)), g.add(g.mul(i, c(3)), c(6)));
  EXPECT_EQ(g.sub(c(5), g.sub(c(5), i)), i);
  EXPECT_EQ(g.add(i, i), g.mul(i, c(2)));
}

TEST_F(Index, ComparisonsAndClamps) {
  EXPECT_EQ(g.lt(j, c(12)), g.constant_int(Dtype::kPred, 1));
  EXPECT_EQ(g.lt(g.add(j, c(1)), j), g.constant_int(Dtype::kPred, 0));
  EXPECT_EQ(g.le(c(0), g.sub(i, c(2))), g.le(c(2), i));
  EXPECT_EQ(g.eq(j, c(12)), g.constant_int(Dtype::kPred, 0));
  EXPECT_EQ(g.max(c(0), g.min(j, c(20))), j);
}

// jnp.mod makes a remainder positive, an index that counts from the end is made to count from the start.
TEST_F(Index, LimitsOfSelections) {
  const Scalar r = g.rem(g.sub(i, j), c(7)), none = c(0);
  const Scalar positive = g.select(g.logical_and(g.lt(r, none), g.ne(r, none)), g.add(r, c(7)), r);
  EXPECT_EQ(g.range(positive).lo, 0);
  EXPECT_EQ(g.range(positive).hi, 6);
  EXPECT_EQ(g.select(g.lt(positive, none), g.add(positive, c(7)), positive), positive);
  EXPECT_EQ(g.min(g.max(positive, none), c(6)), positive);
  const Scalar x = g.sub(i, j), low = g.rem(x, c(8));
  EXPECT_EQ(g.select(g.lt(low, none), g.add(low, c(8)), low), g.make(Op::kAnd, kT, x, c(7)));
  const Scalar below = g.select(g.le(i, c(9)), i, c(3)), above = g.select(g.lt(c(90), i), i, c(95));
  EXPECT_EQ(g.range(below).hi, 9);
  EXPECT_EQ(g.range(above).lo, 91);
}

TEST_F(Index, AcrossCasts) {
  const Scalar v = g.index_var(7, 1000, Dtype::kS32);
  const Scalar x = g.cast(kT, g.add(g.mul(v, c(4, Dtype::kS32)), c(3, Dtype::kS32)));
  EXPECT_EQ(g.div(x, c(4)), g.cast(kT, v));
  EXPECT_EQ(g.cast(Dtype::kS32, g.cast(kT, v)), v);
}

// Random index expressions over four variables.
Scalar random_index(Graph& g, std::mt19937_64& rng, int depth, Dtype t, const int64_t* extents) {
  if (depth == 0 || rng() % 6 == 0) {
    if (rng() % 3 == 0) return g.constant_int(t, static_cast<int64_t>(rng() % 40));
    const int64_t id = static_cast<int64_t>(rng() % 4);
    return g.index_var(id, extents[id], t);
  }
  const Scalar a = random_index(g, rng, depth - 1, t, extents);
  const int64_t factors[] = {2, 3, 4, 5, 6, 8, 12, 16, 64};
  const Scalar f = g.constant_int(t, factors[rng() % 9]);
  switch (rng() % 11) {
    case 0: case 1: return g.add(a, random_index(g, rng, depth - 1, t, extents));
    case 9: {  // limits: what a comparison with a constant tells of either side
      const Scalar limit = g.constant_int(t, static_cast<int64_t>(rng() % 30));
      const Scalar p = rng() % 4 == 0   ? g.lt(a, limit)
                       : rng() % 3 == 0 ? g.le(a, limit)
                       : rng() % 2 == 0 ? g.lt(limit, a)
                                        : g.le(limit, a);
      const Scalar moved = g.add(a, g.sub(f, limit));
      return rng() % 2 == 0 ? g.select(p, moved, a) : g.select(p, a, moved);
    }
    case 10: {
      const Scalar r = g.rem(a, f);
      return g.select(g.lt(r, g.constant_int(t, 0)), g.add(r, f), r);
    }
    case 2: return g.sub(a, random_index(g, rng, depth - 1, t, extents));
    case 3: case 4: return g.mul(a, f);
    case 5: return g.rem(a, f);
    case 6: return g.min(a, random_index(g, rng, depth - 1, t, extents));
    case 7: {
      const Scalar b = random_index(g, rng, depth - 1, t, extents);
      return g.select(g.lt(a, b), a, g.add(b, f));
    }
    default: return g.div(a, f);
  }
}

// The same tree without any law: evaluates a tree of plain nodes built from the simplified one's
// recipe.
TEST(RandomIndex, RangesStridesAndIdempotence) {
  std::mt19937_64 rng(3);
  const Dtype types[] = {Dtype::kS64, Dtype::kS32, Dtype::kU32, Dtype::kS8, Dtype::kU64};
  int affine = 0;
  for (int round = 0; round < 20000; ++round) {
    Graph g;
    int64_t extents[4];
    for (int64_t& e : extents) e = 1 + static_cast<int64_t>(rng() % 20);
    const Dtype t = types[rng() % 5];
    const Scalar s = random_index(g, rng, 1 + static_cast<int>(rng() % 5), t, extents);
    IndexEnv env;
    env.values.resize(4);
    for (int i = 0; i < 4; ++i) env.values[i] = static_cast<int64_t>(rng() % extents[i]);
    for (int v = 0; v < 4; ++v) {
      int64_t stride = 0;
      const bool known = g.stride_in(s, v, &stride);
      affine += known && stride != 0;
      const int64_t before = env.values[v];
      int64_t last = 0;
      for (env.values[v] = 0; env.values[v] < extents[v]; ++env.values[v]) {
        const int64_t now = evaluate(g, s, env).i;
        const Range r = g.range(s);
        if (t != Dtype::kU64 || r.lo >= 0) {
          ASSERT_GE(now, r.lo) << to_string(g, s);
          ASSERT_LE(now, r.hi) << to_string(g, s);
        }
        if (known && env.values[v] > 0) {
          const int shift = 64 - bit_size(t);
          ASSERT_EQ(static_cast<int64_t>(static_cast<uint64_t>(now - last) << shift) >> shift,
                    stride)
              << to_string(g, s) << " in v" << v;
        }
        last = now;
      }
      env.values[v] = before;
      if (!g.depends_on(s, v)) {
        ASSERT_TRUE(known);
        ASSERT_EQ(stride, 0);
      }
    }
    // Substituting a fresh variable and then the old one back gives the same node.
    const int64_t old_id[] = {1}, new_id[] = {9};
    const Scalar fresh[] = {g.index_var(9, extents[1], t)}, old[] = {g.index_var(1, extents[1], t)};
    const Scalar there = g.substitute(s, old_id, fresh);
    ASSERT_FALSE(g.depends_on(there, 1));
    env.values.resize(10);
    env.values[9] = env.values[1];
    ASSERT_EQ(evaluate(g, there, env).i, evaluate(g, s, env).i) << to_string(g, s);
    const Scalar back = g.substitute(there, new_id, old);
    ASSERT_EQ(evaluate(g, back, env).i, evaluate(g, s, env).i) << to_string(g, back);
  }
  EXPECT_GT(affine, 4000);
}

// A plain twin: every operation interned as it is, so that laws are checked against arithmetic.
struct Twin {
  Graph plain, made;
  std::pair<Scalar, Scalar> node(Op op, Dtype t, std::pair<Scalar, Scalar> a,
                                 std::pair<Scalar, Scalar> b) {
    return {plain.intern({.op = op, .type = t, .args = {a.first, b.first, {}}}),
            made.make(op, t, a.second, b.second)};
  }
};

TEST(RandomIndex, LawsKeepValues) {
  std::mt19937_64 rng(4);
  const Dtype types[] = {Dtype::kS64, Dtype::kS32, Dtype::kU32, Dtype::kU8, Dtype::kU64};
  for (int round = 0; round < 30000; ++round) {
    Twin w;
    const Dtype t = types[rng() % 5];
    int64_t extents[4];
    std::vector<std::pair<Scalar, Scalar>> pool;
    for (int v = 0; v < 4; ++v) {
      extents[v] = 1 + static_cast<int64_t>(rng() % 24);
      pool.push_back({w.plain.index_var(v, extents[v], t), w.made.index_var(v, extents[v], t)});
    }
    for (int step = 0; step < 10; ++step) {
      const auto a = pool[rng() % pool.size()];
      const int64_t f = static_cast<int64_t>(1 + rng() % 25);
      const auto k = std::pair{w.plain.constant_int(t, f), w.made.constant_int(t, f)};
      const auto b = pool[rng() % pool.size()];
      const Op with_constant[] = {Op::kMul, Op::kDiv, Op::kRem, Op::kAdd, Op::kSub};
      const Op with_other[] = {Op::kAdd, Op::kAdd, Op::kSub, Op::kMin, Op::kMax};
      pool.push_back(rng() % 5 < 3 ? w.node(with_constant[rng() % 5], t, a, k)
                                   : w.node(with_other[rng() % 5], t, a, b));
    }
    IndexEnv env;
    env.values.resize(4);
    std::vector<Scalar> plain, made;
    for (const auto& p : pool) {
      plain.push_back(p.first);
      made.push_back(p.second);
    }
    const auto p1 = w.node(Op::kLt, Dtype::kPred, pool[12], pool[13]);
    const auto p2 = w.node(Op::kEq, Dtype::kPred, pool[12], pool[11]);
    plain.insert(plain.end(), {p1.first, p2.first});
    made.insert(made.end(), {p1.second, p2.second});
    Interpreter x(w.plain, plain), y(w.made, made);
    for (int sample = 0; sample < 12; ++sample) {
      for (int v = 0; v < 4; ++v) env.values[v] = static_cast<int64_t>(rng() % extents[v]);
      x.run(env);
      y.run(env);
      for (size_t i = 0; i < plain.size(); ++i)
        ASSERT_EQ(x[plain[i]].i, y[made[i]].i)
            << to_string(w.plain, plain[i]) << "\nmade " << to_string(w.made, made[i]);
    }
  }
}

}  // namespace
}  // namespace braze::scalar
