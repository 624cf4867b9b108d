// SPDX-License-Identifier: Apache-2.0
#include "passes/widen_folds.h"

#include "base/fuel.h"
#include "ops/builder.h"
#include "ops/scalar_function.h"
#include "ops/wide_combiner.h"
#include "ops/window_math.h"

namespace braze {
namespace {

bool is_narrow(Dtype t) { return is_float(t) && bit_size(t) < 32; }

bool is_fold(const Instr& i) {
  if (i.op != Op::kReduce && i.op != Op::kReduceWindow) return false;
  if (i.calls.size() != 1 || plain_combiner(*i.calls[0])) return false;
  const size_t n = i.operands.size() / 2;
  bool narrow = false;
  for (size_t k = 0; k < n; ++k) {
    const Shape &in = i.operands[k]->shape, &init = i.operands[n + k]->shape;
    if (in.quant || in.dtype != init.dtype || !in.is_static()) return false;
    narrow |= is_narrow(in.dtype);
  }
  if (!narrow) return false;
  return i.op == Op::kReduce ||
         find_scan(i.as<WindowAttrs>().window, i.operands[0]->shape.dims).dim >= 0;
}

}  // namespace

Status widen_folds(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> todo;
    for (auto& i : c->instrs())
      if (is_fold(*i)) todo.push_back(i.get());
    for (Instr* i : todo) {
      if (!take_fuel("widen", i->name)) continue;
      Computation* body = widened(m, *i->calls[0]);
      if (!body) continue;
      Builder b(c);
      std::vector<Instr*> operands;
      for (Instr* o : i->operands)
        operands.push_back(is_narrow(o->shape.dtype) ? b.convert(Dtype::kF32, o) : o);
      Instr* wide = b.op(i->op, operands, i->attrs, {body});
      Instr* out = nullptr;
      if (!i->shape.is_tuple()) {
        out = b.convert(i->shape.dtype, wide);
      } else {
        std::vector<Instr*> parts;
        for (size_t k = 0; k < i->shape.tuple.size(); ++k) {
          const Dtype t = i->shape.tuple[k].dtype;
          Instr* part = b.element(wide, static_cast<int64_t>(k));
          parts.push_back(is_narrow(t) ? b.convert(t, part) : part);
        }
        out = b.tuple(parts);
      }
      TRY(b.status());
      c->replace_uses(i, out);
      c->erase(i);
    }
  }
  return absl::OkStatus();
}

}  // namespace braze
