// SPDX-License-Identifier: Apache-2.0
#include "plan/share.h"

#include <vector>

namespace braze {
namespace {

using loop::Kernel;
using loop::Stmt;
using scalar::Scalar;

struct Touch {
  bool argument = false, result = false;
};

class Sharing {
 public:
  Sharing(const Plan& p, int64_t argument, int64_t result)
      : p_(p), argument_(argument), result_(result) {}

  bool allowed() {
    bool begun = false;  // the result may hold values
    for (const PlanStep& s : p_.steps) {
      const Touch t = touched(s);
      if (begun && t.argument) return false;
      if (t.argument && t.result && !in_place(s)) return false;
      begun |= t.result;
    }
    return true;
  }

 private:
  bool is_argument(int64_t b) const {
    const PlanBuffer& x = p_.buffers[b];
    return x.kind == PlanBuffer::Kind::kArgument && x.index == argument_;
  }
  bool is_result(int64_t b) const {
    const PlanBuffer& x = p_.buffers[b];
    return x.kind == PlanBuffer::Kind::kResult && x.index == result_;
  }
  void note(int64_t b, Touch* t) const {
    if (b < 0) return;
    t->argument |= is_argument(b);
    t->result |= is_result(b);
  }
  Touch touched(const PlanStep& s) const {
    Touch t;
    for (size_t i = 0; i < s.inputs.size(); ++i)
      if (reads(s, static_cast<int64_t>(i))) note(s.inputs[i], &t);
    for (int64_t b : s.outputs) note(b, &t);
    note(s.predicate, &t);
    for (const PlanSteps& list : s.nested)
      for (const PlanStep& inner : list) {
        const Touch u = touched(inner);
        t.argument |= u.argument;
        t.result |= u.result;
      }
    return t;
  }

  // An operand that is updated in place is among a kernel's inputs, but read through its output.
  bool reads(const PlanStep& s, int64_t input) const {
    if (s.kind != PlanStep::Kind::kKernel) return true;
    const Kernel& k = *p_.kernels[s.kernel];
    if (k.contraction) return true;
    for (int32_t id = 0; id < k.graph.size(); ++id) {
      const scalar::Node& n = k.graph[Scalar{id}];
      if (n.op == scalar::Op::kLoad && n.imm == input) return true;
    }
    return false;
  }

  bool in_place(const PlanStep& s) const {
    if (s.kind == PlanStep::Kind::kCopy) return is_argument(s.inputs[0]) && is_result(s.outputs[0]);
    return s.kind == PlanStep::Kind::kKernel && kernel_in_place(s, *p_.kernels[s.kernel]);
  }

  // One store covers the result, an element each time; the argument is read nowhere but for it, at the
  // store's own offset.
  bool kernel_in_place(const PlanStep& s, const Kernel& k) const {
    if (k.contraction || k.phases.size() != 1) return false;
    int64_t from = -1, to = -1;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (is_result(s.inputs[i])) return false;
      if (!is_argument(s.inputs[i])) continue;
      if (from >= 0) return false;
      from = static_cast<int64_t>(i);
    }
    for (size_t i = 0; i < s.outputs.size(); ++i) {
      if (is_argument(s.outputs[i])) return false;
      if (!is_result(s.outputs[i])) continue;
      if (to >= 0) return false;
      to = static_cast<int64_t>(s.inputs.size() + i);
    }
    if (from < 0 || to < 0 || k.buffers[from].role != loop::Role::kInput ||
        k.buffers[to].role != loop::Role::kOutput || k.buffers[from].dtype != k.buffers[to].dtype)
      return false;
    Store found;
    if (!find_store(k, k.phases[0].body, to, k.phases[0].items, false, &found)) return false;
    return found.statement && found.times == k.buffers[to].elements &&
           !found.statement->store.condition && reads_only(k, from, found);
  }

