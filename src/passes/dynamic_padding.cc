// SPDX-License-Identifier: Apache-2.0
#include "passes/dynamic_padding.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "passes/control.h"
#include "passes/inline_calls.h"
#include "passes/padded_rules.h"

namespace braze {
namespace {

// The computations that have bounded dimensions, or call one that has.
using Bounded = absl::flat_hash_set<const Computation*>;
Bounded bounded_computations(const Module& m) {
  Bounded out;
  for (const Computation* c : computation_post_order(m))  // callees first
    for (const auto& i : c->instrs())
      if (i->shape.has_bounded_dim() || i->is(Op::kSetDimensionSize) ||
          std::any_of(i->calls.begin(), i->calls.end(), [&](const Computation* f) { return out.contains(f); }))
        out.insert(c);
  return out;
}

// What the padders of an entry and of all that it runs have in common.
struct Inner {
  Bounded bounded;
  // Padded computations of loops and branches, by what they were made of and whether they take and give the truth:
  // one may be run from several places.
  absl::flat_hash_map<std::tuple<const Computation*, bool, bool>, Computation*> made;
};

class Padder {
 public:
  Padder(Computation* to, Inner* inner, PaddedModule* out) : b_(to), inner_(*inner), out_(*out) {}

  Status run(const Computation& entry) {
    parameters(entry);
    TRY(body(entry));
    return results(entry);
  }

 private:
  // An instruction's value, or the values of a tuple of bounded arrays.
  struct Value {
    Padded array;
    std::vector<Padded> parts;
  };

  // All but the parameters, which have their values.
  Status body(const Computation& c) {
    for (const Instr* i : post_order(c)) {
      if (i->is(Op::kParameter)) continue;
      auto done = instruction(*i);
      if (!done.ok()) return note(str_cat(name(i->op), " '", i->name, "'"), done);
      TRY(b_.status());
    }
    return absl::OkStatus();
  }

  void parameters(const Computation& entry) {
    int64_t number = 0, leaf = 0;
    for (const Instr* p : entry.params())
      values_[p].array.value = b_.parameter(number++, static_shape(p->shape), p->name);
    for (const Instr* p : entry.params()) {
      Padded& v = values_[p].array;
      if (!p->shape.is_tuple())
        for (int64_t d = 0; d < p->shape.rank(); ++d)
          if (p->shape.is_dynamic(d)) {
            out_.parameters.push_back({leaf, d});
            v.set_size(d, b_.parameter(number++, Shape::scalar(Dtype::kS32)));
          }
      leaf += leaves_of(p->shape);
    }
  }
  static int64_t leaves_of(const Shape& s) {
    if (!s.is_tuple()) return 1;
    int64_t n = 0;
    for (const Shape& t : s.tuple) n += leaves_of(t);
    return n;
  }

  Status results(const Computation& entry) {
    const Instr* root = entry.root();
    const Value& v = values_[root];
    std::vector<Instr*> parts;
    int64_t leaf = 0;
    auto add_sizes = [&](const Padded& p) {
      for (int64_t d = 0; d < static_cast<int64_t>(p.size.size()); ++d)
        if (p.size[d]) {
          out_.results.push_back({leaf, d});
          parts.push_back(p.size[d]);
        }
      leaf += leaves_of(p.value->shape);
    };
    if (v.parts.empty()) {
      parts.push_back(v.array.value);
      add_sizes(v.array);
    } else {
      std::vector<Instr*> arrays;
      for (const Padded& p : v.parts) arrays.push_back(p.value);
      parts.push_back(b_.tuple(arrays));
      for (const Padded& p : v.parts) add_sizes(p);
    }
    if (legal_.truth) parts.push_back(legal_.truth);
    out_.checked = legal_.truth != nullptr;
    TRY(b_.status());
    b_.computation()->set_root(out_.is_static() ? parts[0] : b_.tuple(parts));
    return b_.status();
  }

  static bool is_bounded(const Shape& s) {
    if (s.is_tuple()) return std::any_of(s.tuple.begin(), s.tuple.end(), is_bounded);
    return std::any_of(s.dynamic.begin(), s.dynamic.end(), [](bool d) { return d; });
  }
  const Padded& in(const Instr& i, int64_t k) { return values_[i.operand(k)].array; }

  Status instruction(const Instr& i) {
    if (i.is(Op::kSetDimensionSize)) return set_dimension_size(i);
    if (i.is(Op::kGetDimensionSize)) return get_dimension_size(i);
    if (i.is(Op::kTuple)) return tuple(i);
    if (i.is(Op::kWhile) || i.is(Op::kConditional)) return control(i);
    if (i.is(Op::kGetTupleElement)) return element(i);
    bool padded = false;
    for (const Instr* o : i.operands) {
      for (const Padded& p : values_[o].parts) padded |= p.is_padded();
      padded |= values_[o].array.is_padded();
    }
    if (!padded && !i.is(Op::kDynamicReshape)) return copy(i);
    const PaddedRule rule = padded_rule(i);
    if (!rule) return unimplemented("no rule for padded operands");
    std::vector<Padded> operands, results;
    for (const Instr* o : i.operands) {
      if (!values_[o].parts.empty()) return unimplemented("a padded operand inside a tuple");
      operands.push_back(values_[o].array);
    }
    PaddedContext context{b_, i, operands, results, legal_};
    TRY(rule(context));
    if (i.shape.is_tuple()) values_[&i].parts = std::move(results);
    else values_[&i].array = results[0];
    return absl::OkStatus();
  }

