// SPDX-License-Identifier: Apache-2.0
// The parts of the GEMM generator, by form. Internal to codegen.
#pragma once

#include <memory>
#include <string>

#include "codegen/contraction_emit.h"
#include "codegen/gemm_plan.h"

namespace braze::codegen {

// A row of the output: a linear index over the outer row dimensions, and m.
struct GemmRow {
  Value *outer = nullptr, *m = nullptr;
};

// What every form has: the spec, the operands and the hooks, within the function being emitted.
class GemmFrame {
 public:
  GemmFrame(Emit& e, const GemmShape& s, const ContractionHooks& hooks)
      : e(e), s(s), hooks(hooks) {}

  Emit& e;
  const GemmShape& s;
  const ContractionHooks& hooks;
  Value *buffers = nullptr, *lhs = nullptr, *rhs = nullptr, *out = nullptr, *work = nullptr;

  // Loads the buffer pointers; the builder is in the entry of a function.
  void enter(Value* kernel_buffers);
  // Batch coordinates of the current item, and operand pointers moved there.
  Values batch;
  Value *a0 = nullptr, *b0 = nullptr, *c0 = nullptr;
  void set_batch(Value* linear);

  // w lanes of an operand along coordinate `lane_axis`, converted to the accumulator type.
  // lhs: axis 0 is m, 1 is k (innermost); rhs: 0 is k, 1 is n. `k` has all k coordinates.
  Value* load_lhs(const GemmRow& row, const Values& k, bool along_k, Value* mask, int lanes);
  Value* load_rhs(const Values& k, Value* n, bool along_k, Value* mask, int lanes);
  Value* lhs_at(const GemmRow& row, const Values& k);
  Value* rhs_at(const Values& k, Value* n);
  // Address of an output row at column n.
  Value* out_at(const GemmRow& row, Value* n);
  // Linear index of a row, outer * m's size + m.
  Value* linear(const GemmRow& row);
  // The w columns from n, those on in mask, of several rows: what their epilogues share is emitted here, the rest by
  // finish.
  struct Columns {
    Value *n = nullptr, *mask = nullptr;
    std::unique_ptr<EpilogueColumn> shared;
  };
  // `table`: where the values that the table hook gave for these columns are, `table_row` bytes apart, or null.
  Columns columns(Value* n, Value* mask, Value* table = nullptr, int64_t table_row = 0);
  HookArgs column_args(Value* n, Value* mask) const;
  // Epilogue and store of `acc` at (row, n).
  void finish(Value* acc, const GemmRow& row, const Columns& columns);
  void finish(Value* acc, const GemmRow& row, Value* n, Value* mask) { finish(acc, row, {n, mask, nullptr}); }
};

// `p`, a pointer to elements of type t, moved by the starts; `buffers` are the kernel's.
Value* from_starts(Emit& e, Value* p, Dtype t, Value* buffers, const std::vector<GemmStart>& starts);

void emit_gemm_tiles(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                     const std::string& name);
void emit_gemm_dot(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                   const std::string& name);
void emit_gemm_columns(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name);
void emit_gemm_tiny(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                    const std::string& name);
// The phase that packs b into the workspace, and the one that adds the parts there.
void emit_gemm_prepack(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                       const std::string& name);
void emit_gemm_sum(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                   const std::string& name);

// A block of the k dimensions: coordinates of its first element and how many steps it has.
struct KBlock {
  Values first;  // a coordinate per k dimension
  Value *top = nullptr, *mid = nullptr, *inner = nullptr;
};
KBlock k_block(Emit& e, const GemmShape& s, Value* index);

// First row of row tile t, and whether it has mr - 1 rows.
struct GemmTileRows {
  GemmRow first;
  Value* is_short = nullptr;
};
GemmTileRows tile_rows(Emit& e, const GemmShape& s, Value* t);

// Packing (gemm_pack.cc), as internal functions.
// Tiles [first, first + count) of lhs, a_tile elements each: [k][rows] if interleaved, or rows.
llvm::Function* emit_pack_a(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                            const std::string& name);
// Columns from `first`: `count` full panels, then the ragged last one if `ragged` (i1): each is
// b_rows rows of nv vectors.
llvm::Function* emit_pack_b(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                            const std::string& name);
// Packed pairs of bf16: `rows` of `count` words each. A slot (behind the packed data) has what
// nothing_flushed needs to know of them: whether vdpbf16ps gives what IEEE arithmetic does.
struct Words {
  Value *at, *rows, *row_bytes, *count;
};
Value* a_slot(Emit& e, const GemmShape& s, Value* packed);
Value* b_slot(Emit& e, const GemmShape& s, Value* packed);
void reset_exponents(Emit& e, Value* slot);
void note_exponents(Emit& e, Value* slot, const Words& words);
Value* nothing_flushed(Emit& e, Value* slot_a, Value* slot_b);
// Bytes of the packed block of b of one column block and K block, and its place in the workspace.
int64_t packed_block_bytes(const GemmShape& s, Dtype acc);
Value* prepacked_at(GemmFrame& f, Value* batch, Value* col_block, Value* k_block);
void call_pack_a(GemmFrame& f, llvm::Function* pack, const KBlock& k, Value* first, Value* count,
                 Value* to);
void call_pack_b(GemmFrame& f, llvm::Function* pack, const KBlock& k, Value* first, Value* count,
                 Value* ragged, Value* to);

}  // namespace braze::codegen
