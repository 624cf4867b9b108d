// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ops/op_def.h"
#include "plan/kernel_set.h"
#include "plan/offsets.h"
#include "plan/plan.h"
#include "plan/rotate.h"
#include "plan/update_order.h"

namespace braze {

std::vector<Shape> leaves(const Shape& s) {
  if (!s.is_tuple()) return {s};
  std::vector<Shape> out;
  for (const Shape& t : s.tuple)
    for (Shape& l : leaves(t)) out.push_back(std::move(l));
  return out;
}

namespace {

using Leaves = std::vector<int64_t>;  // buffer numbers

class PlanBuilder {
 public:
  PlanBuilder(Plan& p, const PlanOptions& o) : p_(p), kernels_(p.kernels, o) {}

  Status run() {
    Computation* entry = p_.module->entry();
    int64_t n = 0;
    Frame frame;
    for (Instr* param : entry->params()) {
      Leaves l;
      for (const Shape& s : leaves(param->shape)) {
        l.push_back(add_buffer({PlanBuffer::Kind::kArgument, n++, 0, s}));
        p_.argument_buffers.push_back(l.back());
        pin(l.back());
      }
      frame.values[param] = l;
    }
    std::vector<Shape> results = leaves(entry->root()->shape);
    for (size_t i = 0; i < results.size(); ++i) {
      p_.result_buffers.push_back(
          add_buffer({PlanBuffer::Kind::kResult, static_cast<int64_t>(i), 0, results[i]}));
      pin(p_.result_buffers.back());
    }
    TRY(walk(*entry, frame, p_.result_buffers, &p_.steps));
    lay_out();
    return absl::OkStatus();
  }

 private:
  // One computation being walked.
  struct Frame {
    absl::flat_hash_map<const Instr*, Leaves> values;
    absl::flat_hash_map<int64_t, int64_t> uses;  // reads to come, by buffer allocated in this frame
    // Result leaves that an instruction can compute straight into their place.
    absl::flat_hash_map<const Instr*, std::vector<std::pair<int64_t, int64_t>>> place;
  };

  int64_t add_buffer(PlanBuffer b) {
    p_.buffers.push_back(std::move(b));
    uses_.push_back(0);
    return static_cast<int64_t>(p_.buffers.size()) - 1;
  }
  static constexpr int64_t kPinned = int64_t{1} << 40;  // uses of what is never freed
  void pin(int64_t b) { uses_[b] = kPinned; }
  int64_t arena_buffer(const Shape& s) {
    const int64_t range = begin_range(s.is_array() ? s.bytes() : 0);
    const int64_t b = add_buffer({PlanBuffer::Kind::kArena, 0, 0, s});  // `s` may be a buffer's
    range_of_[b] = range;
    return b;
  }
  void drop(int64_t b) {
    if (--uses_[b] == 0 && p_.buffers[b].kind == PlanBuffer::Kind::kArena) end_range(range_of_.at(b));
  }

  // A range of the arena; numbers stand for offsets until all lifetimes are known.
  int64_t begin_range(int64_t bytes) {
    ranges_.push_back({bytes, now_++, 0});
    return static_cast<int64_t>(ranges_.size()) - 1;
  }
  void end_range(int64_t range) { ranges_[range].to = now_++; }
  void lay_out() {
    for (Lifetime& r : ranges_)
      if (r.to == 0) r.to = now_++;  // lives to the end
    const Offsets offsets = assign_offsets(ranges_);
    for (const auto& [buffer, range] : range_of_) p_.buffers[buffer].offset = offsets.at[range];
    place_workspaces(p_.steps, offsets);
    p_.arena_bytes = offsets.bytes;
  }
  static void place_workspaces(PlanSteps& steps, const Offsets& offsets) {
    for (PlanStep& s : steps) {
      if (s.workspace >= 0) s.workspace = offsets.at[s.workspace];
      for (PlanSteps& inner : s.nested) place_workspaces(inner, offsets);
    }
  }

  static bool is_alias(const Instr& i) {
    switch (i.op) {
      case Op::kTuple: case Op::kGetTupleElement: case Op::kReshape: case Op::kBitcast:
      case Op::kOptBarrier: case Op::kAfterAll: case Op::kAddDependency: case Op::kDomain:
        return true;
      case Op::kCopy: return true;
      default: return false;
    }
  }

