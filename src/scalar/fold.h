// SPDX-License-Identifier: Apache-2.0
// One operation on known values, with exactly the semantics scalar.h states. Both the constant
// folder and the interpreter compute through it.
#pragma once

#include "scalar/scalar.h"

namespace braze::scalar {

// Value of operation `op` with result type t on arguments of the given types. Not for leaves.
Cell fold(Op op, Dtype t, const Dtype arg_types[3], const Cell args[3]);

// v reduced to the integer type t (pred: v != 0): signed types sign-extended, unsigned
// zero-extended.
int64_t wrap(Dtype t, int64_t v);
// Least and greatest value of an integer type; u64: 0 and INT64_MAX.
Range type_range(Dtype t);
// The node of a constant cell.
Scalar constant(Graph& g, Dtype t, const Cell& c);

inline bool is_arithmetic_float(Dtype t) { return t == Dtype::kF32 || t == Dtype::kF64; }

}  // namespace braze::scalar
