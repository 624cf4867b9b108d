// SPDX-License-Identifier: Apache-2.0
// Orders for writing a module down: everything, dead code too, in creation order where that is
// topological, else with what comes first moved before its first use. Cycles are broken anywhere.
#pragma once

#include <vector>

#include "ir/module.h"

namespace braze {

// Operands and control predecessors before users.
std::vector<Instr*> stable_order(const Computation& c);
// Callees before callers.
std::vector<Computation*> stable_order(const Module& m);

// As above from the given roots only.
std::vector<Instr*> stable_order(absl::Span<Instr* const> roots);

}  // namespace braze
