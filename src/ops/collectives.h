// SPDX-License-Identifier: Apache-2.0
// Who takes part in a collective: process groups as the StableHLO specification defines them.
//
// Interface: process_group. A World that connects several devices exchanges literals in the order of the
// group; the rows in collectives.cc read them in the same order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

struct Process {
  int64_t replica = 0, partition = 0;
  bool operator==(const Process&) const = default;
};

struct ProcessGroup {
  std::vector<Process> members;  // in group order
  int64_t self = -1;             // position of the asking process; -1: it takes no part
};

// The group of `me` among num_replicas × num_partitions processes. A group list that names a process out
// of range is an error. For collective-permute: all processes that permute among themselves.
Result<ProcessGroup> process_group(const Instr& collective, int64_t num_replicas,
                                   int64_t num_partitions, Process me);

}  // namespace braze
