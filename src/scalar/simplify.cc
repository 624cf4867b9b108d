// SPDX-License-Identifier: Apache-2.0
// Graph::make, and the laws of floats, selects and comparisons.
//
// Every law is exact: it gives the same bits for all inputs, but for the payload and sign of NaNs.
//   constants      an operation on constants is its value
//   commutative    the operand made first goes left, constants go right
//   add, sub       x + -0 = x   x - 0 = x   x + -y = x - y   x - -y = x + y   (not x + 0: -0)
//   mul, div       x·1 = x   x·-1 = -x   -x·-y = x·y   x/1 = x   x/c = x·(1/c), c a power of two
//   fma            x·1 + y = x + y   x·y + -0 = x·y
//   signs          --x = x   |-x| = |x|   ||x|| = |x|   copysign(x, c) = ±|x|
//   rounding       a rounding of a rounding, or of a converted integer, is the latter
//   min, max       of x and x = x   of x and the far infinity = x   two constants join
//   select         on a constant; of equal branches; of not p; of a select on p; of true and false; what makes a
//                  remainder positive
//   not            not not x = x; not of a comparison is the opposite one (floats: of = and ≠ only)
//   compare        an integer with itself; integers with disjoint ranges (simplify_index.cc); a square root with a
//                  number is x with the least number whose root does not stand below
#include "scalar/simplify.h"

#include <bit>
#include <cmath>
#include <utility>

#include "scalar/float_format.h"
#include "scalar/fold.h"

namespace braze::scalar {
namespace {

constexpr int kMaxDepth = 64;  // of laws that build through make

bool commutes(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kMul: case Op::kMin: case Op::kMax: case Op::kAnd: case Op::kOr:
    case Op::kXor: case Op::kMulHi: case Op::kFma: case Op::kEq: case Op::kNe:
      return true;
    default:
      return false;
  }
}

bool is_compare(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe;
}

// Operations on narrow floats that are nodes; others are computed in f32.
bool keeps_narrow(Op op) {
  return op == Op::kSelect || op == Op::kCast || op == Op::kBitcast;
}

bool is_value(const Graph& g, Scalar s, double v) {
  return g.is_const(s) && std::bit_cast<uint64_t>(g.const_float(s)) == std::bit_cast<uint64_t>(v);
}

bool is_op(const Graph& g, Scalar s, Op op) { return g[s].op == op; }

// 1/c if it is exact, else 0.
double exact_reciprocal(Dtype t, double c) {
  int e = 0;
  if (std::fabs(std::frexp(c, &e)) != 0.5) return 0;
  const double r = 1 / c;
  const double least = t == Dtype::kF32 ? 0x1p-126 : 0x1p-1022;
  return std::isfinite(r) && std::fabs(r) >= least && round_to(t, r) == r ? r : 0;
}

Scalar sum_laws(Graph& g, Op op, Scalar a, Scalar b) {
  if (op == Op::kAdd) {
    if (is_value(g, b, -0.0)) return a;
    if (is_op(g, b, Op::kNeg)) return g.sub(a, g[b].args[0]);
    if (is_op(g, a, Op::kNeg)) return g.sub(b, g[a].args[0]);
  } else {
    if (is_value(g, b, 0.0)) return a;
    if (is_op(g, b, Op::kNeg)) return g.add(a, g[b].args[0]);
    if (is_value(g, a, -0.0)) return g.neg(b);
  }
  return {};
}

Scalar product_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (is_value(g, b, 1.0)) return a;
  if (is_value(g, b, -1.0)) return g.neg(a);
  if (is_op(g, a, Op::kNeg) && is_op(g, b, Op::kNeg))
    return g.make(op, t, g[a].args[0], g[b].args[0]);
  if (op == Op::kDiv && g.is_const(b))
    if (const double r = exact_reciprocal(t, g.const_float(b)); r != 0)
      return g.mul(a, g.constant(t, r));
  return {};
}

