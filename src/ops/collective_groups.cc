// SPDX-License-Identifier: Apache-2.0
#include "ops/collectives.h"

#include <algorithm>

namespace braze {
namespace {

// How the numbers in replica_groups are meant.
enum class Mode { kReplica, kPartition, kReplicaAndPartition, kFlattened };

Mode mode_of(const Instr& i, const CollectiveAttrs& a) {
  if (a.use_global_device_ids) return Mode::kFlattened;
  if (a.channel_id <= 0) return Mode::kReplica;
  const bool reduces =
      i.is(Op::kAllReduce) || i.is(Op::kAllGather) || i.is(Op::kReduceScatter);
  return reduces ? Mode::kReplicaAndPartition : Mode::kPartition;
}

int64_t id_count(Mode mode, int64_t replicas, int64_t partitions) {
  switch (mode) {
    case Mode::kReplica:
    case Mode::kReplicaAndPartition: return replicas;
    case Mode::kPartition: return partitions;
    case Mode::kFlattened: return replicas * partitions;
  }
  return 0;
}

std::vector<Process> members_of(Mode mode, const std::vector<int64_t>& ids, int64_t partitions,
                                Process me) {
  std::vector<Process> out;
  switch (mode) {
    case Mode::kReplica:
      for (int64_t id : ids) out.push_back({id, me.partition});
      break;
    case Mode::kPartition:
      for (int64_t id : ids) out.push_back({me.replica, id});
      break;
    case Mode::kReplicaAndPartition:
      for (int64_t p = 0; p < partitions; ++p)
        for (int64_t id : ids) out.push_back({id, p});
      break;
    case Mode::kFlattened:
      for (int64_t id : ids) out.push_back({id / partitions, id % partitions});
      break;
  }
  return out;
}

}  // namespace

Result<ProcessGroup> process_group(const Instr& collective, int64_t num_replicas,
                                   int64_t num_partitions, Process me) {
  const auto& a = collective.as<CollectiveAttrs>();
  const Mode mode = mode_of(collective, a);
  const int64_t count = id_count(mode, num_replicas, num_partitions);
  ReplicaGroups groups = a.replica_groups;
  if (groups.empty() || (groups.size() == 1 && groups[0].empty()) ||
      collective.is(Op::kCollectivePermute)) {
    groups.assign(1, {});
    for (int64_t i = 0; i < count; ++i) groups[0].push_back(i);
  }
  for (std::vector<int64_t>& ids : groups) {
    ids.erase(std::remove(ids.begin(), ids.end(), -1), ids.end());  // padding
    for (int64_t id : ids)
      if (id < 0 || id >= count)
        return invalid(name(collective.op), " '", collective.name,
                       "': 0 <= replica_groups < ", count, " (its number of processes), got ", id);
    ProcessGroup group{members_of(mode, ids, num_partitions, me)};
    const auto at = std::find(group.members.begin(), group.members.end(), me);
    if (at == group.members.end()) continue;
    group.self = at - group.members.begin();
    return group;
  }
  return ProcessGroup{};
}

}  // namespace braze
