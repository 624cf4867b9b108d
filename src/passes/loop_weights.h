// SPDX-License-Identifier: Apache-2.0
// loop-weights: matrices that a loop multiplies a few rows with, again and again, are laid out once, before it, as the
// product reads them, in panels of as many columns as its register tile has:
//
//   while (w, …) { … dot(x, w) … }, w[K,N]
//     =>  p = transpose(reshape(w, [K, N/P, P]), {1, 0, 2})
//         while (w, …, p) { … reshape(dot(x, p), [M, N]) … }
//
// Rows of N columns lie far apart: with few rows of x there is too little work to hide that, and packing them in each turn
// costs as much as the product. The steps of recurrent networks are such products.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status loop_weights(Module& m, int64_t vector_bits);

}  // namespace braze
