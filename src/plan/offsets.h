// SPDX-License-Identifier: Apache-2.0
// Offsets in the arena for ranges whose lifetimes are known: ranges that live together share no byte.
//
// Two ways are tried, and the smaller arena taken: in the order of time, each range into the tightest
// gap that is free; and by size, the largest ranges first, each into the tightest gap among those it
// meets (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Offsets
// are multiples of 64 bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace braze {

// Bytes needed from event `from` until before event `to`. Events are numbered in the order of the
// steps; no two ranges begin or end at the same event.
struct Lifetime {
  int64_t bytes = 0;
  int64_t from = 0;
  int64_t to = 0;
};

struct Offsets {
  std::vector<int64_t> at;  // by range
  int64_t bytes = 0;        // of the arena
};

Offsets assign_offsets(absl::Span<const Lifetime> ranges);

}  // namespace braze
