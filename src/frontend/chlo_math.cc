// SPDX-License-Identifier: Apache-2.0
// Series: erf_inv by M. Giles (f32) and P. Acklam refined by Newton steps (f64); lgamma and digamma by
// the Lanczos sum with g = 7; bessel_i1e by Chebyshev sums (Cephes). 16-bit floats go through f32.
#include "frontend/chlo_math.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace braze {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

// Arithmetic on one shape, spelled shortly.
struct Math {
  Builder& b;
  Instr* like;
  Instr* c(double v) { return b.splat(like->shape, v); }
  Instr* f(Op o, Instr* a) { return b.unary(o, a); }
  Instr* lt(Instr* x, Instr* y) { return b.compare(CompareDirection::kLt, x, y); }
  Instr* gt(Instr* x, Instr* y) { return b.compare(CompareDirection::kGt, x, y); }
  Instr* eq(Instr* x, Instr* y) { return b.compare(CompareDirection::kEq, x, y); }
  // Coefficients from the highest power down.
  Instr* polynomial(Instr* x, absl::Span<const double> k) {
    Instr* p = c(k[0]);
    for (size_t i = 1; i < k.size(); ++i) p = b.add(b.mul(p, x), c(k[i]));
    return p;
  }
};

Instr* erfc(Builder& b, Instr* x) {
  // erfc(x) = exp(-x²)·r(t)/… loses nothing in the tail, where 1 − erf(x) would: a continued fraction
  // for |x| ≥ 1 (as a ratio of Chebyshev form), 1 − erf(x) below.
  Math m{b, x};
  Instr* a = m.f(Op::kAbs, x);
  Instr* t = b.div(m.c(1), b.add(m.c(1), b.mul(m.c(0.5), a)));
  // Chebyshev fit of log(erfc(a)·exp(a²)/t) in ty = 4t − 2 (W. J. Cody's region; relative error 1.2e-16).
  constexpr double kCof[] = {-1.3026537197817094,  6.4196979235649026e-1, 1.9476473204185836e-2,
                             -9.561514786808631e-3, -9.46595344482036e-4, 3.66839497852761e-4,
                             4.2523324806907e-5,   -2.0278578112534e-5,   -1.624290004647e-6,
                             1.303655835580e-6,    1.5626441722e-8,       -8.5238095915e-8,
                             6.529054439e-9,       5.059343495e-9,        -9.91364156e-10,
                             -2.27365122e-10,      9.6467911e-11,         2.394038e-12,
                             -6.886027e-12,        8.94487e-13,           3.13092e-13,
                             -1.12708e-13,         3.81e-16,              7.106e-15,
                             -1.523e-15,           -9.4e-17,              1.21e-16,
                             -2.8e-17};
  Instr* ty = b.sub(b.mul(m.c(4), t), m.c(2));
  Instr *d = m.c(0), *dd = m.c(0);
  for (size_t j = std::size(kCof) - 1; j > 0; --j) {
    Instr* keep = d;
    d = b.add(b.sub(b.mul(ty, d), dd), m.c(kCof[j]));
    dd = keep;
  }
  Instr* series = b.sub(b.mul(m.c(0.5), b.add(m.c(kCof[0]), b.mul(ty, d))), dd);
  // exp(−a²) in two factors: a² split so that its rounding error does not grow.
  Instr* hi = m.f(Op::kFloor, b.mul(a, m.c(16)));
  hi = b.div(hi, m.c(16));
  Instr* lo = b.mul(b.sub(a, hi), b.add(a, hi));
  Instr* gauss = b.mul(m.f(Op::kExp, m.f(Op::kNegate, b.mul(hi, hi))), m.f(Op::kExp, m.f(Op::kNegate, lo)));
  Instr* tail = b.mul(b.mul(t, gauss), m.f(Op::kExp, series));
  tail = b.select(m.gt(a, m.c(30)), m.c(0), tail);
  tail = b.select(m.lt(x, m.c(0)), b.sub(m.c(2), tail), tail);
  Instr* small = b.sub(m.c(1), m.f(Op::kErf, x));
  Instr* r = b.select(m.lt(a, m.c(0.5)), small, tail);
  return b.select(b.compare(CompareDirection::kNe, x, x), x, r);
}

