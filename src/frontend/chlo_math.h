// SPDX-License-Identifier: Apache-2.0
// Arithmetic on instructions as if they were numbers, and the special functions of CHLO built from it.
//
// Num is an instruction with the builder that adds to its computation; operators add elementwise
// instructions of its shape. The functions expect f32 or f64 (see chlo.cc for other types).
#pragma once

#include "ops/builder.h"

namespace braze::chlo {

struct Num {
  Builder* b;
  Instr* i;
  Num like(double v) const { return {b, b->splat(i->shape, v)}; }
  Num unary(Op op) const { return {b, b->unary(op, i)}; }
  bool is_f64() const { return i->shape.dtype == Dtype::kF64; }
};

inline Num binary(Op op, Num x, Num y) { return {x.b, x.b->binary(op, x.i, y.i)}; }
inline Num operator+(Num x, Num y) { return binary(Op::kAdd, x, y); }
inline Num operator-(Num x, Num y) { return binary(Op::kSubtract, x, y); }
inline Num operator*(Num x, Num y) { return binary(Op::kMultiply, x, y); }
inline Num operator/(Num x, Num y) { return binary(Op::kDivide, x, y); }
inline Num operator+(Num x, double y) { return x + x.like(y); }
inline Num operator-(Num x, double y) { return x - x.like(y); }
inline Num operator*(Num x, double y) { return x * x.like(y); }
inline Num operator/(Num x, double y) { return x / x.like(y); }
inline Num operator-(double x, Num y) { return y.like(x) - y; }
inline Num operator/(double x, Num y) { return y.like(x) / y; }
inline Num operator*(double x, Num y) { return y.like(x) * y; }
inline Num operator-(Num x) { return x.unary(Op::kNegate); }

// Predicates.
inline Num compare(CompareDirection d, Num x, Num y) { return {x.b, x.b->compare(d, x.i, y.i)}; }
inline Num operator<(Num x, Num y) { return compare(CompareDirection::kLt, x, y); }
inline Num operator<=(Num x, Num y) { return compare(CompareDirection::kLe, x, y); }
inline Num operator>(Num x, Num y) { return compare(CompareDirection::kGt, x, y); }
inline Num operator==(Num x, Num y) { return compare(CompareDirection::kEq, x, y); }
inline Num operator!=(Num x, Num y) { return compare(CompareDirection::kNe, x, y); }
inline Num operator<(Num x, double y) { return x < x.like(y); }
inline Num operator<=(Num x, double y) { return x <= x.like(y); }
inline Num operator>(Num x, double y) { return x > x.like(y); }
inline Num operator==(Num x, double y) { return x == x.like(y); }
inline Num both(Num x, Num y) { return binary(Op::kAnd, x, y); }
inline Num either(Num x, Num y) { return binary(Op::kOr, x, y); }
inline Num select(Num p, Num x, Num y) { return {p.b, p.b->select(p.i, x.i, y.i)}; }

inline Num abs(Num x) { return x.unary(Op::kAbs); }
inline Num cos(Num x) { return x.unary(Op::kCos); }
inline Num erf(Num x) { return x.unary(Op::kErf); }
inline Num exp(Num x) { return x.unary(Op::kExp); }
inline Num floor(Num x) { return x.unary(Op::kFloor); }
inline Num log(Num x) { return x.unary(Op::kLog); }
inline Num log1p(Num x) { return x.unary(Op::kLog1p); }
inline Num sign(Num x) { return x.unary(Op::kSign); }
inline Num sin(Num x) { return x.unary(Op::kSin); }
inline Num sqrt(Num x) { return x.unary(Op::kSqrt); }
inline Num max(Num x, double y) { return binary(Op::kMaximum, x, x.like(y)); }
inline Num min(Num x, double y) { return binary(Op::kMinimum, x, x.like(y)); }
inline Num pow(Num x, Num y) { return binary(Op::kPower, x, y); }

// Coefficients from the highest power down.
Num polynomial(Num x, absl::Span<const double> coefficients);

Num cosh(Num x);
Num sinh(Num x);
Num erfc(Num x);
Num erf_inv(Num x);
Num bessel_i1e(Num x);
Num lgamma(Num x);
Num digamma(Num x);
Num zeta(Num x, Num q);
Num polygamma(Num n, Num x);

}  // namespace braze::chlo
