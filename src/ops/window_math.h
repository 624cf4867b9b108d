// SPDX-License-Identifier: Apache-2.0
// Arithmetic of windows: how many positions a window has over a dilated and padded dimension, and
// which input elements one position touches. Serves reduce-window, select-and-scatter and
// convolution.
#pragma once

#include <string_view>

#include "ir/attrs.h"
#include "base/status.h"

namespace braze {

// Positions of a window with `w` over a dimension of size `in`; unknown sizes give an unknown
// count. Checks stride, dilations and that no size overflows. `size` is the window's own size.
Result<int64_t> window_positions(std::string_view rule, int64_t in, const WindowDim& w,
                                 int64_t size);

// Window elements k and input elements j that meet at one position: for t in [0, count)
// k = k0 + t·dk and j = j0 + t·dj. Elements that fall on padding or between dilated inputs are left
// out.
struct Taps {
  int64_t count = 0, k0 = 0, dk = 0, j0 = 0, dj = 0;
};
Taps taps_at(int64_t position, int64_t in, const WindowDim& w, int64_t size);

}  // namespace braze
