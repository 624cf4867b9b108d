// SPDX-License-Identifier: Apache-2.0
// Random scalar expressions and values, for tests that compare two ways to compute them.
#pragma once

#include <bit>
#include <cmath>
#include <random>

#include "scalar/float_format.h"
#include "scalar/fold.h"
#include "scalar/scalar.h"

namespace braze::scalar {

using Rng = std::mt19937_64;

inline const Dtype kInts[] = {Dtype::kS4,  Dtype::kU2,  Dtype::kS8,  Dtype::kU8, Dtype::kS16,
                              Dtype::kU32, Dtype::kS32, Dtype::kS64, Dtype::kU64};
inline const Dtype kFloats[] = {Dtype::kF32, Dtype::kF64};
inline const Dtype kAll[] = {Dtype::kPred,
                             Dtype::kS4,
                             Dtype::kU4,
                             Dtype::kS8,
                             Dtype::kU8,
                             Dtype::kS16,
                             Dtype::kU16,
                             Dtype::kS32,
                             Dtype::kU32,
                             Dtype::kS64,
                             Dtype::kU64,
                             Dtype::kF4E2M1FN,
                             Dtype::kF6E2M3FN,
                             Dtype::kF6E3M2FN,
                             Dtype::kF8E3M4,
                             Dtype::kF8E4M3,
                             Dtype::kF8E4M3B11FNUZ,
                             Dtype::kF8E4M3FN,
                             Dtype::kF8E4M3FNUZ,
                             Dtype::kF8E5M2,
                             Dtype::kF8E5M2FNUZ,
                             Dtype::kF8E8M0FNU,
                             Dtype::kF16,
                             Dtype::kBF16,
                             Dtype::kF32,
                             Dtype::kF64};

// The sign of a NaN is not kept by laws, so nothing that shows it may be in a random expression: no
// copysign, and none of the finite formats, where a NaN becomes a signed zero.
inline const Dtype kExpressions[] = {Dtype::kPred,
                                     Dtype::kS4,
                                     Dtype::kU4,
                                     Dtype::kS8,
                                     Dtype::kU8,
                                     Dtype::kS16,
                                     Dtype::kU16,
                                     Dtype::kS32,
                                     Dtype::kU32,
                                     Dtype::kS64,
                                     Dtype::kU64,
                                     Dtype::kF8E4M3,
                                     Dtype::kF8E4M3B11FNUZ,
                                     Dtype::kF8E4M3FN,
                                     Dtype::kF8E5M2,
                                     Dtype::kF8E8M0FNU,
                                     Dtype::kF16,
                                     Dtype::kBF16,
                                     Dtype::kF32,
                                     Dtype::kF64};

template <typename T, size_t N>
T pick(Rng& r, const T (&from)[N]) { return from[r() % N]; }

inline Cell random_cell(Rng& r, Dtype t) {
  Cell c;
  if (is_float(t)) {
    const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 3, 1e-45, 2.5,
                              448, 1e30, 65520, 0x1p-24, 464, 57344, 1e300, 5e-324, -7.25};
    double v = pick(r, special);
    if (r() % 2) v = std::bit_cast<double>(r());
    if (r() % 2) v = std::bit_cast<float>(static_cast<uint32_t>(r()));
    if (r() % 3 == 0)
      v = std::ldexp(static_cast<double>(r() % 4096), static_cast<int>(r() % 40) - 25);
    c.f = round_to(t, v);
  } else {
    const int64_t special[] = {0,   1,         -1,        2,         7,  -8, 127,
                               255, INT64_MIN, INT64_MAX, INT32_MIN, 31, 33};
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

inline bool same(Dtype t, const Cell& a, const Cell& b) {
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
        return node(pick(rng_, logic), Dtype::kPred,
                    {a, rng_() % 4 ? expression(Dtype::kPred, depth) : a});
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
    const Op unary[] = {Op::kNeg,  Op::kAbs,       Op::kSqrt, Op::kFloor,
                        Op::kCeil, Op::kRoundEven, Op::kTrunc};
    const Op binary[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kRem};
    const Pair a = expression(t, depth);
    switch (rng_() % 6) {
      case 0: case 1: return node(pick(rng_, unary), t, {a});
      case 2: return node(Op::kFma, t, {a, expression(t, depth), expression(t, depth)});
      case 3:
        return node(Op::kLdexp, t,
                    {a, expression(t == Dtype::kF32 ? Dtype::kS32 : Dtype::kS64, depth)});
      default: return node(pick(rng_, binary), t, {a, rng_() % 6 ? expression(t, depth) : a});
    }
  }

  Graph& plain_;
  Graph& made_;
  Rng& rng_;
};

}  // namespace braze::scalar