  // As it is, on operands without padding.
  Status copy(const Instr& i) {
    if (is_bounded(i.shape)) return unimplemented("the sizes of its result are not known");
    for (const Computation* c : i.calls)
      if (inner_.bounded.contains(c)) return unimplemented("bounded dimensions inside '", c->name(), "'");
    std::vector<Instr*> operands;
    for (const Instr* o : i.operands) operands.push_back(whole(o));
    values_[&i].array.value = b_.op_shaped(i.op, i.shape, operands, i.attrs, i.calls, i.name);
    if (i.extras) {
      Extras& e = values_[&i].array.value->extra();
      e.metadata = i.extras->metadata;
      e.frontend_attributes = i.extras->frontend_attributes;
      e.backend_config = i.extras->backend_config;
    }
    return absl::OkStatus();
  }
  // An operand as one value.
  Instr* whole(const Instr* o) {
    Value& v = values_[o];
    if (!v.array.value) {
      std::vector<Instr*> parts;
      for (const Padded& p : v.parts) parts.push_back(p.value);
      v.array.value = b_.tuple(parts);
    }
    return v.array.value;
  }

  Status tuple(const Instr& i) {
    for (const Instr* o : i.operands) {
      if (!values_[o].parts.empty()) {
        for (const Padded& p : values_[o].parts)
          if (p.is_padded()) return unimplemented("padded values in a tuple of tuples");
        whole(o);
      }
      values_[&i].parts.push_back({values_[o].array.value, values_[o].array.size});
    }
    if (i.operands.empty()) return copy(i);
    return absl::OkStatus();
  }

  Status element(const Instr& i) {
    const Value& t = values_[i.operand(0)];
    const int64_t k = i.as<IndexAttrs>().index;
    if (!t.parts.empty()) values_[&i].array = t.parts[k];
    else values_[&i].array.value = b_.element(t.array.value, k);
    return absl::OkStatus();
  }

  Status set_dimension_size(const Instr& i) {
    const int64_t d = i.as<DimAttrs>().dimension;
    Padded v = in(i, 0);
    Instr* size = in(i, 1).value;
    const int64_t bound = v.value->shape.dims[d];
    Instr* now = v.size_of(d);
    if (size->is_constant() && size->literal().get_int(0) == bound && !now) {
      values_[&i].array = v;
      return absl::OkStatus();
    }
    if (!i.shape.is_dynamic(d)) return unimplemented("a static result of another size than its operand");
    // Elements that were padding until now become zeros.
    if (now) v.value = fill_padding(b_, v, {d}, b_.constant(Literal(Shape::scalar(v.value->shape.dtype))));
    v.set_size(d, legal_.within(size, bound));
    values_[&i].array = v;
    return absl::OkStatus();
  }

  // ---- loops and conditionals: what they carry has no bounds, what is inside them may. They carry one value
  // more, the truth that all sizes set inside were legal. ----

  Status control(const Instr& i) {
    if (std::none_of(i.calls.begin(), i.calls.end(), [&](const Computation* c) { return inner_.bounded.contains(c); }))
      return copy(i);
    if (is_bounded(i.shape)) return unimplemented("a bounded array carried by it");
    std::vector<Instr*> operands;
    for (const Instr* o : i.operands) {
      for (const Padded& p : values_[o].parts)
        if (p.is_padded()) return unimplemented("a padded value carried by it");
      if (values_[o].array.is_padded()) return unimplemented("a padded value carried by it");
      operands.push_back(whole(o));
    }
    const bool loop = i.is(Op::kWhile);
    std::vector<Computation*> calls;
    for (size_t k = 0; k < i.calls.size(); ++k) {
      ASSIGN(Computation * made, inner(*i.calls[k], loop, /*legality=*/!loop || k == 1));
      calls.push_back(made);
    }
    if (loop) operands[0] = with_last(b_, operands[0], truth(b_));
    Instr* made = b_.op_shaped(i.op, with_legality(i.shape), operands, i.attrs, calls, i.name);
    TRY(b_.status());
    values_[&i].array.value = without_last(b_, made, i.shape);
    legal_.demand(b_.element(made, last_of(made->shape)));
    return absl::OkStatus();
  }

