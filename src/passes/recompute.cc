// SPDX-License-Identifier: Apache-2.0
#include "passes/recompute.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/fuel.h"
#include "ops/op_def.h"

namespace braze {
namespace {

constexpr int64_t kLeastBytes = 32 << 10;  // smaller values are left where they are
constexpr int64_t kFar = 64;               // instructions between early and late readers
constexpr float kMostCost = 24;            // an element, as OpDef::cost counts: less than 8 B of traffic
constexpr size_t kMostMembers = 24;        // operations to repeat; reshapes and broadcasts cost nothing
constexpr size_t kMostLeaves = 3;          // large values that are read instead

bool is_large(const Instr& i) { return i.shape.is_array() && i.shape.bytes() >= kLeastBytes; }

// The operations to repeat for one value at its late readers.
struct Cone {
  Instr* value;
  std::vector<Instr*> late;     // the readers
  std::vector<Instr*> members;  // the operations, the value's first
  absl::InlinedVector<Instr*, 4> leaves;
  Instr* kept = nullptr;  // a leaf that would have to live longer
  float cost = 0;
};

class Recomputer {
 public:
  explicit Recomputer(Computation* c) : c_(c) {}

  void run() {
    const std::vector<Instr*> order = post_order(*c_);
    for (Instr* i : order) position_[i] = static_cast<int64_t>(position_.size());
    for (Instr* i : order) note_last_read(i);
    // Cones that need one more value to live on, by that value, in order.
    std::vector<Instr*> kept;
    absl::flat_hash_map<Instr*, std::vector<Cone>> waiting;
    for (Instr* i : order) {
      Cone cone{i};
      if (!is_large(*i) || i == c_->root() || !repeats_cheaply(*i) || !find_late(&cone)) continue;
      if (!grow(i, &cone) || cone.leaves.size() > kMostLeaves) continue;
      if (!cone.kept) {
        apply(cone);
      } else {
        if (waiting[cone.kept].empty()) kept.push_back(cone.kept);
        waiting[cone.kept].push_back(std::move(cone));
      }
    }
    // One value in place of several.
    for (Instr* k : kept)
      if (waiting[k].size() > 1)
        for (const Cone& cone : waiting[k]) apply(cone);
  }

 private:
  void note_last_read(const Instr* i) {
    int64_t& last = last_read_[i];
    last = 0;
    for (const Instr* u : i->users)
      if (auto it = position_.find(u); it != position_.end()) last = std::max(last, it->second);
  }

  // Late readers must be kernels that the copy can join.
  static bool can_take(const Instr& reader) {
    return reader.op == Op::kReduce || (reader.shape.is_array() && def(reader).has(kElementwise));
  }

  // False if the value has no early readers or no late ones, or has some that must find it in memory.
  bool find_late(Cone* cone) const {
    const int64_t at = position_.at(cone->value);
    for (Instr* u : cone->value->users) {
      auto it = position_.find(u);
      if (it == position_.end()) return false;  // a copy's operation
      if (it->second - at <= kFar) continue;
      if (!can_take(*u)) return false;
      cone->late.push_back(u);
    }
    return !cone->late.empty() && cone->late.size() < cone->value->users.size();
  }

  // Adds `i` and what it takes to compute it from values that live until the late readers, but for one.
  bool grow(Instr* i, Cone* cone) const {
    auto has = [](const auto& list, Instr* x) { return std::find(list.begin(), list.end(), x) != list.end(); };
    if (has(cone->members, i)) return true;
    cone->members.push_back(i);
    if (def(*i).has(kElementwise)) cone->cost += def(*i).cost;
    if (cone->cost > kMostCost || cone->members.size() > kMostMembers) return false;
    const int64_t late = last_read_.at(cone->value);
    for (Instr* o : i->operands) {
      if (o->shape.is_array() && o->shape.elements() * 16 <= cone->value->shape.elements()) continue;
      const bool lives = last_read_.at(o) >= late - kFar;
      if (!lives && !ends_kernel(*o) && repeats_cheaply(*o)) {
        if (!grow(o, cone)) return false;
        continue;
      }
      if (!lives && cone->kept && cone->kept != o) return false;
      if (!lives) cone->kept = o;
      if (!has(cone->leaves, o)) cone->leaves.push_back(o);
    }
    return true;
  }

  // True for an epilogue: its value is in memory, its operands are not.
  static bool ends_kernel(const Instr& i) {
    for (const Instr* o : i.operands)
      if ((o->op == Op::kDot || o->op == Op::kConvolution) && o->users.size() == 1) return true;
    return false;
  }

  void apply(const Cone& cone) {
    if (!take_fuel("recompute", cone.value->name)) return;
    Instr* copy = repeat(cone);
    for (Instr* u : cone.late)
      for (size_t k = 0; k < u->operands.size(); ++k)
        if (u->operands[k] == cone.value) c_->set_operand(u, static_cast<int64_t>(k), copy);
    note_last_read(cone.value);
  }

  Instr* repeat(const Cone& cone) {
    const int64_t late = last_read_.at(cone.value);
    absl::flat_hash_map<Instr*, Instr*> copies;
    auto copy = [&](auto& self, Instr* x) -> Instr* {
      if (std::find(cone.members.begin(), cone.members.end(), x) == cone.members.end()) return x;
      if (auto it = copies.find(x); it != copies.end()) return it->second;
      absl::InlinedVector<Instr*, 3> operands;
      for (Instr* o : x->operands) operands.push_back(self(self, o));
      Instr* y = c_->add(x->op, x->shape, operands, x->attrs, {}, x->name);
      if (x->extras) y->extras = std::make_unique<Extras>(*x->extras), y->extras->control_predecessors.clear();
      last_read_[y] = late;
      return copies[x] = y;
    };
    return copy(copy, cone.value);
  }

  Computation* c_;
  absl::flat_hash_map<const Instr*, int64_t> position_;   // in post order; copies have none
  absl::flat_hash_map<const Instr*, int64_t> last_read_;  // the position of the last reader
};

}  // namespace

bool repeats_cheaply(const Instr& i) {
  if (!i.shape.is_array() || i.shape.quant || i.shape.has_bounded_dim() || !i.calls.empty()) return false;
  if (i.op == Op::kBroadcast || i.op == Op::kReshape) return true;
  const OpDef& d = def(i);
  return d.has(kElementwise) && d.emit;
}

Status recompute(Module& m) {
  for (Computation* c : computation_post_order(m)) Recomputer(c).run();
  return absl::OkStatus();
}

}  // namespace braze
