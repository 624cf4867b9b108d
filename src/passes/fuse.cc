// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/fuel.h"
#include "loop/contraction_form.h"
#include "loop/structure_key.h"
#include "ops/op_def.h"
#include "passes/fuse_cones.h"
#include "passes/fuse_copies.h"
#include "passes/fuse_groups.h"
#include "passes/fuse_updates.h"

namespace braze {
namespace {

bool is_scalar_constant(const Instr& i) {
  return i.op == Op::kConstant && i.shape.is_array() && i.literal().elements() == 1;
}

bool is_contraction(const Instr& i) { return i.op == Op::kDot || i.op == Op::kConvolution; }
bool is_update(const Instr& i) { return i.op == Op::kScatter || i.op == Op::kDynamicUpdateSlice; }
bool is_window(const Instr& i) {
  return i.op == Op::kReduceWindow || i.op == Op::kSelectAndScatter;
}

using fusion::Group;
using Trials = absl::flat_hash_map<Hash128, bool>;  // groups tried, by what they are: whether they have a kernel

class Fuser {
 public:
  // `trials` are for facts `o.facts`.
  Fuser(Computation* c, const FuseOptions& o, Trials& trials) : c_(c), o_(o), trial_(o.facts), trials_(trials) {
    trial_.trial = true;
  }

  Status run() {
    std::vector<Instr*> order = post_order(*c_);
    for (Instr* i : order) {
      live_.insert(i);
      if (costs_nothing(*i)) cheap_.insert(i);
      copies_.note(i);
      groups_.position[i] = static_cast<int64_t>(groups_.position.size());
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Instr* i = *it;
      if (!is_fusible(*i) || is_copied(*i)) continue;
      if (!join_users(i) && !copy_to_users(i) && !repeat_in_users(i)) start_group(i);
    }
    fusion::merge_outputs(groups_, o_.max_group, [&](const Group& g) { return has_kernel(g); },
                          [&](const Group& p, const Group& g) { return follows(p, g); }, o_.trace);
    fusion::merge_chains(groups_, o_.max_group, [&](const Group& g) { return has_kernel(g); }, o_.trace);
    for (const Group& g : groups_.list)
      if (!g.members.empty()) TRY(outline(g));
    c_->erase_dead();
    // Cheap values that something outside the kernels reads: a loop's initial state, an update's target.
    order = post_order(*c_);
    forget_erased(order);
    for (Instr* i : order)
      if (i->op == Op::kWhile) separate(i->operand(0));
    order = post_order(*c_);
    for (Instr* i : order)
      if (is_fusible(*i)) TRY(outline(Group{{i}, {i}}));
    c_->erase_dead();
    return absl::OkStatus();
  }

 private:
  void start_group(Instr* i) {
    Group g;
    copies_.start(i);
    g.members = g.roots = {i};
    if (is_update(*i)) choose_road(i);
    g.heavy = is_contraction(*i) || fusion::is_big_reduce(*i) || writes_in_place(*i) || is_window(*i);
    groups_.of[i] = static_cast<int>(groups_.list.size());
    groups_.list.push_back(std::move(g));
  }

  void choose_road(const Instr* i) {
    const auto road = fusion::road_of(*i, [&](const Instr& x) { return is_cheap(x); });
    if (road != fusion::UpdateRoad::kInPlace) roads_[i] = road;
  }
  fusion::UpdateRoad road(const Instr& i) const {
    auto it = roads_.find(&i);
    return it == roads_.end() ? fusion::UpdateRoad::kInPlace : it->second;
  }
  bool writes_in_place(const Instr& i) const {
    return is_update(i) && road(i) != fusion::UpdateRoad::kRewritten;
  }

  // Costs next to nothing to compute again: copied into each group that reads it.
  bool is_cheap(const Instr& i) const { return cheap_.contains(&i); }
  // The same, of an instruction whose operands are known.
  bool costs_nothing(const Instr& i) const {
    switch (i.op) {
      case Op::kIota: return true;
      case Op::kConstant: return is_scalar_constant(i);
      case Op::kBroadcast: case Op::kReshape: case Op::kConvert: case Op::kBitcast:
        return is_cheap(*i.operand(0));
      default: return false;
    }
  }

