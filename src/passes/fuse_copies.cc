// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_copies.h"

#include <algorithm>

#include "loop/elements.h"
#include "ops/op_def.h"

namespace braze::fusion {
namespace {

constexpr size_t kMostCopies = 16;

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = a * 0x9e3779b97f4a7c15u + b;
  h ^= h >> 29;
  return h * 0xbf58476d1ce4e5b9u;
}

bool has_gaps(const Instr& i) {
  if (i.op != Op::kPad) return false;
  const Dims& interior = i.as<PadAttrs>().interior;
  return std::any_of(interior.begin(), interior.end(), [](int64_t n) { return n > 0; });
}

}  // namespace

void Copies::note(const Instr* i) {
  const auto noted = [&](const Instr* o) { return interleaved_.contains(o); };
  if (has_gaps(*i) || (def(*i).has(kElementwise) && std::any_of(i->operands.begin(), i->operands.end(), noted)))
    interleaved_.insert(i);
}

bool Copies::behind_gaps(const Instr* i) const {
  return std::any_of(i->users.begin(), i->users.end(), [&](const Instr* u) {
    return behind_gaps_.contains(u) || (positions_.contains(u) && has_gaps(*u));
  });
}

bool Copies::once(const Instr* i) const {
  auto it = positions_.find(i);
  return it != positions_.end() && it->second.size() == 1 && !interleaved_.contains(i) && !behind_gaps_.contains(i);
}

bool Copies::join(const Instr* i) {
  std::vector<uint64_t> all;
  if (i->shape.is_array() && i->shape.elements() == 1) {
    start(i);  // there is one position
    return true;
  }
  for (const Instr* u : i->users) {
    auto it = positions_.find(u);
    if (it == positions_.end()) continue;
    if (def(*u).has(kElementwise)) {
      all.insert(all.end(), it->second.begin(), it->second.end());
      continue;
    }
    const bool unrolled = u->op == Op::kReduce && loop::is_tiny_reduction(*u);
    const int64_t times = unrolled && u->shape.is_array() && u->shape.elements() > 0
                              ? u->operand(0)->shape.elements() / u->shape.elements()
                              : 1;
    for (size_t k = 0; k < u->operands.size(); ++k)
      if (u->operands[k] == i)
        for (uint64_t p : it->second)
          for (int64_t t = 0; t < times; ++t)
            all.push_back(mix(p, static_cast<uint64_t>(u->id) * 64 + k * 8 + static_cast<uint64_t>(t)));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kMostCopies) return false;
  if (behind_gaps(i)) {
    if (interleaved_.contains(i)) return false;
    behind_gaps_.insert(i);
  }
  if (all.empty()) all.push_back(0);
  positions_[i] = std::move(all);
  return true;
}

}  // namespace braze::fusion
