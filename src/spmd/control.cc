// SPDX-License-Identifier: Apache-2.0
// Loops and conditionals whose bodies hold collectives, device numbers or manual regions.
//
// A loop runs in lockstep over the state of all devices. Which devices share a part of the state is found
// by writing the body out until it gives no finer answer. Where the condition differs between devices, the
// loop runs as long as any goes on and those that are done keep their state.
#include <algorithm>

#include "spmd/expander.h"

namespace braze::spmd {
namespace {

int64_t class_count(const Classes& c) { return *std::max_element(c.begin(), c.end()) + 1; }

template <typename Key>
Classes numbered(const std::vector<Key>& keys) {
  std::map<Key, int64_t> known;
  Classes out;
  for (const Key& k : keys) out.push_back(known.try_emplace(k, static_cast<int64_t>(known.size())).first->second);
  return out;
}

// Shared where both say so.
Classes finer(const Classes& a, const Classes& b) {
  std::vector<std::pair<int64_t, int64_t>> keys;
  for (size_t d = 0; d < a.size(); ++d) keys.emplace_back(a[d], b[d]);
  return numbered(keys);
}

std::vector<int64_t> firsts(const Classes& c) {
  std::vector<int64_t> out(class_count(c), -1);
  for (size_t d = 0; d < c.size(); ++d)
    if (out[c[d]] < 0) out[c[d]] = static_cast<int64_t>(d);
  return out;
}

}  // namespace

Classes Expander::classes_of(const Value& v) const {
  std::vector<Instr*> keys;
  for (int64_t d = 0; d < devices(); ++d) keys.push_back(v.of(d));
  return numbered(keys);
}

Instr* Expander::masked(Body& body, Instr* condition, Instr* yes, Instr* no) {
  if (yes == no || !yes->shape.is_array()) return yes;
  Instr* p = condition;
  if (yes->shape.rank() > 0) p = body.b.broadcast(p, yes->shape.dims, {});
  return body.b.select(p, yes, no);
}

// What a loop or a conditional hands over: the parts of a tuple, each once for each class of devices.
struct Packed {
  std::vector<Classes> classes;  // by part
  bool tuple = true;             // whether the old value was one

  // The old value, from a tuple of the new layout.
  Value unpack(Body& body, Instr* packed) const {
    Value out;
    out.tuple = true;
    int64_t at = 0;
    for (const Classes& c : classes) {
      std::vector<Instr*> elements;
      for (int64_t k = 0; k < class_count(c); ++k) elements.push_back(body.b.element(packed, at++));
      Value v;
      if (elements.size() == 1) v.copies = elements;
      else
        for (int64_t k : c) v.copies.push_back(elements[k]);
      out.parts.push_back(std::move(v));
    }
    return tuple ? out : out.parts[0];
  }
  // The parts' instructions in the new layout. Parts are whole.
  std::vector<Instr*> pack(const std::vector<Value>& parts) const {
    std::vector<Instr*> out;
    for (size_t k = 0; k < parts.size(); ++k)
      for (int64_t d : firsts(classes[k])) out.push_back(parts[k].of(d));
    return out;
  }
};

namespace {

std::vector<Value> parts_of(Expander& x, Body& body, const Value& v, const Shape& s) {
  std::vector<Value> out;
  const size_t n = s.is_tuple() ? s.tuple.size() : 1;
  for (size_t k = 0; k < n; ++k) {
    Value p = s.is_tuple() ? x.part(body, v, static_cast<int64_t>(k)) : v;
    Value w;
    w.copies = x.whole(body, p);
    out.push_back(std::move(w));
  }
  return out;
}

Shape shape_of(absl::Span<Instr* const> parts) {
  std::vector<Shape> shapes;
  for (const Instr* p : parts) shapes.push_back(p->shape);
  return Shape::tuple_of(std::move(shapes));
}

}  // namespace

struct Expander::Loop {
  Packed layout;
  Shape state;                 // old
  std::vector<Shape> shapes;   // of each part
  Computation *condition = nullptr, *step = nullptr;
  bool changed = true;

