// SPDX-License-Identifier: Apache-2.0
#include "ops/bitcast_layout.h"

#include "ops/builder.h"

namespace braze {
namespace {

bool has_layout(const Shape& s) {
  return s.is_array() && !is_row_major(s) && s.layout.size() == s.dims.size();
}

// Dimensions from the slowest to the fastest.
Dims slow_to_fast(const Shape& s) { return Dims(s.layout.rbegin(), s.layout.rend()); }

}  // namespace

Status row_major_bitcasts(Module& m) {
  for (const auto& c : m.computations()) {
    std::vector<Instr*> todo;
    for (const auto& i : c->instrs())
      if (i->op == Op::kBitcast && (has_layout(i->shape) || has_layout(i->operand(0)->shape)))
        todo.push_back(i.get());
    for (Instr* i : todo) {
      Builder b(c.get());
      Instr* v = i->operand(0);
      const Shape out = i->shape;
      if (has_layout(v->shape)) v = b.transpose(v, slow_to_fast(v->shape));
      if (!has_layout(out)) {
        v = b.op_shaped(Op::kBitcast, out, {v});
      } else {
        const Dims order = slow_to_fast(out);
        Shape bytes = out;
        Dims back(order.size(), 0);
        bytes.layout.clear();
        for (size_t k = 0; k < order.size(); ++k) {
          bytes.dims[k] = out.dims[order[k]];
          if (!out.dynamic.empty()) bytes.dynamic[k] = out.dynamic[order[k]];
          back[order[k]] = static_cast<int64_t>(k);
        }
        v = b.transpose(b.op_shaped(Op::kBitcast, bytes, {v}), back);
      }
      TRY(b.status());
      c->set_shape(v, out);  // with the layout, which bitcasts of this value read
      c->replace_uses(i, v);
      c->erase(i);
    }
  }
  return absl::OkStatus();
}

}  // namespace braze
