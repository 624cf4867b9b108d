// SPDX-License-Identifier: Apache-2.0
// Graph: leaves, hash-consing, dependence and substitution.
#include "scalar/scalar.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "scalar/float_format.h"
#include "scalar/fold.h"

namespace braze::scalar {
namespace {

constexpr int kLastBit = 63;  // shared by all variables past the 63rd

}  // namespace

Scalar Graph::intern(const Node& n) {
  auto [it, added] = index_.try_emplace(n, size());
  if (added) {
    facts_.push_back(facts_of(n));
    nodes_.push_back(n);
  }
  return {it->second};
}

Scalar Graph::constant(Dtype t, double v) {
  if (!is_float(t)) return constant_int(t, static_cast<int64_t>(v));
  return intern({.op = Op::kConst, .type = t, .imm = std::bit_cast<int64_t>(round_to(t, v))});
}

Scalar Graph::constant_int(Dtype t, int64_t v) {
  if (is_float(t)) return constant(t, static_cast<double>(v));
  return intern({.op = Op::kConst, .type = t, .imm = wrap(t, v)});
}

double Graph::const_float(Scalar s) const { return std::bit_cast<double>(nodes_[s.id].imm); }

uint64_t Graph::var_bit(int64_t id) {
  const int next = static_cast<int>(var_bits_.size());
  const int bit = var_bits_.try_emplace(id, std::min(next, kLastBit)).first->second;
  return uint64_t{1} << bit;
}

Scalar Graph::var(Dtype t, int64_t id) {
  const Scalar s = intern({.op = Op::kVar, .type = t, .imm = id});
  facts_[s.id].vars = var_bit(id);
  return s;
}

Scalar Graph::index_var(int64_t id, int64_t extent, Dtype t) {
  const int32_t before = size();
  const Scalar s = var(t, id);
  Facts& f = facts_[s.id];
  const Range r{0, std::max<int64_t>(extent, 1) - 1};
  // Asked for again with another extent: what is known must hold for both.
  f.range = s.id >= before || !f.index ? r : Range{0, std::max(f.range.hi, r.hi)};
  f.index = true;
  return s;
}

Scalar Graph::load(Dtype t, int64_t buffer, Scalar offset, Scalar condition) {
  if (condition && is_const(condition)) {
    if (!const_int(condition)) return constant_int(t, 0);  // never read: any value will do
    condition = {};
  }
  return intern({.op = Op::kLoad, .type = t, .args = {offset, condition}, .imm = buffer});
}

Scalar Graph::ldexp_near(Scalar x, Scalar n) {
  if (is_const(n)) return make(Op::kLdexp, type(x), x, n);
  return intern({.op = Op::kLdexp, .type = type(x), .args = {x, n, {}}, .imm = 1});
}

Scalar Graph::select_rare(Scalar p, Scalar rare, Scalar common) {
  if (is_const(p)) return const_int(p) ? rare : common;
  if (rare == common) return common;
  return intern({.op = Op::kSelect, .type = type(common), .args = {p, rare, common}, .imm = 1});
}

bool Graph::depends_on(Scalar s, int64_t var) const {
  const auto it = var_bits_.find(var);
  if (it == var_bits_.end()) return false;
  const uint64_t bit = uint64_t{1} << it->second;
  if (!(facts_[s.id].vars & bit)) return false;
  if (it->second < kLastBit) return true;
  absl::flat_hash_map<int32_t, bool> seen;
  std::vector<int32_t> stack{s.id};
  while (!stack.empty()) {
    const Node& n = nodes_[stack.back()];
    stack.pop_back();
    if (n.op == Op::kVar && n.imm == var) return true;
    for (Scalar a : n.args)
      if (a && (facts_[a.id].vars & bit) && seen.try_emplace(a.id, true).second)
        stack.push_back(a.id);
  }
  return false;
}

Scalar Graph::substitute(Scalar s, absl::Span<const int64_t> ids,
                         absl::Span<const Scalar> values) {
  uint64_t bits = 0;
  for (int64_t id : ids)
    if (const auto it = var_bits_.find(id); it != var_bits_.end())
      bits |= uint64_t{1} << it->second;
  if (!(facts_[s.id].vars & bits)) return s;
  absl::flat_hash_map<int32_t, Scalar> image;  // of every node that may depend on the variables
  std::vector<int32_t> order{s.id};
  image[s.id] = {};
  for (size_t i = 0; i < order.size(); ++i)
    for (Scalar a : nodes_[order[i]].args)
      if (a && (facts_[a.id].vars & bits) && image.try_emplace(a.id, Scalar{}).second)
        order.push_back(a.id);
  std::sort(order.begin(), order.end());  // arguments have lower ids
  for (int32_t id : order) {
    const Node n = nodes_[id];  // a copy: make may move the nodes
    Scalar result{id};
    if (n.op == Op::kVar) {
      for (size_t i = 0; i < ids.size(); ++i)
        if (ids[i] == n.imm) result = values[i];
    } else {
      Scalar args[3];
      for (int i = 0; i < 3; ++i) {
        const auto it = image.find(n.args[i].id);
        args[i] = it == image.end() ? n.args[i] : it->second;
      }
      if (n.op == Op::kLoad)
        result = load(n.type, n.imm, args[0], args[1]);
      else if (n.op == Op::kSelect && n.imm)
        result = select_rare(args[0], args[1], args[2]);
      else if (n.op == Op::kLdexp && n.imm)
        result = ldexp_near(args[0], args[1]);
      else
        result = make(n.op, n.type, args[0], args[1], args[2]);
    }
    image[id] = result;
  }
  return image[s.id];
}

}  // namespace braze::scalar
