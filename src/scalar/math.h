// SPDX-License-Identifier: Apache-2.0
// What each elementwise opcode computes on one element: Values in, Value out, as nodes of a Graph.
//
// A function is named as its opcode in snake case (kLog1p → log1p); a name that is a C++ word gets
// an underscore (and_). `t` is the type of operand 0; the result has the op's result type, so a
// bf16 add returns a bf16 node: it casts to f32, computes, and casts back (`rounded`).
// Transcendentals become branch-free polynomials here, with the ulp budgets listed in the math_*.cc
// files; nothing calls libm. Integer, NaN, infinity, signed zero and denormal cases are HLO's.
#pragma once

#include "absl/types/span.h"
#include "scalar/scalar.h"

namespace braze::scalar::math {

using Args = absl::Span<const Value>;

// Unary.
#define BRAZE_SCALAR_MATH(name) Value name(Graph& g, Dtype t, Args args)
BRAZE_SCALAR_MATH(abs);  // complex: its magnitude, of the real type
BRAZE_SCALAR_MATH(acos);
BRAZE_SCALAR_MATH(acosh);
BRAZE_SCALAR_MATH(asin);
BRAZE_SCALAR_MATH(asinh);
BRAZE_SCALAR_MATH(atan);
BRAZE_SCALAR_MATH(atanh);
BRAZE_SCALAR_MATH(cbrt);
BRAZE_SCALAR_MATH(ceil);
BRAZE_SCALAR_MATH(clz);
BRAZE_SCALAR_MATH(cos);
BRAZE_SCALAR_MATH(cosh);
BRAZE_SCALAR_MATH(erf);
BRAZE_SCALAR_MATH(exp);
BRAZE_SCALAR_MATH(expm1);
BRAZE_SCALAR_MATH(floor);
BRAZE_SCALAR_MATH(imag);       // of a real operand: 0
BRAZE_SCALAR_MATH(is_finite);  // pred
BRAZE_SCALAR_MATH(log);
BRAZE_SCALAR_MATH(log1p);
BRAZE_SCALAR_MATH(logistic);
BRAZE_SCALAR_MATH(negate);
BRAZE_SCALAR_MATH(not_);
BRAZE_SCALAR_MATH(popcnt);
BRAZE_SCALAR_MATH(real);
BRAZE_SCALAR_MATH(round_afz);
BRAZE_SCALAR_MATH(round_even);
BRAZE_SCALAR_MATH(rsqrt);
BRAZE_SCALAR_MATH(sign);
BRAZE_SCALAR_MATH(sin);
BRAZE_SCALAR_MATH(sinh);
BRAZE_SCALAR_MATH(sqrt);
BRAZE_SCALAR_MATH(tan);
BRAZE_SCALAR_MATH(tanh);

// Binary.
BRAZE_SCALAR_MATH(add);
BRAZE_SCALAR_MATH(and_);
BRAZE_SCALAR_MATH(atan2);
BRAZE_SCALAR_MATH(complex);  // t: the real type
BRAZE_SCALAR_MATH(divide);
BRAZE_SCALAR_MATH(maximum);
BRAZE_SCALAR_MATH(minimum);
BRAZE_SCALAR_MATH(mulhi);
BRAZE_SCALAR_MATH(multiply);
BRAZE_SCALAR_MATH(or_);
BRAZE_SCALAR_MATH(power);
BRAZE_SCALAR_MATH(remainder);
BRAZE_SCALAR_MATH(shift_left);
BRAZE_SCALAR_MATH(shift_right_a);
BRAZE_SCALAR_MATH(shift_right_l);
BRAZE_SCALAR_MATH(subtract);
BRAZE_SCALAR_MATH(xor_);

// Choice.
BRAZE_SCALAR_MATH(select);  // pred, on true, on false
BRAZE_SCALAR_MATH(clamp);   // min, operand, max
#undef BRAZE_SCALAR_MATH

// direction: int(CompareDirection). total_order: floats ordered -NaN < -inf < … < -0 < +0 < … <
// NaN.
Value compare(Graph& g, Dtype t, Args args, int direction, bool total_order);
// Value conversion. Complex → real drops the imaginary part; anything → pred is `!= 0`.
Value convert(Graph& g, Dtype from, Dtype to, Args args);
// Same bits, equal bit width. Complex types only to themselves or to each other.
Value bitcast_convert(Graph& g, Dtype from, Dtype to, Args args);
// Rounds to a float of `exponent_bits` and `mantissa_bits`, kept in type t.
Value reduce_precision(Graph& g, Dtype t, Args args, int64_t exponent_bits, int64_t mantissa_bits);

// x after an op of type t was computed in its working type: cast to t (a no-op for f32 and f64).
Scalar rounded(Graph& g, Dtype t, Scalar x);
// The type arithmetic on t is done in: f32 for narrower floats, t otherwise.
Dtype working_type(Dtype t);

}  // namespace braze::scalar::math
