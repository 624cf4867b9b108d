// SPDX-License-Identifier: Apache-2.0
// May a result take an argument's memory? For donated arguments, whose values the caller gives up.
#pragma once

#include <cstdint>

#include "plan/plan.h"

namespace braze {

// Running with the result's pointer equal to the argument's gives the same values. Conservative:
// either nothing reads the argument once the result is begun, or the one step that does both reads each
// element just before it writes the same one. Both leaves must have the same shape.
bool may_share(const Plan& p, int64_t argument, int64_t result);

}  // namespace braze
