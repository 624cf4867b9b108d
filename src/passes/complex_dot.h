// SPDX-License-Identifier: Apache-2.0
// Large products of complex matrices become four of real ones, for which there are fast kernels:
//
//   dot(a, b)  →  complex(dot(re a, re b) − dot(im a, im b), dot(re a, im b) + dot(im a, re b))
//
// The same products are summed, in another order.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status complex_dot(Module& m);

}  // namespace braze
