// SPDX-License-Identifier: Apache-2.0
// Elementary functions of complex values, for math.h's functions on c64 and c128.
#pragma once

#include "scalar/scalar.h"

namespace braze::scalar::complex_math {

Value multiply(Graph& g, Value x, Value y);
Value divide(Graph& g, Value x, Value y);
Value abs(Graph& g, Value x);  // real
Value minimum(Graph& g, Value x, Value y, bool is_max);  // or maximum
Value sign(Graph& g, Value x);
Value exp(Graph& g, Value x);
Value expm1(Graph& g, Value x);
Value log(Graph& g, Value x);
Value log1p(Graph& g, Value x);
Value logistic(Graph& g, Value x);
Value sqrt(Graph& g, Value x);
Value rsqrt(Graph& g, Value x);
Value cbrt(Graph& g, Value x);
Value power(Graph& g, Value x, Value y);
Value sin(Graph& g, Value x);
Value cos(Graph& g, Value x);
Value tan(Graph& g, Value x);
Value sinh(Graph& g, Value x);
Value cosh(Graph& g, Value x);
Value tanh(Graph& g, Value x);
Value asin(Graph& g, Value x);
Value acos(Graph& g, Value x);
Value atan(Graph& g, Value x);
Value asinh(Graph& g, Value x);
Value acosh(Graph& g, Value x);
Value atanh(Graph& g, Value x);
Value atan2(Graph& g, Value y, Value x);

}  // namespace braze::scalar::complex_math
