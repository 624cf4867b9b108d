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
  const Dims start = tile_start(*shape, t, k);
  const bool filled = i->is(Op::kBroadcast) || (i->is(Op::kIota) && is_int(i->shape.dtype));
  if (!chosen && !filled) return x_.slice(body_, i, start, shape->dims);
  if (i->is(Op::kBroadcast)) return broadcast(i, *shape, start);
  if (i->is(Op::kIota)) return iota(i, *shape, start);
  if (Instr* made = made_[{i, k}]) return made;
  std::vector<Instr*> operands;
  for (Instr* o : i->operands) operands.push_back(o->shape.rank() == 0 ? o : tile(o, t, k));
  Instr* made = body_.b.computation()->add(i->op, *shape, operands, i->attrs, {}, i->name);
  if (i->extras) made->extra().metadata = i->extras->metadata;
  return made_[{i, k}] = made;
}

// The part of a broadcast is the broadcast of the operand's part.
Instr* TileWise::broadcast(Instr* i, const Shape& tile, const Dims& start) {
  const Dims& to = i->as<DimsAttrs>().dimensions;
  Dims from(to.size(), 0), sizes = i->operand(0)->shape.dims;
  for (size_t d = 0; d < to.size(); ++d) {
    from[d] = start[to[d]];
    sizes[d] = tile.dims[to[d]];
  }
  Dims key = from;
  key.insert(key.end(), tile.dims.begin(), tile.dims.end());
  Instr*& made = filled_[{i, key}];
  if (!made) made = body_.b.broadcast(x_.slice(body_, i->operand(0), from, sizes), tile.dims, to);
  return made;
}

Instr* TileWise::iota(Instr* i, const Shape& tile, const Dims& start) {
  const int64_t d = i->as<IotaAttrs>().iota_dimension;
  Dims key = {start[d]};
  key.insert(key.end(), tile.dims.begin(), tile.dims.end());
  Instr*& made = filled_[{i, key}];
  if (made) return made;
  made = body_.b.iota(tile, d);
  if (start[d] == 0) return made;
  Instr* from = body_.b.constant(Literal::scalar_int(tile.dtype, start[d]));
  return made = body_.b.add(made, body_.b.broadcast(from, tile.dims, {}));
}

}  // namespace braze::spmd
