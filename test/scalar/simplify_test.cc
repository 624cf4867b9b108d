// SPDX-License-Identifier: Apache-2.0
// Every law of Graph::make: random expressions mean the same built plainly (intern) and simplified.
#include <bit>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "scalar/float_format.h"
#include "scalar/fold.h"
#include "scalar/scalar.h"

namespace braze::scalar {
namespace {

using Rng = std::mt19937_64;

const Dtype kInts[] = {Dtype::kS4, Dtype::kU2, Dtype::kS8, Dtype::kU8, Dtype::kS16, Dtype::kU32,
                       Dtype::kS32, Dtype::kS64, Dtype::kU64};
const Dtype kFloats[] = {Dtype::kF32, Dtype::kF64};
const Dtype kAll[] = {Dtype::kPred, Dtype::kS4, Dtype::kU4, Dtype::kS8, Dtype::kU8, Dtype::kS16,
                      Dtype::kU16, Dtype::kS32, Dtype::kU32, Dtype::kS64, Dtype::kU64,
                      Dtype::kF4E2M1FN, Dtype::kF6E2M3FN, Dtype::kF6E3M2FN, Dtype::kF8E3M4,
                      Dtype::kF8E4M3, Dtype::kF8E4M3B11FNUZ, Dtype::kF8E4M3FN, Dtype::kF8E4M3FNUZ,
                      Dtype::kF8E5M2, Dtype::kF8E5M2FNUZ, Dtype::kF8E8M0FNU, Dtype::kF16,
                      Dtype::kBF16, Dtype::kF32, Dtype::kF64};

// The sign of a NaN is not kept by laws, so nothing that shows it may be in a random expression: no
// copysign, and none of the finite formats, where a NaN becomes a signed zero.
const Dtype kExpressions[] = {Dtype::kPred, Dtype::kS4, Dtype::kU4, Dtype::kS8, Dtype::kU8, Dtype::kS16,
                              Dtype::kU16, Dtype::kS32, Dtype::kU32, Dtype::kS64, Dtype::kU64,
                              Dtype::kF8E4M3, Dtype::kF8E4M3B11FNUZ, Dtype::kF8E4M3FN,
                              Dtype::kF8E5M2, Dtype::kF8E8M0FNU, Dtype::kF16, Dtype::kBF16,
                              Dtype::kF32, Dtype::kF64};

template <typename T, size_t N>
T pick(Rng& r, const T (&from)[N]) { return from[r() % N]; }

Cell random_cell(Rng& r, Dtype t) {
  Cell c;
  if (is_float(t)) {
    const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 3, 1e-45, 2.5,
                              448, 1e30, 65520, 0x1p-24, 464, 57344, 1e300, 5e-324, -7.25};
    double v = pick(r, special);
    if (r() % 2) v = std::bit_cast<double>(r());
    if (r() % 2) v = std::bit_cast<float>(static_cast<uint32_t>(r()));
    if (r() % 3 == 0) v = std::ldexp(static_cast<double>(r() % 4096), static_cast<int>(r() % 40) - 25);
    c.f = round_to(t, v);
  } else {
    const int64_t special[] = {0, 1, -1, 2, 7, -8, 127, 255, INT64_MIN, INT64_MAX, INT32_MIN, 31, 33};
    c.i = wrap(t, r() % 2 ? pick(r, special) : static_cast<int64_t>(r() >> (r() % 64)));
  }
  return c;
}

// Variables hold random values; loads give a value that depends on the address.
struct RandomEnv : EvalEnv {
  absl::flat_hash_map<int64_t, Cell> values;
  Cell variable(int64_t id) override { return values[id]; }
  Cell load(int64_t buffer, Dtype t, int64_t offset) override {
    Rng r(static_cast<uint64_t>(buffer * 7919 + offset));
    return random_cell(r, t);
  }
};

bool same(Dtype t, const Cell& a, const Cell& b) {
  if (!is_float(t)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

// One expression in two forms: as interned and as made.
struct Pair {
  Scalar plain, made;
};

class Generator {
 public:
  Generator(Graph& plain, Graph& made, Rng& rng) : plain_(plain), made_(made), rng_(rng) {}

  Pair expression(Dtype t, int depth) {
    if (depth == 0 || rng_() % 8 == 0) return leaf(t);
    if (is_pred(t)) return predicate(depth - 1);
    switch (rng_() % 8) {
      case 0: return node(Op::kSelect, t, {expression(Dtype::kPred, depth - 1),
                                           expression(t, depth - 1), expression(t, depth - 1)});
      case 1: return node(Op::kCast, t, {expression(pick(rng_, kExpressions), depth - 1)});
      default: return is_float(t) ? floating(t, depth - 1) : integer(t, depth - 1);
    }
  }

  std::vector<std::pair<int64_t, Dtype>> vars;

 private:
  Pair leaf(Dtype t) {
    if (rng_() % 2) {
      const Cell c = random_cell(rng_, t);
      return {constant(plain_, t, c), constant(made_, t, c)};
    }
    const int64_t id = static_cast<int64_t>(t) * 4 + static_cast<int64_t>(rng_() % 3);
    vars.emplace_back(id, t);
    return {plain_.var(t, id), made_.var(t, id)};
  }

  Pair node(Op op, Dtype t, std::initializer_list<Pair> args) {
    Scalar a[3], b[3];
    int n = 0;
    for (const Pair& p : args) {
      a[n] = p.plain;
      b[n++] = p.made;
    }
    return {plain_.intern({.op = op, .type = t, .args = {a[0], a[1], a[2]}}),
            made_.make(op, t, b[0], b[1], b[2])};
  }

  Pair predicate(int depth) {
    const Op compares[] = {Op::kEq, Op::kNe, Op::kLt, Op::kLe};
    const Op logic[] = {Op::kAnd, Op::kOr, Op::kXor};
    switch (rng_() % 4) {
      case 0: return node(Op::kNot, Dtype::kPred, {expression(Dtype::kPred, depth)});
      case 1: {
        const Pair a = expression(Dtype::kPred, depth);
        return node(pick(rng_, logic), Dtype::kPred, {a, rng_() % 4 ? expression(Dtype::kPred, depth) : a});
      }
      default: {
        const Dtype t = rng_() % 2 ? pick(rng_, kInts) : pick(rng_, kFloats);
        const Pair a = expression(t, depth);
        return node(pick(rng_, compares), Dtype::kPred, {a, rng_() % 4 ? expression(t, depth) : a});
      }
    }
  }

  Pair integer(Dtype t, int depth) {
    const Op unary[] = {Op::kNeg, Op::kAbs, Op::kNot, Op::kPopcnt, Op::kClz};
    const Op binary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kRem, Op::kMin, Op::kMax,
                         Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShrA, Op::kShrL, Op::kMulHi};
    const Pair a = expression(t, depth);
    if (rng_() % 4 == 0) return node(pick(rng_, unary), t, {a});
    return node(pick(rng_, binary), t, {a, rng_() % 6 ? expression(t, depth) : a});
  }

  Pair floating(Dtype t, int depth) {
    const Op unary[] = {Op::kNeg, Op::kAbs, Op::kSqrt, Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kTrunc};
    const Op binary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kRem};
    const Pair a = expression(t, depth);
    switch (rng_() % 6) {
      case 0: case 1: return node(pick(rng_, unary), t, {a});
      case 2: return node(Op::kFma, t, {a, expression(t, depth), expression(t, depth)});
      case 3: return node(Op::kLdexp, t, {a, expression(t == Dtype::kF32 ? Dtype::kS32 : Dtype::kS64, depth)});
      default: return node(pick(rng_, binary), t, {a, rng_() % 6 ? expression(t, depth) : a});
    }
  }

  Graph& plain_;
  Graph& made_;
  Rng& rng_;
};

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
        ASSERT_TRUE(same(to, x, y)) << name(from) << " to " << name(to) << " of " << c.f << " " << c.i
                                    << ": " << x.f << " " << x.i << " vs " << y.f << " " << y.i;
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
  for (int k = 0; k < 200; ++k) sums.push_back(g.add(g.var(Dtype::kF32, k), g.var(Dtype::kF32, k + 1)));
  for (int k = 0; k < 200; ++k) {
    EXPECT_TRUE(g.depends_on(sums[k], k));
    EXPECT_TRUE(g.depends_on(sums[k], k + 1));
    EXPECT_FALSE(g.depends_on(sums[k], k + 2));
  }
}

}  // namespace
}  // namespace braze::scalar
