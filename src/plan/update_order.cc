// SPDX-License-Identifier: Apache-2.0
#include "plan/update_order.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "loop/lower.h"

namespace braze {
namespace {

// One array: the instruction that computes it, and which element of its result.
using Value = std::pair<const Instr*, int64_t>;

Value value_of(const Instr* i) {
  int64_t element = 0;
  for (;;) {
    switch (i->op) {
      case Op::kReshape: case Op::kBitcast: case Op::kCopy: case Op::kDomain: i = i->operand(0); continue;
      case Op::kGetTupleElement:
        element = i->as<IndexAttrs>().index;
        i = i->operand(0);
        if (i->op != Op::kTuple) return {i, element};
        i = i->operand(element);
        element = 0;
        continue;
      default: return {i, element};
    }
  }
}

bool is_view(const Instr& i) {
  switch (i.op) {
    case Op::kReshape: case Op::kBitcast: case Op::kCopy: case Op::kDomain: case Op::kGetTupleElement: case Op::kTuple:
      return true;
    default: return false;
  }
}

class UpdateOrder {
 public:
  explicit UpdateOrder(const Computation& c) : c_(c), order_(post_order(c)) {}

  std::vector<Instr*> run() {
    for (size_t k = 0; k < order_.size(); ++k) at_[order_[k]] = k;
    std::vector<std::pair<Instr*, Value>> updates;
    for (Instr* i : order_)
      if (i->op == Op::kFusion) add_updates(i, &updates);
    if (updates.empty()) return std::move(order_);
    for (const auto& [update, value] : updates) readers_[value];
    for (Instr* i : order_) add_reads(i);
    for (const auto& [update, value] : updates) move_behind(update, readers_[value]);
    return std::move(order_);
  }

 private:
  void add_updates(Instr* i, std::vector<std::pair<Instr*, Value>>* out) const {
    const int64_t results = i->shape.is_tuple() ? static_cast<int64_t>(i->shape.tuple.size()) : 1;
    for (int64_t k = 0; k < results; ++k) {
      const int64_t operand = loop::inout_parameter(*i->calls[0], k);
      if (operand < 0) continue;
      const Value v = value_of(i->operand(operand));
      if (may_be_overwritten(*v.first)) out->emplace_back(i, v);
    }
  }

  // The entry's arguments belong to the caller, unless one is given up.
  bool may_be_overwritten(const Instr& i) const {
    const Module& m = *c_.module();
    if (i.op == Op::kConstant) return false;
    return i.op != Op::kParameter || &c_ != m.entry() || !m.aliases.empty() || !m.buffer_donors.empty();
  }

  void add_reads(Instr* i) {
    if (is_view(*i) && i != c_.root()) return;
    std::vector<const Instr*> open(i->operands.begin(), i->operands.end());
    for (int n = 0; !open.empty() && n < kMostRead; ++n) {
      const Instr* o = open.back();
      open.pop_back();
      if (o->op == Op::kTuple) {
        open.insert(open.end(), o->operands.begin(), o->operands.end());
        continue;
      }
      auto found = readers_.find(value_of(o));
      if (found != readers_.end()) found->second.push_back(i);
    }
  }

  // Readers behind `update`, and what they need, go before it; the rest of the range follows.
  void move_behind(Instr* update, const std::vector<Instr*>& readers) {
    const size_t from = at_[update];
    size_t to = from;
    for (const Instr* r : readers) to = std::max(to, at_[r]);
    if (to == from) return;
    left_ -= static_cast<int64_t>(to - from);
    if (left_ < 0) return;
    std::vector<bool> early(to - from + 1);
    for (const Instr* r : readers)
      if (at_[r] > from) early[at_[r] - from] = true;
    for (size_t k = to; k > from; --k) {
      if (acts(order_[k])) return;
      if (!early[k - from]) continue;
      const auto need = [&](const Instr* o) {
        if (at_[o] >= from) early[at_[o] - from] = true;
      };
      for (const Instr* o : order_[k]->operands) need(o);
      if (order_[k]->extras)
        for (const Instr* o : order_[k]->extras->control_predecessors) need(o);
    }
    if (early[0]) return;  // a reader needs the update
    const auto begin = order_.begin() + static_cast<int64_t>(from);
    std::stable_partition(begin, order_.begin() + static_cast<int64_t>(to) + 1,
                          [&](const Instr* i) { return early[at_[i] - from]; });
    for (size_t k = from; k <= to; ++k) at_[order_[k]] = k;
  }

  bool acts(const Instr* i) {
    if (i->calls.empty()) return has_effect(*i);
    const auto [it, fresh] = acts_.try_emplace(i, false);
    if (fresh) it->second = has_effect(*i);
    return it->second;
  }

  static constexpr int kMostRead = 10000;  // by one instruction; one that reads more is not looked at

  const Computation& c_;
  std::vector<Instr*> order_;
  absl::flat_hash_map<const Instr*, size_t> at_;
  absl::flat_hash_map<const Instr*, bool> acts_;  // has an effect, by what calls computations
  int64_t left_ = 1 << 22;                        // instructions looked at: more are not worth the copies
  absl::flat_hash_map<Value, std::vector<Instr*>> readers_;
};

}  // namespace

std::vector<Instr*> updates_last(const Computation& c) { return UpdateOrder(c).run(); }

}  // namespace braze
