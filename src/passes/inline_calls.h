// SPDX-License-Identifier: Apache-2.0
// inline_calls: call(x), to_apply=f  =>  the body of f on x. Calls of reduce, sort, while … stay.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status inline_calls(Module& m);

}  // namespace braze
