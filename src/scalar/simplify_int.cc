// SPDX-License-Identifier: Apache-2.0
// Laws of integers and pred, and of casts. All hold under wrapping arithmetic.
//
//   add, sub      (x+c)+d = x+(c+d)   x+0 = x   x-c = x+(-c)   x-x = 0   0-x = -x   x+(-y) = x-y
//   mul           (x·c)·d = x·(cd)   x·0 = 0   x·1 = x   x·-1 = -x
//   mulhi         by 0, by 1
//   div, rem      by 1; by constants of index expressions (simplify_index.cc)
//   min, max      by ranges; of x and x; two constants join
//   and           c ≤ x and x < d = false if c ≥ d
//   and, or, xor  with 0, all ones, x and itself; two constants join; by ranges: x & ones
//   shifts        by 0, by the width or more; of 0
//   casts         a cast of a cast whose middle type holds every value is one cast; likewise
//                 int → float → int; a cast to an equal type is nothing
// Casts that are not nodes (scalar.h) are built in cast.cc.
#include <algorithm>

#include "scalar/cast.h"
#include "scalar/float_format.h"
#include "scalar/fold.h"
#include "scalar/simplify.h"

namespace braze::scalar {
namespace {

bool is_int_const(const Graph& g, Scalar s, int64_t v) {
  return g.is_const(s) && g.const_int(s) == v;
}
bool is_op(const Graph& g, Scalar s, Op op) { return g[s].op == op; }
bool has_range(const Graph& g, Scalar s) { return g.type(s) != Dtype::kU64 || g.range(s).lo >= 0; }

// (x op c) op b with constants c and b → x op (c op b).
Scalar join_constants(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (!g.is_const(b) || !is_op(g, a, op) || !g.is_const(g[a].args[1])) return {};
  const Scalar x = g[a].args[0];
  return g.make(op, t, x, g.make(op, t, g[a].args[1], b));
}

Scalar sum_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (op == Op::kSub) {
    if (a == b) return g.constant_int(t, 0);
    if (g.is_const(b)) return g.add(a, g.neg(b));
    if (is_int_const(g, a, 0)) return g.neg(b);
    if (is_op(g, b, Op::kNeg)) return g.add(a, g[b].args[0]);
    return {};
  }
  if (is_int_const(g, b, 0)) return a;
  if (is_op(g, b, Op::kNeg)) return g.sub(a, g[b].args[0]);
  if (is_op(g, a, Op::kNeg)) return g.sub(b, g[a].args[0]);
  return join_constants(g, op, t, a, b);
}

Scalar product_laws(Graph& g, Dtype t, Scalar a, Scalar b) {
  if (is_int_const(g, b, 0)) return b;
  if (is_int_const(g, b, 1)) return a;
  if (is_int_const(g, b, wrap(t, -1))) return g.neg(a);
  return join_constants(g, Op::kMul, t, a, b);
}

Scalar high_product_laws(Graph& g, Dtype t, Scalar a, Scalar b) {
  if (is_int_const(g, b, 0)) return b;
  if (!is_int_const(g, b, 1)) return {};
  // LLVM 19 takes a vector's unsigned high product by 1 for a shift by the whole width: poison.
  return is_unsigned_int(t) ? g.constant_int(t, 0)
                            : g.make(Op::kShrA, t, a, g.constant_int(t, bit_size(t) - 1));
}

Scalar min_max_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (a == b) return a;
  if (has_range(g, a) && has_range(g, b)) {
    const Range x = g.range(a), y = g.range(b);
    if (x.hi <= y.lo) return op == Op::kMin ? a : b;
    if (y.hi <= x.lo) return op == Op::kMin ? b : a;
  }
  return join_constants(g, op, t, a, b);
}