  // Arrays of a loop's initial state that are alike and cheap are made where each goes, not made once and copied.
  void separate(Instr* state) {
    constexpr int64_t kFew = 64;
    if (state->op != Op::kTuple) return;
    for (int64_t k = 0; k < static_cast<int64_t>(state->operands.size()); ++k) {
      Instr* o = state->operand(k);
      const bool again = o->users.size() > 1 || std::count(state->operands.begin(), state->operands.end(), o) > 1;
      if (is_cheap(*o) && is_fusible(*o) && again && o->shape.elements() > kFew)
        c_->set_operand(state, k, c_->add(o->op, o->shape, o->operands, o->attrs, {}, o->name));
    }
  }

  // New instructions may come to lie where erased ones were.
  void forget_erased(const std::vector<Instr*>& alive) {
    for (auto* set : {&cheap_, &groups_.copied}) {
      absl::flat_hash_set<const Instr*> kept;
      for (const Instr* i : alive)
        if (set->contains(i)) kept.insert(i);
      *set = std::move(kept);
    }
  }

  // Computed again in each group that reads it.
  bool is_copied(const Instr& i) const { return is_cheap(i) || groups_.copied.contains(&i); }

  // A broadcast that several groups read is better made in each than written for all: they read less.
  bool copy_to_users(Instr* i) {
    if (i->op != Op::kBroadcast || i == c_->root() ||
        i->operand(0)->shape.elements() * 16 > i->shape.elements())
      return false;
    std::vector<int> readers;
    for (Instr* u : i->users) {
      if (!live_.contains(u)) continue;
      auto it = groups_.of.find(u);
      if (it == groups_.of.end() || (u->op != Op::kReduce && !def(*u).has(kElementwise))) return false;
      if (std::find(readers.begin(), readers.end(), it->second) == readers.end())
        readers.push_back(it->second);
    }
    return readers.size() >= 2 && copy({{i}, readers}, "copied into its readers");
  }

  // What is cheaper to compute in each of the groups that read it.
  bool repeat_in_users(Instr* i) {
    auto cone = fusion::repeatable_cone(i, groups_, copies_, live_);
    return cone && copy(*cone, "computed in each reader");
  }

  // Leaves the members to the groups that read them, if these still have kernels.
  bool copy(const fusion::Cone& cone, std::string_view verdict) {
    for (const Instr* m : cone.members) groups_.copied.insert(m);
    const bool fits = std::all_of(cone.readers.begin(), cone.readers.end(), [&](int r) {
      return !groups_.list[r].heavy || has_kernel(groups_.list[r]);
    }) && take_fuel("fuse", cone.members[0]->name);
    if (!fits)
      for (const Instr* m : cone.members) groups_.copied.erase(m);
    if (fits && o_.trace)
      o_.trace(*cone.members[0], *groups_.list[cone.readers[0]].members[0], verdict);
    return fits;
  }

  bool join_users(Instr* i) {
    if (i == c_->root() || i->users.empty()) return false;
    int target = -1;
    for (Instr* u : i->users) {
      if (!live_.contains(u)) continue;
      if (is_copied(*u)) return false;
      auto it = groups_.of.find(u);
      if (it == groups_.of.end() || (target >= 0 && it->second != target)) return false;
      target = it->second;
    }
    if (target < 0) return false;
    Group& g = groups_.list[target];
    std::string_view verdict = refusal(*i, g);
    if (verdict.empty() && needs_proof(*i, g) && !has_kernel(with(g, i))) verdict = "no single kernel";
    if (verdict.empty() && !copies_.join(i)) verdict = "would be computed too often";
    if (verdict.empty() && !take_fuel("fuse", i->name)) verdict = "out of fuel";
    if (o_.trace) o_.trace(*i, *g.members[0], verdict.empty() ? "fused" : verdict);
    if (!verdict.empty()) {
      operand_side_.erase(i);
      return false;
    }
    g.members.push_back(i);
    if (is_update(*i)) roads_[i] = fusion::UpdateRoad::kRewritten;
    g.heavy |= is_contraction(*i) || fusion::is_big_reduce(*i);
    groups_.of[i] = target;
    return true;
  }

  // Whether group p of one root may be computed where its readers, all in `g` by now, ask for it.
  bool follows(const Group& p, const Group& g) {
    return refusal(*p.roots[0], g).empty() &&
           std::all_of(p.members.begin(), p.members.end(),
                       [&](const Instr* i) { return copies_.join(i); });
  }

