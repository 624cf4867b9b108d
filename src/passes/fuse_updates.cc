// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_updates.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "loop/lower.h"
#include "ops/op_def.h"

namespace braze::fusion {
namespace {

constexpr size_t kMostVisited = 200;

// What the instruction would be computed with in one kernel.
bool is_light(const Instr& i) {
  const OpDef& row = def(i);
  return i.shape.is_array() && (row.emit || row.index) && row.nest == Nest::kNone && !i.operands.empty();
}

// Instructions that read `update`'s array on the way to the value it writes.
std::vector<const Instr*> readers_of_target(const Instr& update) {
  const Instr* target = update.operand(0);
  std::vector<const Instr*> found, todo{update.operand(1)};
  absl::flat_hash_set<const Instr*> seen{update.operand(1)};
  if (update.operand(1) == target) found.push_back(&update);
  while (!todo.empty() && seen.size() < kMostVisited) {
    const Instr* i = todo.back();
    todo.pop_back();
    if (i == target || !is_light(*i)) continue;
    if (std::find(i->operands.begin(), i->operands.end(), target) != i->operands.end()) found.push_back(i);
    for (const Instr* o : i->operands)
      if (seen.insert(o).second) todo.push_back(o);
  }
  return found;
}

// The array is written in full by this program, or must be copied whole before a part of it is overwritten.
bool is_written_in_full(const Instr& update, const std::function<bool(const Instr&)>& is_cheap) {
  const Instr* target = update.operand(0);
  if (is_cheap(*target)) return true;
  const Module& m = *update.parent->module();
  if (target->op == Op::kParameter)
    return update.parent == m.entry() && m.aliases.empty() && m.buffer_donors.empty();
  const bool alone = target->users.size() == 1 && target != update.parent->root();
  return alone && is_light(*target);
}

}  // namespace

bool is_rewritable(const Instr& update) {
  if (update.op != Op::kDynamicUpdateSlice) return false;
  const bool known = std::all_of(update.operands.begin() + 2, update.operands.end(),
                                 [](const Instr* o) { return o->op == Op::kConstant; });
  return known && update.shape.elements() <= 2 * update.operand(1)->shape.elements();
}

UpdateRoad road_of(const Instr& update, const std::function<bool(const Instr&)>& is_cheap) {
  if (update.op != Op::kDynamicUpdateSlice) return UpdateRoad::kInPlace;
  const std::vector<const Instr*> readers = readers_of_target(update);
  const bool own = std::all_of(readers.begin(), readers.end(),
                               [&](const Instr* r) { return loop::reads_own_window(*r, update); });
  if (is_rewritable(update) && (!own || is_written_in_full(update, is_cheap))) return UpdateRoad::kRewritten;
  if (readers.empty()) return UpdateRoad::kInPlace;
  if (own) return UpdateRoad::kOwnWindow;
  return readers.size() > 1 ? UpdateRoad::kAfter : UpdateRoad::kInPlace;
}

}  // namespace braze::fusion
