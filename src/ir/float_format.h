// SPDX-License-Identifier: Apache-2.0
// The floating-point format (base/floats.h) of an element type.
#pragma once

#include "base/floats.h"
#include "ir/dtype.h"

namespace braze {

// The format of a float type; of a complex type, its parts' format. Other types: f64's.
const FloatFormat& format_of(Dtype t);
// v rounded to the nearest value of float type t; the integers' and other types' v is unchanged.
double round_to(Dtype t, double v);

}  // namespace braze
