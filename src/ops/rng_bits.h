// SPDX-License-Identifier: Apache-2.0
// Counter-based random bits: Threefry-2x32 (20 rounds) and Philox-4x32 (10 rounds), after Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), in the state layout and output order that
// XLA made the convention: state = (key, counter) or, for Philox, (key, counter low, counter high).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/attrs.h"
#include "ir/shape.h"

namespace braze {

std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter);
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

struct RandomBits {
  std::vector<uint64_t> state;   // the next state, as long as the given one
  std::vector<uint64_t> values;  // one per element, in the low bits
};

// Bits for an array of `dims`, `width` (≤ 64) of them per element. `state` has 2 words, 2 or 3 for Philox.
// kDefault means Philox.
RandomBits random_bits(RngAlgorithm algorithm, const std::vector<uint64_t>& state, DimSpan dims,
                       int width);

// How Threefry lays 32-bit results out: the dimension whose even positions hold first words and odd
// positions second words of the pairs; -1 for a scalar.
int64_t threefry_split_dim(DimSpan dims);

}  // namespace braze
