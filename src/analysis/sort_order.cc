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

}  // namespace

std::optional<SortOrder> sort_order(const Computation& comparator) {
  const Instr* root = comparator.root();
  if (!root || !root->is(Op::kCompare) || !root->shape.is_scalar()) return std::nullopt;
  const auto a = side(root->operand(0)), b = side(root->operand(1));
  if (!a || !b || a->zero != b->zero || a->nan != b->nan || a->parameter->shape.quant)
    return std::nullopt;
  const int64_t left = a->parameter->parameter_number(), right = b->parameter->parameter_number();
  if (left / 2 != right / 2 || left == right) return std::nullopt;
  SortOrder o;
  o.key = left / 2;
  o.zero = a->zero;
  o.nan = a->nan;
  const auto& compare = root->as<CompareAttrs>();
  o.total_order = compare.type == CompareType::kTotalOrder;
  switch (compare.direction) {
    case CompareDirection::kEq:
    case CompareDirection::kNe: return std::nullopt;
    case CompareDirection::kLt: break;
    case CompareDirection::kGt: o.descending = true; break;
    case CompareDirection::kLe: o.ties_reversed = true; break;
    case CompareDirection::kGe: o.descending = o.ties_reversed = true; break;
  }
  if (left > right) o.descending = !o.descending;
  return o;
}

}  // namespace braze
