// SPDX-License-Identifier: Apache-2.0
// Accesses of the first few lanes of a vector. Without AVX-512 a masked store takes tens of instructions' time, or there is
// none for the type: two stores that may overlap do as well. Internal to codegen.
#pragma once

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Value;
}

namespace braze::codegen {

// The first lanes that a mask leaves on, if it is known to leave on just these, and some; else 0.
int known_first_lanes(llvm::Value* mask);

struct LanePiece {
  int start, lanes;  // lanes: a power of two
};
// `n` lanes as one or two pieces, which may overlap.
llvm::SmallVector<LanePiece, 2> pieces_of(int n);

}  // namespace braze::codegen