Scalar division_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (is_int_const(g, b, 1)) return op == Op::kDiv ? a : g.constant_int(t, 0);
  if (!has_range(g, a) || !has_range(g, b)) return {};
  const Range x = g.range(a), y = g.range(b);
  // |x| < y: the quotient is 0.
  if (y.lo > 0 && x.hi < y.lo && x.lo > -y.lo) return op == Op::kDiv ? g.constant_int(t, 0) : a;
  if (g.is_const(b) && g.const_int(b) > 0) return simplify_division(g, op, t, a, g.const_int(b));
  return {};
}

}  // namespace

Scalar simplify_int(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: {
      if (op == Op::kNeg && is_op(g, a, Op::kNeg)) return g[a].args[0];
      Scalar s = op == Op::kMul ? product_laws(g, t, a, b)
                 : op == Op::kNeg ? Scalar{} : sum_laws(g, op, t, a, b);
      return s ? s : simplify_sum(g, op, t, a, b);
    }
    case Op::kMulHi: return high_product_laws(g, t, a, b);
    case Op::kDiv: case Op::kRem: return division_laws(g, op, t, a, b);
    case Op::kMin: case Op::kMax: return min_max_laws(g, op, t, a, b);
    case Op::kAbs:
      if (is_unsigned_int(t) || g.range(a).lo >= 0 || is_op(g, a, Op::kAbs)) return a;
      return {};
    default: return {};
  }
}

namespace {

// c ≤ x and x < d, for an interval [c, d) without elements.
bool empty_interval(const Graph& g, Scalar a, Scalar b) {
  if (is_op(g, a, Op::kLt)) std::swap(a, b);
  if (!is_op(g, a, Op::kLe) || !is_op(g, b, Op::kLt)) return false;
  const Scalar c = g[a].args[0], d = g[b].args[1];
  return g[a].args[1] == g[b].args[0] && !is_float(g.type(c)) && g.type(c) != Dtype::kU64 && g.is_const(c) &&
         g.is_const(d) && g.const_int(c) >= g.const_int(d);
}

// x < y and x ≠ y
bool implies_unequal(const Graph& g, Scalar less, Scalar unequal) {
  if (!is_op(g, less, Op::kLt) || !is_op(g, unequal, Op::kNe) || is_float(g.type(g[less].args[0]))) return false;
  const Scalar x = g[less].args[0], y = g[less].args[1], u = g[unequal].args[0], v = g[unequal].args[1];
  return (x == u && y == v) || (x == v && y == u);
}

Scalar and_laws(Graph& g, Dtype t, Scalar a, Scalar b) {
  if (a == b) return a;
  if (!g.is_const(b)) {
    if (empty_interval(g, a, b)) return g.constant_int(t, 0);
    if (implies_unequal(g, a, b)) return a;
    if (implies_unequal(g, b, a)) return b;
    const bool opposite = (is_op(g, a, Op::kNot) && g[a].args[0] == b) ||
                          (is_op(g, b, Op::kNot) && g[b].args[0] == a);
    return opposite ? g.constant_int(t, 0) : Scalar{};
  }
  const int64_t c = g.const_int(b);
  if (c == 0) return b;
  if (c == (is_pred(t) ? 1 : wrap(t, -1))) return a;
  // A mask of low ones that covers the range.
  const uint64_t mask = static_cast<uint64_t>(c);
  if (c > 0 && (mask & (mask + 1)) == 0 && has_range(g, a) && g.range(a).lo >= 0 && g.range(a).hi <= c)
    return a;
  return join_constants(g, Op::kAnd, t, a, b);
}

Scalar or_laws(Graph& g, Dtype t, Scalar a, Scalar b) {
  if (a == b) return a;
  const int64_t ones = is_pred(t) ? 1 : wrap(t, -1);
  if (!g.is_const(b)) {
    const bool opposite = (is_op(g, a, Op::kNot) && g[a].args[0] == b) ||
                          (is_op(g, b, Op::kNot) && g[b].args[0] == a);
    return opposite ? g.constant_int(t, ones) : Scalar{};
  }
  if (g.const_int(b) == 0) return a;
  if (g.const_int(b) == ones) return b;
  return join_constants(g, Op::kOr, t, a, b);
}

Scalar xor_laws(Graph& g, Dtype t, Scalar a, Scalar b) {
  if (a == b) return g.constant_int(t, 0);
  if (!g.is_const(b)) return {};
  if (g.const_int(b) == 0) return a;
  if (g.const_int(b) == (is_pred(t) ? 1 : wrap(t, -1))) return g.make(Op::kNot, t, a);
  return join_constants(g, Op::kXor, t, a, b);
}

Scalar not_laws(Graph& g, Scalar a) {
  if (is_op(g, a, Op::kNot)) return g[a].args[0];
  if (!is_pred(g.type(a))) return {};
  const Op op = g[a].op;
  const Scalar x = g[a].args[0], y = g[a].args[1];
  if (op == Op::kEq) return g.ne(x, y);
  if (op == Op::kNe) return g.eq(x, y);
  if ((op == Op::kLt || op == Op::kLe) && !is_float(g.type(x)))
    return op == Op::kLt ? g.le(y, x) : g.lt(y, x);
  return {};
}

Scalar shift_laws(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (is_int_const(g, a, 0)) return a;
  if (!g.is_const(b)) return {};
  const int64_t by = g.const_int(b);
  if (by == 0) return a;
  if (by < 0 || by >= bit_size(t)) {
    if (op != Op::kShrA) return g.constant_int(t, 0);
    const int64_t most = bit_size(t) - 1;
    return by == most ? Scalar{} : g.make(op, t, a, g.constant_int(t, most));
  }
  if (op == Op::kShl && g.is_index(a))
    return g.mul(a, g.constant_int(t, static_cast<int64_t>(uint64_t{1} << by)));
  return {};
}

}  // namespace

