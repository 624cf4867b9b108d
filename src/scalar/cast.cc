// SPDX-License-Identifier: Apache-2.0
// Casts built from integer operations: floats of 8 bits and less, and pairs whose obvious chain
// would round twice. An intermediate is rounded to odd where a second rounding follows: then that
// one is right.
#include "scalar/cast.h"

#include <cmath>

#include "scalar/float_format.h"
#include "scalar/fold.h"

namespace braze::scalar {
namespace {

constexpr Dtype kBits = Dtype::kU32;
constexpr uint32_t kInfinity32 = 0x7f800000;

bool is_half(Dtype t) { return t == Dtype::kF16 || t == Dtype::kBF16; }
bool is_tiny(Dtype t) { return is_narrow_float(t) && !is_half(t); }

struct Bits {
  Graph& g;
  Scalar c(int64_t v) { return g.constant_int(kBits, v); }
  Scalar and_(Scalar a, int64_t m) { return g.make(Op::kAnd, kBits, a, c(m)); }
  Scalar or_(Scalar a, Scalar b) { return g.make(Op::kOr, kBits, a, b); }
  Scalar shl(Scalar a, int by) { return g.make(Op::kShl, kBits, a, c(by)); }
  Scalar shr(Scalar a, int by) { return g.make(Op::kShrL, kBits, a, c(by)); }
  Scalar add(Scalar a, int64_t v) { return g.add(a, c(v)); }
};

// f64 → f32, inexact results rounded to odd.
Scalar round_to_odd(Graph& g, Scalar x) {
  const Scalar near = g.cast(Dtype::kF32, x);
  const Scalar back = g.cast(Dtype::kF64, near);
  const Scalar bits = g.bitcast(kBits, near);
  const auto magnitude = [&](Scalar s) { return g.make(Op::kAbs, Dtype::kF64, s); };
  const Scalar one = g.constant_int(kBits, 1);
  const Scalar even = g.eq(g.make(Op::kAnd, kBits, bits, one), g.constant_int(kBits, 0));
  // The neighbour of an even code towards x is odd and the other candidate. NaNs compare as equal.
  const Scalar up = g.lt(magnitude(back), magnitude(x));
  const Scalar down = g.lt(magnitude(x), magnitude(back));
  const Scalar other = g.select(up, g.add(bits, one), g.sub(bits, one));
  const Scalar move = g.logical_and(even, g.logical_or(up, down));
  return g.bitcast(Dtype::kF32, g.select(move, other, bits));
}

// Codes of f8 and smaller floats (u32) → f32.
Scalar decode_tiny(Graph& g, const FloatFormat& f, Scalar code) {
  Bits b{g};
  if (f.extremes == Extremes::kPowers) {
    const Scalar normal = g.select(g.eq(code, b.c(0)), b.c(0x400000), b.shl(code, 23));
    return g.bitcast(Dtype::kF32, g.select(g.eq(code, b.c(f.all_ones())), b.c(0x7fc00000), normal));
  }
  const int m = f.mantissa_bits;
  const Scalar magnitude = b.and_(code, f.all_ones());
  const Scalar sign = b.shl(b.and_(code, f.all_ones() + 1), 31 - f.exponent_bits - m);
  const Scalar normal = b.add(b.shl(magnitude, 23 - m), int64_t{127 - f.bias} << 23);
  const Scalar quantum = g.constant(Dtype::kF32, std::ldexp(1.0, 1 - f.bias - m));
  // Few bits: the signed cast is the cheap one.
  const Scalar count = g.cast(Dtype::kF32, g.cast(Dtype::kS32, magnitude));
  const Scalar denormal = g.bitcast(kBits, g.mul(count, quantum));
  Scalar r = g.select(g.lt(magnitude, b.c(int64_t{1} << m)), denormal, normal);
  if (f.extremes == Extremes::kIeee)
    r = g.select(g.le(b.c(f.infinity()), magnitude),
                 b.or_(b.c(kInfinity32), b.shl(magnitude, 23 - m)), r);
  if (f.extremes == Extremes::kFn)
    r = g.select(g.eq(magnitude, b.c(f.all_ones())), b.c(0x7fc00000), r);
  r = b.or_(r, sign);
  if (f.extremes == Extremes::kFnuz)
    r = g.select(g.eq(code, b.c(f.all_ones() + 1)), b.c(0x7fc00000), r);
  return g.bitcast(Dtype::kF32, r);
}

Scalar encode_power(Graph& g, const FloatFormat& f, Scalar x) {
  Bits b{g};
  const Scalar a = g.bitcast(kBits, x);
  const Scalar denormal = b.shr(b.add(a, 0x200000), 23);
  const Scalar normal = b.shr(b.add(a, 0x400000), 23);
  const Scalar r = g.select(g.lt(a, b.c(0x800000)), denormal, normal);
  // Negative values and zeros are NaN; so is what rounds past the largest power.
  const Scalar positive = g.lt(g.constant(Dtype::kF32, 0), x);
  return g.select(positive, g.min(r, b.c(f.all_ones())), b.c(f.all_ones()));
}

// f32 → codes of f8 and smaller floats (u32).
Scalar encode_tiny(Graph& g, const FloatFormat& f, Scalar x) {
  if (f.extremes == Extremes::kPowers) return encode_power(g, f, x);
  Bits b{g};
  const int m = f.mantissa_bits, drop = 23 - m;
  const Scalar bits = g.bitcast(kBits, x);
  const Scalar a = b.and_(bits, 0x7fffffff);
  // Normal results: round half to even on the bits dropped; a carry moves into the exponent.
  const Scalar odd = b.and_(b.shr(a, drop), 1);
  const Scalar rounded = b.shr(g.add(b.add(a, (int64_t{1} << (drop - 1)) - 1), odd), drop);
  const Scalar normal = b.add(rounded, -(int64_t{127 - f.bias} << m));
  // Denormal results: adding a constant whose last bit is the quantum rounds to it.
  const Scalar aligner = g.constant(Dtype::kF32, std::ldexp(1.0, 24 - f.bias - m));
  const Scalar sum = g.add(g.make(Op::kAbs, Dtype::kF32, x), aligner);
  const Scalar denormal = g.sub(g.bitcast(kBits, sum), g.bitcast(kBits, aligner));
  const Scalar least = b.c(int64_t{128 - f.bias} << 23);
  Scalar r = g.select(g.lt(a, least), denormal, normal);
  const Scalar sign = b.shl(b.shr(bits, 31), f.exponent_bits + m);
  const Scalar nan = g.lt(b.c(kInfinity32), a);
  switch (f.extremes) {
    case Extremes::kFinite:
      // Everything past the largest value is it. NaN gives a zero of the opposite sign.
      r = b.or_(g.min(r, b.c(f.max_finite())), sign);
      return g.select(nan, g.make(Op::kXor, kBits, sign, b.c(f.all_ones() + 1)), r);
    case Extremes::kFn:
      return b.or_(g.select(nan, b.c(f.all_ones()), g.min(r, b.c(f.all_ones()))), sign);
    case Extremes::kFnuz: {
      const Scalar signed_r = b.or_(r, g.select(g.eq(r, b.c(0)), b.c(0), sign));
      const Scalar out = g.lt(b.c(f.all_ones()), r);
      return g.select(g.logical_or(nan, out), b.c(f.all_ones() + 1), signed_r);
    }
    default:
      r = g.min(r, b.c(f.infinity()));
      return b.or_(g.select(nan, b.c(f.infinity() | (uint64_t{1} << (m - 1))), r), sign);
  }
}

// Integers of 64 bits → f64, inexact results rounded to odd.
Scalar int_to_odd_double(Graph& g, Scalar a) {
  const Dtype t = g.type(a);
  if (bit_size(t) < 64) return g.cast(Dtype::kF64, a);
  const auto c = [&](int64_t v) { return g.constant_int(t, v); };
  const Scalar low = g.make(Op::kAnd, t, a, c(2047));
  const Scalar sticky = g.make(Op::kOr, t, g.make(Op::kAnd, t, a, c(~int64_t{2047})), c(2048));
  // Large magnitudes only: small ones are exact.
  const Scalar magnitude = is_signed_int(t) ? g.make(Op::kAbs, t, a) : a;
  const Scalar large = g.ne(g.make(Op::kShrL, t, magnitude, c(53)), c(0));
  const Scalar inexact = g.logical_and(large, g.ne(low, c(0)));
  return g.cast(Dtype::kF64, g.select(inexact, sticky, a));
}

Scalar to_tiny(Graph& g, Dtype to, Scalar f32) {
  return g.bitcast(to, g.cast(Dtype::kU8, encode_tiny(g, format_of(to), f32)));
}

}  // namespace

bool is_native_cast(Dtype to, Dtype from) {
  if (is_pred(to)) return false;
  if (!is_float(to) && !is_float(from)) return true;
  if (!is_float(to)) return is_arithmetic_float(from);
  if (!is_float(from)) return is_arithmetic_float(to);
  if (is_half(to)) return from == Dtype::kF32;
  if (is_half(from)) return to == Dtype::kF32;
  return is_arithmetic_float(to) && is_arithmetic_float(from);
}

Scalar build_cast(Graph& g, Dtype to, Scalar a) {
  const Dtype from = g.type(a);
  if (is_pred(to)) return g.ne(a, g.constant_int(from, 0));
  if (is_tiny(from)) {
    const Scalar code = g.cast(kBits, g.bitcast(Dtype::kU8, a));
    return g.cast(to, decode_tiny(g, format_of(from), code));
  }
  if (is_half(from)) return g.cast(to, g.cast(Dtype::kF32, a));
  // From here on `to` is narrower than f32.
  if (!is_float(from)) {
    if (bit_size(from) <= 24) return g.cast(to, g.cast(Dtype::kF32, a));
    return g.cast(to, int_to_odd_double(g, a));
  }
  const Scalar f32 = from == Dtype::kF64 ? round_to_odd(g, a) : a;
  return is_tiny(to) ? to_tiny(g, to, f32) : g.cast(to, f32);
}

}  // namespace braze::scalar
