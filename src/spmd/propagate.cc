// SPDX-License-Identifier: Apache-2.0
#include "spmd/propagate.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ops/op_def.h"
#include "spmd/expand.h"

namespace braze::spmd {
namespace {

constexpr int kMaxDepth = 100;

using Axes = std::vector<AxisRef>;
// Axes by dimension of an array; by part of a tuple.
struct Cuts {
  std::vector<Axes> dims;
  std::vector<Cuts> parts;
};

Cuts uncut(const Shape& s) {
  Cuts c;
  if (s.is_tuple())
    for (const Shape& t : s.tuple) c.parts.push_back(uncut(t));
  else if (s.is_array()) c.dims.resize(s.rank());
  return c;
}

class Propagation {
 public:
  Propagation(const MeshTable& meshes, const Mesh& mesh) : meshes_(meshes), mesh_(mesh) {}

  Cuts computation(const Computation& c, absl::Span<const Cuts> arguments) {
    absl::flat_hash_map<const Instr*, Cuts> cuts;
    for (const Instr* p : c.params()) cuts[p] = arguments[p->parameter_number()];
    if (++depth_ > kMaxDepth) return --depth_, uncut(c.root()->shape);
    for (const Instr* i : post_order(c)) {
      if (i->is(Op::kParameter)) continue;
      std::vector<const Cuts*> in;
      for (const Instr* o : i->operands) in.push_back(&cuts.at(o));
      if (asks_for_sharding(*i)) {
        std::vector<Cuts>& kept = asked_[i];
        kept.clear();
        for (const Cuts* c : in) kept.push_back(*c);
      }
      Cuts out = instruction(*i, in);
      fit(i->shape, &out);
      cuts[i] = std::move(out);
    }
    --depth_;
    return cuts.at(c.root());
  }

  const absl::flat_hash_map<const Instr*, std::vector<Cuts>>& asked() const { return asked_; }

  // What a text states, over what is known of the value: closed dimensions are as stated, open ones take
  // what is known.
  Result<Cuts> stated(std::string_view text, const Shape& s, Cuts known) {
    if (!is_axis_sharding(text) || !s.is_array()) return known;
    ASSIGN(const AxisSharding a, parse_axis_sharding(text));
    ASSIGN(const Mesh* mesh, mesh_of(a, meshes_));
    if (static_cast<int64_t>(a.dims.size()) != s.rank()) return uncut(s);
    if (!mesh->axes.empty() && !same_axes(*mesh)) return uncut(s);
    // What is stated comes first: an open dimension takes no axis that another one states.
    std::set<std::string> taken;
    for (const Axes& axes : a.dims)
      for (const AxisRef& x : axes) taken.insert(x.name);
    Cuts out;
    for (size_t d = 0; d < a.dims.size(); ++d) {
      Axes axes = a.dims[d];
      const Axes& more = known.dims[d];
      if (a.open[d] && extends(more, axes))
        for (size_t k = axes.size(); k < more.size() && !taken.count(more[k].name); ++k)
          axes.push_back(more[k]);
      out.dims.push_back(std::move(axes));
    }
    fit(s, &out);
    return out;
  }

 private:
  bool same_axes(const Mesh& m) const {
    if (m.axes.size() != mesh_.axes.size() || m.device_ids != mesh_.device_ids) return false;
    for (size_t k = 0; k < m.axes.size(); ++k)
      if (m.axes[k].name != mesh_.axes[k].name || m.axes[k].size != mesh_.axes[k].size) return false;
    return true;
  }
  static bool extends(const Axes& longer, const Axes& shorter) {
    return longer.size() >= shorter.size() && std::equal(shorter.begin(), shorter.end(), longer.begin());
  }
  int64_t size_of(const AxisRef& a) const {
    if (a.size > 0) return a.size;
    for (const Mesh::Axis& x : mesh_.axes)
      if (x.name == a.name) return x.size;
    return 1;
  }

