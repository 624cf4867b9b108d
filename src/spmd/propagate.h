// SPDX-License-Identifier: Apache-2.0
// How results lie on devices whose sharding the program leaves open.
//
// Shardings flow forward from arguments, constraints and manual regions along dimensions that an op keeps:
// elementwise, movement, contraction, reduction, loops. Nothing is computed otherwise because of them: they
// decide only which part of a result each device gets. What no rule covers is replicated.
//
// Interface: propagate_results, one tiling for each result leaf. Calls must be inlined. Also tells calls
// that look at shardings how their operands lie.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/module.h"
#include "spmd/tiling.h"

namespace braze::spmd {

// How the operands of calls that ask for it lie: by custom call.
using CallTilings = absl::flat_hash_map<const Instr*, std::vector<Tiling>>;
bool asks_for_sharding(const Instr& i);

Result<std::vector<Tiling>> propagate_results(const Module& m, const MeshTable& meshes, int64_t devices,
                                              CallTilings* calls = nullptr);

}  // namespace braze::spmd
