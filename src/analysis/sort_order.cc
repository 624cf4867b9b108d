// SPDX-License-Identifier: Apache-2.0
#include "analysis/sort_order.h"

#include <cmath>
#include <cstring>

namespace braze {
namespace {

// One side of the comparison: a parameter, with zeros and NaNs perhaps replaced.
struct Side {
  const Instr* parameter = nullptr;
  std::optional<uint64_t> zero, nan;
};

uint64_t bits_of(const Literal& l) {
  uint64_t bits = 0;
  std::memcpy(&bits, l.bytes(), byte_size(l.dtype()));
  return bits;
}

bool is_zero(const Instr& i) { return i.is_constant() && i.literal().get_float(0) == 0; }

// compare(x, 0), EQ, as floats.
bool tests_zero(const Instr& i, const Instr* x) {
  const auto& a = i.as<CompareAttrs>();
  return a.direction == CompareDirection::kEq && a.type != CompareType::kTotalOrder &&
         ((i.operand(0) == x && is_zero(*i.operand(1))) ||
          (i.operand(1) == x && is_zero(*i.operand(0))));
}

// compare(x, x), NE, as floats.
bool tests_nan(const Instr& i, const Instr* x) {
  const auto& a = i.as<CompareAttrs>();
  return a.direction == CompareDirection::kNe && a.type != CompareType::kTotalOrder &&
         i.operand(0) == x && i.operand(1) == x;
}

// Reads parameter, select(x == 0, zero, …) and select(x != x, NaN, …), one of each at most.
std::optional<Side> side(const Instr* i) {
  const Instr *selects[2], *x = i;
  int depth = 0;
  for (; x->is(Op::kSelect); x = x->operand(2)) {
    if (depth == 2) return std::nullopt;
    selects[depth++] = x;
  }
  if (!x->is(Op::kParameter) || (depth > 0 && !is_float(x->shape.dtype))) return std::nullopt;
  Side s;
  s.parameter = x;
  for (int d = 0; d < depth; ++d) {
    const Instr &test = *selects[d]->operand(0), &value = *selects[d]->operand(1);
    if (!test.is(Op::kCompare) || !value.is_constant()) return std::nullopt;
    if (tests_zero(test, x) && is_zero(value) && !s.zero) {
      s.zero = bits_of(value.literal());
    } else if (tests_nan(test, x) && std::isnan(value.literal().get_float(0)) && !s.nan) {
      s.nan = bits_of(value.literal());
    } else {
      return std::nullopt;
    }
  }
  return s;
}

constexpr int kMostKeys = 16;

// compare of one operand's two elements, in any direction.
struct Comparison {
  Side side;
  bool swapped = false;
  CompareDirection direction = CompareDirection::kEq;
  CompareType type = CompareType::kDefault;
};
std::optional<Comparison> comparison(const Instr* i) {
  if (!i->is(Op::kCompare) || !i->shape.is_scalar()) return std::nullopt;
  const auto a = side(i->operand(0)), b = side(i->operand(1));
  if (!a || !b || a->zero != b->zero || a->nan != b->nan || a->parameter->shape.quant)
    return std::nullopt;
  const int64_t left = a->parameter->parameter_number(), right = b->parameter->parameter_number();
  if (left / 2 != right / 2 || left == right) return std::nullopt;
  const auto& compare = i->as<CompareAttrs>();
  return Comparison{*a, left > right, compare.direction, compare.type};
}

std::optional<SortOrder> order_of(const Comparison& c) {
  SortOrder o;
  o.key = c.side.parameter->parameter_number() / 2;
  o.zero = c.side.zero;
  o.nan = c.side.nan;
  o.total_order = c.type == CompareType::kTotalOrder;
  switch (c.direction) {
    case CompareDirection::kEq:
    case CompareDirection::kNe: return std::nullopt;
    case CompareDirection::kLt: break;
    case CompareDirection::kGt: o.descending = true; break;
    case CompareDirection::kLe: o.ties_reversed = true; break;
    case CompareDirection::kGe: o.descending = o.ties_reversed = true; break;
  }
  if (c.swapped) o.descending = !o.descending;
  return o;
}

std::optional<SortOrder> order_of(const Instr* i, int depth);

// `first` orders, and where `equal` holds `rest` does. They must mean the same by equal.
std::optional<SortOrder> lexicographic(const Instr* equal, const Instr* first, const Instr* rest, int depth) {
  const auto e = comparison(equal), f = comparison(first);
  if (!e || !f || e->direction != CompareDirection::kEq || e->side.zero != f->side.zero ||
      e->side.nan != f->side.nan ||
      e->side.parameter->parameter_number() / 2 != f->side.parameter->parameter_number() / 2 ||
      (e->type == CompareType::kTotalOrder) != (f->type == CompareType::kTotalOrder))
    return std::nullopt;
  auto o = order_of(*f);
  auto next = order_of(rest, depth + 1);
  if (!o || !next) return std::nullopt;
  o->ties_reversed = false;
  o->then.push_back(*next);
  o->then.insert(o->then.end(), next->then.begin(), next->then.end());
  o->then[0].then.clear();
  return o;
}

// One comparison; select(a == b, rest, a < b); (a < b) | ((a == b) & rest).
std::optional<SortOrder> order_of(const Instr* i, int depth) {
  if (depth > kMostKeys) return std::nullopt;
  if (auto c = comparison(i)) return order_of(*c);
  if (i->is(Op::kSelect)) return lexicographic(i->operand(0), i->operand(2), i->operand(1), depth);
  if (!i->is(Op::kOr) || !is_pred(i->shape.dtype)) return std::nullopt;
  for (int k : {0, 1}) {
    const Instr *first = i->operand(k), *both = i->operand(1 - k);
    if (!both->is(Op::kAnd)) continue;
    for (int j : {0, 1})
      // A first comparison that holds of equal elements would not let the rest decide.
      if (auto f = comparison(first);
          f && (f->direction == CompareDirection::kLt || f->direction == CompareDirection::kGt))
        if (auto o = lexicographic(both->operand(j), first, both->operand(1 - j), depth)) return o;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SortOrder> sort_order(const Computation& comparator) {
  const Instr* root = comparator.root();
  if (!root || !root->shape.is_scalar()) return std::nullopt;
  return order_of(root, 0);
}

}  // namespace braze
