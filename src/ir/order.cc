// SPDX-License-Identifier: Apache-2.0
#include "ir/order.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace braze {

namespace {

// `roots` in order, each after what `before`, which lists it last one first, says must precede it.
template <typename T, typename F>
std::vector<T*> ordered(absl::Span<T* const> roots, F before) {
  std::vector<T*> order;
  absl::flat_hash_set<T*> seen;
  std::vector<std::pair<T*, std::vector<T*>>> stack;
  for (T* r : roots) {
    if (!seen.insert(r).second) continue;
    stack.emplace_back(r, before(r));
    while (!stack.empty()) {
      std::vector<T*>& todo = stack.back().second;
      if (todo.empty()) {
        order.push_back(stack.back().first);
        stack.pop_back();
        continue;
      }
      T* next = todo.back();
      todo.pop_back();
      if (seen.insert(next).second) stack.emplace_back(next, before(next));
    }
  }
  return order;
}

}  // namespace

std::vector<Instr*> stable_order(absl::Span<Instr* const> roots) {
  return ordered<Instr>(roots, [](Instr* i) {
    std::vector<Instr*> before(i->operands.rbegin(), i->operands.rend());
    if (i->extras)
      before.insert(before.end(), i->extras->control_predecessors.begin(),
                    i->extras->control_predecessors.end());
    return before;
  });
}

std::vector<Instr*> stable_order(const Computation& c) {
  std::vector<Instr*> roots;
  for (auto& i : c.instrs()) roots.push_back(i.get());
  return stable_order(roots);
}

std::vector<Computation*> stable_order(const Module& m) {
  std::vector<Computation*> roots;
  for (auto& c : m.computations()) roots.push_back(c.get());
  return ordered<Computation>(roots, [](Computation* c) {
    std::vector<Computation*> callees;
    for (auto& i : c->instrs()) callees.insert(callees.end(), i->calls.begin(), i->calls.end());
    std::reverse(callees.begin(), callees.end());
    return callees;
  });
}

}  // namespace braze
