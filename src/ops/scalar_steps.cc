// SPDX-License-Identifier: Apache-2.0
#include "ops/scalar_steps.h"

#include <bit>
#include <cmath>

#include "ir/float_format.h"

namespace braze {

double hlo_min(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double hlo_max(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

namespace {

double rounded(Dtype t, double v) {
  if (t == Dtype::kF32) return static_cast<float>(v);
  return t == Dtype::kF64 ? v : round_to(t, v);
}

using Step = ScalarFunction::Step;
using Direct = ScalarFunction::Direct;

// Floats: computed in double, which for these ops and all narrower types rounds as one rounding
// does.
template <typename F>
void float_op(const Step& s, Cell* c) {
  c[s.out].f = rounded(s.type, F()(c[s.a].f, c[s.b].f));
}
template <typename F>
void int_op(const Step& s, Cell* c) {
  c[s.out].i = wrap_to(s.type, F()(c[s.a].i, c[s.b].i));
}

struct Add {
  double operator()(double a, double b) const { return a + b; }
  int64_t operator()(int64_t a, int64_t b) const { return int64_t(uint64_t(a) + uint64_t(b)); }
};
struct Sub {
  double operator()(double a, double b) const { return a - b; }
  int64_t operator()(int64_t a, int64_t b) const { return int64_t(uint64_t(a) - uint64_t(b)); }
};
struct Mul {
  double operator()(double a, double b) const { return a * b; }
  int64_t operator()(int64_t a, int64_t b) const { return int64_t(uint64_t(a) * uint64_t(b)); }
};
struct Div {
  double operator()(double a, double b) const { return a / b; }
};
struct Min {
  double operator()(double a, double b) const { return hlo_min(a, b); }
  int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};
struct Max {
  double operator()(double a, double b) const { return hlo_max(a, b); }
  int64_t operator()(int64_t a, int64_t b) const { return a < b ? b : a; }
};
struct UMin {
  int64_t operator()(int64_t a, int64_t b) const { return uint64_t(a) < uint64_t(b) ? a : b; }
};
struct UMax {
  int64_t operator()(int64_t a, int64_t b) const { return uint64_t(a) < uint64_t(b) ? b : a; }
};
struct And { int64_t operator()(int64_t a, int64_t b) const { return a & b; } };
struct Or { int64_t operator()(int64_t a, int64_t b) const { return a | b; } };
struct Xor { int64_t operator()(int64_t a, int64_t b) const { return a ^ b; } };
// Of the first operand alone.
struct Neg {
  double operator()(double a, double) const { return -a; }
  int64_t operator()(int64_t a, int64_t) const { return int64_t(0 - uint64_t(a)); }
};
struct Abs {
  double operator()(double a, double) const { return std::fabs(a); }
  int64_t operator()(int64_t a, int64_t) const { return a < 0 ? int64_t(0 - uint64_t(a)) : a; }
};
struct Not { int64_t operator()(int64_t a, int64_t) const { return ~a; } };

void not_pred(const Step& s, Cell* c) { c[s.out].i = c[s.a].i == 0; }
void select(const Step& s, Cell* c) { c[s.out] = c[s.a].i ? c[s.b] : c[s.c]; }
void copy(const Step& s, Cell* c) { c[s.out] = c[s.a]; }
void float_to_float(const Step& s, Cell* c) { c[s.out].f = rounded(s.type, c[s.a].f); }
void int_to_int(const Step& s, Cell* c) { c[s.out].i = wrap_to(s.type, c[s.a].i); }
void int_to_float(const Step& s, Cell* c) { c[s.out].f = rounded(s.type, double(c[s.a].i)); }

template <typename T>
bool holds(CompareDirection d, T a, T b) {
  switch (d) {
    case CompareDirection::kEq: return a == b;
    case CompareDirection::kNe: return a != b;
    case CompareDirection::kGe: return a >= b;
    case CompareDirection::kGt: return a > b;
    case CompareDirection::kLe: return a <= b;
    case CompareDirection::kLt: return a < b;
  }
  return false;
}

template <CompareDirection D>
void compare_float(const Step& s, Cell* c) { c[s.out].i = holds(D, c[s.a].f, c[s.b].f); }
template <CompareDirection D>
void compare_int(const Step& s, Cell* c) { c[s.out].i = holds(D, c[s.a].i, c[s.b].i); }
template <CompareDirection D>
void compare_unsigned(const Step& s, Cell* c) {
  c[s.out].i = holds(D, uint64_t(c[s.a].i), uint64_t(c[s.b].i));
}
// -NaN < -inf < … < -0 < +0 < … < inf < NaN, by the bits.
template <CompareDirection D>
void compare_total(const Step& s, Cell* c) {
  auto key = [](double v) {
    const auto bits = std::bit_cast<int64_t>(v);
    return bits < 0 ? bits ^ INT64_MAX : bits;
  };
  c[s.out].i = holds(D, key(c[s.a].f), key(c[s.b].f));
}

enum class Kind { kFloat, kInt, kUnsigned, kTotal };

template <CompareDirection D>
Direct compare_of(Kind k) {
  switch (k) {
    case Kind::kFloat: return compare_float<D>;
    case Kind::kInt: return compare_int<D>;
    case Kind::kUnsigned: return compare_unsigned<D>;
    case Kind::kTotal: return compare_total<D>;
  }
  return nullptr;
}

Direct compare_step(const Instr& i, Dtype from) {
  const auto* a = std::get_if<CompareAttrs>(&i.attrs);
  if (!a || is_complex(from)) return nullptr;
  Kind k = Kind::kInt;
  if (is_float(from)) k = a->type == CompareType::kTotalOrder ? Kind::kTotal : Kind::kFloat;
  else if (is_unsigned_int(from) || is_pred(from)) k = Kind::kUnsigned;
  // The total order of narrow types with unsigned zeros or NaN at the sign bit is their row's
  // matter.
  if (k == Kind::kTotal && bit_size(from) < 16) return nullptr;
  switch (a->direction) {
    case CompareDirection::kEq: return compare_of<CompareDirection::kEq>(k);
    case CompareDirection::kNe: return compare_of<CompareDirection::kNe>(k);
    case CompareDirection::kGe: return compare_of<CompareDirection::kGe>(k);
    case CompareDirection::kGt: return compare_of<CompareDirection::kGt>(k);
    case CompareDirection::kLe: return compare_of<CompareDirection::kLe>(k);
    case CompareDirection::kLt: return compare_of<CompareDirection::kLt>(k);
  }
  return nullptr;
}

Direct convert_step(Dtype from, Dtype to) {
  if (from == to) return copy;
  if (is_float(from) && is_float(to)) return float_to_float;
  const bool whole = is_int(from) || is_pred(from);
  if (whole && (is_int(to) || is_pred(to))) return int_to_int;
  if (whole && is_float(to) && bit_size(from) <= 32) return int_to_float;
  return nullptr;
}

// Arithmetic is left to the rows for types below 16 bits, whose overflow differs from type to type.
Direct float_step(Op op) {
  switch (op) {
    case Op::kAdd: return float_op<Add>;
    case Op::kSubtract: return float_op<Sub>;
    case Op::kMultiply: return float_op<Mul>;
    case Op::kDivide: return float_op<Div>;
    case Op::kMinimum: return float_op<Min>;
    case Op::kMaximum: return float_op<Max>;
    case Op::kNegate: return float_op<Neg>;
    case Op::kAbs: return float_op<Abs>;
    default: return nullptr;
  }
}

Direct int_step(Op op, bool is_unsigned) {
  switch (op) {
    case Op::kAdd: return int_op<Add>;
    case Op::kSubtract: return int_op<Sub>;
    case Op::kMultiply: return int_op<Mul>;
    case Op::kMinimum: return is_unsigned ? int_op<UMin> : int_op<Min>;
    case Op::kMaximum: return is_unsigned ? int_op<UMax> : int_op<Max>;
    case Op::kAnd: return int_op<And>;
    case Op::kOr: return int_op<Or>;
    case Op::kXor: return int_op<Xor>;
    case Op::kNegate: return int_op<Neg>;
    case Op::kAbs: return is_unsigned ? nullptr : int_op<Abs>;
    case Op::kNot: return int_op<Not>;
    default: return nullptr;
  }
}

Direct pred_step(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kOr: case Op::kMaximum: return int_op<Or>;
    case Op::kMultiply: case Op::kAnd: case Op::kMinimum: return int_op<And>;
    case Op::kXor: return int_op<Xor>;
    case Op::kNot: return not_pred;
    default: return nullptr;
  }
}

}  // namespace

Direct direct_step(const Instr& i) {
  if (i.operands.empty()) return nullptr;
  const Dtype from = i.operands[0]->shape.dtype, to = i.shape.dtype;
  if (i.is(Op::kCompare)) return compare_step(i, from);
  if (i.is(Op::kSelect)) return select;
  if (i.is(Op::kConvert)) return convert_step(from, to);
  if (from != to) return nullptr;
  if (is_pred(to)) return pred_step(i.op);
  if (is_int(to)) return int_step(i.op, is_unsigned_int(to));
  if (is_float(to) && bit_size(to) >= 16) return float_step(i.op);
  return nullptr;
}

}  // namespace braze