  // Drops axes that do not divide their dimension or are used before.
  void fit(const Shape& s, Cuts* c) {
    if (s.is_tuple()) {
      if (c->parts.size() != s.tuple.size()) *c = uncut(s);
      for (size_t k = 0; k < c->parts.size(); ++k) fit(s.tuple[k], &c->parts[k]);
      return;
    }
    if (!s.is_array() || static_cast<int64_t>(c->dims.size()) != s.rank()) return *c = uncut(s), void();
    std::set<std::string> used;
    for (size_t d = 0; d < c->dims.size(); ++d) {
      int64_t count = 1;
      Axes kept;
      for (const AxisRef& a : c->dims[d]) {
        const int64_t n = size_of(a);
        if (s.dims[d] <= 0 || s.dims[d] % (count * n) != 0 || used.count(a.name)) break;
        count *= n;
        kept.push_back(a);
      }
      // A whole axis once; parts of axes may share its name within a dimension.
      for (const AxisRef& a : kept) used.insert(a.name);
      c->dims[d] = std::move(kept);
    }
  }

  static bool uses(const Cuts& c, const Axes& axes) {
    for (const Axes& d : c.dims)
      for (const AxisRef& a : d)
        for (const AxisRef& b : axes)
          if (a.name == b.name) return true;
    return false;
  }
  // Dimension d of `out` is dimension k of `in`: takes the longer of two cuts that agree.
  static void take(Cuts* out, int64_t d, const Cuts& in, int64_t k) {
    const Axes& from = in.dims[k];
    Axes& to = out->dims[d];
    if (to.size() >= from.size()) return;
    if (!to.empty() && !extends(from, to)) return;
    Axes more(from.begin() + static_cast<int64_t>(to.size()), from.end());
    if (!uses(*out, more)) to = from;
  }

  static void merge(Cuts* to, const Cuts& from) {
    for (size_t k = 0; k < to->parts.size() && k < from.parts.size(); ++k) merge(&to->parts[k], from.parts[k]);
    for (size_t d = 0; d < to->dims.size() && d < from.dims.size(); ++d)
      take(to, static_cast<int64_t>(d), from, static_cast<int64_t>(d));
  }

  // Dimensions of the same size at the same place.
  static void take_equal(Cuts* out, const Shape& s, const Cuts& in, const Shape& from) {
    for (int64_t d = 0; from.is_array() && d < s.rank() && d < from.rank(); ++d)
      if (from.rank() == s.rank() && from.dims[d] == s.dims[d]) take(out, d, in, d);
  }

  void reshape(const Instr& i, const Cuts& in, Cuts* out) {
    const Dims &from = i.operand(0)->shape.dims, &to = i.shape.dims;
    size_t a = 0, b = 0;
    while (a < from.size() && b < to.size()) {
      if (from[a] == to[b]) {
        take(out, static_cast<int64_t>(b++), in, static_cast<int64_t>(a++));
        continue;
      }
      if (from[a] == 1) { ++a; continue; }
      if (to[b] == 1) { ++b; continue; }
      // A group of dimensions on both sides: its outermost ones correspond.
      take(out, static_cast<int64_t>(b), in, static_cast<int64_t>(a));
      int64_t m = from[a++], n = to[b++];
      while (m != n) {
        if (m < n && a < from.size()) m *= from[a++];
        else if (b < to.size()) n *= to[b++];
        else return;
      }
    }
  }

  void dot(const Instr& i, const Cuts& l, const Cuts& r, const DotAttrs& a, Cuts* out) {
    int64_t d = 0;
    auto has = [](const Dims& v, int64_t k) { return std::find(v.begin(), v.end(), k) != v.end(); };
    for (size_t k = 0; k < a.lhs_batch.size(); ++k, ++d) {
      take(out, d, l, a.lhs_batch[k]);
      take(out, d, r, a.rhs_batch[k]);
    }
    for (int64_t k = 0; k < i.operand(0)->shape.rank(); ++k)
      if (!has(a.lhs_batch, k) && !has(a.lhs_contracting, k)) take(out, d++, l, k);
    for (int64_t k = 0; k < i.operand(1)->shape.rank(); ++k)
      if (!has(a.rhs_batch, k) && !has(a.rhs_contracting, k)) take(out, d++, r, k);
  }

