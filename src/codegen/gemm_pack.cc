// SPDX-License-Identifier: Apache-2.0
// Packing of GEMM operands into scratch panels, converted to the accumulator type on the way.
#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

// Calls body(k coordinates, linear row in the panel) for each mid step of the block, then for the
// innermost dimension in steps of `step`; `left` is how many innermost steps remain.
void each_k(GemmFrame& f, const KBlock& k, int64_t step,
            absl::FunctionRef<void(const Values& at, Value* row, Value* left)> body) {
  Emit& e = f.e;
  const size_t last = k.first.size() - 1;
  e.loop(e.i64(0), k.mid, 1, [&](Value* i) {
    e.loop(e.i64(0), k.inner, step, [&](Value* j) {
      Values at = k.first;
      at[last - 1] = e.add(at[last - 1], i);
      at[last] = e.add(at[last], j);
      body(at, e.add(e.mul(i, f.s.k_inner()), j), e.sub(k.inner, j));
    });
  });
}

bool whole_vectors(const GemmShape& s) { return s.k_inner() % s.w == 0 && s.inner_block % s.w == 0; }

// One panel of `vectors` vectors from column n: a row of b per step.
void pack_panel(GemmFrame& f, const KBlock& k, Value* n, int vectors, int last_lanes, Value* to) {
  Emit& e = f.e;
  const int64_t bytes = byte_size(e.acc);
  const int w = f.s.w;
  each_k(f, k, 1, [&](const Values& at, Value* row, Value*) {
    Value* line = e.at(to, e.mul(row, f.s.nv * w * bytes));
    for (int v = 0; v < vectors; ++v) {
      Value* mask = v == vectors - 1 && last_lanes < w ? e.mask_const(w, last_lanes) : nullptr;
      e.store_acc(f.load_rhs(at, e.add(n, e.i64(v * w)), false, mask, w), e.at(line, v * w * bytes));
    }
  });
}

// Columns are contiguous along k: w columns by w steps at a time, transposed in registers.
void pack_transposed(GemmFrame& f, const KBlock& k, Value* n0, Value* vectors, Value* to) {
  Emit& e = f.e;
  const GemmShape& s = f.s;
  const int64_t bytes = byte_size(e.acc), panel = s.b_rows * s.nv * s.w * bytes;
  const bool ragged = s.spec.n % s.w != 0, masked = !whole_vectors(s);
  e.loop(e.i64(0), vectors, 1, [&](Value* g) {
    Value* n = e.add(n0, e.mul(g, s.w));
    Value* base = e.at(to, e.add(e.mul(e.div(g, s.nv), panel), e.mul(e.rem(g, s.nv), s.w * bytes)));
    Values column;
    for (int i = 0; i < s.w; ++i) {
      Value* c = e.add(n, e.i64(i));
      // Columns past the last repeat it: their sums are never stored.
      column.push_back(ragged ? e.min(c, e.i64(s.spec.n - 1)) : c);
    }
    each_k(f, k, s.w, [&](const Values& at, Value* row, Value* left) {
      Value* mask = masked ? e.mask_below(s.w, left) : nullptr;
      Values tile;
      for (int i = 0; i < s.w; ++i) tile.push_back(f.load_rhs(at, column[static_cast<size_t>(i)], true, mask, s.w));
      e.transpose(tile);
      // Rows past the block fall on the next mid step's, written later, or on the panel's padding.
      for (int i = 0; i < s.w; ++i) {
        e.store_acc(tile[static_cast<size_t>(i)], e.at(base, e.mul(e.add(row, e.i64(i)), s.nv * s.w * bytes)));
      }
    });
  });
}

}  // namespace

void emit_pack_b(GemmFrame& f, const KBlock& k, Value* n0, Value* panels, Value* ragged, Value* to) {
  Emit& e = f.e;
  const GemmShape& s = f.s;
  const int64_t panel = s.nv * s.w, panel_bytes = s.b_rows * panel * byte_size(e.acc);
  if (s.spec.k.back().rhs == 1 && s.spec.rhs_n != 1 && s.k_inner() > 1) {
    Value* tail = e.b.CreateSelect(ragged, e.i64(s.last_nv), e.i64(0));
    pack_transposed(f, k, n0, e.add(e.mul(panels, s.nv), tail), to);
    return;
  }
  e.loop(e.i64(0), panels, 1, [&](Value* p) {
    pack_panel(f, k, e.add(n0, e.mul(p, panel)), s.nv, s.w, e.at(to, e.mul(p, panel_bytes)));
  });
  e.if_then(ragged, [&] {
    pack_panel(f, k, e.add(n0, e.mul(panels, panel)), s.last_nv, s.last_lanes,
               e.at(to, e.mul(panels, panel_bytes)));
  });
}

void emit_pack_a(GemmFrame& f, const KBlock& k, Value* m0, int rows, Value* to) {
  Emit& e = f.e;
  const GemmShape& s = f.s;
  const int64_t bytes = byte_size(e.acc);
  if (s.a_interleaved) {
    each_k(f, k, 1, [&](const Values& at, Value* row, Value*) {
      Value* line = e.at(to, e.mul(row, rows * bytes));
      for (int r = 0; r < rows; r += s.w) {
        Value* mask = rows - r < s.w ? e.mask_const(s.w, rows - r) : nullptr;
        e.store_acc(f.load_lhs(e.add(m0, e.i64(r)), at, false, mask, s.w), e.at(line, r * bytes), mask);
      }
    });
    return;
  }
  e.loop(e.i64(0), e.i64(rows), 1, [&](Value* r) {
    Value* line = e.at(to, e.mul(r, s.a_row * bytes));
    each_k(f, k, s.w, [&](const Values& at, Value* row, Value* left) {
      Value* mask = whole_vectors(s) ? nullptr : e.mask_below(s.w, left);
      e.store_acc(f.load_lhs(e.add(m0, r), at, true, mask, s.w), e.at(line, e.mul(row, bytes)));
    });
  });
}

}  // namespace braze::codegen
