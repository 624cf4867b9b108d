// SPDX-License-Identifier: Apache-2.0
// Combiners of floats narrower than f32, carried out in f32: a fold of thousands of elements that rounds
// every step to 8 bits stops growing long before its end.
//
// Interface: widened. Serves reductions and scans whose body is more than one plain op (log-sum-exp, sums of
// products); plain sums choose their type by wide.h.
#pragma once

#include "ir/module.h"

namespace braze {

// A copy of `body` in `into` that has f32 wherever `body` has a float narrower than that. Null if it would
// gain nothing (nothing is rounded) or change what the body says: it converts to a narrow float itself, looks
// at bits, calls other computations or handles more than scalars.
Computation* widened(Module& into, const Computation& body);

}  // namespace braze
