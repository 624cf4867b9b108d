// SPDX-License-Identifier: Apache-2.0
#include "ops/replica_groups.h"

#include <vector>

namespace braze {

Result<ReplicaGroups> iota_groups(int64_t groups, int64_t size, DimSpan reshape, DimSpan perm) {
  constexpr int64_t kMaxDevices = 1 << 20;
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

}  // namespace braze
