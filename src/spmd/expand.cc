// SPDX-License-Identifier: Apache-2.0
#include "spmd/expand.h"

#include <algorithm>

#include "passes/control.h"
#include "passes/inline_calls.h"
#include "spmd/expander.h"
#include "spmd/propagate.h"

namespace braze::spmd {
namespace {

// Of all copies together.
constexpr int64_t kMaxInstructions = 500'000;
constexpr int kMaxDepth = 200;
constexpr int64_t kMaxDevices = 4096;

bool is_collective(Op o) { return def(o).has(kCollective); }

bool is_border(const Instr& i) {
  if (!i.is(Op::kCustomCall)) return false;
  const std::string& t = i.as<CustomCallAttrs>().target;
  return t == "SPMDFullToShardShape" || t == "SPMDShardToFullShape";
}

// Says where a value lies and computes nothing.
bool is_placement(const Instr& i) {
  if (i.operands.size() != 1 || !i.operand(0)->shape.is_array() ||
      i.operand(0)->shape.dims != i.shape.dims || i.operand(0)->shape.dtype != i.shape.dtype)
    return false;
  if (i.is(Op::kCopy)) return true;
  if (!i.is(Op::kCustomCall)) return false;
  const std::string& t = i.as<CustomCallAttrs>().target;
  return t == "Sharding" || t == "xla.sdy.FuncResultSharding";
}

}  // namespace

bool Expander::has_device_ops(const Instr& i) {
  if (is_collective(i.op) || i.is(Op::kPartitionId) || i.is(Op::kReplicaId) || is_border(i)) return true;
  for (const Computation* c : i.calls)
    if (has_device_ops(*c)) return true;
  return false;
}
bool Expander::has_device_ops(const Computation& c) {
  if (auto at = has_device_ops_.find(&c); at != has_device_ops_.end()) return at->second;
  bool found = false;
  for (const auto& i : c.instrs())
    if (has_device_ops(*i)) {
      found = true;
      break;
    }
  return has_device_ops_[&c] = found;
}

Instr* Expander::clone(Body& body, const Instr& i, absl::Span<Instr* const> operands) {
  Instr* copy = body.b.computation()->add(i.op, i.shape, operands, i.attrs, i.calls, i.name);
  if (i.extras) {
    copy->extras = std::make_unique<Extras>(*i.extras);
    copy->extras->control_predecessors.clear();
    copy->extras->sharding.clear();
  }
  return copy;
}

Value Expander::part(Body& body, const Value& v, int64_t k) {
  if (v.tuple) return v.parts[k];
  Value out;
  for (Instr* c : v.copies) {
    Instr*& e = body.elements[{c, k}];
    if (!e) e = body.b.element(c, k);
    out.copies.push_back(e);
  }
  return out;
}

std::vector<Instr*> Expander::whole(Body& body, const Value& v) {
  if (!v.tuple) return v.copies;
  std::vector<std::vector<Instr*>> parts;
  bool same = true;
  for (const Value& p : v.parts) {
    parts.push_back(whole(body, p));
    same &= parts.back().size() == 1;
  }
  std::vector<Instr*> out;
  for (int64_t d = 0; d < (same ? 1 : devices()); ++d) {
    std::vector<Instr*> mine;
    for (const auto& p : parts) mine.push_back(p[p.size() == 1 ? 0 : d]);
    Instr*& t = body.tuples[mine];
    if (!t) t = body.b.tuple(mine);
    out.push_back(t);
  }
  return out;
}

Instr* Expander::slice(Body& body, Instr* x, const Dims& start, const Dims& sizes) {
  if (x->shape.dims == sizes) return x;
  if (x->is(Op::kConcatenate)) {
    const int64_t d = x->as<DimsAttrs>().dimensions[0];
    int64_t at = 0;
    for (Instr* o : x->operands) {
      const int64_t n = o->shape.dims[d];
      if (start[d] >= at && start[d] + sizes[d] <= at + n) {
        Dims inner = start;
        inner[d] -= at;
        return slice(body, o, inner, sizes);
      }
      at += n;
    }
  }
  std::vector<int64_t> key(start.begin(), start.end());
  key.insert(key.end(), sizes.begin(), sizes.end());
  Instr*& s = body.slices[{x, key}];
  if (!s) {
    Dims limit = start;
    for (size_t d = 0; d < limit.size(); ++d) limit[d] += sizes[d];
    s = body.b.slice(x, start, limit);
  }
  return s;
}

Instr* Expander::assemble(Body& body, absl::Span<Instr* const> tiles, const Dims& counts) {
  if (tiles.size() == 1) return tiles[0];
  Instr*& out = body.assembled[{counts, std::vector<Instr*>(tiles.begin(), tiles.end())}];
  if (out) return out;
  std::vector<Instr*> parts(tiles.begin(), tiles.end());
  for (size_t d = counts.size(); d-- > 0;) {
    const int64_t n = counts[d];
    if (n == 1) continue;
    std::vector<Instr*> joined;
    for (size_t k = 0; k < parts.size(); k += n) {
      DimsAttrs a;
      a.dimensions = {static_cast<int64_t>(d)};
      joined.push_back(body.b.op(Op::kConcatenate, absl::MakeSpan(parts).subspan(k, n), a));
    }
    parts = std::move(joined);
  }
  return out = parts[0];
}

// The same op for each device; equal operands give one copy, unless each device must act for itself.
Result<Value> Expander::generic(Body& body, const Values& values, const Instr& i) {
  std::vector<std::vector<Instr*>> operands;
  bool same = true;
  for (const Instr* o : i.operands) {
    operands.push_back(whole(body, values.at(o)));
    same &= operands.back().size() == 1;
  }
  const bool acts = has_effect(i) && !i.is(Op::kParameter);
  std::map<std::vector<Instr*>, Instr*> known;
  Value out;
  for (int64_t d = 0; d < (same ? 1 : devices()); ++d) {
    std::vector<Instr*> mine;
    for (const auto& o : operands) mine.push_back(o[o.size() == 1 ? 0 : d]);
    Instr* made = nullptr;
    Instr*& slot = acts ? made : known[mine];
    if (!slot) slot = clone(body, i, mine), ++made_;
    out.copies.push_back(slot);
  }
  if (std::all_of(out.copies.begin(), out.copies.end(), [&](Instr* c) { return c == out.copies[0]; }))
    out.copies.resize(1);
  return out;
}

// A barrier part by part, so that parts keep what devices share of them.
Value Expander::barrier(Body& body, const Value& v, const Instr& i) {
  Value out;
  out.tuple = v.tuple;
  for (const Value& p : v.parts) out.parts.push_back(barrier(body, p, i));
  std::map<Instr*, Instr*> known;
  for (Instr* c : v.copies) {
    Instr*& b = known[c];
    if (!b) b = body.b.op(Op::kOptBarrier, {c});
    out.copies.push_back(b);
  }
  return out;
}

Result<Value> Expander::instruction(Body& body, Values& values, const Instr& i) {
  if (i.is(Op::kTuple)) {
    Value v;
    v.tuple = true;
    for (const Instr* o : i.operands) v.parts.push_back(values.at(o));
    return v;
  }
  if (i.is(Op::kGetTupleElement)) return part(body, values.at(i.operand(0)), i.as<IndexAttrs>().index);
  if (is_placement(i)) return values.at(i.operand(0));
  if (is_border(i))
    return i.as<CustomCallAttrs>().target == "SPMDFullToShardShape"
               ? enter_manual(body, values.at(i.operand(0)), i)
               : leave_manual(body, values.at(i.operand(0)), i);
  if (is_collective(i.op)) return collective(body, values, i);
  if (i.is(Op::kPartitionId) || i.is(Op::kReplicaId)) return device_number(body, i);
  if (asks_for_sharding(i)) return placed_call(body, values, i);
  if (i.is(Op::kOptBarrier) && values.at(i.operand(0)).tuple)
    return barrier(body, values.at(i.operand(0)), i);
  if (i.is(Op::kWhile) && has_device_ops(i)) return loop(body, values.at(i.operand(0)), i);
  if (i.is(Op::kConditional) && has_device_ops(i)) return branch(body, values, i);
  return generic(body, values, i);
}

Result<Value> Expander::expand(Body& body, const Computation& c, absl::Span<const Value> arguments) {
  if (++depth_ > kMaxDepth) return exhausted("control flow nested deeper than ", kMaxDepth);
  Values values;
  for (const Instr* p : c.params()) values[p] = arguments[p->parameter_number()];
  for (const Instr* i : post_order(c)) {
    if (i->is(Op::kParameter)) continue;
    auto v = instruction(body, values, *i);
    TRY(note(i->location().empty() ? i->name : i->location(), v.status()));
    TRY(body.b.status());
    if (body.b.computation()->size() + made_ > kMaxInstructions)
      return exhausted("the program has over ", kMaxInstructions, " instructions once its manual regions are "
                       "written out for ", devices(), " devices");
    values[i] = *std::move(v);
  }
  --depth_;
  return values.at(c.root());
}

namespace {

// The entry of the new module.
class Entry {
 public:
  Entry(Module& m, const ExpandOptions& o, MeshTable meshes)
      : module_(m), options_(o), x_(m, std::move(meshes)), body_(m.add_computation(m.entry()->name())),
        n_(x_.devices()) {}

