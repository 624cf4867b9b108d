// SPDX-License-Identifier: Apache-2.0
// The register-tile micro-kernel of GEMM and convolution, as an internal function
//   void tile(ptr a, ptr b, ptr c, [i64 panels], [ptr old, i64 old_row, i64 old_panel], i64
//   counts...)
// that computes c[rows][vectors] = old + sum over the levels of a[row] * b[vector], all
// accumulators in registers, for each of `panels` panels. Equal tiles of a module are one function.
// Internal to codegen.
#pragma once

#include <string>
#include <vector>

#include "codegen/contraction_emit.h"

namespace braze::codegen {

// One loop of the sum; the byte steps of both operands per iteration.
struct TileLevel {
  int64_t a_step = 0, b_step = 0;
  int64_t count = -1;  // -1: an argument of the function, at least 1
};

struct TileDesc {
  int rows = 1, vectors = 1;
  int last_lanes = 0;                   // valid lanes of the last vector; 0: all
  bool mask_b = false, mask_c = false;  // whether accesses must stay within them
  Dtype a_type = Dtype::kF32, b_type = Dtype::kF32;
  int64_t a_row = 0;              // bytes between rows of a
  int64_t b_vector = 0;           // bytes between vectors of b
  int64_t c_row = 0;              // bytes between rows of c, whose vectors are contiguous
  std::vector<TileLevel> levels;  // outermost first
  // Whether sums start from `old`, whose rows and panels are old_row and old_panel bytes apart (0
  // and 0 for one panel of zeros).
  bool add = false;
  bool empty = false;                // the sum has no terms
  int64_t b_panel = 0, c_panel = 0;  // bytes between panels; 0: there is one, and no such argument
};

llvm::Function* emit_tile(Emit& e, const TileDesc& d);

}  // namespace braze::codegen
