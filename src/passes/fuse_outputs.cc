// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "base/fuel.h"
#include "loop/lower.h"
#include "ops/op_def.h"
#include "passes/fuse_copies.h"
#include "passes/fuse_groups.h"

namespace braze::fusion {
namespace {

constexpr size_t kMaxOutputs = 8;
constexpr size_t kMaxReaders = 24;    // of one value, looked at for siblings
constexpr int64_t kNear = 48;         // siblings further apart would keep more values alive
constexpr int64_t kSlots = 1 << 10;   // positions between one instruction and the next
constexpr size_t kMaxVisited = 4000;  // instructions looked at to prove that no cycle arises

class Merger {
 public:
  Merger(Groups& g, int64_t max_group, const std::function<bool(const Group&)>& has_kernel,
         const std::function<bool(const Group&, const Group&)>& follows,
         const std::function<void(const Instr&, const Instr&, std::string_view)>& trace)
      : groups_(g), max_group_(max_group), has_kernel_(has_kernel), follows_(follows), trace_(trace) {}

  void run() {
    for (auto& [i, p] : groups_.position) p *= kSlots;
    std::vector<int> order(groups_.list.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return first(a) < first(b); });
    for (int g : order)
      while (!groups_.list[g].members.empty() && merge_one(g)) {
      }
    // Consumers first: what a group takes in may bring the next one along.
    std::sort(order.begin(), order.end(), [&](int a, int b) { return first(a) > first(b); });
    for (int g : order)
      if (!groups_.list[g].members.empty()) sink(g);
  }

 private:
  Group& at(int g) { return groups_.list[g]; }
  int64_t position(const Instr* i) const { return groups_.position.at(i); }
  int64_t first(int g) {
    int64_t p = INT64_MAX;
    for (const Instr* r : at(g).roots) p = std::min(p, position(r));
    return p;
  }
  int64_t last(int g) {
    int64_t p = 0;
    for (const Instr* r : at(g).roots) p = std::max(p, position(r));
    return p;
  }
  int group(const Instr* i) const {
    auto it = groups_.of.find(i);
    return it == groups_.of.end() ? -1 : it->second;
  }

  // Calls f with every instruction that reads `value`, itself or what is made of it in each reader.
  template <typename F>
  void for_readers(const Instr* value, const F& f) const {
    for (const Instr* u : value->users) {
      if (groups_.copied.contains(u)) {
        for_readers(u, f);
      } else {
        f(u);
      }
    }
  }
  // What a group must be given for `o`: not `o` itself, if that is copied into it.
  void add_sources(Instr* o, std::vector<Instr*>* sources) const {
    if (groups_.copied.contains(o)) {
      for (Instr* x : o->operands) add_sources(x, sources);
    } else if (o->shape.is_array() && o->shape.elements() > 1) {
      sources->push_back(o);
    }
  }

  // Merges group g into an earlier or neighbouring one, if that is possible. The groups that g reads
  // come first, then those that read what g reads.
  bool merge_one(int g) {
    absl::flat_hash_set<int> seen{g};
    std::vector<int> candidates;
    auto add = [&](int other) {
      if (other >= 0 && seen.insert(other).second) candidates.push_back(other);
    };
    std::vector<Instr*> inputs;
    for (Instr* m : at(g).members)
      for (Instr* o : m->operands)
        if (group(o) != g) add_sources(o, &inputs);
    for (Instr* o : inputs) add(group(o));
    for (Instr* o : inputs) {
      if (o->users.size() > kMaxReaders) continue;
      for_readers(o, [&](const Instr* u) {
        int other = group(u);
        if (other >= 0 && (std::abs(first(other) - first(g)) <= kNear * kSlots || may_move(g, other) ||
                           may_move(other, g)))
          add(other);
      });
    }
    for (int other : candidates)
      if (try_merge(other, g)) return true;
    return false;
  }

  // The dimensions a group's kernel walks, or null if it takes no more outputs.
  const Dims* space(const Group& g) {
    const Dims* full = nullptr;
    for (const Instr* r : g.roots)
      if (!r->shape.is_array()) return nullptr;
    for (const Instr* m : g.members) {
      switch (m->op) {
        case Op::kDot: case Op::kConvolution: case Op::kScatter: case Op::kDynamicUpdateSlice:
        case Op::kReduceWindow: case Op::kSelectAndScatter: case Op::kConcatenate: case Op::kGather:
          return nullptr;
        case Op::kReduce:
          if (!loop::is_tiny_reduction(*m)) full = &m->operand(0)->shape.dims;
          break;
        default: break;
      }
    }
    return full ? full : &g.roots[0]->shape.dims;
  }