  Result<Expanded> run() {
    out_.devices = n_;
    if (options_.by_device && module_.num_replicas == 1) {
      CallTilings calls;
      ASSIGN(tilings_, propagate_results(module_, x_.meshes(), n_, &calls));
      x_.set_calls(std::move(calls), options_.inspect);
    }
    std::vector<Value> arguments;
    for (const Instr* p : module_.entry()->params()) {
      auto v = options_.by_device ? parts_argument(*p) : whole_argument(*p);
      TRY(note(str_cat("argument ", p->parameter_number()), v.status()));
      arguments.push_back(*std::move(v));
    }
    ASSIGN(const Value root, x_.expand(body_, *module_.entry(), arguments));
    if (options_.by_device) TRY(parts_results(root));
    else whole_results(root);
    TRY(body_.b.status());
    return std::move(out_);
  }
  Computation* computation() { return body_.b.computation(); }
  bool keeps_parameters() const { return !options_.by_device && module_.num_replicas == 1; }

 private:
  Instr* parameter(const Instr& p, const Shape& s) { return body_.b.parameter(next_++, s, p.name); }

  Result<Value> whole_argument(const Instr& p) {
    Value v;
    for (int64_t r = 0; r < module_.num_replicas; ++r) {
      Instr* i = parameter(p, p.shape);
      if (p.extras) i->extras = std::make_unique<Extras>(*p.extras), i->extras->sharding.clear();
      for (int64_t k = 0; k < (module_.num_replicas == 1 ? 1 : module_.num_partitions); ++k)
        v.copies.push_back(i);
    }
    return v;
  }

