// SPDX-License-Identifier: Apache-2.0
// control: loops and conditionals whose course is known become straight code.
//
//   conditional(true, a, b), branches f, g     =>  f(a)
//   while i < 5, i = 0, 1, …, of few cheap ops =>  the body, five times
//
// Unrolled are bodies of elementwise and index operations only (a random generator's rounds): fusion
// then makes one kernel of what was a loop over arrays in memory.
#pragma once

#include <optional>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status simplify_control(Module& m);

// How often the loop runs, if an integer counter that starts at a constant, takes constant steps and is
// compared with a constant tells; at most `limit`.
std::optional<int64_t> trip_count(const Instr& loop, int64_t limit);

}  // namespace braze
