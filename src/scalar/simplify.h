// SPDX-License-Identifier: Apache-2.0
// The laws Graph::make applies, by family. Each returns an equal node that is simpler, or nothing
// when no law applies; then make interns the operation as it is. Constants have been folded before.
#pragma once

#include "scalar/scalar.h"

namespace braze::scalar {

Scalar simplify_float(Graph& g, Op op, Dtype t, Scalar a, Scalar b, Scalar c);
Scalar simplify_int(Graph& g, Op op, Dtype t, Scalar a, Scalar b);
Scalar simplify_bits(Graph& g, Op op, Dtype t, Scalar a, Scalar b);  // and, or, xor, not, shifts
Scalar simplify_compare(Graph& g, Op op, Scalar a, Scalar b);
Scalar simplify_select(Graph& g, Scalar p, Scalar t, Scalar f);
Scalar simplify_cast(Graph& g, Dtype t, Scalar a);  // also builds the casts that are not nodes

// simplify_index.cc: sums of products of index expressions.
Scalar simplify_sum(Graph& g, Op op, Dtype t, Scalar a,
                    Scalar b);  // kAdd, kSub, kNeg, kMul by const
Scalar simplify_division(Graph& g, Op op, Dtype t, Scalar a, int64_t k);  // kDiv, kRem by k > 0
Scalar simplify_order(Graph& g, Op op, Scalar a, Scalar b);            // comparisons
Scalar widen_sum(Graph& g, Dtype t, Scalar a);  // cast of a sum to a wider type

}  // namespace braze::scalar
