// SPDX-License-Identifier: Apache-2.0
#include "passes/dynamic_padding.h"

#include <algorithm>
#include <unordered_map>

#include "passes/control.h"
#include "passes/inline_calls.h"
#include "passes/padded_rules.h"

namespace braze {
namespace {

class Padder {
 public:
  Padder(Computation* to, PaddedModule* out) : b_(to), out_(*out) {}

  Status run(const Computation& entry) {
    parameters(entry);
    for (const Instr* i : post_order(entry)) {
      if (i->is(Op::kParameter)) continue;
      auto done = instruction(*i);
      if (!done.ok()) return note(str_cat(name(i->op), " '", i->name, "'"), done);
      TRY(b_.status());
    }
    return results(entry);
  }

 private:
  // An instruction's value, or the values of a tuple of bounded arrays.
  struct Value {
    Padded array;
    std::vector<Padded> parts;
  };

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
    if (legal_) parts.push_back(legal_);
    out_.checked = legal_ != nullptr;
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
    std::vector<Padded> none;
    v.set_size(d, PaddedContext{b_, i, {}, none, legal_}.within(size, bound));
    values_[&i].array = v;
    return absl::OkStatus();
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
  PaddedModule& out_;
  std::unordered_map<const Instr*, Value> values_;  // references into it stay good
  Instr* legal_ = nullptr;  // all sizes set are within their bounds; null: they are in any case
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

bool mentions_bounds(const Computation& c) {
  for (auto& i : c.instrs())
    if (i->shape.has_bounded_dim() || i->is(Op::kSetDimensionSize)) return true;
  return false;
}
bool inner_bounds(const Module& m) {
  for (Computation* c : computation_post_order(m))
    if (c != m.entry() && mentions_bounds(*c)) return true;
  return false;
}

}  // namespace

Result<PaddedModule> dynamic_padding(const Module& m) {
  PaddedModule out;
  out.module = m.clone();
  TRY(inline_calls(*out.module));
  drop_idle_sizes(*out.module);
  out.module->erase_dead_computations();
  // Branches of conditionals whose course is known have bounds where the branches' sizes differ.
  if (inner_bounds(*out.module)) {
    TRY(simplify_control(*out.module));
    drop_idle_sizes(*out.module);
  }
  Computation* entry = out.module->entry();
  bool bounded = false;
  for (Computation* c : computation_post_order(*out.module)) {
    const bool here = mentions_bounds(*c);
    if (here && c != entry)
      return unimplemented("bounded dimensions inside '", c->name(), "'");
    bounded |= here;
  }
  if (!bounded) return out;
  Computation* padded = out.module->add_computation(entry->name());
  TRY(Padder(padded, &out).run(*entry));
  out.module->set_entry(padded);
  out.module->aliases.clear();
  out.module->buffer_donors.clear();
  out.module->entry_parameter_layouts.clear();
  out.module->entry_result_layouts.clear();
  out.module->erase_dead_computations();
  return out;
}

}  // namespace braze
