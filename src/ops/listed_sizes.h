// SPDX-License-Identifier: Apache-2.0
// dynamic-reshape as HLO spells it: its sizes are scalar operands, one for each dimension of the result, where
// StableHLO's op takes one list.
//
// Interface: list_reshape_sizes, which the readers of HLO call before they check shapes. Sizes that are a list
// already, as Braze writes them, stay.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

// dynamic-reshape(x, s0, s1, ...)  =>  dynamic-reshape(x, concatenate(reshape(s0), reshape(s1), ...)).
Status list_reshape_sizes(Module& m);

}  // namespace braze