  // Result leaf k of an alias instruction is operand o's leaf j.
  Leaves alias(const Instr& i, const Frame& f) {
    Leaves out;
    switch (i.op) {
      case Op::kTuple: case Op::kOptBarrier:
        for (const Instr* o : i.operands) {
          const Leaves& l = f.values.at(o);
          out.insert(out.end(), l.begin(), l.end());
        }
        return out;
      case Op::kGetTupleElement: {
        const Instr* t = i.operand(0);
        size_t at = 0;
        int64_t index = i.as<IndexAttrs>().index;
        for (int64_t k = 0; k < index; ++k) at += leaves(t->shape.tuple[k]).size();
        size_t n = leaves(i.shape).size();
        const Leaves& l = f.values.at(t);
        return Leaves(l.begin() + at, l.begin() + at + n);
      }
      case Op::kAfterAll: return {token()};
      default: return f.values.at(i.operand(0));
    }
  }
  int64_t token() {
    if (token_ < 0) {
      token_ = add_buffer({PlanBuffer::Kind::kArena, 0, 0, Shape::token()});
      pin(token_);
    }
    return token_;
  }

  // Emits the steps of `c`; its root's leaves end up in `targets`.
  Status walk(const Computation& c, Frame& frame, const Leaves& targets, PlanSteps* steps) {
    std::vector<Instr*> order = updates_last(c);
    // Later uses: buffers die after their last reader. Readers through aliases count as well.
    absl::flat_hash_map<const Instr*, std::vector<int64_t>> readers;  // by leaf
    for (Instr* i : order) readers[i].assign(leaves(i->shape).size(), i == c.root());
    for (Instr* i : order)
      for (Instr* o : i->operands) {
        auto [from, to] = leaves_read(*i, *o);
        for (size_t k = from; k < to; ++k) ++readers[o][k];
      }
    plan_places(c, frame, targets);
    for (Instr* i : order) {
      if (i->op == Op::kParameter) {
        hold(frame.values.at(i), readers[i]);
        continue;
      }
      TRY(note(str_cat(name(i->op), " '", i->name, "'"), step(i, frame, steps)));
      // The value is held until all its readers are done; each operand is read once by `i`.
      hold(frame.values.at(i), readers[i]);
      release_operands(i, frame);
    }
    TRY(finish(c, frame, targets, steps));
    return absl::OkStatus();
  }

  // The leaves of operand o that i reads: one element's, for get-tuple-element.
  static std::pair<size_t, size_t> leaves_read(const Instr& i, const Instr& o) {
    if (i.op != Op::kGetTupleElement) return {0, leaves(o.shape).size()};
    size_t from = 0;
    int64_t index = i.as<IndexAttrs>().index;
    for (int64_t k = 0; k < index; ++k) from += leaves(o.shape.tuple[k]).size();
    return {from, from + leaves(i.shape).size()};
  }
  void hold(const Leaves& l, const std::vector<int64_t>& n) {
    for (size_t k = 0; k < l.size(); ++k) uses_[l[k]] += n[k];
    for (size_t k = 0; k < l.size(); ++k) {
      if (n[k] > 0) continue;
      uses_[l[k]] += 1;  // computed but never read
      drop(l[k]);
    }
  }
  void release_operands(Instr* i, Frame& frame) {
    for (Instr* o : i->operands) {
      auto [from, to] = leaves_read(*i, *o);
      for (size_t k = from; k < to; ++k) drop(frame.values.at(o)[k]);
    }
  }