  // Axes that a manual region leaves alone go through it; its own appear and vanish at its borders.
  Cuts border(const Instr& i, const Cuts& in, bool entering) {
    Cuts out = uncut(i.shape);
    const std::string_view text = i.extras ? std::string_view(i.extras->sharding) : "";
    if (!is_axis_sharding(text) || !i.shape.is_array()) return out;
    auto a = parse_axis_sharding(text);
    if (!a.ok() || a->dims.size() != out.dims.size() || in.dims.size() != out.dims.size()) return out;
    auto mesh = mesh_of(*a, meshes_);
    if (!mesh.ok() || !same_axes(**mesh)) return out;
    std::set<std::string> manual;
    if (auto at = i.extras->other.find("sdy.manual_axes"); at != i.extras->other.end())
      manual = quoted_names(at->second);
    for (size_t d = 0; d < out.dims.size(); ++d) {
      for (const AxisRef& x : a->dims[d])
        if (!entering || !manual.count(x.name)) out.dims[d].push_back(x);
      for (const AxisRef& x : in.dims[d]) {
        const Axes& have = out.dims[d];
        if (a->open[d] && !manual.count(x.name) && std::find(have.begin(), have.end(), x) == have.end())
          out.dims[d].push_back(x);
      }
    }
    return out;
  }

  Cuts custom_call(const Instr& i, const std::vector<const Cuts*>& in) {
    Cuts out = uncut(i.shape);
    if (in.empty() || !i.operand(0)->shape.is_array()) return out;
    const std::string& target = i.as<CustomCallAttrs>().target;
    const std::string_view text = i.extras ? std::string_view(i.extras->sharding) : "";
    if (target == "SPMDFullToShardShape") return border(i, *in[0], true);
    if (target == "SPMDShardToFullShape") return border(i, *in[0], false);
    if (target == "Sharding") {
      auto s = stated(text, i.shape, *in[0]);
      return s.ok() ? *s : out;
    }
    if (target == "LayoutConstraint" || target == "InspectSharding" || target == "annotate_device_placement")
      return *in[0];
    // Leading dimensions that the call maps over.
    int64_t batch = 0;
    if (i.extras) {
      auto at = i.extras->frontend_attributes.find("num_batch_dims");
      if (at != i.extras->frontend_attributes.end()) batch = std::atoll(at->second.c_str());
    }
    auto lead = [&](const Shape& s, Cuts* c) {
      for (int64_t d = 0; d < std::min(batch, s.rank()); ++d)
        for (size_t k = 0; k < in.size(); ++k)
          if (i.operand(k)->shape.is_array() && d < i.operand(k)->shape.rank()) take(c, d, *in[k], d);
    };
    if (!i.shape.is_tuple()) lead(i.shape, &out);
    for (size_t k = 0; k < out.parts.size(); ++k)
      if (i.shape.tuple[k].is_array()) lead(i.shape.tuple[k], &out.parts[k]);
    return out;
  }

