// SPDX-License-Identifier: Apache-2.0
#include "plan/rotate.h"

#include <algorithm>
#include <numeric>

#include "loop/lower.h"
#include "plan/plan.h"

namespace braze {
namespace {

constexpr int64_t kLeastBytes = 512;  // less is in registers, or copied sooner than a body is planned again
constexpr int64_t kLongestPeriod = 6;
constexpr size_t kMostInstructions = 300;  // of all bodies
constexpr int kMostUpdates = 64;           // in place, one after the other

const Instr* strip(const Instr* i) {
  while (i->op == Op::kReshape || i->op == Op::kBitcast) i = i->operand(0);
  return i;
}

// The number of the leaf of the body's parameter that `i` is, or -1.
int64_t state_leaf(const Instr* i) {
  if (i->op == Op::kParameter && i->shape.is_array()) return 0;
  if (i->op != Op::kGetTupleElement || i->operand(0)->op != Op::kParameter || !i->shape.is_array())
    return -1;
  const Shape& state = i->operand(0)->shape;
  int64_t at = 0;
  for (int64_t k = 0; k < i->as<IndexAttrs>().index; ++k)
    at += static_cast<int64_t>(leaves(state.tuple[static_cast<size_t>(k)]).size());
  return at;
}

// Whether `value` is computed into memory of its own rather than in the state's.
bool is_fresh(const Instr* value) {
  for (int n = 0; n < kMostUpdates; ++n) {
    value = strip(value);
    int64_t leaf = 0;
    if (value->op == Op::kGetTupleElement) {
      leaf = value->as<IndexAttrs>().index;
      value = value->operand(0);
    }
    switch (value->op) {
      case Op::kParameter: case Op::kConstant: case Op::kTuple: case Op::kCopy: case Op::kOptBarrier:
      case Op::kAfterAll: case Op::kAddDependency: case Op::kDomain: case Op::kGetTupleElement:
        return false;
      case Op::kFusion: {
        const int64_t updated = loop::inout_parameter(*value->calls[0], leaf);
        if (updated < 0) return true;
        value = value->operand(updated);
        break;
      }
      default: return true;
    }
  }
  return false;
}

// The condition may be computed once more than the loop asks for it.
bool is_pure(const Computation& c) {
  return std::all_of(c.instrs().begin(), c.instrs().end(), [](const auto& i) {
    switch (i->op) {
      case Op::kParameter: case Op::kConstant: case Op::kGetTupleElement: case Op::kTuple:
      case Op::kFusion: case Op::kReshape: case Op::kBitcast: case Op::kCopy:
        return true;
      default: return false;
    }
  });
}

// What becomes of each leaf, looked at alone.
std::vector<int64_t> origins(const Computation& body) {
  std::vector<int64_t> from;
  const Instr* root = body.root();
  const auto add = [&](const Instr* value) {
    const std::vector<Shape> parts = leaves(value->shape);
    for (const Shape& s : parts) {
      const auto k = static_cast<int64_t>(from.size());
      int64_t origin = Rotation::kStays;
      if (parts.size() == 1 && s.is_array() && s.bytes() >= kLeastBytes) {
        const int64_t leaf = state_leaf(strip(value));
        if (leaf >= 0 && leaf != k) origin = leaf;
        else if (leaf < 0 && is_fresh(value)) origin = Rotation::kFresh;
      }
      from.push_back(origin);
    }
  };
  if (root->op == Op::kTuple)
    for (const Instr* o : root->operands) add(o);
  else add(root);
  return from;
}

// One leaf takes over another's buffer, if that is given up. `next`: the leaf that does, or -1.
void pair_up(std::vector<int64_t>* from, std::vector<int64_t>* next) {
  for (bool changed = true; changed;) {
    changed = false;
    next->assign(from->size(), -1);
    for (size_t k = 0; k < from->size(); ++k) {
      const int64_t j = (*from)[k];
      if (j < 0) continue;
      int64_t& taker = (*next)[static_cast<size_t>(j)];
      if (taker < 0 && (*from)[static_cast<size_t>(j)] != Rotation::kStays) {
        taker = static_cast<int64_t>(k);
      } else {
        (*from)[k] = Rotation::kStays;
        changed = true;
      }
    }
  }
}

}  // namespace

std::vector<int64_t> Rotation::advance(const std::vector<int64_t>& at, std::vector<int64_t>* spare) const {
  std::vector<int64_t> next = at;
  const std::vector<int64_t> before = *spare;
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k] >= 0) next[k] = at[static_cast<size_t>(from[k])];
    if (from[k] != kFresh) continue;
    next[k] = before[k];
    (*spare)[k] = at[static_cast<size_t>(end[k])];
  }
  return next;
}

Rotation rotation_of(const Instr& loop) {
  const Computation& body = *loop.calls[1];
  Rotation r;
  r.from = origins(body);
  if (!is_pure(*loop.calls[0])) r.from.assign(r.from.size(), Rotation::kStays);
  std::vector<int64_t> next;
  pair_up(&r.from, &next);
  // Chains that begin with a fresh leaf, then circles of leaves that change places.
  std::vector<std::vector<int64_t>> orbits;
  std::vector<bool> found(r.from.size(), false);
  const auto follow = [&](int64_t k) {
    orbits.emplace_back();
    for (; k >= 0 && !found[static_cast<size_t>(k)]; k = next[static_cast<size_t>(k)]) {
      found[static_cast<size_t>(k)] = true;
      orbits.back().push_back(k);
    }
  };
  for (size_t k = 0; k < r.from.size(); ++k)
    if (r.from[k] == Rotation::kFresh) follow(static_cast<int64_t>(k));
  for (size_t k = 0; k < r.from.size(); ++k)
    if (r.from[k] >= 0 && !found[k]) follow(static_cast<int64_t>(k));
  const auto length = [&](const std::vector<int64_t>& orbit) {
    return static_cast<int64_t>(orbit.size()) + (r.from[static_cast<size_t>(orbit[0])] == Rotation::kFresh);
  };
  std::stable_sort(orbits.begin(), orbits.end(),
                   [&](const auto& a, const auto& b) { return length(a) < length(b); });
  r.end.assign(r.from.size(), -1);
  for (const std::vector<int64_t>& orbit : orbits) {
    const int64_t n = std::lcm(r.period, length(orbit));
    if (n > kLongestPeriod || static_cast<size_t>(n) * body.instrs().size() > kMostInstructions) {
      for (int64_t k : orbit) r.from[static_cast<size_t>(k)] = Rotation::kStays;
      continue;
    }
    r.period = n;
    r.end[static_cast<size_t>(orbit[0])] = orbit.back();
  }
  return r;
}

}  // namespace braze
