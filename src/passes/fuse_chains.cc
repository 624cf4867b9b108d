// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/fuel.h"
#include "loop/elements.h"
#include "passes/fuse_groups.h"

namespace braze::fusion {
namespace {

class ChainMerger {
 public:
  ChainMerger(Groups& g, int64_t max_group, const std::function<bool(const Group&)>& has_kernel,
              const std::function<void(const Instr&, const Instr&, std::string_view)>& trace)
      : groups_(g), max_group_(max_group), has_kernel_(has_kernel), trace_(trace) {}

  void run() {
    for (size_t g = 0; g < groups_.list.size(); ++g) {
      const Instr* dot = product(at(g));
      if (!dot || at(g).roots.size() != 1) continue;
      for (const Instr* side : dot->operands) {
        const int rows = only_read_by(side, static_cast<int>(g));
        if (rows >= 0 && reduces(at(rows)) && merge(static_cast<int>(g), rows)) break;
      }
    }
  }

 private:
  Group& at(size_t g) { return groups_.list[g]; }
  int group(const Instr* i) const {
    auto it = groups_.of.find(i);
    return it == groups_.of.end() ? -1 : it->second;
  }

  // The only contraction of a group, a dot; or null.
  static const Instr* product(const Group& g) {
    const Instr* found = nullptr;
    for (const Instr* m : g.members) {
      if (m->op == Op::kConvolution || (m->op == Op::kDot && found)) return nullptr;
      if (m->op == Op::kDot) found = m;
    }
    return found;
  }

  static bool reduces(const Group& g) {
    return std::any_of(g.members.begin(), g.members.end(), [](const Instr* m) {
      return m->op == Op::kReduce && !loop::is_tiny_reduction(*m);
    });
  }

  // The group of one root that computes what `i` shows members of group g, if nothing else reads it; or -1.
  int only_read_by(const Instr* i, int g) const {
    while (group(i) == g && !i->operands.empty()) i = i->operand(0);
    const int from = group(i);
    if (from < 0 || from == g || groups_.list[from].roots.size() != 1 || groups_.list[from].roots[0] != i)
      return -1;
    const bool outside = i->parent->root() == i || std::any_of(i->users.begin(), i->users.end(), [&](const Instr* u) {
                           return group(u) != g;
                         });
    return outside ? -1 : from;
  }

  bool merge(int g, int rows) {
    for (const Instr* m : at(rows).members)
      for (const Instr* o : m->operands) {
        if (group(o) == rows) continue;
        const int first = only_read_by(o, rows);
        if (first >= 0 && first != g && product(at(first)) && try_merge(g, rows, first)) return true;
      }
    return false;
  }

  bool try_merge(int g, int rows, int first) {
    Group merged = at(g);
    for (int part : {rows, first})
      merged.members.insert(merged.members.end(), at(part).members.begin(), at(part).members.end());
    if (static_cast<int64_t>(merged.members.size()) > max_group_) return false;
    std::sort(merged.members.begin(), merged.members.end(), [&](const Instr* p, const Instr* q) {
      return groups_.position.at(p) > groups_.position.at(q);
    });
    merged.heavy = true;
    const Instr &from = *at(first).roots[0], &to = *at(g).roots[0];
    const bool fits = has_kernel_(merged) && take_fuel("fuse", from.name);
    if (trace_) trace_(from, to, fits ? "one kernel, tile by tile" : "no single kernel");
    if (!fits) return false;
    for (const Instr* m : merged.members) groups_.of[m] = g;
    at(rows) = at(first) = Group();
    at(g) = std::move(merged);
    return true;
  }

  Groups& groups_;
  const int64_t max_group_;
  const std::function<bool(const Group&)>& has_kernel_;
  const std::function<void(const Instr&, const Instr&, std::string_view)>& trace_;
};

}  // namespace

void merge_chains(Groups& groups, int64_t max_group, const std::function<bool(const Group&)>& has_kernel,
                  const std::function<void(const Instr&, const Instr&, std::string_view)>& trace) {
  ChainMerger(groups, max_group, has_kernel, trace).run();
}

}  // namespace braze::fusion
