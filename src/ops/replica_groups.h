// SPDX-License-Identifier: Apache-2.0
// Replica groups given in short: an iota of device ids, reshaped, transposed and cut into groups.
#pragma once

#include "base/status.h"
#include "ir/attrs.h"

namespace braze {

// `groups` by `size` devices from iota(reshape) transposed by `perm` (empty: not transposed).
Result<ReplicaGroups> iota_groups(int64_t groups, int64_t size, DimSpan reshape, DimSpan perm);

}  // namespace braze
