// SPDX-License-Identifier: Apache-2.0
// The ops that ScalarFunction computes directly on cells; part of scalar_function.cc by size only.
#pragma once

#include "ops/scalar_function.h"

namespace braze {

// Null: the op has to go through its row's eval.
ScalarFunction::Direct direct_step(const Instr& i);

// HLO minimum / maximum of floats: NaN wins, -0 orders before +0.
double hlo_min(double a, double b);
double hlo_max(double a, double b);

}  // namespace braze
