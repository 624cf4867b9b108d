// SPDX-License-Identifier: Apache-2.0
// Keys of compiled code: hashes of all that code generation reads, which are this build of Braze, the
// target, and the contents of a kernel or of a loop in its plan.
#pragma once

#include <string>
#include <vector>

#include "base/hash128.h"
#include "codegen/target.h"
#include "plan/plan.h"

namespace braze::codegen {

// One per kernel of the plan.
std::vector<Hash128> kernel_keys(const Plan& plan, const Target& target);
// One per loop of driver_loops(plan).
std::vector<Hash128> driver_keys(const Plan& plan, const std::vector<const PlanStep*>& loops,
                                 const std::vector<Hash128>& kernels);
// Of a set of units together, in order.
Hash128 program_key(const std::vector<Hash128>& units);

// The symbol of a unit's first function.
std::string kernel_symbol(const Hash128& key);
std::string driver_symbol(const Hash128& key);

}  // namespace braze::codegen
