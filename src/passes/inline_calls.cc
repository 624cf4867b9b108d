// SPDX-License-Identifier: Apache-2.0
#include "passes/inline_calls.h"

#include "absl/container/flat_hash_map.h"

namespace braze {
namespace {

void inline_call(Computation* c, Instr* call) {
  std::vector<Instr*> arguments(call->operands.begin(), call->operands.end());
  c->replace_uses(call, inline_computation(c, *call->calls[0], arguments));
  c->erase(call);
}

}  // namespace

Instr* inline_computation(Computation* c, const Computation& callee,
                          absl::Span<Instr* const> arguments) {
  absl::flat_hash_map<const Instr*, Instr*> map;
  for (const Instr* p : callee.params()) map[p] = arguments[p->parameter_number()];
  for (Instr* i : post_order(callee)) {
    if (i->op == Op::kParameter) continue;
    absl::InlinedVector<Instr*, 4> operands;
    for (Instr* o : i->operands) operands.push_back(map.at(o));
    Instr* copy = c->add(i->op, i->shape, operands, i->attrs, i->calls, i->name);
    if (i->extras) {
      copy->extras = std::make_unique<Extras>(*i->extras);
      copy->extras->control_predecessors.clear();
    }
    map[i] = copy;
  }
  return map.at(callee.root());
}

Status inline_calls(Module& m) {
  // Callees first, so that each body is inlined in its final form.
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> calls;
    for (auto& i : c->instrs())
      if (i->op == Op::kCall || (i->op == Op::kFusion && !i->calls.empty())) calls.push_back(i.get());
    for (Instr* i : calls) inline_call(c, i);
    if (m.instruction_count() > int64_t{4} << 20)
      return exhausted("the program has over four million instructions once its calls are inlined");
  }
  m.erase_dead_computations();
  return absl::OkStatus();
}

}  // namespace braze
