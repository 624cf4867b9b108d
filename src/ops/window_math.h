// SPDX-License-Identifier: Apache-2.0
// Arithmetic of windows: how many positions a window has over a dilated and padded dimension, and
// which input elements one position touches. Serves reduce-window, select-and-scatter and
// convolution.
#pragma once

#include <string_view>

#include "base/status.h"
#include "ir/attrs.h"
#include "ir/dtype.h"
#include "ir/opcode.h"

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

// A scan, cumsum and its kind: along one dimension, of more than 8 outputs, each window covers all earlier
// (or later) elements.
struct Scan {
  int64_t dim = -1;  // -1: the window is no scan
  bool reverse = false;
  bool exclusive = false;  // one more output: the first (or last) is of no elements
};
Scan find_scan(const Window& w, DimSpan in);
// Whether a scan by `op` of elements of type t accumulates in a wider type: f32 for narrower floats, f64 for
// f32 and its complex numbers. Its last outputs are sums of many.
bool sums_wide(Op op, Dtype t);

}  // namespace braze