  // Why `i` must not join, or "".
  std::string_view refusal(const Instr& i, const Group& g) {
    if (static_cast<int64_t>(g.members.size()) >= o_.max_group) return "group is full";
    if (is_window(i) || (is_update(i) && !is_choice(i, g))) return "computed in its own kernel";
    if (scatters_one_by_one(*g.members[0]) && !def(i).has(kMovement) && !is_index_step(i, g))
      return "scattered one by one";
    // What reads an array cannot be computed while that array is written.
    const Instr& top = *g.members[0];
    if (writes_in_place(top)) {
      const bool own = road(top) == fusion::UpdateRoad::kOwnWindow && loop::reads_own_window(i, top);
      for (const Instr* o : i.operands)
        if (o == top.operand(0) && !own) return "reads the updated array";
      if (road(top) == fusion::UpdateRoad::kAfter && &i == top.operand(1)) return "made of several parts of the updated array";
    }
    for (const Instr* u : i.users) {
      if (!live_.contains(u)) continue;
      std::string_view why = edge_refusal(i, *u, g);
      if (!why.empty()) return why;
    }
    return "";
  }

  // An update that elementwise operations read at one position: one pass makes both.
  bool is_choice(const Instr& i, const Group& g) const {
    return !g.heavy && fusion::is_rewritable(i) && std::all_of(i.users.begin(), i.users.end(), [&](const Instr* u) {
      return !live_.contains(u) || (def(*u).has(kElementwise) && copies_.once(u));
    });
  }

  // A scatter of narrow windows runs through its updates one after the other: what it reads is better
  // computed before, in vectors.
  static bool scatters_one_by_one(const Instr& i) {
    if (i.op != Op::kScatter) return false;
    const auto& windows = i.as<ScatterAttrs>().update_window_dims;
    return windows.empty() || i.operand(2)->shape.dims[windows.back()] < 8;
  }

  // One of the few integer operations that make an index: cheaper again for each update than through
  // memory.
  static bool is_index_step(const Instr& i, const Group& g) {
    constexpr size_t kFew = 8;
    return g.members.size() < kFew && !is_float(i.shape.dtype) && !is_complex(i.shape.dtype) &&
           def(i).emit && !def(i).has(kExpensive) &&
           std::all_of(i.operands.begin(), i.operands.end(), [](const Instr* o) {
             return !is_float(o->shape.dtype) && !is_complex(o->shape.dtype);
           });
  }

  std::string_view edge_refusal(const Instr& i, const Instr& user, const Group& g) {
    if (g.heavy && !is_contraction(*g.members[0]) && is_storable(i) && !is_contraction(user)) return "stored so by the product";
    bool computes = !def(i).has(kMovement) && i.op != Op::kBroadcast;
    if (is_contraction(user) || operand_side_.contains(&user)) {
      const bool view = i.op == Op::kTranspose || i.op == Op::kSlice || i.op == Op::kDynamicSlice || i.op == Op::kReshape;
      if (user.op == Op::kConvolution || !view) return "operand of a contraction";
      if (is_storable(i) && ends_better(i)) return "stored so by the product";
      operand_side_.insert(&i);
      return "";
    }
    if (writes_in_place(user) && user.operand(0) == &i) return "updated in place";
    if (is_window(user) && computes && (def(i).has(kExpensive) || i.op == Op::kReduce))
      return "read several times";
    if (is_window(user) && computes && ends_contraction(i)) return "ends a contraction's kernel";
    if (user.op == Op::kConcatenate && user.operands.size() > 8) return "one of many parts";
    bool repeats = user.op == Op::kBroadcast || user.op == Op::kGather;
    if (repeats && user.shape.elements() > i.shape.elements() && i.shape.elements() > 1 &&
        (def(i).has(kExpensive) || repeats_much(i, user)) && !reads_reduction(i))
      return "would be computed repeatedly";
    return "";
  }

