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

Instr* Expander::piece(Body& body, Instr* x, const Shape& tile, const Tiling& t, int64_t d) {
  if (auto at = body.terms.find(x); at != body.terms.end() && at->second.tiling == t)
    return at->second.copies[d];
  if (t.unreduced() && part_into_terms(body, x, tile, t)) return body.terms[x].copies[d];
  if (t.term_of(d) == 0 || t.reduction != Op::kAdd)
    return slice(body, x, tile_start(tile, t, t.tile_of(d)), tile.dims);
  Shape s = tile;
  s.layout.clear();
  Instr*& zero = body.sums[{Op::kConstant, {x}}];
  if (!zero || zero->shape.dims != s.dims) zero = body.b.splat(s, 0);
  return zero;
}

// Of the tiles of devices that differ from d in the cut axes only, so that devices which disagree about a
// value they call replicated keep their own, as on separate machines.
Instr* Expander::gather(Body& body, absl::Span<Instr* const> copies, const Tiling& t, int64_t d) {
  const int64_t holder = t.member_of(d) % t.holders();
  std::vector<Instr*> terms;
  for (int64_t term = 0; term < t.terms; ++term) {
    std::vector<Instr*> tiles;
    for (int64_t k = 0; k < t.count(); ++k)
      tiles.push_back(copies[copies.size() == 1 ? 0 : t.device(k, term * t.holders() + holder)]);
    terms.push_back(assemble(body, tiles, t.tiles));
  }
  Instr*& sum = body.sums[{t.reduction, terms}];
  if (sum) return sum;
  sum = terms[0];
  for (size_t k = 1; k < terms.size(); ++k) sum = body.b.binary(t.reduction, sum, terms[k]);
  if (t.unreduced()) {
    Body::Terms& known = body.terms[sum];
    known = {t, {copies.begin(), copies.end()}};
    known.copies.resize(devices(), copies[0]);
  }
  return sum;
}

Result<Value> Expander::enter_manual(Body& body, const Value& v, const Instr& i) {
  ASSIGN(const Tiling t, border_tiling(i, true));
  const std::vector<Instr*> from = whole(body, v);
  Value out;
  for (int64_t d = 0; d < devices(); ++d)
    out.copies.push_back(piece(body, from[from.size() == 1 ? 0 : d], i.shape, t, d));
  join_same(&out);
  return out;
}

Result<Value> Expander::leave_manual(Body& body, const Value& v, const Instr& i) {
  ASSIGN(const Tiling t, border_tiling(i, false));
  const std::vector<Instr*> from = whole(body, v);
  Value out;
  for (int64_t d = 0; d < devices(); ++d) out.copies.push_back(gather(body, from, t, d));
  join_same(&out);
  return out;
}

// Calls that look at how their operands lie. InspectSharding hands its operand on. A callback that gives no
// arrays runs on each part.
Result<Value> Expander::placed_call(Body& body, const Values& values, const Instr& i) {
  auto at = calls_.find(&i);
  const bool known = at != calls_.end() && at->second.size() == i.operands.size();
  if (i.as<CustomCallAttrs>().target == "InspectSharding") {
    if (i.operands.empty()) return invalid("InspectSharding takes an operand");
    if (inspect_)
      TRY(inspect_(i, known ? at->second[0] : replicated(i.operand(0)->shape.rank(), devices())));
    return values.at(i.operand(0));
  }
  bool arrays = i.shape.is_array();
  for (const Shape& s : i.shape.tuple) arrays |= s.is_array();
  std::vector<std::vector<Instr*>> operands;
  bool whole_operands = !known;
  for (size_t k = 0; k < i.operands.size(); ++k) {
    operands.push_back(whole(body, values.at(i.operand(static_cast<int64_t>(k)))));
    whole_operands |= operands.back().size() != 1;
  }
  if (arrays || whole_operands) return generic(body, values, i);
  std::map<std::vector<Instr*>, Instr*> made;
  Value out;
  for (int64_t d = 0; d < devices(); ++d) {
    std::vector<Instr*> mine;
    for (size_t k = 0; k < operands.size(); ++k) {
      Instr* x = operands[k][0];
      if (x->shape.is_array()) {
        ASSIGN(const Shape tile, tile_shape(x->shape, at->second[k]));
        x = piece(body, x, tile, at->second[k], d);
      }
      mine.push_back(x);
    }
    Instr*& call = made[mine];
    if (!call) call = clone(body, i, mine);
    out.copies.push_back(call);
  }
  join_same(&out);
  return out;
}

}  // namespace braze::spmd
