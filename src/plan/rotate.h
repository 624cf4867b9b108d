// SPDX-License-Identifier: Apache-2.0
// Rotation of a loop's state: large arrays that the body computes anew, or moves to another place of the
// state, are not copied back at its end. They change buffers, and the body is planned once for each way
// in which the buffers can be exchanged:
//
//   (u, old) = (f(u, old), u)     in buffers A, B and a spare C:
//     C = f(A, B); then u is C, old is A
//     B = f(C, A); then u is B, old is C
//     A = f(B, C); then u is A, old is B, as at first
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace braze {

struct Rotation {
  static constexpr int64_t kStays = -1;  // in one buffer, copied to where need be
  static constexpr int64_t kFresh = -2;  // computed into its spare buffer
  int64_t period = 1;                    // bodies until all leaves are where they began; 1: nothing rotates
  std::vector<int64_t> from;             // by leaf: kStays, kFresh, or the leaf whose buffer it takes over
  std::vector<int64_t> end;              // of a fresh leaf: the one whose buffer becomes the next spare

  // Where the leaves are after a body that began with them in `at`. `spare`: by leaf, of fresh ones.
  std::vector<int64_t> advance(const std::vector<int64_t>& at, std::vector<int64_t>* spare) const;
};

// Of `loop`, a while of a fused module.
Rotation rotation_of(const Instr& loop);

}  // namespace braze