  // Whether this is a transpose of a product that nothing else reads, which the product's kernel may store: its last
  // dimension is the last free one of an operand.
  bool is_storable(const Instr& i) const {
    if (i.op != Op::kTranspose || !is_float(i.shape.dtype) || i.operand(0)->op != Op::kDot || live_users(*i.operand(0)) != 1)
      return false;
    return i.shape.dims.back() >= loop::kLeastStoredColumns && operand_of_last(*i.operand(0), last_before(i)) >= 0;
  }
  static int64_t last_before(const Instr& transpose) { return transpose.as<DimsAttrs>().dimensions.back(); }
  // Of which operand dimension d of a product is the last free dimension; -1: of none.
  static int operand_of_last(const Instr& dot, int64_t d) {
    const int64_t rank = dot.shape.rank();
    const auto batch = static_cast<int64_t>(dot.as<DotAttrs>().lhs_batch.size());
    const int64_t of_lhs = dot.operand(0)->shape.rank() - batch - static_cast<int64_t>(dot.as<DotAttrs>().lhs_contracting.size());
    if (d < batch) return -1;
    return d == batch + of_lhs - 1 ? 0 : d == rank - 1 ? 1 : -1;
  }
  // Whether the product had rather store its transpose: its columns then lie beside each other in the operand that they
  // come from, and did not before.
  static bool ends_better(const Instr& transpose) {
    const Instr& dot = *transpose.operand(0);
    return !are_adjacent(dot, dot.shape.rank() - 1) && are_adjacent(dot, last_before(transpose));
  }
  static bool are_adjacent(const Instr& dot, int64_t d) {
    const auto& a = dot.as<DotAttrs>();
    const int k = operand_of_last(dot, d);
    if (k < 0) return false;
    const int64_t inner = dot.operand(k)->shape.rank() - 1;
    const auto has_inner = [&](const Dims& dims) { return std::find(dims.begin(), dims.end(), inner) != dims.end(); };
    return !has_inner(k == 0 ? a.lhs_batch : a.rhs_batch) && !has_inner(k == 0 ? a.lhs_contracting : a.rhs_contracting);
  }

  // Many steps that leading dimensions repeat; what is repeated along vectors is computed once for them.
  static bool repeats_much(const Instr& i, const Instr& user) {
    constexpr int64_t kManySteps = 16, kManyRepeated = 65536, kVector = 16;
    if (user.op == Op::kBroadcast) {
      int64_t along = 1;  // elements side by side that are one element of i
      const Dims& kept = user.as<DimsAttrs>().dimensions;
      const auto last = static_cast<size_t>(kept.empty() ? 0 : kept.back() + 1);
      for (size_t d = last; d < user.shape.dims.size(); ++d) along *= user.shape.dims[d];
      if (along >= kVector) return false;
    }
    const int64_t steps = fusion::steps_behind(&i);
    return steps > kManySteps && steps * (user.shape.elements() - i.shape.elements()) > kManyRepeated;
  }

  // Elementwise steps on a contraction's result that nothing else reads: its kernel makes them in registers, once.
  bool ends_contraction(const Instr& i, int depth = 0) const {
    if (is_contraction(i)) return true;
    if (depth > 8 || !def(i).has(kElementwise)) return false;
    return std::any_of(i.operands.begin(), i.operands.end(), [&](const Instr* o) {
      return o->shape.dims == i.shape.dims && live_users(*o) == 1 && ends_contraction(*o, depth + 1);
    });
  }
  int64_t live_users(const Instr& i) const {
    return std::count_if(i.users.begin(), i.users.end(), [&](const Instr* u) { return live_.contains(u); });
  }

  // Row-wise values after a reduction are computed once a row, however often they are broadcast.
  bool reads_reduction(const Instr& i) {
    const Instr* p = &i;
    for (int depth = 0; depth < 16; ++depth) {
      if (fusion::is_big_reduce(*p)) return true;
      const Instr* next = nullptr;
      for (const Instr* o : p->operands)
        if (!is_cheap(*o) && is_fusible(*o)) next = o;
      if (!next) return false;
      p = next;
    }
    return false;
  }

  bool needs_proof(const Instr& i, const Group& g) const {
    return g.heavy || is_contraction(i) || fusion::is_big_reduce(i) || g.members.size() % 16 == 15;
  }

  static Group with(const Group& g, Instr* i) {
    Group out = g;
    out.members.push_back(i);
    return out;
  }

  static bool is_large_operand(const Instr& i, size_t k) {
    constexpr int64_t kFew = 256;
    return is_contraction(i) && i.operands[k]->shape.elements() > kFew;
  }

  // Tries the lowering on a copy of the group. Models repeat their layers, so most groups have been
  // tried in another place.
  bool has_kernel(const Group& g) {
    KeyBuilder key{keys_, {}};
    key.writer.numbers(build(g, key));
    key.writer.number(road(*g.roots[0]) == fusion::UpdateRoad::kRewritten ? 1 : 0);
    auto [it, fresh] = trials_.try_emplace(key.writer.finish(), false);
    if (!fresh) return it->second;
    Module scratch("trial");
    std::vector<Instr*> inputs;
    return it->second = loop::lower(*copy_group(g, scratch, &inputs, false), "trial", trial_).ok();
  }

