// SPDX-License-Identifier: Apache-2.0
// inline_calls: call(x), to_apply=f  =>  the body of f on x. Calls of reduce, sort, while … stay.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status inline_calls(Module& m);

// Appends a copy of the body of `callee` to `into`; returns the value of its root.
Instr* inline_computation(Computation* into, const Computation& callee,
                          absl::Span<Instr* const> arguments);

}  // namespace braze
