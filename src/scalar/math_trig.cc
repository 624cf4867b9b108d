// SPDX-License-Identifier: Apache-2.0
// Sine, cosine and tangent. x = k·π/2 + r, |r| ≤ π/4 (a little over), r as a sum high + low.
//
// Small arguments subtract k times π/2 in three parts. Large ones multiply by those bits of 2/π
// that matter for their exponent, modulo 4 (Payne and Hanek); that path is a rarely taken branch.
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

struct Reduced {
  Expr quadrant;  // an integer of x's width; its last two bits matter
  Expr high, low;
};

double near_limit(Expr x) { return x.f32() ? 1e5 : 0x1p30; }

// The bits of t: those of an integer, if t = 1.5·2^(mantissa bits) + that integer.
double aligner(Expr x) { return x.f32() ? 0x1.8p23 : 0x1.8p52; }

Reduced reduce_near(Expr x) {
  const bool f32 = x.f32();
  const Expr aligned = fma(x, 0x1.45f306dc9c883p-1, aligner(x));
  const Expr k = aligned - aligner(x);
  const Expr a = fma(k, f32 ? -0x1.921fb6p+0 : -0x1.921fb54442d18p+0, x);  // exact
  const double second = f32 ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54;
  const double third = f32 ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110;
  const Expr p = k * second;
  const Expr rest = fma(k, third, fma(k, second, -p));  // beyond p
  // a - p, and what its rounding lost: exact, as a is a multiple of p's last place (of 2^-24, 2^-53) even where it
  // is the smaller one.
  const Expr high = a - p;
  const Expr lost = (a - high) - p;
  return {aligned.bits(), high, lost - rest};
}

// f32, |x| ≥ 1e5, in f64. 2/π in pieces of 24 bits; pieces whose product with x is a multiple of 4
// are passed over, and five follow. A product of 24-bit numbers is exact.
Reduced reduce_far_f32(Expr x) {
  constexpr double kPieces[] = {0x1.45f306p-1, 0x1.b93910p-26, 0x1.529fc0p-52,
                                0x1.3abe88p-75, 0x1.ea69bap-97, 0x1.81b6c4p-121,
                                0x1.2b3278p-145, 0x1.0e4104p-170, 0x1.fca2c6p-193};
  constexpr double kStarts[] = {0x1p49, 0x1p73, 0x1p97, 0x1p121};
  const Expr v = x.cast(Dtype::kF64), a = abs(v);
  const auto product = [&](int i) {
    Expr piece = v.number(kPieces[i]);
    for (int skip = 0; skip < 4; ++skip)
      piece = select(a >= kStarts[skip], v.number(kPieces[i + skip + 1]), piece);
    return v * piece;
  };
  const auto modulo_four = [](Expr p) { return p - 4 * round_even(p * 0.25); };
  const Expr top = modulo_four(product(0)) + modulo_four(product(1));  // exact
  const Expr third = product(2);
  const Expr k0 = round_even(top), k1 = round_even(third);
  const Expr f = top - k0, h = third - k1;
  const Expr sum = f + h;
  const Expr b = sum - f;
  const Expr lost = (f - (sum - b)) + (h - b);
  const Expr k2 = round_even(sum);
  const Expr turns = (sum - k2) + (lost + (product(3) + product(4)));
  const Expr angle = turns * 0x1.921fb54442d18p+0;
  const Expr high = angle.cast(Dtype::kF32);
  return {(k0 + k1 + k2).cast(Dtype::kS32), high,
          (angle - high.cast(Dtype::kF64)).cast(Dtype::kF32)};
}

// 2/π · 2^64: 64 zero bits, then its bits.
constexpr uint64_t kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d, 0xa9e391615ee61b08, 0x6599855f14a06840};

