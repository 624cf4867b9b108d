// SPDX-License-Identifier: Apache-2.0
#include "ops/replica_groups.h"

#include <algorithm>
#include <vector>

namespace braze {

namespace {
constexpr int64_t kMaxDevices = 1 << 20;
}

Result<ReplicaGroups> iota_groups(int64_t groups, int64_t size, DimSpan reshape, DimSpan perm) {
  Dims order(perm.begin(), perm.end());
  if (perm.empty())
    for (size_t i = 0; i < reshape.size(); ++i) order.push_back(static_cast<int64_t>(i));
  bool bad = order.size() != reshape.size() || groups < 1 || size < 1;
  int64_t total = 1;
  std::vector<bool> seen(reshape.size());
  for (size_t i = 0; i < reshape.size() && !bad; ++i) {
    int64_t q = order[i];
    bad = reshape[i] < 1 || reshape[i] > kMaxDevices / total || q < 0 ||
          q >= static_cast<int64_t>(reshape.size()) || seen[q];
    if (bad) break;
    seen[q] = true;
    total *= reshape[i];
  }
  if (bad || groups > total || size > total || groups * size != total)
    return invalid("replica groups: the iota of devices does not fit its shape");
  Dims from = strides(reshape), dims, by;
  for (int64_t q : order) dims.push_back(reshape[q]), by.push_back(from[q]);
  Dims index(dims.size(), 0);
  ReplicaGroups out(groups);
  int64_t k = 0;
  do {
    int64_t id = 0;
    for (size_t i = 0; i < dims.size(); ++i) id += index[i] * by[i];
    out[k++ / size].push_back(id);
  } while (next_index(absl::MakeSpan(index), dims));
  return out;
}

Result<ReplicaGroups> mesh_groups(absl::Span<const MeshAxis> mesh,
                                  absl::Span<const MeshAxisPart> parts) {
  // Each axis falls into factors: the named parts and what lies between them.
  Dims reshape, perm;
  std::vector<int64_t> place(parts.size(), -1);  // the factor of each part
  int64_t groups = 1, size = 1;
  for (size_t a = 0; a < mesh.size(); ++a) {
    std::vector<size_t> mine;
    for (size_t k = 0; k < parts.size(); ++k)
      if (parts[k].axis == a) mine.push_back(k);
    std::sort(mine.begin(), mine.end(),
              [&](size_t x, size_t y) { return parts[x].pre < parts[y].pre; });
    int64_t done = 1;  // product of this axis's factors so far
    auto gap = [&](int64_t up_to) {
      if (done < 1 || up_to % done != 0) return false;
      if (int64_t f = up_to / done; f > 1) {
        perm.push_back(static_cast<int64_t>(reshape.size()));
        reshape.push_back(f);
        groups *= f;
      }
      done = up_to;
      return true;
    };
    if (mesh[a].size < 1 || mesh[a].size > kMaxDevices)
      return invalid("replica groups: a mesh axis of ", mesh[a].size);
    for (size_t k : mine) {
      const MeshAxisPart& p = parts[k];
      if (p.pre < done || p.size < 1 || p.size > mesh[a].size || p.pre > mesh[a].size ||
          !gap(p.pre) || mesh[a].size % (p.pre * p.size) != 0)
        return invalid("replica groups: the parts of mesh axis '", mesh[a].name, "' do not fit it");
      place[k] = static_cast<int64_t>(reshape.size());
      reshape.push_back(p.size);
      size *= p.size;
      done = p.pre * p.size;
    }
    if (!gap(mesh[a].size) || groups > kMaxDevices || size > kMaxDevices)
      return invalid("replica groups: the mesh is too large");
  }
  for (int64_t f : place) {
    if (f < 0) return invalid("replica groups: an axis is not of the mesh");
    perm.push_back(f);
  }
  return iota_groups(groups, size, reshape, perm);
}

}  // namespace braze