Scalar simplify_bits(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  switch (op) {
    case Op::kAnd: return and_laws(g, t, a, b);
    case Op::kOr: return or_laws(g, t, a, b);
    case Op::kXor: return xor_laws(g, t, a, b);
    case Op::kNot: return not_laws(g, a);
    default: return shift_laws(g, op, t, a, b);
  }
}

namespace {

// Does every value of `from` survive a cast to `to`?
bool holds_all(Dtype to, Dtype from) {
  if (from == to || is_pred(from)) return true;
  if (is_float(from)) {
    if (!is_float(to)) return false;
    if (to == Dtype::kF64) return true;
    return to == Dtype::kF32 && from != Dtype::kF64;
  }
  const int magnitude = bit_size(from) - is_signed_int(from);
  if (is_float(to)) return is_arithmetic_float(to) && magnitude <= format_of(to).mantissa_bits + 1;
  if (is_pred(to)) return false;
  if (is_signed_int(from) && !is_signed_int(to)) return false;
  return magnitude <= bit_size(to) - is_signed_int(to);
}

}  // namespace

Scalar simplify_cast(Graph& g, Dtype t, Scalar a) {
  const Dtype from = g.type(a);
  if (from == t) return a;
  if (is_op(g, a, Op::kCast)) {
    const Scalar x = g[a].args[0];
    const Dtype first = g.type(x);
    // Out of range, floats saturate and integers wrap.
    const bool through_float = is_float(from) && !is_float(first) && !is_float(t);
    if (holds_all(from, first) && (first == t || is_native_cast(t, first)) &&
        (!through_float || holds_all(t, first)))
      return g.cast(t, x);
    // Integers wrap: only the low bits matter.
    const bool ints = !is_float(first) && !is_float(from) && !is_float(t);
    if (ints && !is_pred(t) && !is_pred(from) && bit_size(t) <= bit_size(from))
      return g.cast(t, x);
  }
  if (!is_native_cast(t, from)) return build_cast(g, t, a);
  if (!is_float(t) && !is_float(from) && bit_size(t) > bit_size(from)) return widen_sum(g, t, a);
  return {};
}

}  // namespace braze::scalar