  Shape packed_shape() const {
    std::vector<Shape> out;
    for (size_t k = 0; k < shapes.size(); ++k)
      for (int64_t c = 0; c < class_count(layout.classes[k]); ++c) out.push_back(shapes[k]);
    return Shape::tuple_of(std::move(out));
  }
};

// Writes condition and body for the layout; a finer layout where the body tells devices apart.
Status Expander::loop_round(const Instr& i, Loop* l) {
  const Shape packed = l->packed_shape();
  l->condition = module_.add_computation(i.calls[0]->name());
  Body condition(l->condition);
  const Value seen = l->layout.unpack(condition, condition.b.parameter(0, packed));
  ASSIGN(const Value goes_on, expand(condition, *i.calls[0], {seen}));
  Instr* any = goes_on.copies[0];
  const bool differs = !goes_on.same();
  if (differs)
    for (int64_t d : firsts(classes_of(goes_on)))
      if (d > 0) any = condition.b.binary(Op::kOr, any, goes_on.of(d));
  l->condition->set_root(any);
  TRY(condition.b.status());

  l->step = module_.add_computation(i.calls[1]->name());
  Body step(l->step);
  const Value state = l->layout.unpack(step, step.b.parameter(0, packed));
  ASSIGN(const Value next, expand(step, *i.calls[1], {state}));
  std::vector<Value> parts = parts_of(*this, step, next, l->state);
  if (differs) {
    ASSIGN(const Value mine, expand(step, *i.calls[0], {state}));
    const std::vector<Value> old = parts_of(*this, step, state, l->state);
    for (size_t k = 0; k < parts.size(); ++k) {
      std::map<std::vector<Instr*>, Instr*> known;
      Value kept;
      for (int64_t d = 0; d < devices(); ++d) {
        Instr*& m = known[{mine.of(d), parts[k].of(d), old[k].of(d)}];
        if (!m) m = masked(step, mine.of(d), parts[k].of(d), old[k].of(d));
        kept.copies.push_back(m);
      }
      parts[k] = std::move(kept);
    }
  }
  TRY(step.b.status());
  l->changed = false;
  for (size_t k = 0; k < parts.size(); ++k) {
    Classes c = finer(l->layout.classes[k], classes_of(parts[k]));
    l->changed |= c != l->layout.classes[k];
    l->layout.classes[k] = std::move(c);
  }
  if (!l->changed) l->step->set_root(step.b.tuple(l->layout.pack(parts)));
  made_ += l->step->size() + l->condition->size();
  return step.b.status();
}

Result<Value> Expander::loop(Body& body, const Value& state, const Instr& i) {
  Loop l;
  l.state = i.shape;
  l.layout.tuple = i.shape.is_tuple();
  const std::vector<Value> first = parts_of(*this, body, state, l.state);
  for (size_t k = 0; k < first.size(); ++k) {
    l.layout.classes.push_back(classes_of(first[k]));
    l.shapes.push_back(l.state.is_tuple() ? l.state.tuple[k] : l.state);
  }
  while (l.changed) {
    if (l.step) {  // of a coarser layout
      l.step->set_root(l.step->params()[0]);
      module_.erase_computation(l.step);
      module_.erase_computation(l.condition);
    }
    TRY(loop_round(i, &l));
  }
  Instr* packed = body.b.tuple(l.layout.pack(first));
  Instr* loop = body.b.op(Op::kWhile, {packed}, NoAttrs{}, {l.condition, l.step}, i.name);
  TRY(body.b.status());
  return l.layout.unpack(body, loop);
}

Result<Value> Expander::branch(Body& body, const Values& values, const Instr& i) {
  const std::vector<Instr*> which = whole(body, values.at(i.operand(0)));
  if (which.size() == 1) return branch_same(body, values, i, which[0]);
  return branch_each(body, values, i);
}

// All devices take the same branch.
Result<Value> Expander::branch_same(Body& body, const Values& values, const Instr& i, Instr* which) {
  Packed result;
  result.tuple = i.shape.is_tuple();
  std::vector<Instr*> operands = {which};
  std::vector<Computation*> calls;
  std::vector<std::unique_ptr<Body>> bodies;
  std::vector<std::vector<Value>> results;
  for (size_t k = 0; k < i.calls.size(); ++k) {
    const Shape& shape = i.operand(k + 1)->shape;
    Packed layout;
    layout.tuple = shape.is_tuple();
    const std::vector<Value> parts = parts_of(*this, body, values.at(i.operand(k + 1)), shape);
    for (const Value& p : parts) layout.classes.push_back(classes_of(p));
    const std::vector<Instr*> packed = layout.pack(parts);
    operands.push_back(body.b.tuple(packed));
    calls.push_back(module_.add_computation(i.calls[k]->name()));
    bodies.push_back(std::make_unique<Body>(calls.back()));
    Body& inner = *bodies.back();
    const Value argument = layout.unpack(inner, inner.b.parameter(0, shape_of(packed)));
    ASSIGN(const Value v, expand(inner, *i.calls[k], {argument}));
    results.push_back(parts_of(*this, inner, v, i.shape));
    for (size_t p = 0; p < results.back().size(); ++p) {
      const Classes c = classes_of(results.back()[p]);
      if (k == 0) result.classes.push_back(c);
      else result.classes[p] = finer(result.classes[p], c);
    }
  }
  for (size_t k = 0; k < calls.size(); ++k) {
    calls[k]->set_root(bodies[k]->b.tuple(result.pack(results[k])));
    TRY(bodies[k]->b.status());
    made_ += calls[k]->size();
  }
  Instr* out = body.b.op(Op::kConditional, operands, NoAttrs{}, calls, i.name);
  TRY(body.b.status());
  return result.unpack(body, out);
}

Value Expander::chosen(Body& body, const std::vector<Instr*>& condition, const Value& yes,
                       const Value& no) {
  Value out;
  out.tuple = yes.tuple || no.tuple;
  if (out.tuple) {
    const size_t n = yes.tuple ? yes.parts.size() : no.parts.size();
    for (size_t k = 0; k < n; ++k)
      out.parts.push_back(chosen(body, condition, part(body, yes, static_cast<int64_t>(k)),
                                 part(body, no, static_cast<int64_t>(k))));
    return out;
  }
  if (yes.copies[0]->shape.is_tuple()) {
    out.tuple = true;
    for (size_t k = 0; k < yes.copies[0]->shape.tuple.size(); ++k)
      out.parts.push_back(chosen(body, condition, part(body, yes, static_cast<int64_t>(k)),
                                 part(body, no, static_cast<int64_t>(k))));
    return out;
  }
  std::map<std::vector<Instr*>, Instr*> known;
  for (int64_t d = 0; d < devices(); ++d) {
    Instr*& m = known[{condition[d], yes.of(d), no.of(d)}];
    if (!m) m = masked(body, condition[d], yes.of(d), no.of(d));
    out.copies.push_back(m);
  }
  if (known.size() == 1) out.copies.resize(1);
  return out;
}

// Devices take different branches: all are computed and each device keeps its own.
Result<Value> Expander::branch_each(Body& body, const Values& values, const Instr& i) {
  const std::vector<Instr*> which = whole(body, values.at(i.operand(0)));
  std::vector<Value> results;
  for (size_t k = 0; k < i.calls.size(); ++k) {
    ASSIGN(Value v, expand(body, *i.calls[k], {values.at(i.operand(k + 1))}));
    results.push_back(std::move(v));
  }
  const bool predicate = which[0]->shape.dtype == Dtype::kPred;
  if (predicate && results.size() == 2) return chosen(body, which, results[0], results[1]);
  Value out = results.back();
  for (size_t k = results.size() - 1; k-- > 0;) {
    std::map<Instr*, Instr*> known;
    std::vector<Instr*> mine;
    for (Instr* w : which) {
      Instr*& c = known[w];
      if (!c)
        c = body.b.compare(CompareDirection::kEq, w,
                           body.b.constant(Literal::scalar_int(w->shape.dtype, static_cast<int64_t>(k))));
      mine.push_back(c);
    }
    out = chosen(body, mine, results[k], out);
  }
  return out;
}

}  // namespace braze::spmd
