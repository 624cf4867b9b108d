// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 and f64 expressions as branch-free DAGs; what math.h's functions do
// on real operands, and what the complex ones are made of. Units in the last place, worst case
// measured by test/codegen/math_test.cc, stand beside each (f32, f64).
#pragma once

#include "scalar/expr.h"

namespace braze::scalar::real {

// math_exp.cc
Expr exp(Expr x);       // 0.85, 0.83
Expr expm1(Expr x);     // 1.6, 1.7
Expr logistic(Expr x);  // 2.3, 2.2
Expr tanh(Expr x);      // 2.3, 2.5
Expr sinh(Expr x);      // 1.6, 1.6
Expr cosh(Expr x);      // 1.3, 1.3
// math_log.cc
Expr log(Expr x);    // 0.85, 0.8
Expr log1p(Expr x);  // 1.4, 0.8
Expr asinh(Expr x);  // 1.7, 1.6
Expr acosh(Expr x);  // 1.8, 2.1
Expr atanh(Expr x);  // 2.1, 1.8
// math_power.cc
Expr sqrt(Expr x);           // correctly rounded
Expr rsqrt(Expr x);          // 1.5, 1.5
Expr cbrt(Expr x);           // 0.52, 0.51
Expr power(Expr x, Expr y);  // 0.51, 1
// math_erf.cc
Expr erf(Expr x);  // 1.2, 1.6
// math_trig.cc
Expr sin(Expr x);  // 0.8, 0.8, however large x is
Expr cos(Expr x);  // 0.8, 0.8
Expr tan(Expr x);  // 2.1, 2
struct SinCos {
  Expr sin, cos;
};
SinCos sin_cos(Expr x);
// math_arc.cc
Expr asin(Expr x);           // 2.3, 2.1
Expr acos(Expr x);           // 1.2, 1.2
Expr atan(Expr x);           // 1.8, 1.8
Expr atan2(Expr y, Expr x);  // 1.9, 1.8

}  // namespace braze::scalar::real