  // Whether all of `late` could be computed just before the results of `early`: what it reads is there, and its
  // results are few. Then larger values that both read need not live until `late`.
  bool may_move(int late, int early) {
    const int64_t p = before(early);
    int64_t results = 0;
    for (const Instr* r : at(late).roots) results += r->shape.is_array() ? r->shape.elements() : kSlots * kSlots;
    if (!at(late).heavy || first(late) <= p) return false;
    const Dims* full = space(at(late));
    if (!full || results > product(*full) / 16 || !space(at(early))) return false;
    std::vector<Instr*> sources;
    for (const Instr* m : at(late).members)
      for (Instr* o : m->operands)
        if (group(o) != late) add_sources(o, &sources);
    return std::all_of(sources.begin(), sources.end(), [&](const Instr* o) { return position(o) < p; });
  }
  // The position of the first result of a group, or of what it has been moved behind.
  int64_t before(int g) { return first(g) / kSlots * kSlots; }

  // Gives the members of `late`, in their order, positions just before the results of `early`.
  void move(int late, int early) {
    const int64_t number = before(early) / kSlots;
    std::vector<Instr*> members = at(late).members;
    std::sort(members.begin(), members.end(), [&](const Instr* a, const Instr* b) { return position(a) < position(b); });
    int64_t& taken = taken_[number];
    if (taken + static_cast<int64_t>(members.size()) >= kSlots) return;
    for (const Instr* m : members) groups_.position[m] = (number - 1) * kSlots + ++taken;
  }

  bool try_merge(int a, int b) {
    const Group &x = at(a), &y = at(b);
    if (x.members.empty() || x.roots.size() + y.roots.size() > kMaxOutputs) return false;
    if (static_cast<int64_t>(x.members.size() + y.members.size()) > max_group_) return false;
    const Dims *dx = space(x), *dy = space(y);
    if (!dx || !dy || *dx != *dy) return false;
    if (path(a, b) || path(b, a)) return false;
    if ((reads(b, a) && Copies::repeats(x, y)) || (reads(a, b) && Copies::repeats(y, x))) return false;
    const bool a_moves = may_move(a, b) && first(a) - first(b) > kNear * kSlots;
    const bool b_moves = may_move(b, a) && first(b) - first(a) > kNear * kSlots;
    Group merged;
    merged.members = y.members;
    merged.members.insert(merged.members.end(), x.members.begin(), x.members.end());
    std::sort(merged.members.begin(), merged.members.end(),
              [&](const Instr* p, const Instr* q) { return position(p) > position(q); });
    for (const Group* g : {&x, &y})
      for (Instr* r : g->roots)
        if (read_outside(r, a, b)) merged.roots.push_back(r);
    merged.heavy = x.heavy || y.heavy;
    bool fits = has_kernel_(merged) && take_fuel("fuse", x.roots[0]->name);
    if (trace_) trace_(*x.roots[0], *y.roots[0], fits ? "one kernel, several outputs" : "no single kernel");
    if (!fits) return false;
    if (a_moves) move(a, b);
    if (b_moves) move(b, a);
    if (a_moves || b_moves)
      std::sort(merged.members.begin(), merged.members.end(),
                [&](const Instr* p, const Instr* q) { return position(p) > position(q); });
    for (const Instr* m : merged.members) groups_.of[m] = b;
    at(a) = Group();
    at(b) = std::move(merged);
    add_span(first(b), last(b));
    return true;
  }

  // Moves group p into the only one that reads it, if that walks rows and all of p goes along them, or has
  // been merged and p is elementwise code that may follow its readers. Merged groups may have become the
  // only reader of what several read before.
  void sink(int p) {
    int g = -1;
    for (const Instr* r : at(p).roots) {
      bool outside = r->users.empty() || r->parent->root() == r;
      for_readers(r, [&](const Instr* u) {
        const int reader = group(u);
        if (reader == p) return;
        outside |= reader < 0 || (g >= 0 && reader != g);
        g = reader;
      });
      if (outside) return;
    }
    if (g < 0) return;
    const Group &from = at(p), &to = at(g);
    const Dims* rows = row_space(to);
    if (static_cast<int64_t>(from.members.size() + to.members.size()) > max_group_) return;
    const bool along = rows && std::all_of(from.members.begin(), from.members.end(),
                                           [&](const Instr* m) { return along_rows(*m, *rows); });
    if (!along && (from.heavy || from.roots.size() != 1 || to.roots.size() < 2)) return;
    Group merged;
    merged.members = to.members;
    merged.members.insert(merged.members.end(), from.members.begin(), from.members.end());
    std::sort(merged.members.begin(), merged.members.end(),
              [&](const Instr* a, const Instr* b) { return position(a) > position(b); });
    merged.roots = to.roots;
    merged.heavy = to.heavy || from.heavy;
    const bool fits = has_kernel_(merged) && (along || follows_(from, to)) && take_fuel("fuse", from.roots[0]->name);
    if (trace_) trace_(*from.roots[0], *to.roots[0], fits ? "fused" : "no single kernel");
    if (!fits) return;
    for (const Instr* m : merged.members) groups_.of[m] = g;
    at(p) = Group();
    at(g) = std::move(merged);
  }

