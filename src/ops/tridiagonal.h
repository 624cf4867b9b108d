// SPDX-License-Identifier: Apache-2.0
// Tridiagonal systems that may be singular, for inverse iteration: elimination with row exchanges, where
// pivots too small to divide by are grown, after LAPACK's lagtf and lagts.
//
// Interface: the custom call's check and evaluation. Operands: lower band (from its second element on),
// diagonal, upper band, right-hand sides n×k.
#pragma once

#include "ops/custom_call.h"

namespace braze {

Status check_tridiagonal(const CustomCallAttrs& a, absl::Span<const Shape* const> operands,
                         const Shape& result);
Result<Literal> eval_tridiagonal(const EvalContext& ctx);

}  // namespace braze
