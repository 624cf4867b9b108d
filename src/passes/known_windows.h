// SPDX-License-Identifier: Apache-2.0
// known-windows: indices that are known while compiling become plain slices and updates.
//
//   scatter(x, {1, 1}, u), one window, "return the update"   =>   dynamic-update-slice(x, u, 1, 1)
//   scatter(x, {1, 1}, u), one window, add                   =>   dynamic-update-slice(x, add(slice(x), u), 1, 1)
//   gather(x, {1, 1}), one window; dynamic-slice(x, 1, 1)    =>   slice(x)
//   select(broadcast of a known truth, a, b)                 =>   a or b
//   gathers and scatters at indices in equal steps           =>   see known_lattices.h
//
// A scatter's window that does not lie inside its operand is dropped: the operand is the result. Starts of
// gathers, dynamic slices and their updates are clamped; updates keep constant, clamped starts.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status known_windows(Module& m);

}  // namespace braze
