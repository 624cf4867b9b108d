// SPDX-License-Identifier: Apache-2.0
// Replica groups given in short: an iota of device ids, reshaped, transposed and cut into groups;
// or axes of a mesh.
#pragma once

#include <string>

#include "base/status.h"
#include "ir/attrs.h"

namespace braze {

// `groups` by `size` devices from iota(reshape) transposed by `perm` (empty: not transposed).
Result<ReplicaGroups> iota_groups(int64_t groups, int64_t size, DimSpan reshape, DimSpan perm);

// A named axis of a mesh of devices, and a part of it that a group runs along: of the axis seen as
// [pre, size, rest], the middle.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
};
struct MeshAxisPart {
  size_t axis = 0;
  int64_t pre = 1, size = 1;
};

// The groups that run along `parts`, the first one slowest; devices lie in the mesh in row-major
// order.
Result<ReplicaGroups> mesh_groups(absl::Span<const MeshAxis> mesh,
                                  absl::Span<const MeshAxisPart> parts);

}  // namespace braze
