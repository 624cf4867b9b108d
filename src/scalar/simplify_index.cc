// SPDX-License-Identifier: Apache-2.0
// Laws of index arithmetic: expressions seen as sums c0 + Σ ci·xi, the xi other nodes ("atoms").
//
//   sums        like terms join; terms in the order their atoms were made (outer loop variables
//               first, so that prefixes of a sum are loop-invariant), constant last;
//               c·k·(x/k) + c·(x rem k) = c·x
//   div, rem    for x ≥ 0 and g | k, x = g·h + l with 0 ≤ l < g:
//                 x/k = h/(k/g)      x rem k = g·(h rem k/g) + l      (g = k: h and l)
//               x = k·q + r with r ≥ 0:   x/k = q + r/k     x rem k = r rem k
//               (x/j)/k = x/(jk)     (x rem jk)/k = (x/k) rem j       (x rem jk) rem k = x rem k
//   compare     by the range of the difference; x + c < d becomes x < d - c
//   wider cast  of a sum is the sum of casts
// Sums wrap; where a law needs the mathematical value, the range of the sum proves they do not.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "scalar/fold.h"
#include "scalar/simplify.h"

namespace braze::scalar {
namespace {

using Wide = __int128;
constexpr size_t kMaxTerms = 16;
constexpr int kMaxSteps = 64;

struct Term {
  Scalar atom;
  int64_t factor;  // as a signed integer of the type's width
};

struct Sum {
  absl::InlinedVector<Term, kMaxTerms> terms;
  int64_t constant = 0;
};

int64_t narrow(Dtype t, uint64_t v) {
  const int shift = 64 - bit_size(t);
  return static_cast<int64_t>(v << shift) >> shift;
}
int64_t times(Dtype t, int64_t a, int64_t b) {
  return narrow(t, static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t plus(Dtype t, int64_t a, int64_t b) {
  return narrow(t, static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Sorts, joins like terms, drops zeros.
void tidy(Dtype t, Sum& s) {
  std::sort(s.terms.begin(), s.terms.end(),
            [](const Term& a, const Term& b) { return a.atom.id < b.atom.id; });
  size_t kept = 0;
  for (const Term& term : s.terms) {
    if (kept && s.terms[kept - 1].atom == term.atom)
      s.terms[kept - 1].factor = plus(t, s.terms[kept - 1].factor, term.factor);
    else
      s.terms[kept++] = term;
    if (s.terms[kept - 1].factor == 0) --kept;
  }
  s.terms.resize(kept);
}

// Adds factor·s to the sum, taking sums and products by constants apart. False: too many terms.
bool collect(const Graph& g, Dtype t, Scalar s, int64_t factor, Sum& sum) {
  absl::InlinedVector<Term, kMaxTerms> work{{s, factor}};
  for (int steps = 0; !work.empty(); ++steps) {
    if (steps > kMaxSteps || sum.terms.size() + work.size() > kMaxTerms) return false;
    const Term term = work.back();
    work.pop_back();
    const Node& n = g[term.atom];
    if (n.op == Op::kConst) {
      sum.constant = plus(t, sum.constant, times(t, term.factor, n.imm));
    } else if (n.op == Op::kAdd || n.op == Op::kSub) {
      work.push_back({n.args[1], n.op == Op::kAdd ? term.factor : times(t, term.factor, -1)});
      work.push_back({n.args[0], term.factor});
    } else if (n.op == Op::kNeg) {
      work.push_back({n.args[0], times(t, term.factor, -1)});
    } else if (n.op == Op::kMul && g.is_const(n.args[1])) {
      work.push_back({n.args[0], times(t, term.factor, g.const_int(n.args[1]))});
    } else {
      sum.terms.push_back(term);
    }
  }
  return true;
}

// c·k·(x/k) + c·(x rem k) → c·x, once. True if it applied.
bool join_quotient(Graph& g, Dtype t, Sum& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term rem = sum.terms[i];
    const Node n = g[rem.atom];
    if (n.op != Op::kRem || !g.is_const(n.args[1]) || g.const_int(n.args[1]) <= 0) continue;
    const int64_t want = times(t, rem.factor, g.const_int(n.args[1]));
    bool any = false;
    for (const Term& other : sum.terms) any |= other.factor == want;
    if (!any) continue;
    const Scalar quotient = g.div(n.args[0], n.args[1]);
    for (size_t j = 0; j < sum.terms.size(); ++j) {
      if (sum.terms[j].atom != quotient || sum.terms[j].factor != want) continue;
      sum.terms.erase(sum.terms.begin() + std::max(i, j));
      sum.terms.erase(sum.terms.begin() + std::min(i, j));
      return collect(g, t, n.args[0], rem.factor, sum);
    }
  }
  return false;
}

Scalar build(Graph& g, Dtype t, const Sum& sum) {
  const auto node = [&](Op op, Scalar a, Scalar b) {
    return g.intern({.op = op, .type = t, .args = {a, b, {}}});
  };
  const auto scaled = [&](Scalar atom, int64_t factor) {
    return factor == 1 ? atom : node(Op::kMul, atom, g.constant_int(t, factor));
  };
  if (sum.terms.empty()) return g.constant_int(t, sum.constant);
  Scalar r;
  bool constant_done = sum.constant == 0;
  for (const Term& term : sum.terms) {
    const bool subtract = term.factor < 0 && term.factor != type_range(Dtype::kS64).lo;
    if (!r && subtract && !constant_done) {
      r = g.constant_int(t, sum.constant);
      constant_done = true;
    }
    if (!r && term.factor == -1)
      r = node(Op::kNeg, term.atom, {});
    else if (!r)
      r = scaled(term.atom, term.factor);
    else
      r = node(subtract ? Op::kSub : Op::kAdd, r,
               scaled(term.atom, subtract ? -term.factor : term.factor));
  }
  return constant_done ? r : node(Op::kAdd, r, g.constant_int(t, sum.constant));
}

struct WideRange {
  Wide lo, hi;
  bool within(Wide a, Wide b) const { return lo >= a && hi <= b; }
};

// Range of the mathematical value of the sum; false: an atom's is not known.
bool range_of(const Graph& g, Dtype t, const Sum& sum, WideRange* out) {
  *out = {sum.constant, sum.constant};
  for (const Term& term : sum.terms) {
    const Range r = g.range(term.atom);
    if (t == Dtype::kU64 && r.lo < 0) return false;
    const Wide a = Wide{term.factor} * r.lo, b = Wide{term.factor} * r.hi;
    out->lo += std::min(a, b);
    out->hi += std::max(a, b);
  }
  return true;
}

// Does the sum's value equal its node's: is it within the type?
bool exact(const Graph& g, Dtype t, const Sum& sum) {
  WideRange r;
  const Range whole = type_range(t);
  return range_of(g, t, sum, &r) && r.within(whole.lo, whole.hi);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// sum = by·high + low, low the terms that `by` does not divide and the rest of the constant.
void split(const Sum& sum, int64_t by, Sum& high, Sum& low) {
  for (const Term& term : sum.terms) {
    if (term.factor % by == 0)
      high.terms.push_back({term.atom, term.factor / by});
    else
      low.terms.push_back(term);
  }
  high.constant = floor_div(sum.constant, by);
  low.constant = sum.constant - high.constant * by;
}

// The sum as a node, simplified.
Scalar remade(Graph& g, Dtype t, Sum sum) {
  tidy(t, sum);
  for (int i = 0; i < 8 && join_quotient(g, t, sum); ++i) tidy(t, sum);
  return build(g, t, sum);
}

// x = g·h + l with 0 ≤ l < g, for the largest g > 1 that works.
Scalar divide_by_split(Graph& g, Op op, Dtype t, const Sum& sum, int64_t k) {
  absl::InlinedVector<int64_t, kMaxTerms> divisors{k};
  for (const Term& term : sum.terms) divisors.push_back(std::gcd(term.factor, k));
  std::sort(divisors.begin(), divisors.end(), std::greater<>());
  int64_t last = 0;
  for (int64_t d : divisors) {
    if (d <= 1 || d == last) continue;
    last = d;
    Sum high, low;
    split(sum, d, high, low);
    WideRange r;
    if (!range_of(g, t, low, &r) || !r.within(0, Wide{d} - 1)) continue;
    const Scalar h = remade(g, t, high), l = remade(g, t, low);
    if (d == k) return op == Op::kDiv ? h : l;
    const Scalar inner = g.make(op, t, h, g.constant_int(t, k / d));
    return op == Op::kDiv ? inner : g.add(g.mul(inner, g.constant_int(t, d)), l);
  }
  return {};
}

// x = k·q + r with r ≥ 0 and q not 0.
Scalar divide_by_parts(Graph& g, Op op, Dtype t, const Sum& sum, int64_t k) {
  Sum high, low;
  split(sum, k, high, low);
  WideRange r;
  if (!range_of(g, t, low, &r)) return {};
  if (r.lo < 0 && !high.terms.empty()) {  // perhaps with the whole constant in r
    high.constant = 0;
    low.constant = sum.constant;
    range_of(g, t, low, &r);
  }
  if ((high.terms.empty() && high.constant == 0) || r.lo < 0 || r.hi > type_range(t).hi) return {};
  const Scalar rest = g.make(op, t, remade(g, t, low), g.constant_int(t, k));
  return op == Op::kDiv ? g.add(remade(g, t, high), rest) : rest;
}

// Of quotients and remainders.
Scalar divide_nested(Graph& g, Op op, Dtype t, Scalar a, int64_t k) {
  const Node n = g[a];
  if ((n.op != Op::kDiv && n.op != Op::kRem) || !g.is_const(n.args[1])) return {};
  const int64_t j = g.const_int(n.args[1]);
  const Scalar x = n.args[0];
  if (j <= 0 || g.range(x).lo < 0) return {};
  if (n.op == Op::kDiv) {
    if (op == Op::kRem) return {};
    if (Wide{j} * k > type_range(t).hi) return g.constant_int(t, 0);
    return g.div(x, g.constant_int(t, j * k));
  }
  if (j % k != 0) return {};
  const Scalar by = g.constant_int(t, k);
  if (op == Op::kRem) return g.rem(x, by);
  return g.rem(g.div(x, by), g.constant_int(t, j / k));
}

bool proper_index(const Graph& g, Scalar s) { return s && g.is_index(s) && !g.is_const(s); }

Scalar truth(Graph& g, bool v) { return g.constant_int(Dtype::kPred, v); }

// Decides `x op 0` for x in r.
Scalar decide(Graph& g, Op op, const WideRange& r) {
  switch (op) {
    case Op::kLt: return r.hi < 0 ? truth(g, true) : r.lo >= 0 ? truth(g, false) : Scalar{};
    case Op::kLe: return r.hi <= 0 ? truth(g, true) : r.lo > 0 ? truth(g, false) : Scalar{};
    default: return r.hi < 0 || r.lo > 0 ? truth(g, op == Op::kNe) : Scalar{};
  }
}

// Moves the constant of one side to the other, a constant.
Scalar move_constant(Graph& g, Op op, Dtype t, const Sum& sum, int64_t c, bool sum_left) {
  const Range whole = type_range(t);
  const Wide moved = Wide{c} - sum.constant;
  Sum rest = sum;
  rest.constant = 0;
  if (sum.constant == 0 || moved < whole.lo || moved > whole.hi || !exact(g, t, rest)) return {};
  const Scalar x = remade(g, t, rest), y = g.constant_int(t, static_cast<int64_t>(moved));
  return sum_left ? g.compare(op, x, y) : g.compare(op, y, x);
}

}  // namespace

Scalar simplify_sum(Graph& g, Op op, Dtype t, Scalar a, Scalar b) {
  if (!proper_index(g, a) && !proper_index(g, b)) return {};
  if (op == Op::kMul && !g.is_const(b)) return {};
  Sum sum;
  const int64_t first = op == Op::kNeg ? -1 : op == Op::kMul ? narrow(t, g.const_int(b)) : 1;
  if (!collect(g, t, a, first, sum)) return {};
  if ((op == Op::kAdd || op == Op::kSub) && !collect(g, t, b, op == Op::kAdd ? 1 : -1, sum))
    return {};
  return remade(g, t, sum);
}

Scalar simplify_division(Graph& g, Op op, Dtype t, Scalar a, int64_t k) {
  if (g.range(a).lo < 0) return {};
  if (const Scalar s = divide_nested(g, op, t, a, k)) return s;
  Sum sum;
  if (!collect(g, t, a, 1, sum)) return {};
  tidy(t, sum);
  WideRange r;
  if (!exact(g, t, sum) || !range_of(g, t, sum, &r) || r.lo < 0) return {};
  // The sum may have a tighter range than its node.
  if (r.hi < k) return op == Op::kDiv ? g.constant_int(t, 0) : remade(g, t, sum);
  if (const Scalar s = divide_by_split(g, op, t, sum, k)) return s;
  return divide_by_parts(g, op, t, sum, k);
}

Scalar simplify_order(Graph& g, Op op, Scalar a, Scalar b) {
  const Dtype t = g.type(a);
  const Range x = g.range(a), y = g.range(b);
  if (t == Dtype::kU64 && (x.lo < 0 || y.lo < 0)) return {};
  if (const Scalar s = decide(g, op, {Wide{x.lo} - y.hi, Wide{x.hi} - y.lo})) return s;
  if (!proper_index(g, a) && !proper_index(g, b)) return {};
  Sum left, right;
  if (!collect(g, t, a, 1, left) || !collect(g, t, b, 1, right)) return {};
  tidy(t, left);
  tidy(t, right);
  if (!exact(g, t, left) || !exact(g, t, right)) return {};
  Sum difference = left;
  for (const Term& term : right.terms) {
    if (term.factor == type_range(Dtype::kS64).lo) return {};
    difference.terms.push_back({term.atom, -term.factor});
  }
  tidy(Dtype::kS64, difference);
  difference.constant = 0;
  WideRange r;
  if (range_of(g, t, difference, &r)) {
    const Wide constant = Wide{left.constant} - right.constant;
    if (const Scalar s = decide(g, op, {r.lo + constant, r.hi + constant})) return s;
  }
  if (g.is_const(b)) return move_constant(g, op, t, left, g.const_int(b), true);
  if (g.is_const(a)) return move_constant(g, op, t, right, g.const_int(a), false);
  return {};
}

Scalar widen_sum(Graph& g, Dtype t, Scalar a) {
  const Op op = g[a].op;
  if (!g.is_index(a) || (op != Op::kAdd && op != Op::kSub && op != Op::kMul && op != Op::kNeg))
    return {};
  const Dtype from = g.type(a);
  Sum sum;
  if (!collect(g, from, a, 1, sum)) return {};
  tidy(from, sum);
  WideRange r;
  const Range whole = type_range(t);
  if (!exact(g, from, sum) || !range_of(g, from, sum, &r) || !r.within(whole.lo, whole.hi))
    return {};
  Scalar result = g.constant_int(t, sum.constant);
  for (const Term& term : sum.terms) {
    const Scalar wide = g.cast(t, term.atom);
    result = g.add(result, g.mul(wide, g.constant_int(t, term.factor)));
  }
  return result;
}

}  // namespace braze::scalar
