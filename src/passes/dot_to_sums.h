// SPDX-License-Identifier: Apache-2.0
// Products of a vector with a few columns that are computed, not stored, become sums of products:
//
//   dot(v[b,k], m[b,k,n])  →  concatenate(reduce(v · m[:,:,0]), …, reduce(v · m[:,:,n-1]))
//
// where n ≤ 4 and m is elementwise code. Each element of m counts once, so a matrix product gains nothing
// from m in memory; the sums fuse with what computes m and v. Interactions of all pairs (n-body, kernels
// of distances) come in this form.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status dot_to_sums(Module& m);

}  // namespace braze