Scalar fma_laws(Graph& g, Scalar a, Scalar b, Scalar c) {
  if (is_value(g, b, 1.0)) return g.add(a, c);
  if (is_value(g, b, -1.0)) return g.sub(c, a);
  if (is_value(g, c, -0.0)) return g.mul(a, b);
  if (is_op(g, a, Op::kNeg) && is_op(g, b, Op::kNeg))
    return g.fma(g[a].args[0], g[b].args[0], c);
  return {};
}

Scalar min_max_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (a == b) return a;
  if (!g.is_const(b)) return {};
  const double far = op == Op::kMax ? -INFINITY : INFINITY;
  if (is_value(g, b, far)) return a;
  if (is_op(g, a, op) && g.is_const(g[a].args[1]))
    return g.make(op, t, g[a].args[0], g.make(op, t, g[a].args[1], b));
  return {};
}

bool is_rounding(Op op) {
  return op == Op::kFloor || op == Op::kCeil || op == Op::kRoundEven || op == Op::kTrunc;
}

Scalar rounding_laws(Graph& g, Scalar a) {
  if (is_rounding(g[a].op)) return a;
  if (is_op(g, a, Op::kCast) && !is_float(g.type(g[a].args[0]))) return a;
  return {};
}

Scalar sign_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (op == Op::kNeg) {
    if (is_op(g, a, Op::kNeg)) return g[a].args[0];
    if (is_op(g, a, Op::kMul) && g.is_const(g[a].args[1]))
      return g.mul(g[a].args[0], g.neg(g[a].args[1]));
    return {};
  }
  const bool signs_first = is_op(g, a, Op::kNeg) || is_op(g, a, Op::kAbs) ||
                           is_op(g, a, Op::kCopySign);
  if (op == Op::kAbs) {
    if (is_op(g, a, Op::kAbs)) return a;
    if (signs_first) return g.make(Op::kAbs, t, g[a].args[0]);
    return {};
  }
  if (g.is_const(b)) {
    const Scalar magnitude = g.make(Op::kAbs, t, a);
    return std::signbit(g.const_float(b)) ? g.neg(magnitude) : magnitude;
  }
  if (signs_first) return g.make(Op::kCopySign, t, g[a].args[0], b);
  return {};
}

}  // namespace

Scalar simplify_float(Graph& g, Op op, Dtype t, Scalar a, Scalar b, Scalar c) {
  switch (op) {
    case Op::kAdd: case Op::kSub: return sum_laws(g, op, a, b);
    case Op::kMul: case Op::kDiv: return product_laws(g, op, t, a, b);
    case Op::kFma: return fma_laws(g, a, b, c);
    case Op::kMin: case Op::kMax: return min_max_laws(g, op, t, a, b);
    case Op::kNeg: case Op::kAbs: case Op::kCopySign: return sign_laws(g, op, t, a, b);
    case Op::kFloor: case Op::kCeil: case Op::kRoundEven: case Op::kTrunc:
      return rounding_laws(g, a);
    case Op::kLdexp:
      if (g.is_const(b) && (is_float(g.type(b)) ? g.const_float(b) == 0 : g.const_int(b) == 0))
        return a;
      return {};
    default: return {};
  }
}

// r < 0 ? r + c : r, where r is x's remainder by c, a power of two: x's low bits.
Scalar positive_remainder(Graph& g, Scalar p, Scalar t, Scalar f) {
  if (!is_op(g, f, Op::kRem) || !is_op(g, p, Op::kLt) || !is_op(g, t, Op::kAdd) || !is_signed_int(g.type(f))) return {};
  const Scalar x = g[f].args[0], c = g[f].args[1];
  const Node &less = g[p], &sum = g[t];
  if (less.args[0] != f || !g.is_const(less.args[1]) || g.const_int(less.args[1]) != 0 || sum.args[0] != f ||
      sum.args[1] != c || !g.is_const(c))
    return {};
  const int64_t n = g.const_int(c);
  return n > 0 && (n & (n - 1)) == 0 ? g.make(Op::kAnd, g.type(f), x, g.constant_int(g.type(f), n - 1)) : Scalar{};
}