  // An instruction whose only place in the root tuple is leaf k computes into targets[k] directly.
  void plan_places(const Computation& c, Frame& frame, const Leaves& targets) {
    const Instr* root = c.root();
    if (root->op != Op::kTuple) {
      if (targets.size() == 1) add_place(root, targets[0], frame);
      return;
    }
    size_t leaf = 0;
    for (const Instr* o : root->operands) {
      size_t n = leaves(o->shape).size();
      if (n == 1) add_place(o, targets[leaf], frame);
      leaf += n;
    }
  }
  // `value` should be computed into buffer `target`: through reshapes, and elements of tuples, the
  // instruction that computes it is told. The first place wins; other ones get copies.
  static void add_place(const Instr* value, int64_t target, Frame& frame) {
    while (value->op == Op::kReshape || value->op == Op::kBitcast) value = value->operand(0);
    int64_t leaf = 0;
    if (value->op == Op::kGetTupleElement) {
      leaf = static_cast<int64_t>(leaves_read(*value, *value->operand(0)).first);
      value = value->operand(0);
    }
    auto& places = frame.place[value];
    for (auto& [k, buffer] : places)
      if (k == leaf) return;
    places.emplace_back(leaf, target);
    // What is updated in place should be there from the start.
    if (value->op == Op::kWhile) {
      if (const Instr* before = initial_state(*value, leaf)) add_place(before, target, frame);
      return;
    }
    if (value->op != Op::kFusion) return;
    int64_t updated = loop::inout_parameter(*value->calls[0], leaf);
    if (updated < 0) return;
    const Instr* before = value->operand(updated);
    if (before->op != Op::kParameter && before->op != Op::kConstant) add_place(before, target, frame);
  }

  // What leaf k of a loop's state starts as, if it is computed for that alone; null: it is not.
  static const Instr* initial_state(const Instr& loop, int64_t k) {
    const Instr* state = loop.operand(0);
    if (state->op != Op::kTuple || state->users.size() != 1) return nullptr;
    const Instr* value = nullptr;
    for (const Instr* o : state->operands) {
      const int64_t n = static_cast<int64_t>(leaves(o->shape).size());
      if (k >= 0 && k < n && n == 1) value = o;
      k -= n;
    }
    const bool computed = value && value->op != Op::kParameter && value->op != Op::kConstant;
    return computed && value->users.size() == 1 && std::count(state->operands.begin(), state->operands.end(), value) == 1
               ? value : nullptr;
  }

  // Where leaf k of instruction i goes: its final place if that is free to be written, or the arena.
  int64_t place(const Instr* i, int64_t k, const Shape& s, const Frame& frame) {
    auto it = frame.place.find(i);
    if (it != frame.place.end())
      for (auto& [leaf, buffer] : it->second)
        if (leaf == k && may_write_early(buffer) && p_.buffers[buffer].shape.bytes() == s.bytes())
          return buffer;
    return arena_buffer(s);
  }
  // Loop state is still read by the body until its end.
  bool may_write_early(int64_t b) const { return !state_.contains(b); }

  // Copies the root's leaves that were not computed in place.
  Status finish(const Computation& c, Frame& frame, const Leaves& targets, PlanSteps* steps) {
    const Leaves& root = frame.values.at(c.root());
    if (root.size() != targets.size()) return internal("root and targets differ in leaves");
    move(root, targets, steps);
    for (int64_t b : root) drop(b);
    return absl::OkStatus();
  }

  // Copies all that is not where it should be. A target may be the source of another copy (a loop that
  // swaps its state): such sources are saved first.
  void move(Leaves source, const Leaves& targets, PlanSteps* steps) {
    for (size_t k = 0; k < source.size(); ++k) {
      for (size_t j = 0; j < k; ++j) {
        if (source[k] != targets[j] || source[j] == targets[j]) continue;
        int64_t saved = arena_buffer(p_.buffers[source[k]].shape);
        copy(source[k], saved, &saves_);
        source[k] = saved;
        temporary_.push_back(saved);
        break;
      }
    }
    for (PlanStep& s : saves_) steps->push_back(std::move(s));
    saves_.clear();
    for (size_t k = 0; k < source.size(); ++k)
      if (source[k] != targets[k]) copy(source[k], targets[k], steps);
    for (int64_t b : temporary_) {
      uses_[b] = 1;
      drop(b);
    }
    temporary_.clear();
  }

  void copy(int64_t from, int64_t to, PlanSteps* steps) {
    if (!p_.buffers[from].shape.is_array()) return;
    PlanStep s;
    s.kind = PlanStep::Kind::kCopy;
    s.inputs = {from};
    s.outputs = {to};
    steps->push_back(std::move(s));
  }

