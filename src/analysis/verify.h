// SPDX-License-Identifier: Apache-2.0
// The verifier: the laws every module obeys between passes.
//
// Structure: operands and control predecessors in their user's computation, no cycles, use lists
// right, parameters dense, roots set, names legal and unique, callees in the module and never
// recursive. Meaning: each instruction's shape is what its op's row infers, which is also the law
// of the op's attributes and of its callees' signatures.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

// The first broken law, with computation and instruction; OK if there is none. Linear in the
// module.
Status verify(const Module& m);

// The laws of one computation.
Status verify(const Computation& c);

}  // namespace braze