  // One parameter for each tile; one for each device where devices may hold different values.
  Result<Value> parts_argument(const Instr& p) {
    if (p.shape.is_tuple()) return unimplemented("arguments that are tuples, on several devices");
    const std::string text = p.extras ? p.extras->sharding : std::string();
    const int64_t rank = p.shape.is_array() ? p.shape.rank() : 0;
    Tiling t = replicated(rank, n_);
    if (module_.num_replicas == 1 && p.shape.is_array()) {
      ASSIGN(t, tiling_of(text, rank, x_.meshes(), n_));
    }
    ASSIGN(const Shape tile, tile_shape(p.shape, t));
    std::vector<int64_t> mine(n_);
    const bool separate = (module_.num_replicas > 1 || t.unreduced()) && p.shape.is_array();
    const int64_t first = next_;
    Value v;
    std::vector<Instr*> parts;
    for (int64_t k = 0; k < (separate ? n_ : t.count()); ++k) parts.push_back(parameter(p, tile));
    for (int64_t d = 0; d < n_; ++d) mine[d] = first + (separate ? d : t.tile_of(d));
    if (!separate) {
      v.copies = {x_.assemble(body_, parts, t.tiles)};
    } else {
      for (int64_t d = 0; d < n_; ++d) v.copies.push_back(x_.gather(body_, parts, t, d));
      if (std::count(v.copies.begin(), v.copies.end(), v.copies[0]) == n_) v.copies.resize(1);
    }
    out_.parameters.push_back(std::move(mine));
    out_.argument_tilings.push_back(std::move(t));
    return v;
  }

  void leaves_of(const Value& v, const Shape& s, std::vector<std::pair<Value, Shape>>* out) {
    if (!s.is_tuple()) return out->emplace_back(v, s), void();
    for (size_t k = 0; k < s.tuple.size(); ++k)
      leaves_of(x_.part(body_, v, static_cast<int64_t>(k)), s.tuple[k], out);
  }

