// SPDX-License-Identifier: Apache-2.0
// Products with rows that are all the same compute one of them:
//
//   dot(broadcast(v[k], {1}) [m,k], y[k,n])  →  broadcast(dot(v, y) [n], {1}) [m,n]
//   dot(broadcast(s, {}) [m,k], y[k,n])      →  broadcast(reduce(s · y, {0}) [n], {1}) [m,n]
//
// and the same with operands exchanged. The gradient of a sum over a product is of the second form.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status repeated_dot(Module& m);

}  // namespace braze