  struct Store {
    const Stmt* statement = nullptr;
    const std::vector<Stmt>* body = nullptr;
    int64_t times = 0;
  };
  // False if there are several.
  static bool find_store(const Kernel& k, const std::vector<Stmt>& body, int64_t buffer, int64_t times,
                         bool counted, Store* out) {
    for (const Stmt& s : body) {
      if (s.kind == Stmt::Kind::kLoop) {
        if (!find_store(k, s.loop->body, buffer, times * s.loop->extent,
                        counted || static_cast<bool>(s.loop->count), out))
          return false;
      } else if (s.kind == Stmt::Kind::kStore && s.store.buffer == buffer) {
        if (out->statement || counted) return false;
        *out = {&s, &body, times};
      }
    }
    return true;
  }

  // Every load of `buffer` is at the store's offset, in the store itself or in a let before it in the
  // same body.
  static bool reads_only(const Kernel& k, int64_t buffer, const Store& at) {
    const Scalar offset = at.statement->store.offset;
    if (loads(k, offset, buffer, Scalar{}) != 0) return false;
    for (const Stmt& s : *at.body) {
      if (s.kind == Stmt::Kind::kLet && loads(k, s.let.value, buffer, offset) == 1) return false;
      if (&s == at.statement) break;
    }
    if (loads(k, at.statement->store.value, buffer, offset) == 1) return false;
    return !read_elsewhere(k, k.phases[0].body, buffer, at);
  }

  // Whether `s` loads from `buffer`: 0 no, 1 elsewhere than at `offset`, 2 at it only.
  static int loads(const Kernel& k, Scalar s, int64_t buffer, Scalar offset) {
    if (!s || !k.graph.has_loads(s)) return 0;
    std::vector<Scalar> stack = {s};
    std::vector<bool> visited(k.graph.size());
    int out = 0;
    while (!stack.empty()) {
      const Scalar at = stack.back();
      stack.pop_back();
      if (!at || visited[at.id]) continue;
      visited[at.id] = true;
      const scalar::Node& n = k.graph[at];
      if (n.op == scalar::Op::kLoad && n.imm == buffer) {
        if (!(n.args[0] == offset)) return 1;
        out = 2;
      }
      for (Scalar a : n.args) stack.push_back(a);
    }
    return out;
  }

  // A load outside of the store and the lets before it.
  static bool read_elsewhere(const Kernel& k, const std::vector<Stmt>& body, int64_t buffer,
                             const Store& at) {
    const auto any = [&](Scalar s) { return loads(k, s, buffer, Scalar{}) != 0; };
    bool before = &body == at.body;
    for (const Stmt& s : body) {
      const bool own = &s == at.statement;
      switch (s.kind) {
        case Stmt::Kind::kLet:
          if (!before && any(s.let.value)) return true;
          break;
        case Stmt::Kind::kStore:
          if (!own && (any(s.store.offset) || any(s.store.value) || any(s.store.condition))) return true;
          break;
        case Stmt::Kind::kLoop: {
          if (any(s.loop->count)) return true;
          for (const loop::Accumulator& a : s.loop->accumulators)
            for (const auto* list : {&a.init, &a.next, &a.identity, &a.combined})
              for (Scalar v : *list)
                if (any(v)) return true;
          if (read_elsewhere(k, s.loop->body, buffer, at)) return true;
          break;
        }
      }
      if (own) before = false;
    }
    return false;
  }

  const Plan& p_;
  int64_t argument_, result_;
};

}  // namespace

bool may_share(const Plan& p, int64_t argument, int64_t result) {
  if (argument < 0 || argument >= static_cast<int64_t>(p.argument_buffers.size()) || result < 0 ||
      result >= static_cast<int64_t>(p.result_buffers.size()))
    return false;
  const Shape& a = p.buffers[p.argument_buffers[argument]].shape;
  const Shape& r = p.buffers[p.result_buffers[result]].shape;
  return a.dtype == r.dtype && a.dims == r.dims && Sharing(p, argument, result).allowed();
}

}  // namespace braze
