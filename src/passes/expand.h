// SPDX-License-Identifier: Apache-2.0
// expand: op  =>  smaller ops, by the row's `expand`, wherever a row has one and no other road; then folds of
// narrow floats are widened (widen_folds.h).
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status expand(Module& m);

}  // namespace braze
