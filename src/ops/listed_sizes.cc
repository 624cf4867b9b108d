// SPDX-License-Identifier: Apache-2.0
#include "ops/listed_sizes.h"

#include <algorithm>

#include "ops/builder.h"

namespace braze {
namespace {

bool has_scalar_sizes(const Instr& i) {
  return i.is(Op::kDynamicReshape) && i.shape.is_array() && i.shape.rank() > 0 &&
         static_cast<int64_t>(i.operands.size()) == i.shape.rank() + 1 &&
         std::all_of(i.operands.begin() + 1, i.operands.end(), [](const Instr* o) { return o->shape.is_scalar(); });
}

}  // namespace

Status list_reshape_sizes(Module& m) {
  for (const auto& c : m.computations()) {
    std::vector<Instr*> found;
    for (const auto& i : c->instrs())
      if (has_scalar_sizes(*i)) found.push_back(i.get());
    for (Instr* i : found) {
      Builder b(c.get());
      std::vector<Instr*> sizes;
      for (size_t k = 1; k < i->operands.size(); ++k) sizes.push_back(b.reshape(i->operand(k), {1}));
      Instr* list = sizes.size() == 1 ? sizes[0] : b.op(Op::kConcatenate, sizes, DimsAttrs{{0}});
      TRY(b.status());
      c->set_operands(i, {i->operand(0), list});
    }
  }
  return absl::OkStatus();
}

}  // namespace braze