  // The dimensions of a group that reduces rows, perhaps columns too, and nothing else; null: it is not one,
  // or its rows are too long to be read again from a cache near by.
  const Dims* row_space(const Group& g) {
    constexpr int64_t kLongest = 8192;
    const Dims* full = space(g);
    bool reduces = false;
    if (!full || full->empty() || full->back() > kLongest) return nullptr;
    for (const Instr* m : g.members) {
      if (m->op != Op::kReduce || loop::is_tiny_reduction(*m)) continue;
      if (reduces_rows(*m, *full)) reduces = true;
      else if (!reduces_columns(*m, *full)) return nullptr;
    }
    return reduces ? full : nullptr;
  }

  static bool reduces_rows(const Instr& r, const Dims& full) {
    const Dims& dims = r.as<DimsAttrs>().dimensions;
    return r.operand(0)->shape.dims == full && dims.size() == 1 &&
           dims[0] == static_cast<int64_t>(full.size()) - 1;
  }

  static bool reduces_columns(const Instr& r, const Dims& full) {
    return r.operand(0)->shape.dims == full &&
           !absl::c_linear_search(r.as<DimsAttrs>().dimensions, static_cast<int64_t>(full.size()) - 1);
  }

  // Does it have one value for each element of `full`, or one for each row of it? Or does it move what the
  // rows share?
  static bool along_rows(const Instr& m, const Dims& full) {
    if (!m.shape.is_array()) return false;
    if (m.op == Op::kReduce) return !loop::is_tiny_reduction(m) && reduces_rows(m, full);
    if (!def(m).has(kElementwise) && m.op != Op::kBroadcast && m.op != Op::kReshape) return false;
    const Dims& dims = m.shape.dims;
    if (dims == full) return true;
    if (!def(m).has(kElementwise) && m.shape.elements() <= full.back()) return true;
    const size_t lead = full.size() - 1;
    return dims.size() >= lead && std::equal(full.begin(), full.end() - 1, dims.begin()) &&
           std::all_of(dims.begin() + lead, dims.end(), [](int64_t d) { return d == 1; });
  }

  bool read_outside(const Instr* r, int a, int b) const {
    bool outside = r->users.empty() || r->parent->root() == r;
    for_readers(r, [&](const Instr* u) { outside |= group(u) != a && group(u) != b; });
    return outside;
  }

  // Does a member of group `g` read a result of group `from`?
  bool reads(int g, int from) {
    const std::vector<Instr*>& roots = at(from).roots;
    return std::any_of(roots.begin(), roots.end(), [&](const Instr* r) {
      return std::any_of(r->users.begin(), r->users.end(), [&](const Instr* u) { return group(u) == g; });
    });
  }

  // What lies behind this position cannot reach position `p`: no group spans the border.
  int64_t horizon(int64_t p) const {
    auto it = spans_.upper_bound(p);
    return it == spans_.begin() ? p : std::max(p, std::prev(it)->second);
  }
  // Notes that a group has roots from position `from` to `to`.
  void add_span(int64_t from, int64_t to) {
    auto it = spans_.upper_bound(from);
    if (it != spans_.begin() && std::prev(it)->second >= from) --it, from = it->first;
    while (it != spans_.end() && it->first <= to) {
      to = std::max(to, it->second);
      it = spans_.erase(it);
    }
    spans_[from] = to;
  }

  // True if a value of group `from` reaches group `to` through something outside both.
  bool path(int from, int to) {
    absl::flat_hash_set<const Instr*> visited;
    std::vector<const Instr*> todo;
    const int64_t limit = horizon(last(to));
    auto reach = [&](const Instr* value, bool direct) {
      for_readers(value, [&](const Instr* u) {
        const int g = group(u);
        if (g == from || (direct && g == to)) return;
        if (visited.insert(u).second) todo.push_back(u);
      });
    };
    for (const Instr* r : at(from).roots) reach(r, true);
    while (!todo.empty()) {
      const Instr* i = todo.back();
      todo.pop_back();
      if (visited.size() > kMaxVisited) return true;
      int g = group(i);
      if (g == to) return true;
      if (g < 0) {
        if (groups_.position.contains(i) && position(i) <= limit) reach(i, false);
      } else if (first(g) <= limit) {
        for (const Instr* r : at(g).roots) reach(r, false);
      }
    }
    return false;
  }

  Groups& groups_;
  // Disjoint ranges of positions, by their first: unions of what merged groups span.
  std::map<int64_t, int64_t> spans_;
  std::map<int64_t, int64_t> taken_;  // positions before an instruction, by its number
  const int64_t max_group_;
  const std::function<bool(const Group&)>& has_kernel_;
  const std::function<bool(const Group&, const Group&)>& follows_;
  const std::function<void(const Instr&, const Instr&, std::string_view)>& trace_;
};

}  // namespace

void merge_outputs(Groups& groups, int64_t max_group,
                   const std::function<bool(const Group&)>& has_kernel,
                   const std::function<bool(const Group&, const Group&)>& follows,
                   const std::function<void(const Instr&, const Instr&, std::string_view)>& trace) {
  Merger(groups, max_group, has_kernel, follows, trace).run();
}

}  // namespace braze::fusion