// f64, |x| ≥ 2^30, in integers: the mantissa times a window of 192 bits of 2/π whose first bit
// weighs 2, modulo 2^192, that is modulo 4.
Reduced reduce_far_f64(Expr x) {
  const Dtype u = Dtype::kU64;
  const Expr bits = x.bitcast(u);
  const auto number = [&](uint64_t v) { return bits.integer(static_cast<int64_t>(v)); };
  const auto shr = [&](Expr a, Expr by) { return a.make(Op::kShrL, by); };
  const auto shl = [&](Expr a, Expr by) { return a.make(Op::kShl, by); };
  const Expr mantissa =
      bits.make(Op::kAnd, number((uint64_t{1} << 52) - 1)) + number(uint64_t{1} << 52);
  const Expr exponent = shr(bits, number(52)).make(Op::kAnd, number(2047));
  // Bit i of 2/π, from 1, times the mantissa's last place weighs 2^(exponent - 1075 - i): the
  // window starts at i = exponent - 1076, in a table that starts 65 bits early.
  const Expr start = exponent - number(1076 - 63);
  const Expr word = shr(start, number(6)), by = start.make(Op::kAnd, number(63));
  Expr w[4] = {number(0), number(0), number(0), number(0)};
  for (int i = 0; i < 4; ++i) {
    w[i] = number(kTwoOverPi[i]);
    for (int k = 1; k + 4 <= 23 && k <= 18; ++k)
      w[i] = select(word < number(k), w[i], number(kTwoOverPi[i + k]));
  }
  const auto window = [&](int i) {
    const Expr next = shr(shr(w[i + 1], number(1)), number(63) - by);
    return shl(w[i], by).make(Op::kOr, next);
  };
  const Expr w0 = window(0), w1 = window(1), w2 = window(2);
  const auto high_product = [&](Expr a) { return mantissa.make(Op::kMulHi, a); };
  const Expr part = mantissa * w1;
  const Expr low = part + high_product(w2);
  const Expr carry = select(low < part, number(1), number(0));
  const Expr top = mantissa * w0 + high_product(w1) + carry;
  // top: 2 bits of k, then the fraction. Rounded, the fraction is signed.
  const Expr k = shr(top + number(uint64_t{1} << 61), number(62));
  const Expr rest = (top - shl(k, number(62))).cast(Dtype::kS64);
  const Expr turns = rest.cast(Dtype::kF64);
  const Expr beyond = (rest - turns.cast(Dtype::kS64)).cast(Dtype::kF64);
  const Expr t = turns * 0x1p-62;
  const Expr t_low = fma(low.cast(Dtype::kF64), 0x1p-126, beyond * 0x1p-62);
  // Times π/2, with the sign of x.
  const Expr sum = t + t_low, sum_low = t_low - (sum - t);
  const Expr high = sum * 0x1.921fb54442d18p+0;
  const Expr error = fma(sum, 0x1.921fb54442d18p+0, -high);
  const Expr rest_low = fma(sum, 0x1.1a62633145c07p-54, fma(sum_low, 0x1.921fb54442d18p+0, error));
  const Expr negative = x < 0.0;
  const Expr q = k.cast(Dtype::kS64);
  return {select(negative, -q, q), select(negative, -high, high),
          select(negative, -rest_low, rest_low)};
}

Reduced reduce_far(Expr x) { return x.f32() ? reduce_far_f32(x) : reduce_far_f64(x); }

// Sine and cosine of high + low.
SinCos polynomials(Expr high, Expr low) {
  const Expr z = high * high, half = z * 0.5;
  const Expr s =
      high.f32()  // in pairs: half as long to wait for
          ? fma(z * z, polynomial(z, {-0x1.a00f8ap-13, 0x1.6cd362p-19}),
                polynomial(z, {-0x1.555556p-3, 0x1.111108p-7}))
          : polynomial(z, {-0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018a7cp-13,
                           0x1.71de3a5330d4bp-19, -0x1.ae64528cd55d3p-26, 0x1.61208b48f48f2p-33,
                           -0x1.aaa188198442ap-41});
  const Expr c = high.f32() ? polynomial(z, {0x1.55554ap-5, -0x1.6c0c78p-10, 0x1.99fc34p-16})
                            : polynomial(z, {0x1.555555555554bp-5, -0x1.6c16c16c150fbp-10,
                                             0x1.a01a019ca46d7p-16, -0x1.27e4f7ffea7c9p-22,
                                             0x1.1ee9e4d6bb356p-29, -0x1.8faad2cd6c9a3p-37});
  const Expr sin = high + fma(high * z, s, fma(-half, low, low));
  const Expr near = 1 - half;
  const Expr cos = near + (((1 - near) - half) + fma(z * z, c, -(high * low)));
  return {sin, cos};
}

// The value of quadrant q, where the first has `even` and the second `odd`: sign by bit 1 of q.
Expr in_quadrant(Expr q, Expr even, Expr odd) {
  const Expr is_odd = equal(q.make(Op::kAnd, q.integer(1)), q.integer(1));
  const Expr v = select(is_odd, odd, even);
  const int top = bit_size(q.type()) - 1;
  const Expr sign = q.make(Op::kShrL, q.integer(1)).make(Op::kShl, q.integer(top));
  return v.bits().make(Op::kXor, sign).bitcast(v.type());
}

Expr sin_of(const Reduced& r) {
  const SinCos p = polynomials(r.high, r.low);
  return in_quadrant(r.quadrant, p.sin, p.cos);
}

Expr cos_of(const Reduced& r) {
  const SinCos p = polynomials(r.high, r.low);
  return in_quadrant(r.quadrant + r.quadrant.integer(1), p.sin, p.cos);
}

Expr tan_of(const Reduced& r) {
  const SinCos p = polynomials(r.high, r.low);
  const Expr odd = equal(r.quadrant.make(Op::kAnd, r.quadrant.integer(1)), r.quadrant.integer(1));
  return select(odd, -p.cos, p.sin) / select(odd, p.sin, p.cos);
}

// f of x reduced one way or the other; infinities become NaN on the far way.
Expr by_range(Expr x, Expr (*f)(const Reduced&)) {
  const Expr far = f(reduce_far(x)) + (x - x);
  const Expr is_far = abs(x) > near_limit(x);
  return {x.g, x.g->select_rare(is_far.s, far.s, f(reduce_near(x)).s)};
}

}  // namespace

Expr sin(Expr x) { return select(equal(x, 0), x, by_range(x, sin_of)); }
Expr cos(Expr x) { return by_range(x, cos_of); }
Expr tan(Expr x) { return select(equal(x, 0), x, by_range(x, tan_of)); }
SinCos sin_cos(Expr x) { return {sin(x), cos(x)}; }

}  // namespace braze::scalar::real
