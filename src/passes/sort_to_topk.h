// SPDX-License-Identifier: Apache-2.0
// A sort of which only the first elements are read selects them instead:
//
//   s = sort(x, iota), descending by x's total order        t = topk(x), k
//   slice(get-tuple-element(s, 0), [0:k])              →    get-tuple-element(t, 0)
//   slice(get-tuple-element(s, 1), [0:k])                   get-tuple-element(t, 1)
//
// along the last dimension; the iota may be missing, and ascending sorts select the smallest.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status sort_to_topk(Module& m);

}  // namespace braze
