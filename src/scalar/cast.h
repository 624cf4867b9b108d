// SPDX-License-Identifier: Apache-2.0
// Which casts are nodes of their own, and how the others are built from them, each in a single
// rounding.
#pragma once

#include "scalar/scalar.h"

namespace braze::scalar {

// Between integers and pred; integers ↔ f32, f64; f32 ↔ f64; f32 ↔ f16, bf16. Not: to pred.
bool is_native_cast(Dtype to, Dtype from);
// Cast of a to type `to`, for the other pairs.
Scalar build_cast(Graph& g, Dtype to, Scalar a);

}  // namespace braze::scalar
