// SPDX-License-Identifier: Apache-2.0
#include "scalar/fold.h"

#include <bit>
#include <cmath>
#include <limits>

#include "scalar/float_format.h"

namespace braze::scalar {
namespace {

bool wide_unsigned(Dtype t) { return t == Dtype::kU64; }

int64_t int_divide(Dtype t, int64_t x, int64_t y) {
  if (y == 0) return -1;
  if (wide_unsigned(t))
    return static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}

int64_t int_remainder(Dtype t, int64_t x, int64_t y) {
  if (y == 0) return x;
  if (wide_unsigned(t))
    return static_cast<int64_t>(static_cast<uint64_t>(x) % static_cast<uint64_t>(y));
  return y == -1 ? 0 : x % y;
}

bool int_less(Dtype t, int64_t x, int64_t y) {
  return wide_unsigned(t) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
}

int64_t shift(Op op, Dtype t, int64_t x, int64_t y) {
  const int bits = bit_size(t);
  const bool all = y < 0 || y >= bits;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t u = static_cast<uint64_t>(x) & mask;
  if (op == Op::kShl) return all ? 0 : static_cast<int64_t>(u << y);
  if (op == Op::kShrL) return all ? 0 : static_cast<int64_t>(u >> y);
  // Arithmetic: by the bits of the type, whatever its signedness.
  const int64_t extended = static_cast<int64_t>(u << (64 - bits)) >> (64 - bits);
  return extended >> (all ? 63 : y);
}

int64_t fold_int(Op op, Dtype t, int64_t x, int64_t y) {
  const uint64_t a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  const int bits = bit_size(t);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  switch (op) {
    case Op::kAdd: return static_cast<int64_t>(a + b);
    case Op::kSub: return static_cast<int64_t>(a - b);
    case Op::kMul: return static_cast<int64_t>(a * b);
    case Op::kDiv: return int_divide(t, x, y);
    case Op::kRem: return int_remainder(t, x, y);
    case Op::kMin: return int_less(t, y, x) ? y : x;
    case Op::kMax: return int_less(t, x, y) ? y : x;
    case Op::kAnd: return x & y;
    case Op::kOr: return x | y;
    case Op::kXor: return x ^ y;
    case Op::kNot: return is_pred(t) ? !x : ~x;
    case Op::kNeg: return static_cast<int64_t>(0 - a);
    case Op::kAbs: return x < 0 && !is_unsigned_int(t) ? static_cast<int64_t>(0 - a) : x;
    case Op::kShl: case Op::kShrA: case Op::kShrL: return shift(op, t, x, y);
    case Op::kMulHi:
      return wide_unsigned(t)
                 ? static_cast<int64_t>((static_cast<unsigned __int128>(a) * b) >> 64)
                 : static_cast<int64_t>((static_cast<__int128>(x) * y) >> bits);
    case Op::kPopcnt: return std::popcount(a & mask);
    case Op::kClz: return std::countl_zero(a & mask) - (64 - bits);
    default: return 0;
  }
}

template <typename F>
F fold_min_max(bool is_max, F x, F y) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == 0 && y == 0) return std::signbit(x) == is_max ? y : x;
  return is_max ? (x < y ? y : x) : (y < x ? y : x);
}

template <typename F>
F fold_float(Op op, F x, F y, F z) {
  switch (op) {
    case Op::kAdd: return x + y;
    case Op::kSub: return x - y;
    case Op::kMul: return x * y;
    case Op::kDiv: return x / y;
    case Op::kRem: return std::fmod(x, y);
    case Op::kMin: return fold_min_max(false, x, y);
    case Op::kMax: return fold_min_max(true, x, y);
    case Op::kNeg: return -x;
    case Op::kAbs: return std::fabs(x);
    case Op::kFma: return std::fma(x, y, z);
    case Op::kSqrt: return std::sqrt(x);
    case Op::kFloor: return std::floor(x);
    case Op::kCeil: return std::ceil(x);
    case Op::kRoundEven: return std::nearbyint(x);
    case Op::kTrunc: return std::trunc(x);
    case Op::kCopySign: return std::copysign(x, y);
    default: return std::numeric_limits<F>::quiet_NaN();
  }
}

template <typename F>
F fold_ldexp(F x, Dtype exponent_type, const Cell& e) {
  constexpr double kLimit = 5000;  // past every exponent range, denormals included
  if (is_float(exponent_type)) {
    if (std::isnan(e.f)) return std::numeric_limits<F>::quiet_NaN();
    return std::ldexp(x, static_cast<int>(std::fmin(std::fmax(e.f, -kLimit), kLimit)));
  }
  return std::ldexp(x, static_cast<int>(std::min<int64_t>(std::max<int64_t>(e.i, -5000), 5000)));
}

