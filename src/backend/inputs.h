// SPDX-License-Identifier: Apache-2.0
// Inputs for programs: made-up values, and literals from and to NumPy files.
#pragma once

#include <string>
#include <string_view>

#include "base/npy.h"
#include "base/status.h"
#include "ir/literal.h"

namespace braze {

// "random:SEED", "zeros" or "iota" for a shape (tuples too). Random floats lie in [-1, 1), integers in
// [0, 8), so that indices and sizes stay small.
Result<Literal> make_input(const Shape& shape, std::string_view kind, int64_t number);

// NumPy's f4, c8 … as a literal of `shape`; types NumPy lacks (bf16, f8, s4) are carried by their bits.
Result<Literal> from_npy(const NpyArray& a, const Shape& shape);
NpyArray to_npy(const Literal& l, std::string_view name);

// mix(seed + (i + 1) · golden ratio): the generator of the model folders.
uint64_t random_word(uint64_t seed, uint64_t i);

}  // namespace braze