  Status step(Instr* i, Frame& frame, PlanSteps* steps) {
    if (is_alias(*i)) {
      frame.values[i] = alias(*i, frame);
      return absl::OkStatus();
    }
    switch (i->op) {
      case Op::kConstant: return constant(i, frame);
      case Op::kFusion: return kernel(i, frame, steps);
      case Op::kWhile: return loop(i, frame, steps);
      case Op::kConditional: return conditional(i, frame, steps);
      default: return library(i, frame, steps);
    }
  }

  Status constant(Instr* i, Frame& frame) {
    if (i->shape.is_tuple()) {
      Leaves l;
      std::function<void(const Literal&)> add = [&](const Literal& v) {
        if (v.shape().is_tuple()) {
          for (const Literal& p : v.parts()) add(p);
          return;
        }
        l.push_back(add_constant(v));
      };
      add(i->literal());
      frame.values[i] = l;
      return absl::OkStatus();
    }
    frame.values[i] = {add_constant(i->literal())};
    return absl::OkStatus();
  }
  int64_t add_constant(const Literal& v) {
    int64_t b = add_buffer({PlanBuffer::Kind::kConstant, static_cast<int64_t>(p_.constants.size()), 0,
                            v.shape()});
    pin(b);
    p_.constants.push_back(v);
    return b;
  }

  Status kernel(Instr* i, Frame& frame, PlanSteps* steps) {
    const Computation& f = *i->calls[0];
    const LoweredKernel& k = kernels_.lowered(f, i->name);
    if (k.kernel < 0) return library(i, frame, steps);
    PlanStep s;
    s.kind = PlanStep::Kind::kKernel;
    s.instr = i;
    for (Instr* o : i->operands) s.inputs.push_back(frame.values.at(o)[0]);
    std::vector<Shape> shapes = leaves(i->shape);
    for (size_t n = 0; n < shapes.size(); ++n) {
      int64_t target = loop::inout_parameter(f, static_cast<int64_t>(n));
      if (target >= 0) {
        int64_t from = s.inputs[target];
        s.outputs.push_back(updated_buffer(i, static_cast<int64_t>(n), from, shapes[n], frame, steps));
        continue;
      }
      s.outputs.push_back(place(i, n, shapes[n], frame));
    }
    if (k.workspace > 0) {
      s.workspace = begin_range(k.workspace);
      end_range(s.workspace);
    }
    frame.values[i] = s.outputs;
    s.offsets = k.offsets;
    s.kernel = k.kernel;
    steps->push_back(std::move(s));
    return absl::OkStatus();
  }

  // Where an update of `from` writes. The operand's memory becomes the result's if nobody reads the
  // operand afterwards; else the operand is copied first.
  int64_t updated_buffer(Instr* i, int64_t leaf, int64_t from, const Shape& shape, const Frame& frame,
                         PlanSteps* steps) {
    PlanBuffer::Kind kind = p_.buffers[from].kind;
    if (kind == PlanBuffer::Kind::kArena && uses_[from] == 1) return from;
    if (kind == PlanBuffer::Kind::kResult && uses_[from] == kPinned + 1) return from;
    if (in_place_state(i, from, frame)) return from;
    if (is_own_spare(from)) return from;
    int64_t to = place(i, leaf, shape, frame);
    if (to == from) to = arena_buffer(shape);
    copy(from, to, steps);
    return to;
  }

  // A value that was computed into a spare buffer of a loop's state, and has one reader to come.
  bool is_own_spare(int64_t b) const {
    auto it = spare_.find(b);
    return it != spare_.end() && uses_[b] == it->second + 1;
  }

  // A loop's state buffer updated where it lies: this is its last read, and the update becomes the
  // same element of the next state.
  bool in_place_state(Instr* i, int64_t from, const Frame& frame) {
    if (!state_.contains(from)) return false;
    auto it = frame.place.find(i);
    if (it == frame.place.end() || it->second[0].second != from) return false;
    auto n = frame_uses_.find(from);
    return n == frame_uses_.end() || uses_[from] - n->second == 1;
  }

