// SPDX-License-Identifier: Apache-2.0
// How far a program's results hang on roundings that engines may do differently.
//
// Interface: with_noise, agree_within_noise. A noisy copy of a module multiplies by 1 ± a few units in
// the last place what engines compute with small differences: results of transcendental functions and
// of complex products, and terms and results of sums (reductions, windows, dots, convolutions, solves);
// matrices to be factored get a heavier or a lighter diagonal, as backward errors may make it; every second
// copy turns the signs of their NaNs as well. All other ops are exact and stay. The spread
// of the results of several noisy copies is the accuracy that the program's values have: engines that
// differ by more disagree. Scalar bodies (of reduce, sort, scatter …) are left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace braze {

std::unique_ptr<Module> with_noise(const Module& m, uint64_t seed);

// Whether `got` differs from `want` by no more than some times what the noisy values differ from it,
// and a few units in the last place. Integers must be equal in an array on which noise has no effect; in
// others no greater share of them may differ than under noise, by some factor. `why` tells the first
// place that is wrong.
bool agree_within_noise(const Literal& got, const Literal& want, absl::Span<const Literal> noisy,
                        std::string* why);

}  // namespace braze
