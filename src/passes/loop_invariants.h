// SPDX-License-Identifier: Apache-2.0
// loop-invariants: what a loop computes anew in each turn from what no turn changes is computed once, before it:
//
//   while (a, b, x, …) { … dot(x, concatenate(a, b)) … }  =>  w = concatenate(a, b); while (a, b, x, w, …) { … dot(x, w) … }
//
// Only what is worth an array in memory: the operands of products (weights put together, cast or normalized), and products,
// reductions, sorts and the like. What is elementwise, and what is larger than what it is made of, costs less in its readers.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status loop_invariants(Module& m);

}  // namespace braze
