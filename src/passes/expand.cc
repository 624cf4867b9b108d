// SPDX-License-Identifier: Apache-2.0
#include "passes/expand.h"

#include "base/fuel.h"
#include "ops/builder.h"
#include "ops/op_def.h"
#include "passes/widen_folds.h"

namespace braze {

Status expand(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> todo;
    for (auto& i : c->instrs()) {
      const OpDef& row = def(*i);
      if (row.expand && !row.emit && !row.index && row.nest == Nest::kNone && !i->shape.quant)
        todo.push_back(i.get());
    }
    for (Instr* i : todo) {
      if (!take_fuel("expand", i->name)) continue;
      Builder b(c);
      auto replacement = def(*i).expand(b, *i);
      if (!replacement.ok()) continue;  // a library call computes it
      TRY(b.status());
      c->replace_uses(i, *replacement);
      c->erase(i);
    }
  }
  return widen_folds(m);
}

}  // namespace braze
