// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_copies.h"

#include <algorithm>

#include "loop/elements.h"
#include "ops/op_def.h"
#include "passes/fuse.h"

namespace braze::fusion {
namespace {

constexpr size_t kMostCopies = 16;
constexpr int64_t kMostRepeated = 24;   // steps computed again for an element, where memory would do
constexpr int64_t kMostInMerged = 8;    // the same, where the value is written to memory anyway
constexpr double kFewSteps = 8192;      // cost less than another kernel, all together
constexpr int64_t kFewElements = 512;
constexpr int64_t kExpensiveSteps = 10;

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = a * 0x9e3779b97f4a7c15u + b;
  h ^= h >> 29;
  return h * 0xbf58476d1ce4e5b9u;
}

bool has_gaps(const Instr& i) {
  if (i.op != Op::kPad) return false;
  const Dims& interior = i.as<PadAttrs>().interior;
  return std::any_of(interior.begin(), interior.end(), [](int64_t n) { return n > 0; });
}

// A concatenation whose parts alternate within a few vectors: each vector computes all parts and chooses.
bool is_interleaving(const Instr& i) {
  constexpr int64_t kShortRun = 256;
  if (i.op != Op::kConcatenate) return false;
  int64_t run = 1;
  const Shape& part = i.operand(0)->shape;
  const auto first = static_cast<size_t>(i.as<DimsAttrs>().dimensions[0]);
  for (size_t d = first; d < part.dims.size(); ++d) run *= part.dims[d];
  return run < kShortRun && run > 1;
}

int64_t steps(const Instr& i) {
  if (def(i).has(kExpensive)) return kExpensiveSteps;
  if (i.op == Op::kReduce)
    return i.operand(0)->shape.elements() / std::max<int64_t>(1, i.shape.elements());
  return def(i).has(kElementwise) ? 1 : 0;
}

// Read at several places: by slices, as windows are.
bool is_read_in_parts(const Instr& i) {
  return std::count_if(i.users.begin(), i.users.end(), [](const Instr* u) { return u->op == Op::kSlice; }) > 1;
}

template <typename T>
void make_unique(std::vector<T>* v) {
  std::sort(v->begin(), v->end());
  v->erase(std::unique(v->begin(), v->end()), v->end());
}

// Of each place the most elements; their sum.
int64_t make_unique_places(std::vector<std::pair<uint64_t, int64_t>>* places) {
  make_unique(places);
  int64_t sum = 0;
  size_t kept = 0;
  for (size_t k = 0; k < places->size(); ++k) {
    if (k + 1 < places->size() && (*places)[k + 1].first == (*places)[k].first) continue;
    sum += (*places)[k].second;
    (*places)[kept++] = (*places)[k];
  }
  places->resize(kept);
  return sum;
}

}  // namespace

bool is_big_reduce(const Instr& i) { return i.op == Op::kReduce && !loop::is_tiny_reduction(i); }

int64_t steps_behind(const Instr* i) {
  constexpr size_t kMostSeen = 48;
  absl::flat_hash_set<const Instr*> seen{i};
  std::vector<const Instr*> order{i};
  int64_t sum = 0;
  for (size_t k = 0; k < order.size() && seen.size() < kMostSeen; ++k) {
    sum += steps(*order[k]);
    for (const Instr* o : order[k]->operands) {
      const bool is_step = def(*o).emit || def(*o).index || o->op == Op::kReduce;
      const bool in_kernel = is_step && is_fusible(*o) && o->shape.elements() > 1 && !is_big_reduce(*o);
      if (in_kernel && !is_read_in_parts(*o) && seen.insert(o).second) order.push_back(o);
    }
  }
  return sum;
}

void Copies::start(const Instr* i) {
  asked_[i] = {{0}, {{0, i->shape.is_array() ? i->shape.elements() : 1}}};
}

// Appends the places at which `u`, asked for at `asked`, asks for its operand `i`.
void Copies::add_places(const Instr* u, const Instr* i, const Places& asked, Places* all) {
  const int64_t own = i->shape.elements();
  const int64_t read = u->shape.is_array() ? std::max<int64_t>(1, u->shape.elements()) : 1;
  const auto place = [&](uint64_t p, size_t k) { return mix(p, static_cast<uint64_t>(u->id) * 64 + k); };
  const int64_t unrolled = u->op == Op::kReduce && !is_big_reduce(*u) ? own / read : 1;
  const bool splits = u->op == Op::kBitcastConvert && u->shape.rank() > i->shape.rank();  // into parts of one element
  const bool stacks = u->op == Op::kConcatenate && i->shape.dims[u->as<DimsAttrs>().dimensions[0]] == 1;
  for (size_t k = 0; k < u->operands.size(); ++k) {
    if (u->operands[k] != i) continue;
    for (auto [p, n] : asked) {
      if (unrolled > 1) {
        for (int64_t t = 0; t < unrolled; ++t) all->emplace_back(place(p, static_cast<size_t>(t)), n);
      } else if (u->op == Op::kSlice) {
        all->emplace_back(place(p, k), n);
      } else if (u->op == Op::kPad || u->op == Op::kConcatenate) {
        const double share = static_cast<double>(own) / static_cast<double>(read);
        all->emplace_back(stacks ? p : place(p, k), static_cast<int64_t>(static_cast<double>(n) * share));
      } else if (is_big_reduce(*u)) {
        all->emplace_back(p, own);
      } else {
        all->emplace_back(splits ? place(0, k) : p, own == read ? n : std::min(n, own));
      }
    }
  }
}

