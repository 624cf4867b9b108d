// SPDX-License-Identifier: Apache-2.0
// Products do without transposes. One whose free dimensions are exchanged afterwards is the product the
// other way round; a transposed operand that several instructions read is read where it lies:
//
//   transpose(dot(a, b))  →  dot(b, a)
//   dot(transpose(a), b)  →  dot(a, b) with a's other dimension contracted
//
// where in the first the transpose puts b's free dimensions before a's and keeps the order of batch dimensions and
// within each group. Gradients of weights come in this form. Products commute and the order of the sum
// stays, so no bit changes. In the second the free dimensions must keep their order.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status transposed_dot(Module& m);

}  // namespace braze
