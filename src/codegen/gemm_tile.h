// SPDX-License-Identifier: Apache-2.0
// The register-tile micro-kernel of GEMM and convolution, as an internal function that computes
//   c[rows][vectors] = old + sum over the levels of a[row] * b[vector]
// for each of a number of panels, all accumulators in registers. Strides and counts are arguments,
// so that the products of a module share few tiles. Internal to codegen.
#pragma once

#include <vector>

#include "codegen/contraction_emit.h"

namespace braze::codegen {

// What the code depends on.
struct TileDesc {
  int rows = 1, vectors = 1;
  int last_lanes = 0;                   // valid lanes of the last vector; 0: all
  bool mask_b = false, mask_c = false;  // whether accesses must stay within them
  Dtype a_type = Dtype::kF32, b_type = Dtype::kF32;
  int64_t a_step = 0;          // bytes between innermost steps of a
  bool adjacent_rows = false;  // the rows of a are adjacent elements; otherwise a_row apart
  int64_t fixed_row = 0;  // if not 0, a_row as a constant: tall tiles lack registers for addresses
  int levels = 1;         // loops of the sum
  int turn = 1;           // steps in one turn of the innermost loop: its counts are multiples of it
  WordProduct word = WordProduct::kNone;  // elements are words of several k
  bool start = false;                     // sums start from a row of vectors at b + start
  bool add = false;                       // whether there are old sums
  bool empty = false;                     // the sum has no terms
  int ahead = 0;  // lines brought to the second level cache at some steps of the innermost loop
  int64_t copy_row = 0;  // if not 0, the rows of b are copied so many bytes apart (one level)
};

// One loop of the sum: how often, at least once, and the byte steps of both operands.
struct TileLevel {
  Value *count = nullptr, *a_step = nullptr, *b_step = nullptr;
};

struct TileCall {
  Value *a = nullptr, *b = nullptr, *c = nullptr;
  Value* panels = nullptr;
  Value *a_row = nullptr, *c_row = nullptr,
        *b_panel = nullptr;  // byte strides; vectors of c are contiguous
  // Where the sums start from; its rows and panels may be 0 apart (one row of zeros).
  Value *old = nullptr, *old_row = nullptr, *old_panel = nullptr;
  Value* start = nullptr;
  // The lines brought ahead, at every step that is a multiple of 1 << shift: where the first panel's are, the bytes
  // between such steps' lines; turn 0, or -1 for none.
  Value *ahead = nullptr, *ahead_step = nullptr, *ahead_turn = nullptr, *ahead_shift = nullptr;
  Value *copy = nullptr, *copy_panel = nullptr;  // where to, and the bytes between panels
  // Called after each panel, if `finishes` (i1): finish(c of the panel, the panel's index, context).
  Value *finish = nullptr, *context = nullptr, *finishes = nullptr;
  std::vector<TileLevel> levels;  // outermost first; the innermost a_step is the description's
};

// The function of a tile; equal descriptions give one function.
llvm::Function* emit_tile(Emit& e, const TileDesc& d);
// `tile` is the function of `d`, or one chosen at run time among those of descriptions that differ in their rows.
void call_tile(Emit& e, Value* tile, const TileDesc& d, const TileCall& call);

}  // namespace braze::codegen