  // Instructions as keys of their own, each made once.
  struct Keys {
    absl::flat_hash_map<const Instr*, Hash128> instrs, shapes;
  };

  // A group as a key: what `build` asks for, in order.
  struct KeyBuilder {
    using Value = int64_t;
    Keys& keys;
    KeyWriter writer;
    int64_t count = 0;

    Value input(const Instr* o) {
      auto [it, fresh] = keys.shapes.try_emplace(o);
      if (fresh) it->second = loop::shape_key(o->shape);
      writer.number(-1);
      writer.hash(it->second);
      return count++;
    }
    Value add(const Instr* i, absl::Span<const Value> operands) {
      auto [it, fresh] = keys.instrs.try_emplace(i);
      if (fresh) it->second = loop::instr_key(*i);
      writer.numbers(operands);
      writer.hash(it->second);
      return count++;
    }
    Value again(const Instr* o, absl::Span<const Value> operands) { return add(o, operands); }
  };

  // A group as instructions of a computation. `whole`: what they call is copied too, else they call what
  // the group's do, which is enough to lower them.
  struct CopyBuilder {
    using Value = Instr*;
    Computation* f;
    std::vector<Instr*>* inputs;
    bool whole;

    Value input(Instr* o) {
      inputs->push_back(o);
      return f->add(Op::kParameter, o->shape, {},
                    ParameterAttrs{static_cast<int64_t>(inputs->size()) - 1}, {}, o->name);
    }
    Value add(Instr* i, absl::Span<const Value> operands) {
      if (!whole) return f->add(i->op, i->shape, operands, i->attrs, i->calls, i->name);
      Module* to = f->module();
      absl::InlinedVector<Computation*, 1> calls;
      for (Computation* c : i->calls) calls.push_back(c->module() == to ? c : to->clone_computation(*c));
      Instr* copy = f->add(i->op, i->shape, operands, i->attrs, calls, i->name);
      if (i->extras) copy->extras = std::make_unique<Extras>(*i->extras), copy->extras->control_predecessors.clear();
      return copy;
    }
    // What is made once more beside the group that has it, or none has.
    Value again(Instr* o, absl::Span<const Value> operands) {
      return f->add(o->op, o->shape, operands, o->attrs, {}, o->name);
    }
  };

  // Gives `to` a group's instructions, operands first, with what is copied into it; the roots' values.
  template <typename Builder>
  std::vector<typename Builder::Value> build(const Group& g, Builder& to) const {
    using Value = typename Builder::Value;
    const absl::flat_hash_set<const Instr*> inside(g.members.begin(), g.members.end());
    absl::flat_hash_map<const Instr*, Value> map;
    std::vector<Instr*> order = g.members;
    std::sort(order.begin(), order.end(), [&](Instr* a, Instr* b) { return position(a) < position(b); });
    auto value = [&](auto& self, Instr* o) -> Value {
      if (auto it = map.find(o); it != map.end()) return it->second;
      if (inside.contains(o) || !is_copied(*o)) return map[o] = to.input(o);
      absl::InlinedVector<Value, 2> operands;
      for (Instr* x : o->operands) operands.push_back(self(self, x));
      return map[o] = to.again(o, operands);
    };
    for (Instr* i : order) {
      absl::InlinedVector<Value, 4> operands;
      for (size_t k = 0; k < i->operands.size(); ++k) {
        // An update's target is memory to write to, an input of its own even if others read the
        // value, unless they may in this kernel. Kernels of products read arrays in memory.
        const bool updated = k == 0 && is_update(*i) && !roads_.contains(i);
        const bool stored = updated || is_large_operand(*i, k);
        const bool own = stored && !inside.contains(i->operands[k]);
        operands.push_back(own ? to.input(i->operands[k]) : value(value, i->operands[k]));
      }
      map[i] = to.add(i, operands);
    }
    std::vector<Value> roots;
    for (const Instr* r : g.roots) roots.push_back(map.at(r));
    return roots;
  }

