// SPDX-License-Identifier: Apache-2.0
// Shrinking: cuts are tried on copies and kept while the copy fails in the same way.
#include "eval/evaluator.h"
#include "ops/builder.h"
#include "test/fuzz/module_check.h"

namespace braze::fuzz {
namespace {

Computation* computation_named(const Module& m, std::string_view name) {
  for (const auto& c : m.computations())
    if (c->name() == name) return c.get();
  return nullptr;
}

Instr* instr_named(const Computation& c, std::string_view name) {
  for (const auto& i : c.instrs())
    if (i->name == name) return i.get();
  return nullptr;
}

class Shrinker {
 public:
  Shrinker(Case c, Verdict verdict, uint64_t seed, int attempts)
      : best_(std::move(c)), verdict_(verdict), seed_(seed), left_(attempts) {}

  Case run() {
    bool progress = true;
    while (progress && left_ > 0) {
      progress = smaller_root();
      progress = cut_entry() || progress;
      progress = cut_bodies() || progress;
    }
    return std::move(best_);
  }

 private:
  // Keeps `c` if it still fails.
  bool accept(Case c) {
    if (left_-- <= 0) return false;
    tidy(c);
    if (!still_fails(c)) return false;
    best_ = std::move(c);
    return true;
  }
  bool still_fails(const Case& c) const { return check_in_child(c, seed_).verdict == verdict_; }

  static void tidy(Case& c) {
    c.module->entry()->erase_dead();
    c.module->erase_dead_computations();
    std::vector<Literal> args;
    for (int64_t old : c.module->entry()->erase_unused_params()) args.push_back(c.args[old]);
    c.args = std::move(args);
  }

  bool smaller_root() {
    bool any = false;
    for (bool again = true; again && left_ > 0;) {
      again = false;
      const size_t n = best_.module->entry()->root()->operands.size();
      for (size_t k = 0; k < n && left_ > 0; ++k) {
        Case c = best_.copy();
        Instr* root = c.module->entry()->root();
        Instr* o = root->operand(static_cast<int64_t>(k));
        if (o->op == Op::kParameter || o->op == Op::kConstant) continue;
        c.module->entry()->set_root(o);
        if (accept(std::move(c))) {
          any = again = true;
          break;
        }
      }
    }
    return any;
  }

  // An instruction of the entry becomes a parameter with the value it had, an operand or zeros.
  bool cut_entry() {
    bool any = false;
    std::vector<std::string> names;
    for (const auto& i : best_.module->entry()->instrs()) names.push_back(i->name);
    for (auto it = names.rbegin(); it != names.rend() && left_ > 0; ++it) {
      const Instr* i = instr_named(*best_.module->entry(), *it);
      if (!i || i->op == Op::kParameter || i == best_.module->entry()->root()) continue;
      any = by_operand("", *it) || (i->op != Op::kConstant && by_parameter(*it)) || any;
    }
    return any;
  }

  bool by_parameter(const std::string& name) {
    Case c = best_.copy();
    Computation* entry = c.module->entry();
    Instr* i = instr_named(*entry, name);
    if (!i || (!i->shape.is_array() && !i->shape.is_tuple()) || !i->shape.is_static()) return false;
    auto prefix = c.module->clone();
    Instr* root = instr_named(*prefix->entry(), name);
    if (!root) return false;
    prefix->entry()->set_root(root);
    EvalOptions limits;
    limits.max_steps = 200000;
    auto value = evaluate(*prefix, c.args, limits);
    if (!value.ok()) return false;
    Builder b(entry);
    Instr* p = b.parameter(static_cast<int64_t>(entry->params().size()), i->shape);
    entry->replace_uses(i, p);
    c.args.push_back(*std::move(value));
    return accept(std::move(c));
  }

  // computation "": the entry.
  bool by_operand(const std::string& computation, const std::string& name) {
    auto place = [&](Case& c) {
      return computation.empty() ? c.module->entry() : computation_named(*c.module, computation);
    };
    const Computation* now = place(best_);
    const Instr* i = now ? instr_named(*now, name) : nullptr;
    if (!i) return false;
    for (size_t k = 0; k < i->operands.size() && left_ > 0; ++k) {
      if (!(i->operand(static_cast<int64_t>(k))->shape == i->shape)) continue;
      Case c = best_.copy();
      Computation* where = place(c);
      Instr* j = where ? instr_named(*where, name) : nullptr;
      if (!j) return false;  // dead: a copy lacks it
      where->replace_uses(j, j->operand(static_cast<int64_t>(k)));
      if (accept(std::move(c))) return true;
    }
    return false;
  }

  bool by_zero(const std::string& computation, const std::string& name) {
    Case c = best_.copy();
    Computation* where = computation_named(*c.module, computation);
    Instr* i = where ? instr_named(*where, name) : nullptr;
    if (!i || !i->shape.is_array() || !i->shape.is_static() || i->op == Op::kConstant || i->shape.quant)
      return false;
    Builder b(where);
    Instr* zero = b.constant(Literal(Shape::array(i->shape.dtype, i->shape.dims)));
    where->replace_uses(i, zero);
    where->erase_dead();
    return accept(std::move(c));
  }

  bool cut_bodies() {
    bool any = false;
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& c : best_.module->computations())
      if (c.get() != best_.module->entry())
        for (const auto& i : c->instrs())
          if (i->op != Op::kParameter) names.emplace_back(c->name(), i->name);
    for (auto it = names.rbegin(); it != names.rend() && left_ > 0; ++it)
      any = by_operand(it->first, it->second) || by_zero(it->first, it->second) || any;
    return any;
  }

  Case best_;
  Verdict verdict_;
  uint64_t seed_;
  int left_;
};

}  // namespace

Case shrink(Case c, const Finding& finding, uint64_t seed, int attempts) {
  return Shrinker(std::move(c), finding.verdict, seed, attempts).run();
}

}  // namespace braze::fuzz
