// SPDX-License-Identifier: Apache-2.0
// widen_folds: reduce(x, init), body  =>  convert(reduce(convert(x), convert(init)), body in f32), where the
// elements are floats narrower than f32 and the body is more than one plain op; scans (window_math.h) likewise.
// Part of `expand`; plain sums are widened where they are lowered.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status widen_folds(Module& m);

}  // namespace braze
