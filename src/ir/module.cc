// SPDX-License-Identifier: Apache-2.0
#include "ir/module.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace braze {
namespace {

// For a user that uses nothing yet: only its own earlier operands can have entered it, and last.
void add_new_user(Instr* value, Instr* user) {
  if (value->users.empty() || value->users.back() != user) value->users.push_back(user);
}

void add_user(Instr* value, Instr* user) {
  if (std::find(value->users.begin(), value->users.end(), user) == value->users.end())
    value->users.push_back(user);
}

void drop_user(Instr* value, Instr* user) {
  auto it = std::find(value->users.begin(), value->users.end(), user);
  if (it != value->users.end()) value->users.erase(it);
}

// A set of instructions of one computation: bits by their numbers, where these lie close enough.
class Marks {
 public:
  explicit Marks(const Computation& c) {
    if (c.size() == 0) return;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const auto& i : c.instrs()) low = std::min(low, i->id), high = std::max(high, i->id);
    constexpr int64_t kSparse = 64;  // bits worth an entry of a hash set
    if (high - low > kSparse * (c.size() + kSparse)) return;
    low_ = low;
    bits_.resize(static_cast<size_t>(high - low + 1));
  }
  // True if it was not there.
  bool insert(const Instr* i) {
    const size_t at = index(i);
    if (at >= bits_.size()) return rest_.insert(i).second;
    const bool fresh = !bits_[at];
    bits_[at] = true;
    return fresh;
  }
  bool contains(const Instr* i) const {
    const size_t at = index(i);
    return at < bits_.size() ? bits_[at] : rest_.contains(i);
  }

 private:
  size_t index(const Instr* i) const { return static_cast<size_t>(i->id - low_); }
  int64_t low_ = 0;
  std::vector<bool> bits_;
  absl::flat_hash_set<const Instr*> rest_;
};

bool uses(const Instr* user, const Instr* value) {
  return std::find(user->operands.begin(), user->operands.end(), value) != user->operands.end();
}

}  // namespace

std::string Instr::location() const {
  if (!extras || extras->metadata.source_file.empty()) return "";
  return str_cat(extras->metadata.source_file, ":", extras->metadata.source_line);
}

// Computation ------------------------------------------------------------------------------------

Instr* Computation::add(Op op, const Shape& shape, absl::Span<Instr* const> operands, Attrs attrs,
                        absl::Span<Computation* const> calls, std::string_view name) {
  auto owned = std::make_unique<Instr>();
  Instr* i = owned.get();
  i->op = op;
  i->shape = shape;
  i->operands.assign(operands.begin(), operands.end());
  i->attrs = std::move(attrs);
  i->calls.assign(calls.begin(), calls.end());
  i->name = module_->unique_name(name.empty() ? braze::name(op) : name);
  i->id = module_->next_id();
  i->parent = this;
  for (Instr* o : operands) add_new_user(o, i);
  if (op == Op::kParameter) {
    size_t n = static_cast<size_t>(i->parameter_number());
    if (params_.size() <= n) params_.resize(n + 1);
    params_[n] = i;
  }
  instrs_.push_back(std::move(owned));
  module_->count_change();
  return i;
}

void Computation::set_operand(Instr* i, int64_t k, Instr* value) {
  Instr* old = i->operands[k];
  if (old == value) return;
  i->operands[k] = value;
  if (!uses(i, old)) drop_user(old, i);
  add_user(value, i);
  module_->count_change();
}

void Computation::set_operands(Instr* i, absl::Span<Instr* const> operands) {
  unlink(i);
  i->operands.assign(operands.begin(), operands.end());
  for (Instr* o : operands) add_new_user(o, i);
  module_->count_change();
}

void Computation::set_shape(Instr* i, const Shape& shape) {
  i->shape = shape;
  module_->count_change();
}

void Computation::set_attrs(Instr* i, Attrs attrs) {
  i->attrs = std::move(attrs);
  module_->count_change();
}

void Computation::set_calls(Instr* i, absl::Span<Computation* const> calls) {
  i->calls.assign(calls.begin(), calls.end());
  module_->count_change();
}

void Computation::replace_uses(Instr* old_value, Instr* new_value) {
  if (old_value == new_value) return;
  std::vector<Instr*> users = std::move(old_value->users);
  old_value->users.clear();
  for (Instr* u : users) {
    if (u == new_value) {  // new_value is computed from old_value: that use stays
      old_value->users.push_back(u);
      continue;
    }
    for (Instr*& o : u->operands)
      if (o == old_value) o = new_value;
    add_user(new_value, u);
  }
  if (root_ == old_value) root_ = new_value;
  module_->count_change();
}

void Computation::set_root(Instr* root) {
  root_ = root;
  module_->count_change();
}

void Computation::unlink(Instr* user) {
  for (Instr* o : user->operands) drop_user(o, user);
}