Instr* erf_inv(Builder& b, Instr* x) {
  Math m{b, x};
  Instr* w = m.f(Op::kNegate, m.f(Op::kLog1p, m.f(Op::kNegate, b.mul(x, x))));
  constexpr double kNear[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                              -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kFar[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                             -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  Instr* near = m.polynomial(b.sub(w, m.c(2.5)), kNear);
  Instr* far = m.polynomial(b.sub(m.f(Op::kSqrt, w), m.c(3)), kFar);
  Instr* y = b.mul(b.select(m.lt(w, m.c(5)), near, far), x);
  if (x->shape.dtype == Dtype::kF64) {
    // Two Newton steps with the curvature term: the error goes from 1e-7 to 1e-16. In the tail the
    // residual comes from erfc, where erf(y) − x would cancel.
    for (int step = 0; step < 2; ++step) {
      Instr* ay = m.f(Op::kAbs, y);
      Instr* ax = m.f(Op::kAbs, x);
      Instr* residual = b.sub(b.sub(m.c(1), ax), erfc(b, ay));
      Instr* slope = b.mul(m.c(2 / std::sqrt(kPi)), m.f(Op::kExp, m.f(Op::kNegate, b.mul(y, y))));
      Instr* u = b.div(residual, slope);
      u = b.div(u, b.add(m.c(1), b.mul(ay, u)));
      Instr* signed_next = b.mul(m.f(Op::kSign, x), b.sub(ay, u));
      y = b.select(m.f(Op::kIsFinite, signed_next), signed_next, y);
    }
  }
  Instr* one = m.eq(m.f(Op::kAbs, x), m.c(1));
  return b.select(one, b.mul(x, m.c(kInf)), y);
}

constexpr double kLanczosG = 7;
constexpr double kLanczosBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

Instr* lgamma(Builder& b, Instr* x) {
  Math m{b, x};
  Instr* reflect = m.lt(x, m.c(0.5));
  Instr* z = b.select(reflect, m.f(Op::kNegate, x), b.sub(x, m.c(1)));
  Instr* sum = m.c(kLanczosBase);
  for (size_t i = 0; i < std::size(kLanczos); ++i)
    sum = b.add(sum, b.div(m.c(kLanczos[i]), b.add(z, m.c(static_cast<double>(i + 1)))));
  Instr* t = b.add(m.c(kLanczosG + 0.5), z);
  Instr* log_t = b.add(m.c(std::log(kLanczosG + 0.5)), m.f(Op::kLog1p, b.div(z, m.c(kLanczosG + 0.5))));
  // (z + ½)·log t − t, arranged so that huge z does not overflow first.
  Instr* main = b.mul(b.sub(b.add(z, m.c(0.5)), b.div(t, log_t)), log_t);
  Instr* y = b.add(b.add(m.c(0.5 * std::log(2 * kPi)), main), m.f(Op::kLog, sum));
  Instr* a = m.f(Op::kAbs, x);
  Instr* fraction = b.sub(a, m.f(Op::kFloor, a));
  fraction = b.select(m.gt(fraction, m.c(0.5)), b.sub(m.c(1), fraction), fraction);
  Instr* sine = m.f(Op::kLog, m.f(Op::kSin, b.mul(m.c(kPi), fraction)));
  Instr* reflected = b.select(m.f(Op::kIsFinite, sine), b.sub(b.sub(m.c(std::log(kPi)), sine), y),
                              m.f(Op::kNegate, sine));
  Instr* r = b.select(reflect, reflected, y);
  return b.select(m.eq(a, m.c(kInf)), m.c(kInf), r);
}

Instr* digamma(Builder& b, Instr* x) {
  Math m{b, x};
  Instr* reflect = m.lt(x, m.c(0.5));
  Instr* z = b.select(reflect, m.f(Op::kNegate, x), b.sub(x, m.c(1)));
  Instr *num = m.c(0), *den = m.c(kLanczosBase);
  for (size_t i = 0; i < std::size(kLanczos); ++i) {
    Instr* s = b.add(z, m.c(static_cast<double>(i + 1)));
    num = b.sub(num, b.div(m.c(kLanczos[i]), b.mul(s, s)));
    den = b.add(den, b.div(m.c(kLanczos[i]), s));
  }
  Instr* t = b.add(m.c(kLanczosG + 0.5), z);
  Instr* log_t = b.add(m.c(std::log(kLanczosG + 0.5)), m.f(Op::kLog1p, b.div(z, m.c(kLanczosG + 0.5))));
  Instr* y = b.sub(b.add(log_t, b.div(num, den)), b.div(m.c(kLanczosG), t));
  Instr* reduced = b.add(x, m.f(Op::kFloor, b.add(m.f(Op::kNegate, x), m.c(0.5))));
  Instr* angle = b.mul(m.c(kPi), reduced);
  Instr* reflected = b.sub(y, b.div(b.mul(m.c(kPi), m.f(Op::kCos, angle)), m.f(Op::kSin, angle)));
  Instr* r = b.select(reflect, reflected, y);
  Instr* pole = b.op(Op::kAnd, {b.compare(CompareDirection::kLe, x, m.c(0)), m.eq(x, m.f(Op::kFloor, x))});
  return b.select(pole, m.c(kNan), r);
}

Instr* chebyshev(Math& m, Instr* x, absl::Span<const double> k) {
  Builder& b = m.b;
  Instr *b0 = m.c(k[0]), *b1 = m.c(0), *b2 = m.c(0);
  for (size_t i = 1; i < k.size(); ++i) {
    b2 = b1;
    b1 = b0;
    b0 = b.add(b.sub(b.mul(x, b1), b2), m.c(k[i]));
  }
  return b.mul(m.c(0.5), b.sub(b0, b2));
}

Instr* bessel_i1e(Builder& b, Instr* x) {
  constexpr double kLow[] = {
      2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16,
      -1.10559694773538630805e-15, 7.60068429473540693410e-15, -5.04218550472791168711e-14,
      3.22379336594557470981e-13, -1.98397439776494371520e-12, 1.17361862988909016308e-11,
      -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
      9.38153738649577178388e-9, -4.44505912879632808065e-8, 2.00329475355213526229e-7,
      -8.56872026469545474066e-7, 3.47025130813767847674e-6, -1.32731636560394358279e-5,
      4.78156510755005422638e-5, -1.61760815825896745588e-4, 5.12285956168575772895e-4,
      -1.51357245063125314899e-3, 4.15642294431288815669e-3, -1.05640848946261981558e-2,
      2.47264490306265168283e-2, -5.29459812080949914269e-2, 1.02643658689847095384e-1,
      -1.76416518357834055153e-1, 2.52587186443633654823e-1};
  constexpr double kHigh[] = {
      7.51729631084210481353e-18, 4.41434832307170791151e-18, -4.65030536848935832153e-17,
      -3.20952592199342395980e-17, 2.96262899764595013876e-16, 3.30820231092092828324e-16,
      -1.88035477551078244854e-15, -3.81440307243700780478e-15, 1.04202769841288027642e-14,
      4.27244001671195135429e-14, -2.10154184277266431302e-14, -4.08355111109219731823e-13,
      -7.19855177624590851209e-13, 2.03562854414708950722e-12, 1.41258074366137813316e-11,
      3.25260358301548823856e-11, -1.89749581235054123450e-11, -5.58974346219658380687e-10,
      -3.83538038596423702205e-9, -2.63146884688951950684e-8, -2.51223623787020892529e-7,
      -3.88256480887769039346e-6, -1.10588938762623716291e-4, -9.76109749136146840777e-3,
      7.78576235018280120474e-1};
  Math m{b, x};
  Instr* a = m.f(Op::kAbs, x);
  Instr* low = b.mul(a, chebyshev(m, b.sub(b.mul(a, m.c(0.5)), m.c(2)), kLow));
  Instr* high = b.div(chebyshev(m, b.sub(b.div(m.c(32), a), m.c(2)), kHigh), m.f(Op::kSqrt, a));
  Instr* y = b.select(b.compare(CompareDirection::kLe, a, m.c(8)), low, high);
  return b.mul(m.f(Op::kSign, x), y);
}

// The neighbour of x in the direction of y, by the order of bit patterns.
Instr* next_after(Builder& b, Instr* x, Instr* y) {
  Dtype t = x->shape.dtype;
  Dtype bits = byte_size(t) == 8 ? Dtype::kS64 : byte_size(t) == 4 ? Dtype::kS32 : Dtype::kS16;
  Shape s = x->shape.with_dtype(bits);
  auto cast = [&](Instr* v) { return b.op_shaped(Op::kBitcastConvert, s, {v}); };
  auto back = [&](Instr* v) { return b.op_shaped(Op::kBitcastConvert, x->shape, {v}); };
  Instr *xi = cast(x), *one = b.splat(s, 1);
  Instr* sign = b.op_shaped(Op::kShiftLeft, s, {one, b.splat(s, bit_size(t) - 1)});
  Math m{b, x};
  Instr* inward = m.gt(b.unary(Op::kAbs, x), b.unary(Op::kAbs, y));
  Instr* signs_differ = b.compare(CompareDirection::kNe, b.op(Op::kAnd, {xi, sign}), b.op(Op::kAnd, {cast(y), sign}));
  Instr* shrink = b.op(Op::kOr, {inward, signs_differ});
  Instr* step = b.select(shrink, b.unary(Op::kNegate, one), one);
  Instr* moved = back(b.add(xi, step));
  Instr* from_zero = back(b.op(Op::kOr, {b.op(Op::kAnd, {cast(y), sign}), one}));
  Instr* r = b.select(m.eq(x, m.c(0)), from_zero, moved);
  r = b.select(m.eq(x, y), y, r);
  Instr* nan = b.op(Op::kOr, {b.compare(CompareDirection::kNe, x, x), b.compare(CompareDirection::kNe, y, y)});
  return b.select(nan, m.c(kNan), r);
}

using Unary = Instr* (*)(Builder&, Instr*);
Unary find_unary(std::string_view op) {
  if (op == "erfc") return erfc;
  if (op == "erf_inv") return erf_inv;
  if (op == "lgamma") return lgamma;
  if (op == "digamma") return digamma;
  if (op == "bessel_i1e") return bessel_i1e;
  return nullptr;
}

}  // namespace

bool is_chlo_function(std::string_view op) { return find_unary(op) || op == "next_after"; }

Result<std::vector<Instr*>> build_chlo_function(Builder& b, std::string_view op,
                                                absl::Span<Instr* const> operands) {
  for (Instr* o : operands)
    if (!is_float(o->shape.dtype)) return invalid("chlo.", op, ": operands must be real floats");
  if (op == "next_after") {
    if (operands.size() != 2) return invalid("chlo.next_after takes two operands");
    return std::vector<Instr*>{next_after(b, operands[0], operands[1])};
  }
  Instr* x = operands[0];
  Dtype t = x->shape.dtype;
  bool narrow = byte_size(t) < 4;
  if (narrow) x = b.convert(Dtype::kF32, x);
  Instr* y = find_unary(op)(b, x);
  return std::vector<Instr*>{narrow ? b.convert(t, y) : y};
}

}  // namespace braze