  Cuts instruction(const Instr& i, const std::vector<const Cuts*>& in) {
    Cuts out = uncut(i.shape);
    switch (i.op) {
      case Op::kTuple:
        for (size_t k = 0; k < in.size(); ++k) out.parts[k] = *in[k];
        return out;
      case Op::kGetTupleElement: {
        const auto k = static_cast<size_t>(i.as<IndexAttrs>().index);
        return k < in[0]->parts.size() ? in[0]->parts[k] : out;
      }
      case Op::kOptBarrier: return *in[0];
      case Op::kWhile: {
        // What the loop begins with, and what its body makes of that.
        Cuts c = *in[0];
        merge(&c, computation(*i.calls[1], {*in[0]}));
        return c;
      }
      case Op::kConditional: {
        Cuts c = computation(*i.calls[0], {*in[1]});
        for (size_t k = 1; k < i.calls.size(); ++k) merge(&c, computation(*i.calls[k], {*in[k + 1]}));
        return c;
      }
      case Op::kCopy: {
        if (!i.extras || i.extras->sharding.empty()) return *in[0];
        auto s = stated(i.extras->sharding, i.shape, *in[0]);
        return s.ok() ? *s : *in[0];
      }
      case Op::kCustomCall: return custom_call(i, in);
      case Op::kBroadcast: {
        const Dims& to = i.as<DimsAttrs>().dimensions;
        for (size_t k = 0; k < to.size(); ++k)
          if (i.operand(0)->shape.dims[k] == i.shape.dims[to[k]]) take(&out, to[k], *in[0], static_cast<int64_t>(k));
        return out;
      }
      case Op::kTranspose: {
        const Dims& p = i.as<DimsAttrs>().dimensions;
        for (size_t d = 0; d < p.size(); ++d) take(&out, static_cast<int64_t>(d), *in[0], p[d]);
        return out;
      }
      case Op::kReshape: return reshape(i, *in[0], &out), out;
      case Op::kDot: return dot(i, *in[0], *in[1], i.as<DotAttrs>(), &out), out;
      case Op::kReduce: return reduced(i, in, std::move(out));
      case Op::kConvolution: {
        const ConvDims& d = i.as<ConvAttrs>().dims;
        take(&out, d.output_batch, *in[0], d.input_batch);
        take(&out, d.output_feature, *in[1], d.kernel_output);
        return out;
      }
      case Op::kGather: return gathered(i, *in[0], *in[1], std::move(out));
      case Op::kFft: {
        const int64_t kept = i.shape.rank() - static_cast<int64_t>(i.as<FftAttrs>().length.size());
        for (int64_t d = 0; d < kept; ++d) take(&out, d, *in[0], d);
        return out;
      }
      case Op::kCholesky:
      case Op::kTriangularSolve:
        for (int64_t d = 0; d + 2 < i.shape.rank(); ++d)
          for (const Cuts* c : in) take(&out, d, *c, d);
        return out;
      default: return by_place(i, in, std::move(out));
    }
  }

  Cuts reduced(const Instr& i, const std::vector<const Cuts*>& in, Cuts out) {
    const Dims& gone = i.as<DimsAttrs>().dimensions;
    const size_t inputs = in.size() / 2;
    for (size_t k = 0; k < inputs; ++k) {
      Cuts* to = i.shape.is_tuple() ? &out.parts[k] : &out;
      int64_t d = 0;
      for (int64_t j = 0; j < i.operand(k)->shape.rank(); ++j)
        if (std::find(gone.begin(), gone.end(), j) == gone.end()) take(to, d++, *in[k], j);
    }
    return out;
  }

  // Dimensions that come whole from the operand, and those of the indices.
  Cuts gathered(const Instr& i, const Cuts& operand, const Cuts& indices, Cuts out) {
    const auto& a = i.as<GatherAttrs>();
    std::vector<int64_t> kept;
    auto has = [](const Dims& v, int64_t k) { return std::find(v.begin(), v.end(), k) != v.end(); };
    for (int64_t k = 0; k < i.operand(0)->shape.rank(); ++k)
      if (!has(a.collapsed_slice_dims, k) && !has(a.operand_batching_dims, k)) kept.push_back(k);
    for (size_t k = 0; k < a.offset_dims.size() && k < kept.size(); ++k)
      if (a.slice_sizes[kept[k]] == i.operand(0)->shape.dims[kept[k]]) take(&out, a.offset_dims[k], operand, kept[k]);
    int64_t from = 0;
    for (int64_t d = 0; d < i.shape.rank(); ++d) {
      if (has(a.offset_dims, d)) continue;
      if (from == a.index_vector_dim) ++from;
      if (from < i.operand(1)->shape.rank()) take(&out, d, indices, from++);
    }
    return out;
  }

  // Ops whose dimensions stay where they are: those of unchanged size keep their cuts.
  Cuts by_place(const Instr& i, const std::vector<const Cuts*>& in, Cuts out) {
    const OpDef& row = def(i);
    const bool all = row.has(kElementwise) || i.is(Op::kConcatenate) || i.is(Op::kSort) ||
                     i.is(Op::kMap) || i.is(Op::kClamp) || i.is(Op::kSelect) || i.is(Op::kDynamicUpdateSlice);
    const bool first = i.is(Op::kSlice) || i.is(Op::kDynamicSlice) || i.is(Op::kPad) ||
                       i.is(Op::kReverse) || i.is(Op::kReduceWindow) ||
                       i.is(Op::kScatter) || i.is(Op::kTopK) || i.is(Op::kSelectAndScatter) ||
                       i.is(Op::kReducePrecision) || i.is(Op::kBitcastConvert) || i.is(Op::kConvert);
    if (!all && !first) return out;
    for (size_t k = 0; k < (all ? in.size() : 1); ++k) {
      if (!i.shape.is_tuple()) {
        take_equal(&out, i.shape, *in[k], i.operand(k)->shape);
        continue;
      }
      for (size_t p = 0; p < out.parts.size(); ++p)
        take_equal(&out.parts[p], i.shape.tuple[p], *in[k], i.operand(k)->shape);
    }
    return out;
  }

