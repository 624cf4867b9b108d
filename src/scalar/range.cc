// SPDX-License-Identifier: Apache-2.0
// What is known of nodes: ranges of integers, variables they depend on, strides.
//
// A range is in mathematical integers and conservative. Where the exact range of an operation
// leaves its type, the operation may wrap, and nothing but the type's range is known. u64 above
// INT64_MAX has no representation: an unknown u64 has the range [INT64_MIN, INT64_MAX].
#include <algorithm>
#include <limits>

#include "scalar/fold.h"
#include "scalar/scalar.h"

namespace braze::scalar {
namespace {

using Wide = __int128;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Range unknown(Dtype t) { return t == Dtype::kU64 ? Range{kMin, kMax} : type_range(t); }
bool known(Dtype t, Range r) { return t != Dtype::kU64 || r.lo >= 0; }

// [lo, hi] if it fits in t, else what t allows.
Range fitted(Dtype t, Wide lo, Wide hi) {
  const Range r = type_range(t);
  if (lo < r.lo || hi > r.hi) return unknown(t);
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Range product(Dtype t, Range a, Range b) {
  const Wide p[] = {Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi};
  return fitted(t, *std::min_element(p, p + 4), *std::max_element(p, p + 4));
}

Range quotient(Dtype t, Range a, Range b) {
  if (b.lo <= 0) return unknown(t);  // 0 gives all ones; negative divisors are not worth the cases
  const int64_t q[] = {a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi};
  return {*std::min_element(q, q + 4), *std::max_element(q, q + 4)};
}

Range remainder(Dtype t, Range a, Range b) {
  if (b.lo <= 0) return a.lo >= 0 ? Range{0, a.hi} : unknown(t);
  return {a.lo >= 0 ? 0 : std::max(a.lo, 1 - b.hi), a.hi <= 0 ? 0 : std::min(a.hi, b.hi - 1)};
}

// Least 2^k - 1 that is not below v.
int64_t ones_above(int64_t v) {
  int64_t m = 0;
  while (m < v) m = m * 2 + 1;
  return m;
}

Range bitwise(Op op, Dtype t, Range a, Range b) {
  if (op == Op::kAnd) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (b.lo >= 0) return {0, b.hi};
    if (a.lo >= 0) return {0, a.hi};
  } else if (a.lo >= 0 && b.lo >= 0) {
    return {0, ones_above(std::max(a.hi, b.hi))};
  }
  return unknown(t);
}

Range shifted_left(Dtype t, Range a, Range b) {
  if (b.lo != b.hi || b.lo < 0 || b.lo >= std::min(bit_size(t), 63)) return unknown(t);
  return product(t, a, {int64_t{1} << b.lo, int64_t{1} << b.lo});
}

Range shifted_right(Op op, Dtype t, Range a, Range b) {
  // An arithmetic shift goes by the top bit, of unsigned types too.
  const bool top_clear = a.lo >= 0 && a.hi <= (kMax >> (64 - bit_size(t)));
  if (b.lo != b.hi || b.lo < 0 || b.lo >= std::min(bit_size(t), 63))
    return top_clear ? Range{0, a.hi} : unknown(t);
  if (top_clear) return {a.lo >> b.lo, a.hi >> b.lo};
  if (op == Op::kShrA && is_signed_int(t)) return {a.lo >> b.lo, a.hi >> b.lo};
  return unknown(t);
}

Range range_of(Op op, Dtype t, Range a, Range b) {
  switch (op) {
    case Op::kAdd: return fitted(t, Wide{a.lo} + b.lo, Wide{a.hi} + b.hi);
    case Op::kSub: return fitted(t, Wide{a.lo} - b.hi, Wide{a.hi} - b.lo);
    case Op::kNeg: return fitted(t, -Wide{a.hi}, -Wide{a.lo});
    case Op::kMul: return product(t, a, b);
    case Op::kDiv: return quotient(t, a, b);
    case Op::kRem: return remainder(t, a, b);
    case Op::kMin: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::kMax: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::kAnd: case Op::kOr: case Op::kXor: return bitwise(op, t, a, b);
    case Op::kShl: return shifted_left(t, a, b);
    case Op::kShrA: case Op::kShrL: return shifted_right(op, t, a, b);
    case Op::kAbs:
      if (a.lo >= 0) return a;
      return fitted(t, a.hi <= 0 ? -Wide{a.hi} : Wide{0}, std::max(-Wide{a.lo}, Wide{a.hi}));
    case Op::kPopcnt: case Op::kClz:  // two bits of an s2 make -2
      return bit_size(t) <= type_range(t).hi ? Range{0, bit_size(t)} : type_range(t);
    default: return unknown(t);
  }
}

// What x is limited to where `p`, a comparison of x with a constant, is `truth`.
struct Limit {
  Scalar x;
  Range range;
};
Limit limit_of(const Graph& g, Scalar p, bool truth) {
  const Node& n = g[p];
  if ((n.op != Op::kLt && n.op != Op::kLe) || is_float(g.type(n.args[0])) || g.type(n.args[0]) == Dtype::kU64) return {};
  const bool left = g.is_const(n.args[1]);
  if (!left && !g.is_const(n.args[0])) return {};
  const Scalar x = n.args[left ? 0 : 1];
  const int64_t c = g.const_int(n.args[left ? 1 : 0]);
  Range r = g.range(x);
  // x < c, x ≤ c, x > c or x ≥ c
  const bool below = left == truth, equal = (n.op == Op::kLe) == truth;
  if (below ? !equal && c == kMin : !equal && c == kMax) return {};
  if (below) r.hi = std::min(r.hi, equal ? c : c - 1);
  else r.lo = std::max(r.lo, equal ? c : c + 1);
  return {x, r};
}

// The range of a select's value v where the limit holds: v is x, or x plus a constant. False: v is never chosen.
bool limited(const Graph& g, const Limit& l, Scalar v, Range* range) {
  if (!l.x) return true;
  if (l.range.lo > l.range.hi) return false;
  const Node& n = g[v];
  if (v == l.x) *range = l.range;
  else if (n.op == Op::kAdd && n.args[0] == l.x && g.is_const(n.args[1]))
    *range = fitted(n.type, Wide{l.range.lo} + g.const_int(n.args[1]), Wide{l.range.hi} + g.const_int(n.args[1]));
  return true;
}

// As jnp.mod and negative indices do: x < 0 ? x + n : x.
Range range_of_select(const Graph& g, const Node& n, Range yes, Range no) {
  const bool a = limited(g, limit_of(g, n.args[0], true), n.args[1], &yes);
  const bool b = limited(g, limit_of(g, n.args[0], false), n.args[2], &no);
  if (a != b) return a ? yes : no;
  return {std::min(yes.lo, no.lo), std::max(yes.hi, no.hi)};
}

}  // namespace

Range Graph::range(Scalar s) const { return facts_[s.id].range; }

Graph::Facts Graph::facts_of(const Node& n) const {
  Facts f;
  f.loads = n.op == Op::kLoad;
  f.index = n.op == Op::kConst;
  if (n.op != Op::kConst && n.op != Op::kVar && n.op != Op::kLoad) f.index = true;
  bool all_known = !is_float(n.type);
  Range r[3] = {};
  for (int i = 0; i < 3 && n.args[i]; ++i) {
    const Facts& a = facts_[n.args[i].id];
    const Dtype at = nodes_[n.args[i].id].type;
    f.vars |= a.vars;
    f.loads |= a.loads;
    f.index &= a.index;
    r[i] = a.range;
    if (is_float(at) || !known(at, r[i])) all_known = false;
  }
  f.range = is_float(n.type) ? Range{0, 0} : unknown(n.type);
  if (is_float(n.type)) {
    f.index = n.op == Op::kConst;
    return f;
  }
  if (n.op == Op::kConst) {
    if (n.type != Dtype::kU64 || n.imm >= 0) f.range = {n.imm, n.imm};
  } else if (n.op == Op::kCast && all_known) {
    f.range = fitted(n.type, r[0].lo, r[0].hi);
  } else if (n.op == Op::kEq || n.op == Op::kNe || n.op == Op::kLt || n.op == Op::kLe) {
    f.range = {0, 1};
  } else if (n.op == Op::kSelect && all_known) {
    f.range = range_of_select(*this, n, r[1], r[2]);
  } else if (n.op != Op::kVar && n.op != Op::kLoad && all_known) {
    f.range = range_of(n.op, n.type, r[0], r[1]);
  }
  return f;
}

namespace {

int64_t signed_wrap(Dtype t, uint64_t v) {
  const int shift = 64 - bit_size(t);
  return static_cast<int64_t>(v << shift) >> shift;
}

// Stride of node n from those of its arguments; false: not affine as far as is known.
bool stride_of(const Graph& g, const Node& n, const bool known[3], const int64_t stride[3],
               int64_t* out) {
  bool fixed = true;  // no argument changes
  for (int i = 0; i < 3 && n.args[i]; ++i) fixed &= known[i] && stride[i] == 0;
  *out = 0;
  if (fixed) return true;
  if (is_float(n.type) || is_pred(n.type)) return false;
  const auto times = [&](int i, int64_t by) {
    *out = signed_wrap(n.type, static_cast<uint64_t>(stride[i]) * static_cast<uint64_t>(by));
    return known[i];
  };
  const auto constant = [&](int i) { return g.is_const(n.args[i]); };
  const uint64_t s0 = stride[0], s1 = stride[1];
  switch (n.op) {
    case Op::kAdd: *out = signed_wrap(n.type, s0 + s1); return known[0] && known[1];
    case Op::kSub: *out = signed_wrap(n.type, s0 - s1); return known[0] && known[1];
    case Op::kNeg: return times(0, -1);
    case Op::kMul:
      if (constant(1)) return times(0, g.const_int(n.args[1]));
      return constant(0) && times(1, g.const_int(n.args[0]));
    case Op::kShl:
      if (!constant(1)) return false;
      if (const int64_t by = g.const_int(n.args[1]); by >= 0 && by < bit_size(n.type))
        return times(0, static_cast<int64_t>(uint64_t{1} << by));
      return true;
    case Op::kCast: {
      const Dtype from = g.type(n.args[0]);
      if (is_float(from) || is_pred(from)) return false;
      // A stride is known up to a multiple of 2^bits; a range narrower than half that settles it.
      const Range r = g.range(n.args[0]);
      if (bit_size(n.type) > bit_size(from) &&
          Wide{r.hi} - r.lo >= Wide{1} << (bit_size(from) - 1))
        return false;
      *out = signed_wrap(n.type, s0);
      return known[0];
    }
    case Op::kSelect:
      *out = stride[1];
      return known[0] && stride[0] == 0 && known[1] && known[2] && stride[1] == stride[2];
    default: return false;
  }
}

}  // namespace

bool Graph::stride_in(Scalar s, int64_t var, int64_t* stride) const {
  *stride = 0;
  if (!depends_on(s, var)) return true;
  const uint64_t bit = uint64_t{1} << var_bits_.at(var);
  struct Known { bool known = false; int64_t stride = 0; };
  absl::flat_hash_map<int32_t, Known> strides;
  std::vector<int32_t> order{s.id};
  strides[s.id] = {};
  for (size_t i = 0; i < order.size(); ++i)
    for (Scalar a : nodes_[order[i]].args)
      if (a && (facts_[a.id].vars & bit) && strides.try_emplace(a.id).second)
        order.push_back(a.id);
  std::sort(order.begin(), order.end());
  for (int32_t id : order) {
    const Node& n = nodes_[id];
    Known k;
    if (n.op == Op::kVar) {
      k = {true, n.imm == var ? 1 : 0};
    } else {
      bool known[3] = {};
      int64_t arg[3] = {};
      for (int i = 0; i < 3 && n.args[i]; ++i) {
        const auto it = strides.find(n.args[i].id);
        known[i] = it == strides.end() || it->second.known;
        arg[i] = it == strides.end() ? 0 : it->second.stride;
      }
      k.known = stride_of(*this, n, known, arg, &k.stride);
    }
    strides[id] = k;
  }
  const Known k = strides[s.id];
  *stride = k.stride;
  return k.known;
}

}  // namespace braze::scalar
