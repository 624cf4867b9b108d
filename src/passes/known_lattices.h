// SPDX-License-Identifier: Apache-2.0
// Part of known-windows: indices in equal steps, as `x[1::2]` makes them, are no indices.
//
//   gather(x, {1, 3, 5, …})                                     =>   slice(x), slice={[1:n:2]}
//   scatter(x, {1, 3, 5, …}, u), "return the update"            =>   select(pad(true), pad(u), x), padding=1_0_1
//   scatter(x, {4, 5, 6, …}, u), add                            =>   dynamic-update-slice(x, add(slice(x), u), 4)
//
// Each component of an index goes along one dimension of the indices at most, and each of these along one component,
// so that no place is named twice. All places lie inside the operand; else nothing is done.
#pragma once

#include "ops/builder.h"

namespace braze {

// What takes the instruction's place; null: nothing better is known. `replaces`: a scatter's updates replace what is
// there; else its combiner's root is one operation on its two parameters.
Instr* gather_on_lattice(Builder& b, Instr* i);
Instr* scatter_on_lattice(Builder& b, Instr* i, bool replaces);

}  // namespace braze
