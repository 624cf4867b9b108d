// SPDX-License-Identifier: Apache-2.0
// The parts of the GEMM generator, by form. Internal to codegen.
#pragma once

#include <string>

#include "codegen/contraction_emit.h"
#include "codegen/gemm_plan.h"

namespace braze::codegen {

// What every form has: the spec, the operands and the hooks, within the function being emitted.
class GemmFrame {
 public:
  GemmFrame(Emit& e, const GemmShape& s, const ContractionHooks& hooks) : e(e), s(s), hooks(hooks) {}

  Emit& e;
  const GemmShape& s;
  const ContractionHooks& hooks;
  Value *buffers = nullptr, *lhs = nullptr, *rhs = nullptr, *out = nullptr, *work = nullptr;

  // Loads the buffer pointers; the builder is in a kernel's entry.
  void enter();
  // Batch coordinates of the current item, and operand pointers moved there.
  Values batch;
  Value *a0 = nullptr, *b0 = nullptr, *c0 = nullptr;
  void set_batch(Value* linear);

  // w lanes of an operand along coordinate `lane_axis`, converted to the accumulator type.
  // lhs: axis 0 is m, 1 is k (innermost); rhs: 0 is k, 1 is n. `k` has all k coordinates.
  Value* load_lhs(Value* m, const Values& k, bool along_k, Value* mask, int lanes);
  Value* load_rhs(const Values& k, Value* n, bool along_k, Value* mask, int lanes);
  Value* lhs_at(Value* m, const Values& k);
  Value* rhs_at(const Values& k, Value* n);
  // Epilogue and store of `acc` at (m, n): the w lanes from n, those on in mask.
  void finish(Value* acc, Value* m, Value* n, Value* mask);
};

void emit_gemm_tiles(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name);
void emit_gemm_dot(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name);
void emit_gemm_tiny(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name);
// The phase that adds the parts in the workspace.
void emit_gemm_sum(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name);

// A block of the k dimensions: coordinates of its first element and how many steps it has.
struct KBlock {
  Values first;  // a coordinate per k dimension
  Value *mid = nullptr, *inner = nullptr;
};
KBlock k_block(Emit& e, const GemmShape& s, Value* index);

// Packing (gemm_pack.cc).
// Rows [m0, m0 + rows) of lhs: interleaved as [k][rows], or as rows of a_row elements.
void emit_pack_a(GemmFrame& f, const KBlock& k, Value* m0, int rows, Value* to);
// `panels` full panels from column n0, then the ragged last one if `ragged` (i1): each is b_rows rows
// of nv vectors.
void emit_pack_b(GemmFrame& f, const KBlock& k, Value* n0, Value* panels, Value* ragged, Value* to);

}  // namespace braze::codegen