bool fold_compare(Op op, Dtype t, const Cell& x, const Cell& y) {
  if (is_float(t))
    return op == Op::kEq ? x.f == y.f : op == Op::kNe ? x.f != y.f : op == Op::kLt ? x.f < y.f
                                                                                  : x.f <= y.f;
  return op == Op::kEq   ? x.i == y.i
         : op == Op::kNe ? x.i != y.i
         : op == Op::kLt ? int_less(t, x.i, y.i)
                         : !int_less(t, y.i, x.i);
}

// To an integer type: truncated and saturated, NaN → 0.
int64_t float_to_int(Dtype t, double v) {
  if (std::isnan(v)) return 0;
  v = std::trunc(v);
  if (is_unsigned_int(t)) {
    if (v <= 0) return 0;
    if (v >= std::ldexp(1.0, bit_size(t))) return wrap(t, -1);
    return static_cast<int64_t>(static_cast<uint64_t>(v));
  }
  const Range r = type_range(t);
  const double bound = std::ldexp(1.0, bit_size(t) - 1);
  return v >= bound ? r.hi : v <= -bound ? r.lo : static_cast<int64_t>(v);
}

// Nearest f64 of an integer, or if `odd`, the inexact results rounded to odd, so that a second
// rounding to fewer bits is right.
double int_to_double(Dtype t, int64_t v, bool odd) {
  const bool negative = v < 0 && !wide_unsigned(t);
  uint64_t u = negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  if (odd && (u >> 53) != 0 && (u & 2047) != 0) u = (u & ~uint64_t{2047}) | 2048;
  const double d = static_cast<double>(u);
  return negative ? -d : d;
}

Cell fold_cast(Dtype t, Dtype from, const Cell& x) {
  Cell r;
  if (is_float(t)) {
    if (is_float(from))
      r.f = round_to(t, x.f);
    else if (t == Dtype::kF32)
      r.f = wide_unsigned(from) ? static_cast<float>(static_cast<uint64_t>(x.i))
                                : static_cast<float>(x.i);
    else
      r.f = t == Dtype::kF64 ? int_to_double(from, x.i, false)
                             : round_to(t, int_to_double(from, x.i, true));
  } else if (is_float(from)) {
    r.i = is_pred(t) ? x.f != 0 : float_to_int(t, x.f);
  } else {
    r.i = wrap(t, x.i);
  }
  return r;
}

Cell fold_bitcast(Dtype t, Dtype from, const Cell& x) {
  const uint64_t bits = is_float(from) ? encode(from, x.f) : static_cast<uint64_t>(x.i);
  Cell r;
  if (is_float(t))
    r.f = decode(t, bits);
  else
    r.i = wrap(t, static_cast<int64_t>(bits));
  return r;
}

}  // namespace

int64_t wrap(Dtype t, int64_t v) {
  if (is_pred(t)) return v != 0;
  const int shift = 64 - bit_size(t);
  if (shift <= 0) return v;
  const uint64_t up = static_cast<uint64_t>(v) << shift;
  return is_unsigned_int(t) ? static_cast<int64_t>(up >> shift) : static_cast<int64_t>(up) >> shift;
}

Range type_range(Dtype t) {
  if (is_pred(t)) return {0, 1};
  const int bits = bit_size(t);
  if (t == Dtype::kU64) return {0, std::numeric_limits<int64_t>::max()};
  if (is_unsigned_int(t)) return {0, (int64_t{1} << bits) - 1};
  if (bits == 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

Scalar constant(Graph& g, Dtype t, const Cell& c) {
  return is_float(t) ? g.constant(t, c.f) : g.constant_int(t, c.i);
}

Cell fold(Op op, Dtype t, const Dtype types[3], const Cell args[3]) {
  Cell r;
  switch (op) {
    case Op::kSelect:
      return args[0].i ? args[1] : args[2];
    case Op::kCast:
      return fold_cast(t, types[0], args[0]);
    case Op::kBitcast:
      return fold_bitcast(t, types[0], args[0]);
    case Op::kEq: case Op::kNe: case Op::kLt: case Op::kLe:
      r.i = fold_compare(op, types[0], args[0], args[1]);
      return r;
    default:
      break;
  }
  if (t == Dtype::kF64) {
    r.f = op == Op::kLdexp ? fold_ldexp(args[0].f, types[1], args[1])
                           : fold_float(op, args[0].f, args[1].f, args[2].f);
  } else if (is_float(t)) {
    const float x = static_cast<float>(args[0].f), y = static_cast<float>(args[1].f);
    r.f = round_to(t, op == Op::kLdexp ? fold_ldexp(x, types[1], args[1])
                                       : fold_float(op, x, y, static_cast<float>(args[2].f)));
  } else {
    r.i = wrap(t, fold_int(op, t, args[0].i, args[1].i));
  }
  return r;
}

}  // namespace braze::scalar