  const MeshTable& meshes_;
  const Mesh& mesh_;
  absl::flat_hash_map<const Instr*, std::vector<Cuts>> asked_;
  int depth_ = 0;
};

void leaves(const Cuts& c, const Shape& s, std::vector<std::pair<Cuts, Shape>>* out) {
  if (!s.is_tuple()) return out->emplace_back(c, s), void();
  for (size_t k = 0; k < s.tuple.size(); ++k) leaves(c.parts[k], s.tuple[k], out);
}

}  // namespace

bool asks_for_sharding(const Instr& i) {
  if (!i.is(Op::kCustomCall)) return false;
  const std::string& t = i.as<CustomCallAttrs>().target;
  return t == "InspectSharding" || t == "xla_ffi_partitioned_python_cpu_callback";
}

Result<std::vector<Tiling>> propagate_results(const Module& m, const MeshTable& meshes, int64_t devices,
                                              CallTilings* calls) {
  const Shape& root = m.entry()->root()->shape;
  std::vector<std::pair<Cuts, Shape>> results;
  leaves(uncut(root), root, &results);
  const std::vector<std::string> stated = stated_results(m, results.size());
  // The mesh that values lie on: the first of all devices.
  const Mesh* mesh = nullptr;
  for (const auto& [name, candidate] : meshes) {
    int64_t n = 1;
    for (const Mesh::Axis& a : candidate.axes) n *= a.size;
    if (!mesh && !candidate.axes.empty() && n == devices) mesh = &candidate;
  }
  std::vector<Tiling> out;
  if (!mesh) {
    for (size_t k = 0; k < results.size(); ++k) {
      const Shape& s = results[k].second;
      ASSIGN(Tiling t, tiling_of(stated[k], s.is_array() ? s.rank() : 0, meshes, devices));
      out.push_back(std::move(t));
    }
    return out;
  }
  Propagation p(meshes, *mesh);
  std::vector<Cuts> arguments;
  for (const Instr* i : m.entry()->params()) {
    ASSIGN(Cuts c, p.stated(i->extras ? std::string_view(i->extras->sharding) : "", i->shape, uncut(i->shape)));
    arguments.push_back(std::move(c));
  }
  const Cuts all = p.computation(*m.entry(), arguments);
  results.clear();
  leaves(all, root, &results);
  auto tiled = [&](const Cuts& cuts) {
    AxisSharding s;
    s.inline_mesh = *mesh;
    s.dims = cuts.dims;
    return tiling_of(s, meshes, devices);
  };
  for (const auto& [i, operands] : p.asked())
    for (const Cuts& c : operands) {
      if (!calls) break;
      ASSIGN(Tiling t, tiled(c));
      (*calls)[i].push_back(std::move(t));
    }
  for (size_t k = 0; k < results.size(); ++k) {
    auto& [cuts, shape] = results[k];
    const int64_t rank = shape.is_array() ? shape.rank() : 0;
    AxisSharding s;
    if (is_axis_sharding(stated[k])) {
      ASSIGN(s, parse_axis_sharding(stated[k]));
    }
    const bool open = std::find(s.open.begin(), s.open.end(), true) != s.open.end();
    if (!stated[k].empty() && !open) {
      ASSIGN(Tiling t, tiling_of(stated[k], rank, meshes, devices));
      // A constraint may name more devices than divide a dimension; those that do not are left out.
      if (t.unreduced() || s.dims.empty() || tile_shape(shape, t).ok()) {
        out.push_back(std::move(t));
        continue;
      }
    }
    ASSIGN(cuts, p.stated(stated[k], shape, cuts));
    ASSIGN(Tiling t, tiled(cuts));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace braze::spmd
