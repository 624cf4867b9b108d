// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "spmd/expander.h"

namespace braze::spmd {
namespace {

// Of chains, which tile() follows by recursion; and of the tiles made.
constexpr int kMaxDepth = 400;
constexpr int64_t kMaxTiles = 100'000;

}  // namespace

void TileWise::add(Instr* result, const Tiling* t) {
  if (!result->shape.is_array()) return;
  auto [at, fresh] = results_.try_emplace(result, t);
  if (!fresh && !(*at->second == *t)) whole_.insert(result);
}

// An elementwise op whose value is wanted in the same tiles by all who want it.
bool TileWise::fits(Instr* i, const Tiling** t) const {
  if (!def(*i).has(kElementwise) || !i->shape.is_array() || !i->calls.empty() || has_effect(*i) ||
      whole_.contains(i))
    return false;
  for (const Instr* o : i->operands)
    if (o->shape.rank() != 0 && o->shape.dims != i->shape.dims) return false;
  auto at = results_.find(i);
  const Tiling* wanted = at == results_.end() ? nullptr : at->second;
  for (const Instr* u : i->users) {
    auto chosen = chosen_.find(u);
    if (chosen == chosen_.end()) return false;
    if (wanted && !(*wanted == *chosen->second)) return false;
    wanted = chosen->second;
  }
  *t = wanted;
  return wanted && wanted->count() > 1 && !wanted->unreduced();
}

void TileWise::choose() {
  const auto& all = body_.b.computation()->instrs();
  absl::flat_hash_map<const Instr*, int> depth;
  int64_t tiles = 0;
  for (auto i = all.rbegin(); i != all.rend(); ++i) {
    const Tiling* t = nullptr;
    if (!fits(i->get(), &t)) continue;
    int below = 0;
    for (const Instr* u : (*i)->users) below = std::max(below, depth[u]);
    if (below >= kMaxDepth || tiles + t->count() > kMaxTiles) continue;
    depth[i->get()] = below + 1;
    tiles += t->count();
    chosen_[i->get()] = t;
  }
}

Instr* TileWise::tile(Instr* i, const Tiling& t, int64_t k) {
  auto at = chosen_.find(i);
  const bool chosen = at != chosen_.end() && *at->second == t;
  auto shape = tile_shape(i->shape, t);
  if (!shape.ok()) return i;  // the caller has checked
  shape->layout.clear();
  const bool scalar = i->is(Op::kBroadcast) && i->operand(0)->shape.rank() == 0;
  if (!chosen && !scalar) return x_.slice(body_, i, tile_start(*shape, t, k), shape->dims);
  // A scalar's tiles are all the same.
  Instr*& made = made_[{i, scalar ? 0 : k}];
  if (made) return made;
  if (scalar) return made = body_.b.broadcast(i->operand(0), shape->dims, {});
  std::vector<Instr*> operands;
  for (Instr* o : i->operands) operands.push_back(o->shape.rank() == 0 ? o : tile(o, t, k));
  Instr* copy = body_.b.computation()->add(i->op, *shape, operands, i->attrs, {}, i->name);
  if (i->extras) copy->extra().metadata = i->extras->metadata;
  return made_[{i, k}] = copy;
}

}  // namespace braze::spmd
