// SPDX-License-Identifier: Apache-2.0
// Random parts of the rows' `sample`: element types, dimensions, values, and a module of one op.
#pragma once

#include <memory>
#include <random>

#include "ir/module.h"
#include "ops/type_class.h"

namespace braze::sample {

using Rng = std::mt19937_64;

int64_t pick(Rng& rng, int64_t lo, int64_t hi);  // uniform in [lo, hi]
bool chance(Rng& rng, double p);
// An element type of the classes: most often a common one (f32, s32 …), sometimes any.
Dtype dtype(Rng& rng, uint32_t classes);
// Between min_rank and max_rank sizes in 0 … 17, odd ones and 1 often, 0 seldom; product ≤ 2000.
Dims dims(Rng& rng, int64_t min_rank = 0, int64_t max_rank = 4);
Shape shape(Rng& rng, uint32_t classes, int64_t min_rank = 0, int64_t max_rank = 4);
Dims permutation(Rng& rng, int64_t n);

// A literal of ordinary values: small integers, floats of a few magnitudes, at times zeros,
// negative zeros, infinities and NaNs if `specials`.
Literal literal(Rng& rng, const Shape& s, bool specials = false);

// A module whose entry has parameters of these shapes and as root `op` of them, in order; `result`
// as in Builder::op_shaped. nullptr if the op is not legal.
std::unique_ptr<Module> module_of(Op op, absl::Span<const Shape> params, Attrs attrs = NoAttrs{},
                                  const Shape* result = nullptr);

}  // namespace braze::sample