  Status library(Instr* i, Frame& frame, PlanSteps* steps) {
    PlanStep s;
    s.kind = PlanStep::Kind::kLibrary;
    s.instr = i;
    for (Instr* o : i->operands)
      for (int64_t b : frame.values.at(o)) s.inputs.push_back(b);
    std::vector<Shape> shapes = leaves(i->shape);
    for (size_t n = 0; n < shapes.size(); ++n)
      s.outputs.push_back(shapes[n].is_token() ? token()
                                               : place(i, static_cast<int64_t>(n), shapes[n], frame));
    frame.values[i] = s.outputs;
    steps->push_back(std::move(s));
    return absl::OkStatus();
  }

  // Leaves of the state that the body returns as it got them: they need no copy.
  static std::vector<bool> unchanged_state(const Computation& body, size_t leaf_count) {
    std::vector<bool> out(leaf_count, false);
    const Instr* root = body.root();
    if (root->op != Op::kTuple) return out;
    size_t leaf = 0;
    for (size_t k = 0; k < root->operands.size(); ++k) {
      const Instr* o = root->operand(static_cast<int64_t>(k));
      bool same = o->op == Op::kGetTupleElement && o->operand(0)->op == Op::kParameter &&
                  o->as<IndexAttrs>().index == static_cast<int64_t>(k);
      for (size_t n = leaves(o->shape).size(); n > 0; --n) out[leaf++] = same;
    }
    return out;
  }

  // Where leaf k of a loop's state lives, which starts as what `from` holds: there, if nobody else reads it.
  int64_t state_buffer(Instr* i, int64_t k, int64_t from, const Frame& frame) {
    const PlanBuffer& b = p_.buffers[from];
    const auto places = frame.place.find(i);
    const bool placed = places != frame.place.end() &&
                        std::any_of(places->second.begin(), places->second.end(), [&](auto& p) { return p.first == k; });
    if (b.kind == PlanBuffer::Kind::kArena && uses_[from] == 1 && !placed) return from;
    const int64_t to = place(i, k, b.shape, frame);
    const bool last = (b.kind == PlanBuffer::Kind::kResult && uses_[from] == kPinned + 1) || is_own_spare(from);
    if (to != from || last) return to;
    return arena_buffer(b.shape);
  }

  // Bodies of a loop whose state rotates, as far as they have been planned.
  struct Turns {
    Rotation rotation;
    Leaves state;                               // where the leaves are between iterations of the step
    Leaves at, spare;                           // where they are now; by fresh leaf, what is free for it
    absl::flat_hash_set<int64_t> outer_state;
  };

  // The body for the `n`-th way in which the state's buffers are exchanged, and those after it:
  //   body; if (condition) { body with buffers exchanged; ... } else { all back to where it was }
  Status turn(const Instr& loop, int64_t n, Turns& t, PlanSteps* steps) {
    state_ = t.outer_state;
    for (int64_t b : t.at) state_.insert(b), frame_uses_[b] = uses_[b];
    const auto outer_spare = spare_;
    for (int64_t b : t.spare)
      if (b >= 0) spare_[b] = uses_[b];
    const Leaves next = t.rotation.advance(t.at, &t.spare);
    Frame body;
    body.values[loop.calls[1]->params()[0]] = t.at;
    TRY(walk(*loop.calls[1], body, next, steps));
    spare_ = outer_spare;
    if (n + 1 >= t.rotation.period) return absl::OkStatus();
    t.at = next;
    PlanStep s;
    s.kind = PlanStep::Kind::kConditional;
    s.instr = &loop;
    s.nested.resize(2);
    s.predicate = arena_buffer(Shape::scalar(Dtype::kPred));
    uses_[s.predicate] = 1;
    Frame condition;
    condition.values[loop.calls[0]->params()[0]] = next;
    state_ = t.outer_state;
    for (int64_t b : next) state_.insert(b);
    TRY(walk(*loop.calls[0], condition, {s.predicate}, steps));
    TRY(turn(loop, n + 1, t, &s.nested[0]));
    move(next, t.state, &s.nested[1]);
    drop(s.predicate);
    steps->push_back(std::move(s));
    return absl::OkStatus();
  }