void Copies::note(const Instr* i) {
  const auto noted = [&](const Instr* o) { return interleaved_.contains(o); };
  if (has_gaps(*i) || (def(*i).has(kElementwise) && std::any_of(i->operands.begin(), i->operands.end(), noted)))
    interleaved_.insert(i);
}

bool Copies::behind_gaps(const Instr* i) const {
  return std::any_of(i->users.begin(), i->users.end(), [&](const Instr* u) {
    return behind_gaps_.contains(u) || (asked_.contains(u) && has_gaps(*u));
  });
}

bool Copies::once(const Instr* i) const {
  auto it = asked_.find(i);
  return it != asked_.end() && it->second.at.size() == 1 && !interleaved_.contains(i) && !behind_gaps_.contains(i);
}

bool Copies::join(const Instr* i) {
  if (i->shape.is_array() && i->shape.elements() == 1) {
    start(i);  // there is one position
    return true;
  }
  Asked asked;
  for (const Instr* u : i->users) {
    auto it = asked_.find(u);
    if (it == asked_.end()) continue;
    asked.accepted = std::max(asked.accepted, it->second.accepted);
    add_places(u, i, it->second.places, &asked.places);
    const std::vector<uint64_t>& at = it->second.at;
    if (def(*u).has(kElementwise)) {
      asked.at.insert(asked.at.end(), at.begin(), at.end());
      continue;
    }
    const bool unrolled = u->op == Op::kReduce && loop::is_tiny_reduction(*u);
    const int64_t times = unrolled && u->shape.is_array() && u->shape.elements() > 0
                              ? u->operand(0)->shape.elements() / u->shape.elements()
                              : 1;
    for (size_t k = 0; k < u->operands.size(); ++k)
      if (u->operands[k] == i)
        for (uint64_t p : at)
          for (int64_t t = 0; t < times; ++t)
            asked.at.push_back(mix(p, static_cast<uint64_t>(u->id) * 64 + k * 8 + static_cast<uint64_t>(t)));
  }
  make_unique(&asked.at);
  if (asked.at.size() > kMostCopies) return false;
  const int64_t computed = make_unique_places(&asked.places);
  const bool several = asked.places.size() > 1;
  if (several && is_interleaving(*i) && i->shape.elements() > kFewElements) return false;
  if (!def(*i).has(kMovement) && i->shape.is_array() && !asked.places.empty()) {
    const double elements = static_cast<double>(std::max<int64_t>(1, i->shape.elements()));
    const double times = static_cast<double>(computed) / elements;
    if (times > 1.5 * asked.accepted) {
      const double repeated = (times - 1) * static_cast<double>(steps_behind(i));
      if (repeated > kMostRepeated && repeated * elements > kFewSteps) return false;
      asked.accepted = times;
    }
  }
  if (behind_gaps(i)) {
    if (interleaved_.contains(i)) return false;
    behind_gaps_.insert(i);
  }
  if (asked.at.empty()) asked.at.push_back(0), asked.places.emplace_back(0, 1);
  asked_[i] = std::move(asked);
  return true;
}

bool Copies::repeats(const Group& made, const Group& reader) {
  absl::flat_hash_map<const Instr*, Places> places;
  for (const Instr* r : reader.roots) places[r] = {{0, r->shape.elements()}};
  const auto asked = [&](const Instr* i) {
    Places all;
    for (const Instr* u : i->users)
      if (auto it = places.find(u); it != places.end()) add_places(u, i, it->second, &all);
    make_unique_places(&all);
    return all;
  };
  for (const Instr* m : reader.members) {
    Places all = asked(m);
    if (places.contains(m)) all.insert(all.begin(), {0, m->shape.elements()}), make_unique_places(&all);
    if (all.size() > 4 * kMostCopies) return true;
    places[m] = std::move(all);
  }
  int64_t work = 0, others = 0, elements = 0;
  for (const Instr* m : made.members) work += steps(*m);
  for (const Instr* r : made.roots)
    for (auto [p, n] : asked(r))
      if (p != 0) ++others, elements += n;
  return others * work > kMostInMerged && static_cast<double>(work * elements) > kFewSteps;
}

}  // namespace braze::fusion
