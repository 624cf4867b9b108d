// SPDX-License-Identifier: Apache-2.0
// Values that several kernels read and that cost less to make in each than to write and read again:
//
//   n = select(compare(x, 0.99), nan, x)      x is in memory anyway
//   reduce(n == n), reduce(n, iota)           two kernels that read x, not three with n between them
//
// A cone is such a value and the elementwise operations between it and what is in memory.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "passes/fuse_copies.h"
#include "passes/fuse_groups.h"

namespace braze::fusion {

struct Cone {
  std::vector<const Instr*> members;  // the value first
  std::vector<int> readers;           // the groups that read it
};

// The cone of `top`, whose users have all been put in groups, if repeating it in each reader moves
// fewer bytes; it reads no more bytes than it saves, so that not more has to be kept. `live`: the
// instructions that count as users.
std::optional<Cone> repeatable_cone(const Instr* top, const Groups& groups, const Copies& copies,
                                    const absl::flat_hash_set<const Instr*>& live);

}  // namespace braze::fusion