  // The computation `c` of a loop or a branch, padded. `takes`: its parameter carries the truth; `gives`: its result.
  Result<Computation*> inner(const Computation& c, bool takes, bool gives) {
    if (auto it = inner_.made.find({&c, takes, gives}); it != inner_.made.end()) return it->second;
    Computation* to = b_.computation()->module()->add_computation(c.name());
    PaddedModule unused;
    Padder p(to, &inner_, &unused);
    Instr* before = nullptr;
    for (const Instr* x : c.params()) {
      const Shape shape = takes ? with_legality(x->shape) : x->shape;
      if (is_bounded(shape)) return unimplemented("a bounded parameter of '", c.name(), "'");
      Instr* made = p.b_.parameter(x->parameter_number(), shape, x->name);
      if (takes) before = p.b_.element(made, last_of(shape));
      p.values_[x].array.value = takes ? without_last(p.b_, made, x->shape) : made;
    }
    TRY(p.body(c));
    Value& root = p.values_[c.root()];
    bool padded = root.array.is_padded();
    for (const Padded& part : root.parts) padded |= part.is_padded();
    if (padded) return unimplemented("a bounded result of '", c.name(), "'");
    Instr* value = p.whole(c.root());
    if (!gives && p.legal_.truth) return unimplemented("sizes set in the condition of a loop");
    if (gives) {
      Instr* legal = p.legal_.truth ? p.legal_.truth : truth(p.b_);
      value = with_last(p.b_, value, before ? p.b_.binary(Op::kAnd, before, legal) : legal);
    }
    TRY(p.b_.status());
    to->set_root(value);
    return inner_.made[{&c, takes, gives}] = to;
  }

  static Instr* truth(Builder& b) { return b.constant(Literal::scalar_int(Dtype::kPred, 1)); }
  // A tuple's elements, or the one value, with another behind them.
  static Shape with_legality(const Shape& s) {
    std::vector<Shape> all = s.is_tuple() ? std::vector<Shape>(s.tuple.begin(), s.tuple.end()) : std::vector<Shape>{s};
    all.push_back(Shape::scalar(Dtype::kPred));
    return Shape::tuple_of(std::move(all));
  }
  static int64_t last_of(const Shape& s) { return static_cast<int64_t>(s.tuple.size()) - 1; }
  static Instr* with_last(Builder& b, Instr* v, Instr* last) {
    std::vector<Instr*> all;
    if (!v->shape.is_tuple()) all.push_back(v);
    else for (int64_t k = 0; k <= last_of(v->shape); ++k) all.push_back(b.element(v, k));
    all.push_back(last);
    return b.tuple(all);
  }
  static Instr* without_last(Builder& b, Instr* v, const Shape& s) {
    if (!s.is_tuple()) return b.element(v, 0);
    std::vector<Instr*> all;
    for (int64_t k = 0; k <= last_of(s); ++k) all.push_back(b.element(v, k));
    return b.tuple(all);
  }

  Status get_dimension_size(const Instr& i) {
    const int64_t d = i.as<DimAttrs>().dimension;
    const Padded& v = in(i, 0);
    Instr* size = v.size_of(d);
    if (!size) size = b_.constant(Literal::scalar_int(Dtype::kS32, v.value->shape.dims[d]));
    values_[&i].array.value = size;
    return absl::OkStatus();
  }

  Builder b_;
  Inner& inner_;
  PaddedModule& out_;
  std::unordered_map<const Instr*, Value> values_;  // references into it stay good
  Legality legal_{b_};  // of all sizes set
};

// Sizes set to what they are already say nothing; front ends leave them behind.
void drop_idle_sizes(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> sets;
    for (auto& i : c->instrs())
      if (i->is(Op::kSetDimensionSize)) sets.push_back(i.get());
    for (Instr* i : sets) {
      const Instr* size = i->operand(1);
      const int64_t d = i->as<DimAttrs>().dimension;
      const Shape& s = i->operand(0)->shape;
      if (size->is_constant() && !i->shape.is_dynamic(d) && !s.is_dynamic(d) &&
          size->literal().get_int(0) == s.dims[d])
        c->replace_uses(i, i->operand(0));
    }
    c->erase_dead();
  }
}

}  // namespace

Result<PaddedModule> dynamic_padding(const Module& m) {
  PaddedModule out;
  out.module = m.clone();
  TRY(inline_calls(*out.module));
  drop_idle_sizes(*out.module);
  out.module->erase_dead_computations();
  // Branches of conditionals whose course is known have bounds where the branches' sizes differ.
  Inner inner{bounded_computations(*out.module), {}};
  if (inner.bounded.size() > 1) {
    TRY(simplify_control(*out.module));
    drop_idle_sizes(*out.module);
    inner.bounded = bounded_computations(*out.module);
  }
  Computation* entry = out.module->entry();
  if (inner.bounded.empty()) return out;
  Computation* padded = out.module->add_computation(entry->name());
  TRY(Padder(padded, &inner, &out).run(*entry));
  out.module->set_entry(padded);
  out.module->aliases.clear();
  out.module->buffer_donors.clear();
  out.module->entry_parameter_layouts.clear();
  out.module->entry_result_layouts.clear();
  out.module->erase_dead_computations();
  return out;
}

}  // namespace braze
