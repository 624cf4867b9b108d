// SPDX-License-Identifier: Apache-2.0
// The error function.
#include "scalar/real_math.h"

namespace braze::scalar::real {
namespace {

// Up to 1: x + x·P(x²). Beyond: 1 - 2^-Q(x), which errors of the power hardly touch. From 3.95 on
// erf rounds to 1.
Expr erf_f32(Expr x) {
  const Expr a = min(abs(x), 3.95), z = a * a;
  const Expr p = polynomial(z, {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf4p-4, -0x1.b7f8dcp-6,
                                0x1.540414p-8, -0x1.a3ea8ap-11, 0x1.494656p-14});
  const Expr q = polynomial(a, {-0x1.ed980ap-9, -0x1.9cc836p+0, -0x1.e33b46p-1, -0x1.067276p-3,
                                0x1.5ec63ap-6, -0x1.b608dp-10});
  // 2^n by its exponent bits: n + 127 in the low bits of q + aligner, shifted up.
  const double aligner = 0x1.8p23 + 127;
  const Expr aligned = q + aligner;
  const Expr r = q - (aligned - aligner);
  const Expr power = aligned.bits().make(Op::kShl, aligned.bits().integer(23)).bitcast(x.type());
  const Expr e = polynomial(r, {1, 0x1.62e42ap-1, 0x1.ebf9bap-3, 0x1.c6b75ap-5, 0x1.3ceb6cp-7,
                                0x1.5bb944p-10});
  return copysign(select(a < 1.0, fma(a, p, a), fma(-power, e, 1)), x);
}

// Up to 1: x·P(x²). Beyond: 1 - e^(-x²)·P(x)/Q(x), the latter small, so that its error is.
Expr erf_f64(Expr x) {
  const Expr a = min(abs(x), 6), z = a * a;
  const Expr p = polynomial(
      z, {0x1.20dd750429b6dp+0, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b1ep-4, -0x1.b82ce312848f9p-6,
          0x1.565bcd0dae8f9p-8, -0x1.c02db3d89fd52p-11, 0x1.f9a32197ff8e0p-14,
          -0x1.f4d1de84687edp-17, 0x1.b9dee8486c9e0p-20, -0x1.5f1ce57351e3bp-23,
          0x1.f7a0913cf50e1p-27, -0x1.385faacd0549bp-30, 0x1.055b0401ed71cp-34});
  const Expr n = polynomial(a, {0x1.fffffc3a95b86p-1, 0x1.63f78915236e7p+0, 0x1.e61a02013439ap-1,
                                0x1.7e804dc9ccb69p-2, 0x1.5968c167d30dap-4, 0x1.248644f9fef4cp-7});
  const Expr d = polynomial(a, {1, 0x1.426a751ca2fb0p+1, 0x1.65555f7a479dep+1, 0x1.c1c7df867896ep+0,
                                0x1.571063ac488ddp-1, 0x1.321a5994063d3p-3, 0x1.033ebe11e3f2dp-6});
  const Expr far = 1 - exp(-z) * n / d;
  return copysign(select(a < 1.0, a * p, far), x);
}

}  // namespace

Expr erf(Expr x) { return x.f32() ? erf_f32(x) : erf_f64(x); }

}  // namespace braze::scalar::real
