// SPDX-License-Identifier: Apache-2.0
// Collectives and the ids of processes.
#include <algorithm>

#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

CollectiveAttrs common(OpImport& c) {
  CollectiveAttrs a;
  a.replica_groups = read_groups(c);
  a.channel_id = read_channel(c);
  a.use_global_device_ids = c.flag("use_global_device_ids");
  return a;
}

std::vector<Instr*> widened(OpImport& c, size_t count) {
  std::vector<Instr*> out;
  for (size_t k = 0; k < count; ++k) out.push_back(c.in_as(k, c.region_dtype(0, 0)));
  return out;
}

void all_gather(OpImport& c) {
  CollectiveAttrs a = common(c);
  a.dimension = c.integer("all_gather_dim");
  c.bind_all(c.emit_typed(Op::kAllGather, c.ins(), a));
}

void all_reduce(OpImport& c) {
  auto operands = widened(c, c.inputs());
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit_typed(Op::kAllReduce, operands, common(c), {body}));
}

// Deprecated: an all-reduce that adds.
void cross_replica_sum(OpImport& c) {
  Computation* sum = c.b.combiner(Op::kAdd, c.in(0)->shape.dtype);
  c.bind(c.emit_typed(Op::kAllReduce, c.ins(), common(c), {sum}));
}

void reduce_scatter(OpImport& c) {
  CollectiveAttrs a = common(c);
  a.dimension = c.integer("scatter_dimension");
  auto operands = widened(c, c.inputs());
  Computation* body = c.region(0);
  if (c.ok()) c.bind_all(c.emit_typed(Op::kReduceScatter, operands, a, {body}));
}

void all_to_all(OpImport& c) {
  CollectiveAttrs a = common(c);
  a.dimension = c.integer("split_dimension");
  a.concat_dimension = c.integer("concat_dimension");
  c.bind_all(c.emit_typed(Op::kAllToAll, c.ins(), a));
}

void collective_permute(OpImport& c) {
  CollectiveAttrs a = common(c);
  a.source_target_pairs = read_pairs(c, "source_target_pairs");
  c.bind_all(c.emit(Op::kCollectivePermute, c.ins(), a));
}

// The process's id as groups count it: of the replica, or of all processes.
Instr* process_id(OpImport& c, const CollectiveAttrs& a) {
  Builder& b = c.b;
  Instr* replica = b.op_shaped(Op::kReplicaId, Shape::scalar(Dtype::kU32), {});
  if (!a.use_global_device_ids) return replica;
  Instr* partition = b.op_shaped(Op::kPartitionId, Shape::scalar(Dtype::kU32), {});
  Instr* n = b.scalar(Dtype::kU32, static_cast<double>(c.scope.program.module.num_partitions));
  return b.add(b.mul(replica, n), partition);
}

// True where this process is member `root` (a scalar s32 of the op's last operand, or 0) of its
// group.
Instr* is_root(OpImport& c, const CollectiveAttrs& a, Instr* root) {
  Builder& b = c.b;
  Instr* id = process_id(c, a);
  Instr* out = b.constant(Literal::scalar_int(Dtype::kPred, 0));
  for (const auto& group : a.replica_groups)
    for (size_t k = 0; k < group.size(); ++k) {
      if (!root && k > 0) break;
      Instr* me = b.compare(CompareDirection::kEq, id,
                            b.constant(Literal::scalar_int(Dtype::kU32, group[k])));
      if (root) {
        Instr* index = b.constant(Literal::scalar_int(root->shape.dtype, static_cast<int64_t>(k)));
        me = b.binary(Op::kAnd, me, b.compare(CompareDirection::kEq, root, index));
      }
      out = b.binary(Op::kOr, out, me);
    }
  return out;
}

// The root of operand k, an element of the last operand, as a scalar; null if the root is member 0.
Instr* dynamic_root(OpImport& c, size_t k) {
  if (!c.flag("has_dynamic_root")) return nullptr;
  Instr* roots = c.in(c.inputs() - 1);
  const int64_t n = roots->shape.elements(), at = std::min(static_cast<int64_t>(k), n - 1);
  if (!c.check(roots->shape.rank() == 1 && n > 0, "the roots must be a list")) return nullptr;
  return c.b.reshape(n == 1 ? roots : c.b.slice(roots, {at}, {at + 1}), {});
}

// Where the process is not the root of its group: zeros.
Instr* zero_unless(OpImport& c, Instr* condition, Instr* x) {
  return c.b.select(c.spread(condition, x->shape), x, c.b.splat(x->shape, 0));
}

void collective_broadcast(OpImport& c) {
  CollectiveAttrs a = common(c);
  if (!c.flag("has_dynamic_root")) return c.bind_all(c.emit(Op::kCollectiveBroadcast, c.ins(), a));
  // The root's value plus everybody else's zeros.
  const size_t n = c.inputs() - 1;
  if (!c.check(n == c.results(), "has_dynamic_root needs one more operand than results")) return;
  for (size_t k = 0; k < n && c.ok(); ++k) {
    Instr* root = dynamic_root(c, k);
    if (!root) return;
    Instr* x = zero_unless(c, is_root(c, a, root), c.in(k));
    Computation* sum = c.b.combiner(Op::kAdd, x->shape.dtype);
    c.bind(k, c.b.op_shaped(Op::kAllReduce, x->shape, {x}, a, {sum}));
  }
}

// An all-reduce whose result only the root keeps; the others get zeros.
void collective_reduce(OpImport& c) {
  CollectiveAttrs a = common(c);
  const size_t n = c.inputs() - (c.flag("has_dynamic_root") ? 1 : 0);
  auto operands = widened(c, n);
  Computation* body = c.region(0);
  if (!c.ok() || !c.check(n == c.results(), "needs as many results as inputs")) return;
  Instr* all = c.emit_typed(Op::kAllReduce, operands, a, {body});
  for (size_t k = 0; k < n && c.ok(); ++k)
    c.bind(k, zero_unless(c, is_root(c, a, dynamic_root(c, k)),
                          n == 1 ? all : c.b.element(all, static_cast<int64_t>(k))));
}

void partition_id(OpImport& c) { c.bind(c.emit_typed(Op::kPartitionId, {})); }
void replica_id(OpImport& c) { c.bind(c.emit_typed(Op::kReplicaId, {})); }

constexpr Handler kHandlers[] = {
    {"stablehlo.all_gather", all_gather, at_least(1), kAny, 0},
    {"stablehlo.all_reduce", all_reduce, at_least(1), kAny, 1},
    {"stablehlo.cross-replica-sum", cross_replica_sum, 1, 1, 0},
    {"stablehlo.reduce_scatter", reduce_scatter, at_least(1), kAny, 1},
    {"stablehlo.all_to_all", all_to_all, at_least(1), kAny, 0},
    {"stablehlo.collective_permute", collective_permute, at_least(1), kAny, 0},
    {"stablehlo.collective_broadcast", collective_broadcast, at_least(1), kAny, 0},
    {"stablehlo.collective_reduce", collective_reduce, at_least(1), kAny, 1},
    {"stablehlo.partition_id", partition_id, 0, 1, 0},
    {"stablehlo.replica_id", replica_id, 0, 1, 0},
};

}  // namespace

absl::Span<const Handler> collective_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