Scalar simplify_select(Graph& g, Scalar p, Scalar t, Scalar f) {
  if (g.is_const(p)) return g.const_int(p) ? t : f;
  if (t == f) return t;
  if (is_op(g, p, Op::kNot)) return g.select(g[p].args[0], f, t);
  if (is_op(g, t, Op::kSelect) && g[t].args[0] == p) return g.select(p, g[t].args[1], f);
  if (is_op(g, f, Op::kSelect) && g[f].args[0] == p) return g.select(p, t, g[f].args[2]);
  if (const Scalar low = positive_remainder(g, p, t, f)) return low;
  if (!is_pred(g.type(t))) return {};
  if (g.is_const(t)) return g.const_int(t) ? g.logical_or(p, f)
                                           : g.logical_and(g.logical_not(p), f);
  if (g.is_const(f)) return g.const_int(f) ? g.logical_or(g.logical_not(p), t)
                                           : g.logical_and(p, t);
  return {};
}

// √x of f32 or f64, or that rounded to f32.
bool is_root(const Graph& g, Scalar s) {
  const Node& n = g[s];
  if (n.op == Op::kCast && n.type == Dtype::kF32) return is_op(g, n.args[0], Op::kSqrt) && g.type(n.args[0]) == Dtype::kF64;
  return n.op == Op::kSqrt && (n.type == Dtype::kF32 || n.type == Dtype::kF64);
}

// The least x ≥ 0 of type `from` whose root, rounded to `to`, is above c (or equal to it, if asked for); NaN: none.
// Roots and roundings are monotonous, and so are the bits of numbers that are not negative.
double least_root_above(Dtype from, Dtype to, double c, bool or_equal) {
  const auto number = [&](uint64_t bits) {
    return from == Dtype::kF32 ? double{std::bit_cast<float>(static_cast<uint32_t>(bits))} : std::bit_cast<double>(bits);
  };
  const auto above = [&](uint64_t bits) {
    const double x = number(bits), r = from == Dtype::kF32 ? double{std::sqrt(static_cast<float>(x))} : std::sqrt(x);
    const double rounded = to == Dtype::kF32 ? double{static_cast<float>(r)} : r;
    return rounded > c || (or_equal && rounded == c);
  };
  uint64_t low = 0, high = from == Dtype::kF32 ? std::bit_cast<uint32_t>(INFINITY) : std::bit_cast<uint64_t>(double{INFINITY});
  if (!above(high)) return std::nan("");
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (above(middle)) high = middle;
    else low = middle + 1;
  }
  return number(high);
}

// A square, or a sum of two: never below 0.
bool is_square(const Graph& g, Scalar s) {
  const Node& n = g[s];
  const bool product = (n.op == Op::kMul || n.op == Op::kFma) && n.args[0] == n.args[1];
  return product && (n.op == Op::kMul || (g[n.args[2]].op == Op::kMul && is_square(g, n.args[2])));
}

// The root of a negative number is a NaN, which stands in no order.
Scalar simplify_root_order(Graph& g, Op op, Scalar a, Scalar b) {
  const bool left = is_root(g, a) && g.is_const(b), right = is_root(g, b) && g.is_const(a);
  if ((op != Op::kLt && op != Op::kLe) || (!left && !right)) return {};
  const Scalar root = left ? a : b;
  const double c = g.const_float(left ? b : a);
  if (std::isnan(c)) return {};
  const Scalar x = is_op(g, root, Op::kCast) ? g[g[root].args[0]].args[0] : g[root].args[0];
  const Dtype t = g.type(x);
  // √x < c: not √x ≥ c. √x ≤ c: not √x > c.
  const double least = least_root_above(t, g.type(root), c, left == (op == Op::kLt));
  const auto at_least = [&](double v) { return g.compare(Op::kLe, g.constant(t, v), x); };
  if (right) return std::isnan(least) ? g.constant_int(Dtype::kPred, 0) : at_least(least);
  if (std::isnan(least)) return at_least(0);
  const Scalar below = g.compare(Op::kLt, x, g.constant(t, least));
  return is_square(g, x) ? below : g.logical_and(at_least(0), below);
}

