// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 and f64 expressions as branch-free DAGs; what math.h's functions do on
// real operands, and what the complex ones are made of. Units in the last place, worst case measured by
// test/codegen/math_test.cc, stand beside each (f32, f64).
#pragma once

#include "scalar/expr.h"

namespace braze::scalar::real {

// math_exp.cc
Expr exp(Expr x);
Expr expm1(Expr x);
Expr logistic(Expr x);
Expr tanh(Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
// math_log.cc
Expr log(Expr x);
Expr log1p(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);
// math_power.cc
Expr sqrt(Expr x);
Expr rsqrt(Expr x);
Expr cbrt(Expr x);
Expr power(Expr x, Expr y);
// math_erf.cc
Expr erf(Expr x);
// math_trig.cc
Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);
struct SinCos {
  Expr sin, cos;
};
SinCos sin_cos(Expr x);
// math_arc.cc
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);

}  // namespace braze::scalar::real
