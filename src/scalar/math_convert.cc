// SPDX-License-Identifier: Apache-2.0
// math.h: conversions. Casts themselves, with their single rounding, are built by Graph::make
// (cast.cc).
#include <algorithm>

#include "scalar/expr.h"
#include "scalar/float_format.h"
#include "scalar/math.h"

namespace braze::scalar::math {

Value convert(Graph& g, Dtype from, Dtype to, Args args) {
  const Value& x = args[0];
  if (is_complex(to)) {
    const Dtype part = real_of(to);
    return {g.cast(part, x.re), x.im ? g.cast(part, x.im) : g.constant(part, 0)};
  }
  if (is_pred(to) && is_complex(from)) {
    const Scalar zero = g.constant(real_of(from), 0);
    return {g.logical_or(g.ne(x.re, zero), g.ne(x.im, zero))};
  }
  return {g.cast(to, x.re)};
}

Value bitcast_convert(Graph& g, Dtype from, Dtype to, Args args) {
  if (from == to || is_complex(to) || is_complex(from)) return args[0];
  return {g.bitcast(to, args[0].re)};
}

// By the bits of t: the mantissa is rounded to nearest even, a carry running into the exponent;
// then exponents beyond the format's become what t has for infinity, and those below its normal
// range zero. NaNs stay, but without a mantissa there is only infinity.
Value reduce_precision(Graph& g, Dtype t, Args args, int64_t exponent_bits, int64_t mantissa_bits) {
  const FloatFormat f = format_of(t);
  const Dtype own = bit_size(t) == 64   ? Dtype::kU64
                    : bit_size(t) == 32 ? Dtype::kU32
                    : bit_size(t) == 16 ? Dtype::kU16
                                        : Dtype::kU8;
  const Expr bits =
      Expr{&g, g.bitcast(own, args[0].re)}.cast(own == Dtype::kU64 ? own : Dtype::kU32);
  const auto number = [&](uint64_t v) { return bits.integer(static_cast<int64_t>(v)); };
  const Expr sign = bits.make(Op::kAnd, number(f.all_ones() + 1));
  const Expr magnitude = bits.make(Op::kAnd, number(f.all_ones()));
  Expr r = magnitude;
  if (mantissa_bits < f.mantissa_bits) {
    const int64_t drop = f.mantissa_bits - mantissa_bits;
    const Expr odd = r.make(Op::kShrL, r.integer(drop)).make(Op::kAnd, r.integer(1));
    r = r + r.integer((int64_t{1} << (drop - 1)) - 1) + odd;
    r = r.make(Op::kAnd, r.integer(~((int64_t{1} << drop) - 1)));
  }
  uint64_t least = 0, greatest = f.max_finite();
  if (exponent_bits < f.exponent_bits) {
    const int64_t bias = (int64_t{1} << (std::max<int64_t>(exponent_bits, 1) - 1)) - 1;
    if (f.bias >= bias) least = static_cast<uint64_t>(f.bias - bias + 1) << f.mantissa_bits;
    greatest =
        std::min(greatest, (static_cast<uint64_t>(f.bias + bias + 1) << f.mantissa_bits) - 1);
  }
  const bool fnuz = f.extremes == Extremes::kFnuz;
  const uint64_t infinity = encode(t, __builtin_inf());
  const Expr beyond = fnuz ? number(infinity) : number(infinity).make(Op::kOr, sign);
  const Expr zero = fnuz ? number(0) : sign;
  r = select(number(greatest) < r, beyond, select(r < number(least), zero, r.make(Op::kOr, sign)));
  const Expr special = fnuz ? equal(bits, number(f.all_ones() + 1))
                            : number(f.max_finite()) < magnitude;
  const bool ieee = f.extremes == Extremes::kIeee;
  const Expr nan = ieee ? number(f.infinity()) < magnitude : special;
  const Expr kept = mantissa_bits > 0 ? bits : select(nan, number(infinity), bits);
  return {g.bitcast(t, g.cast(own, select(special, kept, r).s))};
}

}  // namespace braze::scalar::math