Scalar simplify_compare(Graph& g, Op op, Scalar a, Scalar b) {
  const Dtype t = g.type(a);
  if (is_float(t)) {
    // The magnitude of a complex number is a root, but for infinite parts.
    const auto chosen = [&](Scalar s) { return is_op(g, s, Op::kSelect) && g.is_const(g[s].args[1]) && is_root(g, g[s].args[2]); };
    if (chosen(a) && g.is_const(b))
      return g.select(g[a].args[0], g.compare(op, g[a].args[1], b), g.compare(op, g[a].args[2], b));
    if (chosen(b) && g.is_const(a))
      return g.select(g[b].args[0], g.compare(op, a, g[b].args[1]), g.compare(op, a, g[b].args[2]));
    return simplify_root_order(g, op, a, b);
  }
  if (a == b) return g.constant_int(Dtype::kPred, op == Op::kEq || op == Op::kLe);
  if (is_pred(t)) {
    switch (op) {
      case Op::kNe: return g.make(Op::kXor, Dtype::kPred, a, b);
      case Op::kEq: return g.logical_not(g.make(Op::kXor, Dtype::kPred, a, b));
      case Op::kLt: return g.logical_and(g.logical_not(a), b);
      default: return g.logical_or(g.logical_not(a), b);
    }
  }
  return simplify_order(g, op, a, b);
}

// Laws that do not apply are cheap; the depth bound keeps chains of them finite.
Scalar Graph::simplify(Op op, Dtype t, Scalar a, Scalar b, Scalar c) {
  switch (op) {
    case Op::kSelect: return simplify_select(*this, a, b, c);
    case Op::kCast: return simplify_cast(*this, t, a);
    case Op::kBitcast:
      if (type(a) == t) return a;
      return is_op(*this, a, Op::kBitcast) ? bitcast(t, nodes_[a.id].args[0]) : Scalar{};
    default: break;
  }
  if (is_compare(op)) return simplify_compare(*this, op, a, b);
  if (is_float(t)) return simplify_float(*this, op, t, a, b, c);
  switch (op) {
    case Op::kAnd: case Op::kOr: case Op::kXor: case Op::kNot:
    case Op::kShl: case Op::kShrA: case Op::kShrL:
      return simplify_bits(*this, op, t, a, b);
    default: return simplify_int(*this, op, t, a, b);
  }
}

Scalar Graph::make(Op op, Dtype t, Scalar a, Scalar b, Scalar c) {
  const Dtype arg_type = type(a);
  if (!keeps_narrow(op) && (is_narrow_float(t) || is_narrow_float(arg_type))) {
    const auto wide = [&](Scalar s) {
      return s && is_narrow_float(type(s)) ? cast(Dtype::kF32, s) : s;
    };
    const Scalar r = make(op, is_float(t) ? Dtype::kF32 : t, wide(a), wide(b), wide(c));
    return is_float(t) ? cast(t, r) : r;
  }
  const Scalar args[3] = {a, b, c};
  bool all_const = true;
  for (Scalar s : args) all_const &= !s || is_const(s);
  if (all_const) {
    Dtype types[3] = {};
    Cell cells[3];
    for (int i = 0; i < 3 && args[i]; ++i) {
      types[i] = type(args[i]);
      if (is_float(types[i])) cells[i].f = const_float(args[i]);
      else cells[i].i = const_int(args[i]);
    }
    return scalar::constant(*this, t, fold(op, t, types, cells));
  }
  if (commutes(op) && (is_const(a) ? !is_const(b) : !is_const(b) && b.id < a.id)) std::swap(a, b);
  // Casts that are not nodes must be built however deep; they need few levels.
  if (depth_ < (op == Op::kCast ? 2 * kMaxDepth : kMaxDepth)) {
    ++depth_;
    const Scalar s = simplify(op, t, a, b, c);
    --depth_;
    if (s) return s;
  }
  return intern({.op = op, .type = t, .args = {a, b, c}});
}

}  // namespace braze::scalar
