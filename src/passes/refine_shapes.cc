// SPDX-License-Identifier: Apache-2.0
#include "passes/refine_shapes.h"

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "base/lexer.h"
#include "eval/evaluator.h"
#include "ops/builder.h"
#include "ops/dynamic.h"
#include "ops/op_def.h"

namespace braze {
namespace {

constexpr int64_t kMostKnown = 256;  // elements of a value that is worth knowing
constexpr int kMaxDepth = 128;       // of calls

// What is known of a value: an array's elements, or something of a tuple's parts.
struct Known {
  std::shared_ptr<const Literal> value;
  std::vector<Known> parts;
};

bool waits_for_shape(const Instr& i) {
  switch (i.op) {
    case Op::kDynamicBroadcast:
    case Op::kDynamicConv:
    case Op::kDynamicGather:
    case Op::kDynamicIota:
    case Op::kDynamicPad:
    case Op::kDynamicReshape:
    case Op::kDynamicReduceWindow:
    case Op::kRealDynamicSlice: return true;
    default: return false;
  }
}

bool is_call_of(const Instr& i, std::string_view target) {
  return i.is(Op::kCustomCall) && i.as<CustomCallAttrs>().target == target;
}

// The inferred dimensions where they are known, else the present ones.
Shape refined(const Shape& now, const Shape& inferred) {
  if (now.is_tuple()) {
    Shape out = now;
    for (size_t k = 0; k < out.tuple.size() && k < inferred.tuple.size(); ++k)
      out.tuple[k] = refined(now.tuple[k], inferred.tuple[k]);
    return out;
  }
  if (now.rank() != inferred.rank()) return now;
  Shape out = now;
  for (int64_t d = 0; d < now.rank(); ++d)
    if (now.dims[d] == kUnknownDim && inferred.dims[d] != kUnknownDim) {
      out.dims[d] = inferred.dims[d];
      if (inferred.is_dynamic(d)) {
        out.dynamic.resize(out.rank(), false);
        out.dynamic[d] = true;
      }
    }
  return out;
}

// Every dimension of `from` that `to` fixes differently.
bool contradicts(const Shape& from, const Shape& to) {
  if (from.dtype != to.dtype || from.rank() != to.rank() || from.tuple.size() != to.tuple.size())
    return true;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (from.dims[d] == kUnknownDim || from.dims[d] == to.dims[d]) continue;
    if (!from.is_dynamic(d) || to.dims[d] > from.dims[d]) return true;
  }
  for (size_t k = 0; k < from.tuple.size(); ++k)
    if (contradicts(from.tuple[k], to.tuple[k])) return true;
  return false;
}

void append_key(const Known& k, std::string& key) {
  if (k.value) {
    key += str_cat("=", to_string(k.value->shape()));
    key.append(k.value->bytes() ? k.value->bytes() : "",
               static_cast<size_t>(k.value->size_bytes()));
  }
  key += "(";
  for (const Known& p : k.parts) append_key(p, key);
  key += ")";
}

struct Special {
  Computation* computation = nullptr;
  Known root;
};

class Refiner {
 public:
  explicit Refiner(Module& m) : module_(m) {}

  Status run(Computation& c, absl::Span<const Shape> params, absl::Span<const Known> known,
             Known& root) {
    if (++depth_ > kMaxDepth) return exhausted("calls nested too deeply");
    absl::flat_hash_map<const Instr*, Known> values;
    values_.push_back(&values);
    Status s = run_body(c, params, known);
    if (s.ok()) root = values[c.root()];
    values_.pop_back();
    --depth_;
    return s;
  }

 private:
  Known& known(const Instr* i) { return (*values_.back())[i]; }

  Status run_body(Computation& c, absl::Span<const Shape> params, absl::Span<const Known> given) {
    for (Instr* i : post_order(c)) {
      if (i->is(Op::kParameter)) {
        const size_t n = static_cast<size_t>(i->parameter_number());
        if (n >= params.size()) return internal("parameter ", n, " has no argument");
        if (contradicts(i->shape, params[n]))
          return invalid("argument ", n, " has shape ", to_string(params[n], false), ", but ",
                         c.name(), " takes ", to_string(i->shape, false));
        c.set_shape(i, params[n]);
        if (n < given.size()) known(i) = given[n];
        continue;
      }
      if (Status s = visit(c, i); !s.ok()) {
        const std::string where = i->location();
        return where.empty() ? s : note(where, s);
      }
    }
    return absl::OkStatus();
  }

