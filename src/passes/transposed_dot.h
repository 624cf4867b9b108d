// SPDX-License-Identifier: Apache-2.0
// A product whose free dimensions are exchanged afterwards is the product the other way round:
//
//   transpose(dot(a, b))  →  dot(b, a)
//
// where the transpose puts b's free dimensions before a's and keeps the order of batch dimensions and
// within each group. Gradients of weights come in this form. Products commute and the order of the sum
// stays, so no bit changes.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status transposed_dot(Module& m);

}  // namespace braze
