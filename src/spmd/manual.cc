// SPDX-License-Identifier: Apache-2.0
// Borders of manual regions: where one value becomes a part for each device, and parts one value again.
#include <algorithm>

#include "spmd/expander.h"

namespace braze::spmd {
namespace {

std::string_view sharding_of(const Instr& i) {
  return i.extras ? std::string_view(i.extras->sharding) : std::string_view();
}

void join_same(Value* v) {
  if (std::all_of(v->copies.begin(), v->copies.end(), [&](Instr* c) { return c == v->copies[0]; }))
    v->copies.resize(1);
}

}  // namespace

// How the larger of operand and result is cut. The mesh notation states it on the border itself, with
// axes that the region does not handle, which stay uncut. The tile notation states it on the whole value:
// on the operand of the entering border, whose own sharding says "manual".
Result<Tiling> Expander::border_tiling(const Instr& i, bool entering) {
  const Shape& large = entering ? i.operand(0)->shape : i.shape;
  const Shape& small = entering ? i.shape : i.operand(0)->shape;
  if (!large.is_array() || small.rank() != large.rank())
    return invalid("a manual region's border changes ", to_string(i.operand(0)->shape, false), " to ",
                   to_string(i.shape, false));
  std::string_view text = sharding_of(i);
  Tiling t;
  if (is_axis_sharding(text)) {
    std::set<std::string> axes;
    bool named = false;
    if (auto at = i.extras->other.find("sdy.manual_axes"); at != i.extras->other.end())
      axes = quoted_names(at->second), named = true;
    ASSIGN(t, tiling_of(text, large.rank(), meshes_, devices(), named ? &axes : nullptr));
  } else {
    if (entering) text = sharding_of(*i.operand(0));
    ASSIGN(t, tiling_of(text, large.rank(), meshes_, devices()));
  }
  ASSIGN(const Shape tile, tile_shape(large, t));
  if (tile.dims != small.dims)
    return unimplemented("a manual region's border from ", to_string(i.operand(0)->shape, false), " to ",
                         to_string(i.shape, false), " with sharding ", text);
  return t;
}

Result<Value> Expander::enter_manual(Body& body, const Value& v, const Instr& i) {
  ASSIGN(const Tiling t, border_tiling(i, true));
  const std::vector<Instr*> from = whole(body, v);
  Value out;
  for (int64_t d = 0; d < devices(); ++d)
    out.copies.push_back(slice(body, from[from.size() == 1 ? 0 : d],
                               tile_start(i.shape, t, t.tile_of(d)), i.shape.dims));
  join_same(&out);
  return out;
}

// Each device's value is made of the tiles of the devices that differ from it in the cut axes only, so
// that devices which disagree about a value they call replicated keep their own, as on separate machines.
Result<Value> Expander::leave_manual(Body& body, const Value& v, const Instr& i) {
  ASSIGN(const Tiling t, border_tiling(i, false));
  const std::vector<Instr*> from = whole(body, v);
  Value out;
  for (int64_t d = 0; d < devices(); ++d) {
    const int64_t member = t.position(d) % t.members();
    std::vector<Instr*> tiles;
    for (int64_t k = 0; k < t.count(); ++k) tiles.push_back(from[from.size() == 1 ? 0 : t.device(k, member)]);
    out.copies.push_back(assemble(body, tiles, t.tiles));
  }
  join_same(&out);
  return out;
}

}  // namespace braze::spmd
