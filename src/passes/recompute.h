// SPDX-License-Identifier: Apache-2.0
// recompute: values that are cheap to compute again are not kept from a forward pass to a backward one:
//
//   h = multiply(x, x)                       h = multiply(x, x)
//   y = tanh(h)              =>              y = tanh(h)
//   …                                        …
//   g = multiply(d, h)                       h' = multiply(x, x); g = multiply(d, h')
//   k = multiply(g, x)                       k = multiply(g, x)
//
// where the late reader is far behind the early ones, and everything that h' reads is live there
// anyway; or one value more, if it takes the place of several. h' joins the late kernel, so h is neither
// written nor read again, nor does it take memory in between. Only elementwise operations that cost less
// than the traffic are repeated; each rounds as the first time, so no bit changes.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status recompute(Module& m);

// An operation that costs little and reads no more than its operands: it may be done again.
bool repeats_cheaply(const Instr& i);

}  // namespace braze