void Computation::erase(Instr* i) {
  unlink(i);
  if (i->op == Op::kParameter) {
    size_t n = static_cast<size_t>(i->parameter_number());
    if (n < params_.size() && params_[n] == i) params_.erase(params_.begin() + n);
  }
  auto it = std::find_if(instrs_.rbegin(), instrs_.rend(), [i](auto& p) { return p.get() == i; });
  if (it != instrs_.rend()) instrs_.erase(std::next(it).base());
  module_->count_change();
}

int64_t Computation::erase_dead() {
  Marks live(*this);
  for (Instr* i : post_order(*this)) live.insert(i);
  for (Instr* p : params_) live.insert(p);
  int64_t dead = 0;
  for (auto& i : instrs_) {
    if (live.contains(i.get())) continue;
    ++dead;
    for (Instr* o : i->operands)
      if (live.contains(o)) drop_user(o, i.get());
  }
  if (dead == 0) return 0;
  std::erase_if(instrs_, [&](auto& i) { return !live.contains(i.get()); });
  module_->count_change();
  return dead;
}

std::vector<int64_t> Computation::erase_unused_params() {
  std::vector<int64_t> kept;
  std::vector<Instr*> params = params_;
  for (Instr* p : params) {
    if (p->users.empty() && p != root_) {
      int64_t position = std::find(params_.begin(), params_.end(), p) - params_.begin();
      params_.erase(params_.begin() + position);
      std::erase_if(instrs_, [&](auto& i) { return i.get() == p; });
      module_->count_change();
    } else {
      kept.push_back(p->parameter_number());
    }
  }
  for (size_t n = 0; n < params_.size(); ++n)
    params_[n]->attrs = ParameterAttrs{static_cast<int64_t>(n)};
  return kept;
}

// Module -----------------------------------------------------------------------------------------

Computation* Module::add_computation(std::string_view name) {
  computations_.push_back(std::make_unique<Computation>(this, unique_name(name)));
  return computations_.back().get();
}

void Module::erase_computation(Computation* c) {
  std::erase_if(computations_, [c](auto& p) { return p.get() == c; });
  ++changes_;
}

int64_t Module::erase_dead_computations() {
  absl::flat_hash_set<const Computation*> live;
  for (Computation* c : computation_post_order(*this)) live.insert(c);
  int64_t before = static_cast<int64_t>(computations_.size());
  std::erase_if(computations_, [&](auto& c) { return !live.contains(c.get()); });
  int64_t dead = before - static_cast<int64_t>(computations_.size());
  changes_ += dead > 0;
  return dead;
}

int64_t Module::instruction_count() const {
  int64_t n = 0;
  for (auto& c : computations_) n += c->size();
  return n;
}

std::string Module::unique_name(std::string_view base) {
  const auto key = [](std::string_view s) { return absl::string_view(s.data(), s.size()); };
  if (!names_.contains(key(base))) {
    names_.try_emplace(std::string(base), 0);
    return std::string(base);
  }
  // "add.3" asked for again counts on from "add": names stay short however often they are copied.
  std::string_view stem = base;
  size_t dot = base.rfind('.');
  if (dot != std::string_view::npos && dot + 1 < base.size() &&
      base.find_first_not_of("0123456789", dot + 1) == std::string_view::npos)
    stem = base.substr(0, dot);
  auto it = names_.find(key(stem));
  int64_t n = it == names_.end() ? 0 : it->second;
  std::string name;
  do name = str_cat(stem, ".", ++n);
  while (!names_.try_emplace(name, 0).second);
  names_.insert_or_assign(std::string(stem), n);
  return name;
}

namespace {

// Copies `from` into `to`, mapping calls by `callee`.
template <typename F>
void copy_body(const Computation& from, Computation* to, F callee) {
  absl::flat_hash_map<const Instr*, Instr*> map;
  std::vector<Instr*> after = post_order(from);
  Marks inside(from);
  for (Instr* i : after) inside.insert(i);
  for (Instr* p : from.params())
    if (inside.insert(p)) after.push_back(p);
  std::vector<Instr*> order = after;
  std::sort(order.begin(), order.end(), [](Instr* a, Instr* b) { return a->id < b->id; });
  // Creation order is usually topological; where a pass appended out of order, use the post order.
  const bool topological = std::all_of(order.begin(), order.end(), [&](Instr* i) {
    return std::all_of(i->operands.begin(), i->operands.end(), [&](Instr* o) { return o->id < i->id; });
  });
  if (!topological) order = std::move(after);
  for (Instr* i : order) {
    absl::InlinedVector<Instr*, 4> operands;
    for (Instr* o : i->operands) operands.push_back(map.at(o));
    absl::InlinedVector<Computation*, 2> calls;
    for (Computation* c : i->calls) calls.push_back(callee(c));
    Instr* copy = to->add(i->op, i->shape, operands, i->attrs, calls, i->name);
    if (i->extras) copy->extras = std::make_unique<Extras>(*i->extras);
    map[i] = copy;
  }
  for (auto& [old_instr, copy] : map) {
    if (!copy->extras) continue;
    std::erase_if(copy->extras->control_predecessors, [&](Instr* p) { return !map.contains(p); });
    for (Instr*& p : copy->extras->control_predecessors) p = map.at(p);
  }
  if (from.root()) to->set_root(map.at(from.root()));
}

}  // namespace

