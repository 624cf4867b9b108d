// SPDX-License-Identifier: Apache-2.0
#include "ir/opcode.h"

#include "absl/container/flat_hash_map.h"

namespace braze {
namespace {

constexpr std::string_view kNames[] = {
#define OP(e, hlo) hlo,
#include "ir/opcodes.def"
#undef OP
};

}  // namespace

std::string_view name(Op op) { return kNames[static_cast<int>(op)]; }

std::optional<Op> op_from_hlo(std::string_view name) {
  static const auto* index = [] {
    auto* m = new absl::flat_hash_map<std::string_view, Op>;
    for (int i = 0; i < kOpCount; ++i) m->emplace(kNames[i], static_cast<Op>(i));
    return m;
  }();
  auto it = index->find(name);
  return it == index->end() ? std::nullopt : std::optional<Op>(it->second);
}

}  // namespace braze
