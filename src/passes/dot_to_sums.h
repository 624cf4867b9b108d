// SPDX-License-Identifier: Apache-2.0
// Products of a vector with a few columns that are computed, not stored, become sums of products:
//
//   dot(v[b,k], m[b,k,n])  →  concatenate(reduce(v · m[:,:,0]), …, reduce(v · m[:,:,n-1]))
//
// where n ≤ 4 and m is elementwise code. Each element of m counts once, so a matrix product gains nothing
// from m in memory; the sums fuse with what computes m and v. Interactions of all pairs (n-body, kernels
// of distances) come in this form.
//
// So do products of a vector with a small matrix whose fastest dimension is one of the batch, which an image's
// resizing is made of: rows of a product would lie far apart, sums run over the batch in vectors.
//
//   dot(v[b,k], m[k,n,b])  →  transpose(reduce(broadcast(v) · m))       k ≤ 32
// Sums of one term are products of elements; many products of two vectors each are sums of rows:
//
//   dot(x[b,1,m], y[b,1,n])  →  broadcast(x) · broadcast(y) + 0
//   dot(x[b,k], y[b,k])      →  reduce(x · y)                           b ≥ 64
//   dot(x[k,b], y[k,b])      →  reduce(x · y)                           in y's own order
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status dot_to_sums(Module& m);

}  // namespace braze
