// SPDX-License-Identifier: Apache-2.0
// How results lie on devices whose sharding the program leaves open.
//
// Shardings flow forward from arguments, constraints and manual regions along dimensions that an op keeps:
// elementwise, movement, contraction, reduction, loops. Nothing is computed otherwise because of them: they
// decide only which part of a result each device gets. What no rule covers is replicated.
//
// Interface: propagate_results, one tiling for each result leaf. Calls must be inlined.
#pragma once

#include <vector>

#include "ir/module.h"
#include "spmd/tiling.h"

namespace braze::spmd {

Result<std::vector<Tiling>> propagate_results(const Module& m, const MeshTable& meshes, int64_t devices);

}  // namespace braze::spmd