  // The group as a computation of `to`; `inputs` are the values its parameters stand for.
  Computation* copy_group(const Group& g, Module& to, std::vector<Instr*>* inputs, bool whole = true) {
    CopyBuilder builder{to.add_computation("fused"), inputs, whole};
    Computation* f = builder.f;
    std::vector<Instr*> roots = build(g, builder);
    f->set_root(roots[0]);
    if (roots.size() > 1) {
      f->set_root(f->add(Op::kTuple, result_shape(g), roots));
    } else if (road(*g.roots[0]) == fusion::UpdateRoad::kRewritten) {
      // The kernel's result is not the update itself, which says that it is not in place.
      f->set_root(f->add(Op::kCopy, f->root()->shape, {f->root()}));
    } else if (f->root()->shape.is_tuple()) {
      // A reduction of several operands: the kernel's outputs are its elements.
      std::vector<Instr*> parts;
      for (size_t k = 0; k < f->root()->shape.tuple.size(); ++k)
        parts.push_back(f->add(Op::kGetTupleElement, f->root()->shape.tuple[k], {f->root()},
                               IndexAttrs{static_cast<int64_t>(k)}));
      f->set_root(f->add(Op::kTuple, f->root()->shape, parts));
    }
    return f;
  }

  static Shape result_shape(const Group& g) {
    if (g.roots.size() == 1) return g.roots[0]->shape;
    std::vector<Shape> shapes;
    for (const Instr* r : g.roots) shapes.push_back(r->shape);
    return Shape::tuple_of(std::move(shapes));
  }

  int64_t position(const Instr* i) const {
    auto it = groups_.position.find(i);
    return it == groups_.position.end() ? i->id : it->second;
  }

  Status outline(const Group& g) {
    Instr* root = g.roots[0];
    // A reshape alone moves nothing: the plan gives it its operand's memory.
    if (g.members.size() == 1 && (root->op == Op::kReshape || root->op == Op::kBitcast))
      return absl::OkStatus();
    std::vector<Instr*> inputs;
    Computation* f = copy_group(g, *c_->module(), &inputs);
    Instr* fusion = c_->add(Op::kFusion, result_shape(g), inputs, FusionAttrs{FusionKind::kLoop}, {f},
                            str_cat(name(root->op), "_fusion"));
    if (root->extras) fusion->extras = std::make_unique<Extras>(*root->extras);
    if (g.roots.size() == 1) {
      c_->replace_uses(root, fusion);
      return absl::OkStatus();
    }
    for (size_t k = 0; k < g.roots.size(); ++k)
      c_->replace_uses(g.roots[k], c_->add(Op::kGetTupleElement, g.roots[k]->shape, {fusion},
                                           IndexAttrs{static_cast<int64_t>(k)}));
    return absl::OkStatus();
  }

  Computation* c_;
  const FuseOptions& o_;
  loop::Facts trial_;
  Trials& trials_;
  Keys keys_;
  absl::flat_hash_set<const Instr*> live_, cheap_;
  fusion::Groups groups_;
  fusion::Copies copies_;
  absl::flat_hash_set<const Instr*> operand_side_;
  absl::flat_hash_map<const Instr*, fusion::UpdateRoad> roads_;  // of updates that are not simply in place
};

void collect_control(Computation* c, std::vector<Computation*>* out) {
  if (std::find(out->begin(), out->end(), c) != out->end()) return;
  out->push_back(c);
  for (auto& i : c->instrs())
    if (i->op == Op::kWhile || i->op == Op::kConditional || i->op == Op::kCall)
      for (Computation* callee : i->calls) collect_control(callee, out);
}

}  // namespace

bool is_fusible(const Instr& i) {
  bool variadic = i.op == Op::kReduce && i.shape.is_tuple();
  if (!i.shape.is_array() && !variadic) return false;
  if (i.shape.quant || i.shape.has_bounded_dim()) return false;
  for (const Instr* o : i.operands)
    if (!o->shape.is_array() || o->shape.quant || o->shape.has_bounded_dim()) return false;
  for (Computation* c : i.calls)
    for (auto& x : c->instrs())
      if (x->op != Op::kParameter && x->op != Op::kConstant && x->op != Op::kTuple &&
          (!def(*x).emit || !x->shape.is_scalar()))
        return false;
  switch (i.op) {
    case Op::kReduce: case Op::kDot: case Op::kConvolution: case Op::kReduceWindow:
    case Op::kSelectAndScatter:
      return true;
    case Op::kScatter: return i.operands.size() == 3;
    case Op::kDynamicUpdateSlice: return true;
    case Op::kParameter: return false;
    case Op::kConstant: return false;
    default: return def(i).emit != nullptr || def(i).index != nullptr;
  }
}

Status fuse(Module& m, const FuseOptions& options) {
  std::vector<Computation*> todo;
  collect_control(m.entry(), &todo);
  Trials trials;
  for (Computation* c : todo) TRY(Fuser(c, options, trials).run());
  m.erase_dead_computations();
  return absl::OkStatus();
}

}  // namespace braze
