// SPDX-License-Identifier: Apache-2.0
// cleanup: dead code out; equal instructions merged (never across opt-barrier); copies, trivial
// reshapes, transposes and broadcasts out; get-tuple-element(tuple(…)) → the element.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status cleanup(Module& m);

}  // namespace braze