  // Puts what build makes in place of i.
  Status replace(Computation& c, Instr* i, Instr* by, const Builder& b) {
    TRY(b.status());
    if (i->extras && !by->extras) by->extra().metadata = i->extras->metadata;
    c.replace_uses(i, by);
    return learn(by);
  }

  Status visit(Computation& c, Instr* i) {
    Builder b(&c);
    if (waits_for_shape(*i)) {
      auto value = [&](int64_t k) -> const Literal* { return known(i->operand(k)).value.get(); };
      auto built = build_static(b, *i, i->operands, value);
      if (built.ok() && b.status().ok()) return replace(c, i, *built, b);
      // An operand that is not known yet is no error; a known one that is wrong is.
      if (!all_shape_operands_known(*i)) return absl::OkStatus();
      return built.ok() ? b.status() : built.status();
    }
    switch (i->op) {
      case Op::kGetDimensionSize: {
        const int64_t d = i->as<DimAttrs>().dimension;
        const Shape& s = i->operand(0)->shape;
        if (d < s.rank() && s.dims[d] != kUnknownDim && !s.is_dynamic(d))
          return replace(c, i, b.constant(Literal::scalar_int(Dtype::kS32, s.dims[d])), b);
        return absl::OkStatus();
      }
      case Op::kCall: return visit_call(c, i);
      case Op::kWhile: return visit_while(c, i);
      case Op::kConditional: return visit_conditional(c, i);
      case Op::kBroadcast: return visit_broadcast(c, i, b);
      case Op::kReshape: TRY(visit_reshape(c, i)); return learn(i);
      case Op::kSelect: spread(c, b, i, {0}, i->operand(1)->shape); break;
      case Op::kClamp: spread(c, b, i, {0, 2}, i->operand(1)->shape); break;
      case Op::kCustomCall:
        if (is_call_of(*i, "shape_assertion")) return visit_assertion(c, i, b);
        break;
      default: break;
    }
    TRY(b.status());
    TRY(infer(c, i));
    return learn(i);
  }

  bool all_shape_operands_known(const Instr& i) {
    const size_t first = i.is(Op::kDynamicIota) ? 0 : 1;
    for (size_t k = first; k < i.operands.size(); ++k) {
      const Shape& s = i.operand(static_cast<int64_t>(k))->shape;
      if (s.rank() <= 1 && is_int(s.dtype) && !known(i.operand(static_cast<int64_t>(k))).value)
        return false;
    }
    return true;
  }

  Status infer(Computation& c, Instr* i) {
    const OpDef& row = def(*i);
    if (!row.infer || i->shape.is_static()) return absl::OkStatus();
    absl::InlinedVector<const Shape*, 4> shapes;
    for (const Instr* o : i->operands) shapes.push_back(&o->shape);
    ASSIGN(Shape s, row.infer({i->op, shapes, i->attrs, i->calls, &i->shape}));
    s = refined(i->shape, s);
    if (!(s == i->shape)) c.set_shape(i, s);
    return absl::OkStatus();
  }

  void spread(Computation& c, Builder& b, Instr* i, std::initializer_list<int64_t> operands,
              const Shape& like) {
    if (!like.is_static() || like.rank() == 0) return;
    for (int64_t k : operands)
      if (i->operand(k)->shape.is_scalar())
        c.set_operand(i, k, b.broadcast(i->operand(k), like.dims, {}));
  }

  // Drops dimensions of size 1 that grow, now that they are known.
  Status visit_broadcast(Computation& c, Instr* i, Builder& b) {
    TRY(infer(c, i));
    const Shape& in = i->operand(0)->shape;
    const Dims& map = i->as<DimsAttrs>().dimensions;
    if (!in.is_static() || !i->shape.is_static()) return absl::OkStatus();
    Dims kept, kept_map;
    for (int64_t d = 0; d < in.rank() && d < static_cast<int64_t>(map.size()); ++d) {
      if (in.dims[d] == 1 && i->shape.dims[map[d]] != 1) continue;
      kept.push_back(in.dims[d]);
      kept_map.push_back(map[d]);
    }
    if (static_cast<int64_t>(kept.size()) == in.rank()) return learn(i);
    Instr* x = b.reshape(i->operand(0), kept);
    return replace(c, i, b.broadcast(x, i->shape.dims, kept_map), b);
  }

