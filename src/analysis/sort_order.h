// SPDX-License-Identifier: Apache-2.0
// SortOrder: what a sort's comparator computation says, when it orders by operands' elements, one after
// the other.
//
// Interface: sort_order reads it off the computation; anything it does not know gives nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"

namespace braze {

struct SortOrder {
  int64_t key = 0;             // the operand compared
  bool descending = false;
  bool ties_reversed = false;  // LE and GE: the later of two equal elements comes first
  bool total_order = false;    // floats by sign and bits; else -0 = +0 and NaN has no place
  // Bits that stand for every zero, and for every NaN, before comparing.
  std::optional<uint64_t> zero, nan;
  // What orders elements that this finds equal: further keys, the most significant first. Only the
  // last key may have ties_reversed.
  std::vector<SortOrder> then;
};

std::optional<SortOrder> sort_order(const Computation& comparator);

}  // namespace braze
