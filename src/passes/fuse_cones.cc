// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_cones.h"

#include <algorithm>
#include <map>

#include "loop/elements.h"
#include "ops/op_def.h"
#include "passes/fuse.h"
#include "passes/recompute.h"

namespace braze::fusion {
namespace {

constexpr int64_t kLeastBytes = 32 << 10;  // smaller values stay in the first cache
constexpr size_t kMostMembers = 8;
constexpr size_t kMostReaders = 4;
// Of an element of all repetitions, as OpDef::cost counts: less than 8 B of traffic.
constexpr float kMostCost = 24;

bool joins(const Instr& i) { return i.op != Op::kReshape && repeats_cheaply(i); }

class Finder {
 public:
  Finder(const Groups& groups, const Copies& copies, const absl::flat_hash_set<const Instr*>& live)
      : groups_(groups), copies_(copies), live_(live) {}

  std::optional<Cone> find(const Instr* top) {
    if (!joins(*top) || top->shape.bytes() < kLeastBytes || !is_read_by_groups(*top))
      return std::nullopt;
    add(top);
    if (cone_.readers.size() < 2 || !is_read_by_heavy()) return std::nullopt;
    // Users before their operands: whether all users of one belong to the cone is known when it is
    // its turn.
    while (!border_.empty()) {
      const Instr* o = border_.begin()->second;
      border_.erase(border_.begin());
      if (o->shape.is_array() && o->shape.elements() * 16 <= top->shape.elements()) continue;
      if (joins(*o) && is_read_by_groups(*o)) {
        add(o);
      } else if (!add_leaf(*o)) {
        return std::nullopt;
      }
      if (cone_.members.size() > kMostMembers || cone_.readers.size() > kMostReaders)
        return std::nullopt;
    }
    const auto n = static_cast<int64_t>(cone_.readers.size());
    const bool saves = n * leaf_bytes_ < leaf_bytes_ + traffic_ && leaf_bytes_ <= written_;
    if (!saves || cost_ * static_cast<float>(n - 1) > kMostCost) return std::nullopt;
    return std::move(cone_);
  }

 private:
  bool has(const Instr* i) const {
    return std::find(cone_.members.begin(), cone_.members.end(), i) != cone_.members.end();
  }

  // True if nothing else than members and groups that can compute it reads `i`.
  bool is_read_by_groups(const Instr& i) const {
    if (&i == i.parent->root() || i.users.empty()) return false;
    return std::all_of(i.users.begin(), i.users.end(), [&](const Instr* u) {
      if (!live_.contains(u) || has(u)) return true;
      const bool reduces = u->op == Op::kReduce && !loop::is_tiny_reduction(*u);
      return groups_.of.contains(u) && (reduces || def(*u).has(kElementwise)) && copies_.once(u);
    });
  }

  // Elementwise readers can become one kernel with what they read.
  bool is_read_by_heavy() const {
    return std::any_of(cone_.readers.begin(), cone_.readers.end(),
                       [&](int g) { return groups_.list[g].heavy; });
  }

  void add(const Instr* i) {
    std::vector<int> readers;  // of this member
    auto note = [](std::vector<int>& list, int g) {
      if (std::find(list.begin(), list.end(), g) == list.end()) list.push_back(g);
    };
    for (const Instr* u : i->users) {
      auto it = groups_.of.find(u);
      if (!live_.contains(u) || it == groups_.of.end()) continue;
      note(readers, it->second);
      note(cone_.readers, it->second);
    }
    if (!readers.empty()) {
      written_ += i->shape.bytes();
      traffic_ += i->shape.bytes() * static_cast<int64_t>(1 + readers.size());
    }
    cone_.members.push_back(i);
    if (i->op != Op::kBroadcast) cost_ += def(*i).cost;
    for (const Instr* o : i->operands) border_[-groups_.position.at(o)] = o;
  }

  // False for what would be computed where the cone is, and never be written: then nothing is
  // saved.
  bool add_leaf(const Instr& o) {
    const bool ours = std::all_of(o.users.begin(), o.users.end(),
                                  [&](const Instr* u) { return !live_.contains(u) || has(u); });
    if (ours && is_fusible(o)) return false;
    if (o.shape.is_array()) leaf_bytes_ += o.shape.bytes();
    return o.shape.is_array();
  }

  const Groups& groups_;
  const Copies& copies_;
  const absl::flat_hash_set<const Instr*>& live_;
  Cone cone_;
  // Operands of members to look at, by descending position.
  std::map<int64_t, const Instr*> border_;
  int64_t leaf_bytes_ = 0;
  int64_t written_ = 0;  // bytes of what readers would find in memory
  int64_t traffic_ = 0;  // bytes of writing and reading these
  float cost_ = 0;
};

}  // namespace

std::optional<Cone> repeatable_cone(const Instr* top, const Groups& groups, const Copies& copies,
                                    const absl::flat_hash_set<const Instr*>& live) {
  return Finder(groups, copies, live).find(top);
}

}  // namespace braze::fusion