  // One unknown dimension follows from the number of elements.
  Status visit_reshape(Computation& c, Instr* i) {
    const Shape& in = i->operand(0)->shape;
    if (i->shape.is_static() || !in.is_static()) return absl::OkStatus();
    Shape s = i->shape;
    int64_t unknown = -1, rest = 1;
    for (int64_t d = 0; d < s.rank(); ++d) {
      if (s.dims[d] != kUnknownDim) rest *= s.dims[d];
      else if (unknown >= 0) return absl::OkStatus();
      else unknown = d;
    }
    if (rest == 0 || in.elements() % rest != 0)
      return invalid("reshape of ", to_string(in, false), " to ", to_string(s, false));
    s.dims[unknown] = in.elements() / rest;
    c.set_shape(i, s);
    return absl::OkStatus();
  }

  Status visit_assertion(Computation& c, Instr* i, Builder& b) {
    const auto* value = i->operands.empty() ? nullptr : known(i->operand(0)).value.get();
    if (!value) return absl::OkStatus();
    if (!value->get_bool(0)) {
      std::string message = "a shape assertion of the program is false";
      if (i->extras)
        if (auto it = i->extras->other.find("error_message"); it != i->extras->other.end())
          message = it->second;
      if (message[0] == '"')  // as HLO text spells it
        if (auto plain = Lexer(message, "").quoted(); plain.ok()) message = *plain;
      for (size_t k = 1; k < i->operands.size();
           ++k) {  // {0}, {1}: the operands after the condition
        const auto* v = known(i->operand(static_cast<int64_t>(k))).value.get();
        const std::string mark = str_cat("{", k - 1, "}"), text = v ? str_cat(v->get_int(0)) : "?";
        for (size_t at = 0; (at = message.find(mark, at)) != std::string::npos; at += text.size())
          message.replace(at, mark.size(), text);
      }
      return invalid(message);
    }
    // True: nothing is left to do.
    if (i->users.empty() && c.root() != i) c.erase(i);
    else TRY(replace(c, i, b.tuple({}), b));
    return absl::OkStatus();
  }

  Result<Special> specialise(Computation* callee, absl::Span<const Shape> shapes,
                             absl::Span<const Known> given) {
    std::string key = callee->name();
    for (const Shape& s : shapes) key += str_cat(";", to_string(s));
    for (const Known& k : given) append_key(k, key);
    if (auto it = special_.find(key); it != special_.end()) return it->second;
    Special out;
    out.computation = module_.clone_computation(*callee);
    TRY(run(*out.computation, shapes, given, out.root));
    special_.emplace(key, out);
    return out;
  }

  Status visit_call(Computation& c, Instr* i) {
    std::vector<Shape> shapes;
    std::vector<Known> given;
    for (const Instr* o : i->operands) {
      shapes.push_back(o->shape);
      given.push_back(known(o));
    }
    ASSIGN(Special s, specialise(i->calls[0], shapes, given));
    c.set_calls(i, {s.computation});
    c.set_shape(i, s.computation->root()->shape);
    known(i) = s.root;
    return absl::OkStatus();
  }

  // Parts of the state that the body hands on unchanged are as known inside as before the loop.
  Status visit_while(Computation& c, Instr* i) {
    const Instr* init = i->operand(0);
    const Computation& old = *i->calls[1];
    Known state;
    if (old.root()->is(Op::kTuple) && old.params().size() == 1) {
      Known& all = known(init);
      state.parts.resize(all.parts.size());
      for (size_t k = 0; k < all.parts.size() && k < old.root()->operands.size(); ++k) {
        const Instr* part = old.root()->operand(static_cast<int64_t>(k));
        if (part->is(Op::kGetTupleElement) && part->operand(0) == old.params()[0] &&
            part->as<IndexAttrs>().index == static_cast<int64_t>(k))
          state.parts[k] = all.parts[k];
      }
    }
    const Shape shape = init->shape;
    ASSIGN(Special condition, specialise(i->calls[0], {shape}, {state}));
    ASSIGN(Special body, specialise(i->calls[1], {shape}, {state}));
    if (!compatible(body.computation->root()->shape, shape))
      return invalid("a while loop changes the shape of its state from ", to_string(shape, false),
                     " to ", to_string(body.computation->root()->shape, false));
    c.set_calls(i, {condition.computation, body.computation});
    c.set_shape(i, shape);
    known(i) = state;
    return absl::OkStatus();
  }