  Status loop(Instr* i, Frame& frame, PlanSteps* steps) {
    // The state has the same buffers for the whole loop; the result is the state.
    Leaves state;
    const Leaves init = frame.values.at(i->operand(0));
    const std::vector<bool> unchanged = unchanged_state(*i->calls[1], init.size());
    for (size_t k = 0; k < init.size(); ++k) {
      const Shape& s = p_.buffers[init[k]].shape;
      int64_t to = s.is_token()  ? token()
                   : unchanged[k] ? init[k]
                                  : state_buffer(i, static_cast<int64_t>(k), init[k], frame);
      state.push_back(to);
      if (to != init[k]) copy(init[k], to, steps);
    }
    PlanStep s;
    s.kind = PlanStep::Kind::kWhile;
    s.instr = i;
    s.outputs = state;
    s.nested.resize(2);
    for (int64_t b : state) uses_[b] += int64_t{1} << 30;
    s.predicate = arena_buffer(Shape::scalar(Dtype::kPred));
    uses_[s.predicate] = 1;
    auto before = state_;
    for (int64_t b : state) state_.insert(b);
    auto uses_before = frame_uses_;
    Frame cond;
    cond.values[i->calls[0]->params()[0]] = state;
    TRY(walk(*i->calls[0], cond, {s.predicate}, &s.nested[0]));
    Turns turns{rotation_of(*i), state, state, Leaves(state.size(), -1), before};
    for (size_t k = 0; k < state.size(); ++k)
      if (turns.rotation.from[k] == Rotation::kFresh) {
        turns.spare[k] = arena_buffer(p_.buffers[state[k]].shape);
        uses_[turns.spare[k]] = int64_t{1} << 30;
      }
    const Leaves spare = turns.spare;
    TRY(turn(*i, 0, turns, &s.nested[1]));
    state_ = before;
    frame_uses_ = uses_before;
    for (int64_t b : spare)
      if (b >= 0) uses_[b] = 1, drop(b);
    drop(s.predicate);
    for (int64_t b : state) uses_[b] -= int64_t{1} << 30;
    frame.values[i] = state;
    steps->push_back(std::move(s));
    return absl::OkStatus();
  }

  Status conditional(Instr* i, Frame& frame, PlanSteps* steps) {
    PlanStep s;
    s.kind = PlanStep::Kind::kConditional;
    s.instr = i;
    s.predicate = frame.values.at(i->operand(0))[0];
    std::vector<Shape> shapes = leaves(i->shape);
    for (size_t n = 0; n < shapes.size(); ++n)
      s.outputs.push_back(shapes[n].is_token()
                              ? token()
                              : place(i, static_cast<int64_t>(n), shapes[n], frame));
    for (int64_t b : s.outputs) uses_[b] += int64_t{1} << 30;
    for (size_t b = 0; b < i->calls.size(); ++b) {
      Frame branch;
      branch.values[i->calls[b]->params()[0]] = frame.values.at(i->operand(static_cast<int64_t>(b) + 1));
      s.nested.emplace_back();
      TRY(walk(*i->calls[b], branch, s.outputs, &s.nested.back()));
    }
    for (int64_t b : s.outputs) uses_[b] -= int64_t{1} << 30;
    frame.values[i] = s.outputs;
    steps->push_back(std::move(s));
    return absl::OkStatus();
  }

  Plan& p_;
  std::vector<Lifetime> ranges_;
  absl::flat_hash_map<int64_t, int64_t> range_of_;  // by arena buffer
  int64_t now_ = 1;
  std::vector<int64_t> uses_;
  absl::flat_hash_set<int64_t> state_;
  absl::flat_hash_map<int64_t, int64_t> spare_;  // free buffers of a state that rotates: their uses by others
  absl::flat_hash_map<int64_t, int64_t> frame_uses_;
  KernelSet kernels_;
  PlanSteps saves_;
  std::vector<int64_t> temporary_;
  int64_t token_ = -1;
};

}  // namespace

Result<Plan> build_plan(std::unique_ptr<Module> module, const PlanOptions& options) {
  Plan p;
  p.module = std::move(module);
  TRY(PlanBuilder(p, options).run());
  return p;
}

}  // namespace braze
