// SPDX-License-Identifier: Apache-2.0
#include "analysis/verify.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/lexer.h"
#include "ops/laws.h"
#include "ops/op_def.h"

namespace braze {

namespace {

bool is_legal_name(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), is_name_char);
}

Status check_parts(const Instr& i, const Computation& c) {
  if (i.parent != &c) return internal("'", i.name, "': its parent is another computation");
  if (!is_legal_name(i.name)) return internal("'", i.name, "' is no legal name");
  for (const Instr* o : i.operands)
    if (!o || o->parent != &c)
      return internal("'", i.name, "': an operand is missing or of another computation");
  if (i.extras)
    for (const Instr* p : i.extras->control_predecessors)
      if (!p || p->parent != &c)
        return internal("'", i.name,
                        "': a control predecessor is missing or of another computation");
  for (const Computation* callee : i.calls)
    if (!callee || callee->module() != c.module())
      return internal("'", i.name, "': it calls another module's computation");
  if (static_cast<int>(i.attrs.index()) != def(i.op).attrs && def(i.op).infer)
    return internal("'", i.name, "': ", name(i.op), " with another op's attributes");
  return {};
}

// Every use is listed once with the value, and nothing else is.
Status check_uses(const Computation& c) {
  absl::flat_hash_map<const Instr*, absl::flat_hash_set<const Instr*>> uses;
  for (auto& i : c.instrs())
    for (const Instr* o : i->operands) uses[o].insert(i.get());
  for (auto& i : c.instrs()) {
    const auto& expected = uses[i.get()];
    absl::flat_hash_set<const Instr*> listed(i->users.begin(), i->users.end());
    if (listed.size() != i->users.size())
      return internal("'", i->name, "': a user is listed twice");
    if (listed != expected) return internal("'", i->name, "': its list of users is wrong");
  }
  return {};
}

Status check_params(const Computation& c) {
  int64_t count = 0;
  for (auto& i : c.instrs()) count += i->is(Op::kParameter);
  if (count != static_cast<int64_t>(c.params().size()))
    return internal(count, " parameter instructions, ", c.params().size(), " listed");
  for (size_t n = 0; n < c.params().size(); ++n) {
    const Instr* p = c.params()[n];
    if (!p || p->parent != &c || !p->is(Op::kParameter) ||
        p->parameter_number() != static_cast<int64_t>(n))
      return internal("parameter ", n, " is not listed at its number");
  }
  return {};
}

// Operands and control predecessors come before: depth first, with an explicit stack.
Status check_acyclic(const Computation& c) {
  absl::flat_hash_map<const Instr*, bool> done;  // false: on the stack
  std::vector<std::pair<const Instr*, size_t>> stack;
  for (auto& start : c.instrs()) {
    if (!done.try_emplace(start.get(), false).second) continue;
    stack.emplace_back(start.get(), 0);
    while (!stack.empty()) {
      auto& [i, next] = stack.back();
      const size_t operands = i->operands.size();
      const size_t controls = i->extras ? i->extras->control_predecessors.size() : 0;
      if (next == operands + controls) {
        done[i] = true;
        stack.pop_back();
        continue;
      }
      const Instr* o =
          next < operands ? i->operands[next] : i->extras->control_predecessors[next - operands];
      ++next;
      auto [it, fresh] = done.try_emplace(o, false);
      if (fresh)
        stack.emplace_back(o, 0);
      else if (!it->second)
        return internal("'", o->name, "' depends on itself");
    }
  }
  return {};
}

Status check_structure(const Computation& c) {
  for (auto& i : c.instrs()) TRY(check_parts(*i, c));
  if (!c.root() || c.root()->parent != &c) return internal("no root");
  TRY(check_params(c));
  TRY(check_uses(c));
  return check_acyclic(c);
}

Status check_meaning(const Computation& c) {
  for (auto& i : c.instrs()) {
    TRY(check_size(i->shape));
    TRY(check_callee_count(*i));
    TRY(check_shape(*i));
  }
  return {};
}

Status within(const Computation& c, const Status& s) {
  return note(str_cat("computation '", c.name(), "'"), s);
}

Status check_names(const Module& m) {
  absl::flat_hash_set<std::string_view> computations, instrs;
  for (auto& c : m.computations()) {
    if (!is_legal_name(c->name())) return internal("computation '", c->name(), "': no legal name");
    if (!computations.insert(c->name()).second)
      return internal("two computations are named '", c->name(), "'");
    for (auto& i : c->instrs())
      if (!instrs.insert(i->name).second)
        return internal("two instructions are named '", i->name, "'");
  }
  return {};
}

}  // namespace

Status verify(const Computation& c) {
  TRY(within(c, check_structure(c)));
  return within(c, check_meaning(c));
}

Status verify(const Module& m) {
  bool has_entry = false;
  for (auto& c : m.computations()) has_entry |= c.get() == m.entry();
  if (!has_entry) return internal("the module has no entry computation");
  for (auto& c : m.computations()) TRY(within(*c, check_structure(*c)));
  TRY(check_names(m));
  TRY(check_call_graph(m));
  for (auto& c : m.computations()) TRY(within(*c, check_meaning(*c)));
  return check_header(m);
}

}  // namespace braze