  Status visit_conditional(Computation& c, Instr* i) {
    std::vector<Computation*> branches;
    for (size_t k = 0; k < i->calls.size(); ++k) {
      const Instr* o = i->operand(static_cast<int64_t>(k) + 1);
      ASSIGN(Special s, specialise(i->calls[k], {o->shape}, {known(o)}));
      branches.push_back(s.computation);
      if (k > 0 && !compatible(branches[0]->root()->shape, s.computation->root()->shape))
        return invalid("the branches of a conditional give ",
                       to_string(branches[0]->root()->shape, false), " and ",
                       to_string(s.computation->root()->shape, false));
    }
    c.set_calls(i, branches);
    if (!branches.empty()) c.set_shape(i, branches[0]->root()->shape);
    return absl::OkStatus();
  }

  // Notes the value of a small instruction whose operands are known.
  Status learn(Instr* i) {
    Known& k = known(i);
    if (i->is(Op::kTuple)) {
      std::vector<Known> parts;
      for (const Instr* o : i->operands) parts.push_back(known(o));
      known(i).parts = std::move(parts);
      return absl::OkStatus();
    }
    if (i->is(Op::kGetTupleElement)) {
      const size_t at = static_cast<size_t>(i->as<IndexAttrs>().index);
      const Known& all = known(i->operand(0));
      if (at < all.parts.size()) {
        Known part = all.parts[at];
        known(i) = std::move(part);
      }
      return absl::OkStatus();
    }
    if (i->is(Op::kOptBarrier)) {
      Known same = known(i->operand(0));
      known(i) = std::move(same);
      return absl::OkStatus();
    }
    if (!i->shape.is_array() || !i->shape.is_static() || i->shape.has_bounded_dim() ||
        i->shape.elements() > kMostKnown || i->is(Op::kParameter) || has_effect(*i) ||
        i->is(Op::kRng))
      return absl::OkStatus();
    if (i->is_constant()) {
      k.value = std::make_shared<const Literal>(i->literal());
      return absl::OkStatus();
    }
    if (!i->calls.empty() && !i->is(Op::kReduce)) return absl::OkStatus();
    std::vector<Literal> operands;
    for (const Instr* o : i->operands) {
      const auto& v = known(o).value;
      if (!v) return absl::OkStatus();
      operands.push_back(*v);
    }
    // What can't be evaluated is just not known.
    auto value = evaluate(*i, operands);
    if (value.ok()) known(i).value = std::make_shared<const Literal>(*std::move(value));
    return absl::OkStatus();
  }

  Module& module_;
  absl::flat_hash_map<std::string, Special> special_;
  std::vector<absl::flat_hash_map<const Instr*, Known>*> values_;
  int depth_ = 0;
};

bool mentions_unknown(const Shape& s) { return !s.is_static(); }

}  // namespace

bool has_unknown_shapes(const Module& m) {
  for (const Computation* c : computation_post_order(m))
    for (const auto& i : c->instrs())
      if (mentions_unknown(i->shape) || waits_for_shape(*i) || is_call_of(*i, "shape_assertion"))
        return true;
  return false;
}

Status refine_shapes(Module& m, absl::Span<const Shape> args) {
  Computation* entry = m.entry();
  if (!entry) return invalid("the module has no entry");
  std::vector<Shape> shapes;
  if (args.empty())
    for (const Instr* p : entry->params()) shapes.push_back(p->shape);
  else shapes.assign(args.begin(), args.end());
  if (shapes.size() != entry->params().size())
    return invalid(m.name(), " takes ", entry->params().size(), " arguments, got ", shapes.size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    shapes[k].layout.clear();
    shapes[k].quant = entry->params()[k]->shape.quant;
  }
  Refiner r(m);
  Known root;
  TRY(r.run(*entry, shapes, {}, root));
  m.erase_dead_computations();
  for (const auto& c : m.computations()) c->erase_dead();
  m.erase_dead_computations();
  return absl::OkStatus();
}

}  // namespace braze