  Status parts_results(const Value& root) {
    std::vector<std::pair<Value, Shape>> leaves;
    leaves_of(root, module_.entry()->root()->shape, &leaves);
    for (size_t k = tilings_.size(); k < leaves.size(); ++k)
      tilings_.push_back(replicated(leaves[k].second.is_array() ? leaves[k].second.rank() : 0, n_));
    TileWise tile_wise(x_, body_);
    for (size_t k = 0; k < leaves.size(); ++k)
      for (Instr* x : leaves[k].first.copies) tile_wise.add(x, &tilings_[k]);
    tile_wise.choose();
    std::vector<Instr*> results;
    for (size_t k = 0; k < leaves.size(); ++k) {
      const Tiling& t = tilings_[k];
      auto tile = tile_shape(leaves[k].second, t);
      TRY(note(str_cat("result ", k), tile.status()));
      std::map<Instr*, int64_t> known;
      std::vector<int64_t> mine(n_);
      for (int64_t d = 0; d < n_; ++d) {
        Instr* x = leaves[k].first.of(d);
        if (leaves[k].second.is_array())
          x = t.unreduced() ? x_.piece(body_, x, *tile, t, d) : tile_wise.tile(x, t, t.tile_of(d));
        auto [at, fresh] = known.try_emplace(x, static_cast<int64_t>(results.size()));
        if (fresh) results.push_back(x);
        mine[d] = at->second;
      }
      out_.results.push_back(std::move(mine));
    }
    out_.result_tilings = std::move(tilings_);
    computation()->set_root(body_.b.tuple(results));
    return absl::OkStatus();
  }

  // Whole arrays: what devices of one replica hold of a result is one value, that of the first.
  void whole_results(const Value& root) {
    std::vector<Instr*> mine;
    for (int64_t r = 0; r < module_.num_replicas; ++r) {
      const std::vector<Instr*> v = x_.whole(body_, root);
      mine.push_back(v[v.size() == 1 ? 0 : r * module_.num_partitions]);
    }
    computation()->set_root(mine.size() == 1 ? mine[0] : body_.b.tuple(mine));
  }

  Module& module_;
  const ExpandOptions& options_;
  Expander x_;
  Body body_;
  int64_t n_, next_ = 0;
  std::vector<Tiling> tilings_;  // of result leaves
  Expanded out_;
};

}  // namespace

std::vector<std::string> stated_results(const Module& m, size_t leaves) {
  std::vector<std::string> out(leaves);
  auto at = m.other.find("entry_result_shardings");
  std::string_view text;
  if (at != m.other.end()) text = at->second;
  else if (m.entry()->root()->extras) text = m.entry()->root()->extras->sharding;
  // A tuple's sharding: "{{…}, {…}}".
  if (text.substr(0, 2) == "{{") text = text.substr(1, text.size() - 2);
  int nested = 0;
  size_t k = 0;
  for (char c : text) {
    if (c == ',' && nested == 0) {
      if (++k >= leaves) return out;
      continue;
    }
    if (c == '[' || c == '{' || c == '<' || c == '(') ++nested;
    if (c == ']' || c == '}' || c == '>' || c == ')') --nested;
    if (k < leaves && !(c == ' ' && out[k].empty())) out[k] += c;
  }
  return out;
}

Status to_one_device(Module& m) {
  if (m.num_replicas * m.num_partitions <= 1) return absl::OkStatus();
  return expand_devices(m).status();
}

Result<Expanded> expand_devices(Module& m, const ExpandOptions& options) {
  if (m.num_replicas > 1 && m.num_partitions > 1)
    return unimplemented("programs of several replicas (", m.num_replicas, ") of several partitions (",
                         m.num_partitions, ")");
  if (m.num_replicas * m.num_partitions > kMaxDevices)
    return unimplemented("programs over more than ", kMaxDevices, " devices");
  TRY(inline_calls(m));
  // Random generators are loops that become straight code, which can be computed part by part.
  if (options.by_device) TRY(simplify_control(m));
  ASSIGN(MeshTable meshes, meshes_of(m));
  Entry entry(m, options, std::move(meshes));
  ASSIGN(Expanded out, entry.run());
  m.set_entry(entry.computation());
  m.erase_dead_computations();
  for (const auto& c : m.computations()) c->erase_dead();
  m.num_replicas = m.num_partitions = 1;
  m.entry_parameter_layouts.clear();
  m.entry_result_layouts.clear();
  m.other.erase("entry_result_shardings");
  std::erase_if(m.other, [](const auto& o) { return o.first.rfind("sdy.mesh.", 0) == 0; });
  m.aliases.clear();
  m.buffer_donors.clear();
  return out;
}

}  // namespace braze::spmd
