// SPDX-License-Identifier: Apache-2.0
// Ops whose result shape is data: how they become static ops once that data is known.
//
// Interface: build_static. Shape refinement, `expand` and `eval` of the rows in dynamic.cc all go
// through it, so that each dynamic op is defined by its static sibling.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "ops/builder.h"

namespace braze {

// The value of operand i, or null where it is not known.
using OperandValue = absl::FunctionRef<const Literal*(int64_t)>;

// Adds the static ops that compute `instr` from `operands` (those of `instr`, or stand-ins of known
// shape). An error names the operand whose value is missing or breaks a constraint.
Result<Instr*> build_static(Builder& b, const Instr& instr, absl::Span<Instr* const> operands,
                            OperandValue value);

}  // namespace braze
