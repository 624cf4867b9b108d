// SPDX-License-Identifier: Apache-2.0
// math.h: arithmetic, comparison and choice. pred adds as or and multiplies as and.
#include "scalar/complex_math.h"
#include "scalar/expr.h"
#include "scalar/float_format.h"
#include "scalar/math.h"

namespace braze::scalar::math {
namespace {

// One operation on the parts; complex operands part by part.
Value parts(Graph& g, Op op, Args args) {
  const auto one = [&](Scalar a, Scalar b) { return g.make(op, g.type(a), a, b); };
  const Value& x = args[0];
  const Value y = args.size() > 1 ? args[1] : Value{};
  return {one(x.re, y.re), x.im ? one(x.im, y.im) : Scalar{}};
}

Op or_pred(Dtype t, Op op, Op for_pred) { return is_pred(t) ? for_pred : op; }

// The order of all values, NaNs included, as integers. The NaN of fnuz types lies where -0 would.
Scalar total_order_key(Graph& g, Dtype t, Scalar x) {
  if (t == Dtype::kF8E8M0FNU) return g.cast(Dtype::kS32, g.bitcast(Dtype::kU8, x));
  if (bit_size(t) < 8) {
    x = g.cast(Dtype::kF32, x);
    t = Dtype::kF32;
  }
  const Dtype bits_type = bit_size(t) == 8    ? Dtype::kS8
                          : bit_size(t) == 16 ? Dtype::kS16
                          : bit_size(t) == 32 ? Dtype::kS32
                                              : Dtype::kS64;
  const Expr b{&g, g.bitcast(bits_type, x)};
  // Negative numbers: larger magnitude, lower place.
  const Expr sign = b.make(Op::kShrA, b.integer(bit_size(t) - 1));
  const Expr magnitude =
      sign.make(Op::kAnd, b.integer(int64_t(~uint64_t{0} >> (65 - bit_size(t)))));
  return b.make(Op::kXor, magnitude).s;
}

// fmod, exact: with the quotient q rounded to an integer, x - q·y is a number of the type and q at most one too large.
// Quotients so large that q itself is rounded, infinite numbers and NaNs take the long way.
Scalar float_remainder(Graph& g, Dtype t, Scalar x, Scalar y) {
  const Dtype w = working_type(t);
  x = g.cast(w, x), y = g.cast(w, y);
  const Expr number{&g, x}, a = abs(number), b = abs(Expr{&g, y});
  const Expr q = floor(a / b);
  const Expr rest = fma(-q, b, a);
  const Expr near = select(a < b, a, select(rest < 0, rest + b, rest));
  const double limit = w == Dtype::kF64 ? 0x1p51 : 0x1p22;
  const Scalar far = (!(q < limit)).s;
  return g.cast(t, g.select_rare(far, g.make(Op::kRem, w, x, y), copysign(near, number).s));
}

enum Direction { kEqual, kNotEqual, kGreaterEqual, kGreater, kLessEqual, kLess };

Scalar compare_scalars(Graph& g, int direction, Scalar a, Scalar b) {
  switch (direction) {
    case kEqual: return g.eq(a, b);
    case kNotEqual: return g.ne(a, b);
    case kGreaterEqual: return g.le(b, a);
    case kGreater: return g.lt(b, a);
    case kLessEqual: return g.le(a, b);
    default: return g.lt(a, b);
  }
}

}  // namespace

Dtype working_type(Dtype t) { return is_narrow_float(t) ? Dtype::kF32 : t; }
Scalar rounded(Graph& g, Dtype t, Scalar x) { return g.cast(t, x); }

Value add(Graph& g, Dtype t, Args args) { return parts(g, or_pred(t, Op::kAdd, Op::kOr), args); }
Value subtract(Graph& g, Dtype t, Args args) {
  return parts(g, or_pred(t, Op::kSub, Op::kXor), args);
}
Value multiply(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::multiply(g, args[0], args[1]);
  return parts(g, or_pred(t, Op::kMul, Op::kAnd), args);
}
Value divide(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::divide(g, args[0], args[1]);
  return parts(g, Op::kDiv, args);
}
Value remainder(Graph& g, Dtype t, Args args) {
  if (is_float(t)) return {float_remainder(g, t, args[0].re, args[1].re), Scalar{}};
  return parts(g, Op::kRem, args);
}
Value maximum(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::minimum(g, args[0], args[1], true);
  return parts(g, or_pred(t, Op::kMax, Op::kOr), args);
}
Value minimum(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::minimum(g, args[0], args[1], false);
  return parts(g, or_pred(t, Op::kMin, Op::kAnd), args);
}
Value mulhi(Graph& g, Dtype, Args args) { return parts(g, Op::kMulHi, args); }
Value and_(Graph& g, Dtype, Args args) { return parts(g, Op::kAnd, args); }
Value or_(Graph& g, Dtype, Args args) { return parts(g, Op::kOr, args); }
Value xor_(Graph& g, Dtype, Args args) { return parts(g, Op::kXor, args); }
Value shift_left(Graph& g, Dtype, Args args) { return parts(g, Op::kShl, args); }
Value shift_right_a(Graph& g, Dtype, Args args) { return parts(g, Op::kShrA, args); }
Value shift_right_l(Graph& g, Dtype, Args args) { return parts(g, Op::kShrL, args); }

Value negate(Graph& g, Dtype t, Args args) {
  return is_pred(t) ? args[0] : parts(g, Op::kNeg, args);
}
Value not_(Graph& g, Dtype, Args args) { return parts(g, Op::kNot, args); }
Value popcnt(Graph& g, Dtype, Args args) { return parts(g, Op::kPopcnt, args); }
Value clz(Graph& g, Dtype, Args args) { return parts(g, Op::kClz, args); }
Value ceil(Graph& g, Dtype, Args args) { return parts(g, Op::kCeil, args); }
Value floor(Graph& g, Dtype, Args args) { return parts(g, Op::kFloor, args); }
Value round_even(Graph& g, Dtype, Args args) { return parts(g, Op::kRoundEven, args); }

Value abs(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::abs(g, args[0]);
  return is_pred(t) ? args[0] : parts(g, Op::kAbs, args);
}

Value round_afz(Graph& g, Dtype t, Args args) {
  const Expr x{&g, g.cast(working_type(t), args[0].re)};
  // The largest number below a half: half itself would carry odd integers and 0.49999997 up.
  const Expr r = trunc(scalar::abs(x) + (x.f32() ? 0x1.fffffep-2 : 0x1.fffffffffffffp-2));
  return {rounded(g, t, copysign(r, x).s)};
}

Value sign(Graph& g, Dtype t, Args args) {
  if (is_complex(t)) return complex_math::sign(g, args[0]);
  if (is_pred(t)) return args[0];
  const Expr x{&g, g.cast(working_type(t), args[0].re)};
  if (is_float(t)) {  // NaN and zeros are their own signs
    const Expr r = select(x.number(0) < scalar::abs(x), copysign(x.number(1), x), x);
    return {rounded(g, t, r.s)};
  }
  const Expr zero = x.integer(0);
  const Expr positive = select(zero < x, x.integer(1), zero);
  return {is_unsigned_int(t) ? positive.s : select(x < zero, x.integer(-1), positive).s};
}

Value is_finite(Graph& g, Dtype t, Args args) {
  const auto one = [&](Scalar s) {
    if (!is_float(g.type(s))) return g.constant_int(Dtype::kPred, 1);
    const Expr x{&g, g.cast(working_type(g.type(s)), s)};
    return (scalar::abs(x) < __builtin_inf()).s;
  };
  (void)t;
  return {args[0].im ? g.logical_and(one(args[0].re), one(args[0].im)) : one(args[0].re)};
}

Value real(Graph&, Dtype, Args args) { return {args[0].re}; }
Value imag(Graph& g, Dtype t, Args args) {
  return {args[0].im ? args[0].im : g.constant(t, 0)};
}
Value complex(Graph&, Dtype, Args args) { return {args[0].re, args[1].re}; }

Value select(Graph& g, Dtype, Args args) {
  const Scalar p = args[0].re;
  return {g.select(p, args[1].re, args[2].re),
          args[1].im ? g.select(p, args[1].im, args[2].im) : Scalar{}};
}

Value clamp(Graph& g, Dtype t, Args args) {
  const Value low[] = {args[1], args[0]};
  const Value both[] = {maximum(g, t, low), args[2]};
  return minimum(g, t, both);
}

Value compare(Graph& g, Dtype t, Args args, int direction, bool total_order) {
  const Value &a = args[0], &b = args[1];
  if (is_complex(t)) {
    const Scalar both = g.logical_and(g.eq(a.re, b.re), g.eq(a.im, b.im));
    return {direction == kNotEqual ? g.logical_not(both) : both};
  }
  if (total_order && is_float(t))
    return {
        compare_scalars(g, direction, total_order_key(g, t, a.re), total_order_key(g, t, b.re))};
  return {compare_scalars(g, direction, a.re, b.re)};
}

}  // namespace braze::scalar::math
