// SPDX-License-Identifier: Apache-2.0
// The order in which a computation's steps run: updates in place come last.
//
//     y = update(x, ...)           a = read(x)
//     a = read(x)            =>    y = update(x, ...)      in x's memory, without a copy of it
//
// Operands come before users, as in post_order, and instructions with effects keep their order.
#pragma once

#include <vector>

#include "ir/module.h"

namespace braze {

// post_order(c), with what reads a value moved before the update that could take over its memory. Updates
// that a reader needs, and values nobody may overwrite, stay where they are.
std::vector<Instr*> updates_last(const Computation& c);

}  // namespace braze
