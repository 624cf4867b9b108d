// SPDX-License-Identifier: Apache-2.0
// Expr: a node together with its graph, so that formulas read as formulas. Numbers take the type of
// the other operand.
#pragma once

#include <initializer_list>

#include "scalar/scalar.h"

namespace braze::scalar {

struct Expr {
  Graph* g;
  Scalar s;

  Dtype type() const { return g->type(s); }
  bool f32() const { return type() == Dtype::kF32; }
  // A constant of this expression's type.
  Expr number(double v) const { return {g, g->constant(type(), v)}; }
  Expr integer(int64_t v) const { return {g, g->constant_int(type(), v)}; }
  Expr make(Op op) const { return {g, g->make(op, type(), s)}; }
  Expr make(Op op, Expr b) const { return {g, g->make(op, type(), s, b.s)}; }
  Expr cast(Dtype t) const { return {g, g->cast(t, s)}; }
  Expr bitcast(Dtype t) const { return {g, g->bitcast(t, s)}; }
  // The signed integer type of a float's width, and a float's bits in it.
  Dtype int_type() const { return f32() ? Dtype::kS32 : Dtype::kS64; }
  Expr bits() const { return bitcast(int_type()); }
};

inline Expr operator+(Expr a, Expr b) { return {a.g, a.g->add(a.s, b.s)}; }
inline Expr operator-(Expr a, Expr b) { return {a.g, a.g->sub(a.s, b.s)}; }
inline Expr operator*(Expr a, Expr b) { return {a.g, a.g->mul(a.s, b.s)}; }
inline Expr operator/(Expr a, Expr b) { return {a.g, a.g->div(a.s, b.s)}; }
inline Expr operator-(Expr a) { return {a.g, a.g->neg(a.s)}; }
inline Expr operator+(Expr a, double b) { return a + a.number(b); }
inline Expr operator-(Expr a, double b) { return a - a.number(b); }
inline Expr operator*(Expr a, double b) { return a * a.number(b); }
inline Expr operator/(Expr a, double b) { return a / a.number(b); }
inline Expr operator+(double a, Expr b) { return b.number(a) + b; }
inline Expr operator-(double a, Expr b) { return b.number(a) - b; }
inline Expr operator*(double a, Expr b) { return b.number(a) * b; }
inline Expr operator/(double a, Expr b) { return b.number(a) / b; }

// Comparisons give pred expressions; NaN makes all but != false.
inline Expr operator<(Expr a, Expr b) { return {a.g, a.g->lt(a.s, b.s)}; }
inline Expr operator<=(Expr a, Expr b) { return {a.g, a.g->le(a.s, b.s)}; }
inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator<(Expr a, double b) { return a < a.number(b); }
inline Expr operator<=(Expr a, double b) { return a <= a.number(b); }
inline Expr operator>(Expr a, double b) { return a.number(b) < a; }
inline Expr operator>=(Expr a, double b) { return a.number(b) <= a; }
inline Expr equal(Expr a, Expr b) { return {a.g, a.g->eq(a.s, b.s)}; }
inline Expr equal(Expr a, double b) { return equal(a, a.number(b)); }
inline Expr is_nan(Expr a) { return {a.g, a.g->ne(a.s, a.s)}; }
inline Expr operator&&(Expr a, Expr b) { return {a.g, a.g->logical_and(a.s, b.s)}; }
inline Expr operator||(Expr a, Expr b) { return {a.g, a.g->logical_or(a.s, b.s)}; }
inline Expr equal_pred(Expr a, Expr b) {
  return {a.g, a.g->logical_not(a.g->make(Op::kXor, Dtype::kPred, a.s, b.s))};
}
inline Expr operator!(Expr a) { return {a.g, a.g->logical_not(a.s)}; }

inline Expr select(Expr p, Expr t, Expr f) { return {p.g, p.g->select(p.s, t.s, f.s)}; }
inline Expr select(Expr p, Expr t, double f) { return select(p, t, t.number(f)); }
inline Expr select(Expr p, double t, Expr f) { return select(p, f.number(t), f); }

inline Expr fma(Expr a, Expr b, Expr c) { return {a.g, a.g->fma(a.s, b.s, c.s)}; }
inline Expr fma(Expr a, double b, Expr c) { return fma(a, a.number(b), c); }
inline Expr fma(Expr a, Expr b, double c) { return fma(a, b, a.number(c)); }
inline Expr fma(Expr a, double b, double c) { return fma(a, a.number(b), a.number(c)); }
inline Expr abs(Expr a) { return a.make(Op::kAbs); }
inline Expr sqrt(Expr a) { return a.make(Op::kSqrt); }
inline Expr round_even(Expr a) { return a.make(Op::kRoundEven); }
inline Expr trunc(Expr a) { return a.make(Op::kTrunc); }
inline Expr floor(Expr a) { return a.make(Op::kFloor); }
inline Expr min(Expr a, Expr b) { return a.make(Op::kMin, b); }
inline Expr max(Expr a, Expr b) { return a.make(Op::kMax, b); }
inline Expr min(Expr a, double b) { return min(a, a.number(b)); }
inline Expr max(Expr a, double b) { return max(a, a.number(b)); }
inline Expr copysign(Expr a, Expr sign) { return a.make(Op::kCopySign, sign); }
// x·2^n: n an integer of x's width, or integral of x's type.
inline Expr ldexp(Expr x, Expr n) { return {x.g, x.g->make(Op::kLdexp, x.type(), x.s, n.s)}; }
inline Expr ldexp_near(Expr x, Expr n) { return {x.g, x.g->ldexp_near(x.s, n.s)}; }

// c[0] + c[1]·x + … by Horner's rule.
inline Expr polynomial(Expr x, std::initializer_list<double> c) {
  const double* p = c.end();
  Expr r = x.number(*--p);
  while (p != c.begin()) r = fma(r, x, *--p);
  return r;
}

}  // namespace braze::scalar