std::unique_ptr<Module> Module::clone() const {
  auto m = std::make_unique<Module>(name_);
  m->aliases = aliases;
  m->buffer_donors = buffer_donors;
  m->num_replicas = num_replicas;
  m->num_partitions = num_partitions;
  m->entry_parameter_layouts = entry_parameter_layouts;
  m->entry_result_layouts = entry_result_layouts;
  m->is_scheduled = is_scheduled;
  m->frontend_attributes = frontend_attributes;
  m->other = other;
  absl::flat_hash_map<const Computation*, Computation*> map;
  for (Computation* c : computation_post_order(*this)) {
    Computation* copy = m->add_computation(c->name());
    copy_body(*c, copy, [&](Computation* callee) { return map.at(callee); });
    map[c] = copy;
  }
  m->set_entry(map.at(entry_));
  return m;
}

Computation* Module::clone_computation(const Computation& from, std::string_view name) {
  absl::flat_hash_map<const Computation*, Computation*> map;
  auto copy = [&](auto& self, const Computation& c, std::string_view as) -> Computation* {
    for (const Instr* i : post_order(c))
      for (Computation* callee : i->calls)
        if (callee->module() != this && !map.contains(callee))
          map[callee] = self(self, *callee, callee->name());
    Computation* to = add_computation(as);
    copy_body(c, to, [&](Computation* callee) {
      return callee->module() == this ? callee : map.at(callee);
    });
    return to;
  };
  return copy(copy, from, name.empty() ? from.name() : name);
}

// Walks ------------------------------------------------------------------------------------------

namespace {

bool op_has_effect(Op op) {
  switch (op) {
    case Op::kInfeed: case Op::kOutfeed: case Op::kSend: case Op::kSendDone: case Op::kRecv:
    case Op::kRecvDone: case Op::kRngState: case Op::kAllGather: case Op::kAllReduce:
    case Op::kAllToAll: case Op::kCollectiveBroadcast: case Op::kCollectivePermute:
    case Op::kReduceScatter:
      return true;
    default:
      return false;
  }
}

// Computations looked into already: without the set, calls that fan out and meet again would be
// followed along every path.
using Seen = absl::flat_hash_set<const Computation*>;

bool computation_has_effect(const Computation& c, int depth, Seen& seen);

bool instr_has_effect(const Instr& i, int depth, Seen& seen) {
  if (op_has_effect(i.op)) return true;
  if (i.op == Op::kCustomCall && i.as<CustomCallAttrs>().side_effect) return true;
  if (depth > 256) return true;
  return std::any_of(i.calls.begin(), i.calls.end(), [&](Computation* c) {
    return seen.insert(c).second && computation_has_effect(*c, depth + 1, seen);
  });
}

bool computation_has_effect(const Computation& c, int depth, Seen& seen) {
  return std::any_of(c.instrs().begin(), c.instrs().end(),
                     [&](auto& i) { return instr_has_effect(*i, depth, seen); });
}

}  // namespace

bool has_effect(const Instr& i) {
  Seen seen;
  return instr_has_effect(i, 0, seen);
}

std::vector<Instr*> post_order(const Computation& c) {
  std::vector<Instr*> order;
  order.reserve(c.instrs().size());
  Marks seen(c);
  std::vector<std::pair<Instr*, size_t>> stack;
  auto visit = [&](Instr* root) {
    if (!root || !seen.insert(root)) return;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [i, next] = stack.back();
      size_t controls = i->extras ? i->extras->control_predecessors.size() : 0;
      if (next < i->operands.size() + controls) {
        size_t k = next++;
        Instr* o = k < i->operands.size() ? i->operands[k]
                                          : i->extras->control_predecessors[k - i->operands.size()];
        if (seen.insert(o)) stack.emplace_back(o, 0);
        continue;
      }
      order.push_back(i);
      stack.pop_back();
    }
  };
  for (auto& i : c.instrs())
    if (i.get() != c.root() && (!i->calls.empty() || op_has_effect(i->op) || i->op == Op::kCustomCall) &&
        has_effect(*i))
      visit(i.get());
  visit(c.root());
  return order;
}

std::vector<Computation*> computation_post_order(const Module& m) {
  std::vector<Computation*> order;
  absl::flat_hash_set<const Computation*> seen;
  struct Frame {
    Computation* c;
    std::vector<Computation*> callees;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto push = [&](Computation* c) {
    if (!c || !seen.insert(c).second) return;
    Frame f{c, {}, 0};
    for (auto& i : c->instrs()) f.callees.insert(f.callees.end(), i->calls.begin(), i->calls.end());
    stack.push_back(std::move(f));
  };
  push(m.entry());
  while (!stack.empty()) {
    Frame& f = stack.back();
    if (f.next < f.callees.size()) {
      push(f.callees[f.next++]);
      continue;
    }
    order.push_back(f.c);
    stack.pop_back();
  }
  return order;
}

}  // namespace braze
