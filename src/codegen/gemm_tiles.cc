// SPDX-License-Identifier: Apache-2.0
// The tiled form of GEMM: column blocks, K blocks, row tiles, panels; and the sum over K parts.
#include "codegen/gemm_kernel.h"
#include "codegen/gemm_tile.h"

namespace braze::codegen {
namespace {

class TilesKernel {
 public:
  TilesKernel(Emit& e, const GemmShape& s, const ContractionHooks& hooks)
      : e_(e), s_(s), f_(e, s, hooks), bytes_(byte_size(e.acc)),
        ragged_(s.last_nv != s.nv || s.last_lanes != s.w),
        full_tiles_(s.row_tiles - s.short_tiles) {}

  void run(const std::string& name) {
    make_tiles(name);
    e_.begin_kernel(name);
    f_.enter();
    pack_a_ = e_.arg(3);
    pack_b_ = e_.at(pack_a_, s_.a_bytes);
    sums_ = e_.at(pack_b_, s_.b_bytes);
    e_.loop_while(e_.arg(1), e_.arg(2), [&](Value* i) { return items(i); });
    e_.end_function();
  }

 private:
  using Sums = GemmShape::Sums;

  bool in_output() const { return s_.sums != Sums::kScratch; }

  int64_t sum_row_bytes() const {
    if (!in_output()) return s_.c_row * bytes_;
    return (s_.parts > 1 ? s_.work_row : s_.spec.out_m) * bytes_;
  }

  llvm::Function* make_tile(const std::string& name, int rows, bool last) {
    const GemmContractedDim& mid = s_.spec.k[s_.spec.k.size() - 2];
    const GemmContractedDim& inner = s_.spec.k.back();
    const int64_t a = byte_size(s_.spec.lhs), b = byte_size(s_.spec.rhs), vector = s_.w * bytes_;
    TileDesc d;
    d.rows = rows;
    d.vectors = last ? s_.last_nv : s_.nv;
    d.last_lanes = last && s_.last_lanes != s_.w ? s_.last_lanes : 0;
    d.mask_b = s_.mask_b;
    d.mask_c = in_output() && s_.parts == 1;
    TileLevel in{inner.lhs * a, inner.rhs * b}, out{mid.lhs * a, mid.rhs * b};
    d.a_type = s_.spec.lhs;
    d.a_row = s_.spec.lhs_m * a;
    if (s_.pack_a) {
      d.a_type = e_.acc;
      d.a_row = s_.a_interleaved ? bytes_ : s_.a_row * bytes_;
      in.a_step = s_.a_interleaved ? rows * bytes_ : bytes_;
      out.a_step = s_.k_inner() * in.a_step;
    }
    d.b_type = s_.spec.rhs;
    d.b_vector = s_.w * b;
    if (s_.pack_b) {
      d.b_type = e_.acc;
      d.b_vector = vector;
      in.b_step = s_.nv * vector;
      out.b_step = s_.k_inner() * in.b_step;
    }
    if (s_.inner_blocks == 1) in.count = s_.k_inner();
    if (s_.mid_blocks == 1) out.count = s_.k_mid();
    if (s_.mid_block > 1) d.levels.push_back(out);
    d.levels.push_back(in);
    d.c_row = sum_row_bytes();
    d.may_add = (s_.parts > 1 ? s_.blocks_per_part : s_.k_blocks) > 1;
    d.empty = s_.k_total() == 0;
    return emit_tile(e_, name, d);
  }

  void make_tiles(const std::string& name) {
    const bool has_full = s_.panels > 1 || !ragged_;
    for (int short_rows = 0; short_rows < 2; ++short_rows) {
      if ((short_rows ? s_.short_tiles : full_tiles_) == 0) continue;
      const int rows = s_.mr - short_rows;
      const std::string stem = name + ".tile" + std::to_string(rows);
      if (has_full) tile_[short_rows][0] = make_tile(stem, rows, false);
      if (ragged_) tile_[short_rows][1] = make_tile(stem + "last", rows, true);
    }
  }

  // Computes the row groups from item i on that share its column block; returns the next item.
  Value* items(Value* i) {
    Value* group = e_.rem(i, s_.row_groups);
    Value* rest = e_.div(i, s_.row_groups);
    Value* block = e_.rem(rest, s_.col_blocks);
    rest = e_.div(rest, s_.col_blocks);
    part_ = s_.parts > 1 ? e_.div(rest, s_.batches) : e_.i64(0);
    batch_ = s_.parts > 1 ? e_.rem(rest, s_.batches) : rest;
    f_.set_batch(batch_);
    Value* groups = e_.min(e_.sub(e_.i64(s_.row_groups), group), e_.sub(e_.arg(2), i));
    if (s_.max_groups < s_.row_groups) groups = e_.min(groups, e_.i64(s_.max_groups));
    if (s_.row_groups == 1) groups = e_.i64(1);
    first_tile_ = e_.mul(group, s_.group_tiles);
    Value* end_tile = e_.min(e_.mul(e_.add(group, groups), s_.group_tiles), e_.i64(s_.row_tiles));
    column_ = e_.mul(block, s_.c_row);
    Value* is_last = s_.col_blocks == 1 ? e_.b.getTrue()
                                        : e_.b.CreateICmpEQ(block, e_.i64(s_.col_blocks - 1));
    const int64_t last_panels = s_.panels - (s_.col_blocks - 1) * s_.block_panels - ragged_;
    full_panels_ = e_.b.CreateSelect(is_last, e_.i64(last_panels), e_.i64(s_.block_panels));
    has_ragged_ = ragged_ ? is_last : e_.b.getFalse();
    const int64_t last_vectors = (s_.spec.n - (s_.col_blocks - 1) * s_.c_row) / s_.w;
    full_vectors_ = e_.b.CreateSelect(is_last, e_.i64(last_vectors), e_.i64(s_.c_row / s_.w));
    has_tail_ = s_.last_lanes == s_.w ? e_.b.getFalse() : is_last;
    k_blocks(end_tile);
    return e_.add(i, groups);
  }

  void k_blocks(Value* end_tile) {
    Value* lo = e_.i64(0);
    Value* hi = e_.i64(s_.k_blocks);
    if (s_.parts > 1) {
      lo = e_.mul(part_, s_.blocks_per_part);
      hi = e_.min(e_.add(lo, e_.i64(s_.blocks_per_part)), hi);
    }
    e_.loop(lo, hi, [&](Value* kb) {
      const KBlock k = k_block(e_, s_, kb);
      Value* add = e_.b.CreateICmpNE(kb, lo);
      Value* last = e_.b.CreateICmpEQ(e_.add(kb, e_.i64(1)), hi);
      if (s_.pack_b) emit_pack_b(f_, k, column_, full_panels_, has_ragged_, pack_b_);
      e_.loop(first_tile_, end_tile, [&](Value* t) { row_tile(t, k, add, last); });
    });
  }

  void row_tile(Value* t, const KBlock& k, Value* add, Value* last) {
    Value* is_short = s_.short_tiles == 0 ? e_.b.getFalse()
                      : full_tiles_ == 0  ? e_.b.getTrue()
                                          : e_.b.CreateICmpSGE(t, e_.i64(full_tiles_));
    // Row of tile t: mr * t, less one for each short tile before it.
    Value* m = e_.mul(t, s_.mr);
    if (s_.short_tiles) {
      Value* shorts = e_.sub(t, e_.i64(full_tiles_));
      m = e_.sub(m, e_.b.CreateSelect(is_short, shorts, e_.i64(0)));
    }
    Value* c = sums_at(t, m);
    auto with_rows = [&](int is_short_tile) {
      const int rows = s_.mr - is_short_tile;
      Value* a = pack_a_;
      if (s_.pack_a) {
        emit_pack_a(f_, k, m, rows, a);
      } else {
        a = f_.lhs_at(m, k.first);
      }
      panels(tile_[is_short_tile], k, a, c, add);
    };
    e_.if_else(is_short, [&] { with_rows(1); }, [&] { with_rows(0); });
    const bool finished = s_.parts > 1 || s_.sums == Sums::kDirect ||
                          (s_.sums == Sums::kOut && !f_.hooks.epilogue);
    if (finished) return;
    Value* rows = e_.b.CreateSelect(is_short, e_.i64(s_.mr - 1), e_.i64(s_.mr));
    e_.if_then(last, [&] { finish(c, m, rows); });
  }

  Value* sums_at(Value* t, Value* m) {
    if (!in_output()) {
      if (s_.k_blocks == 1) return sums_;
      return e_.at(sums_, e_.mul(e_.sub(t, first_tile_), s_.mr * s_.c_row * bytes_));
    }
    if (s_.parts > 1) {
      Value* row = e_.add(e_.mul(e_.add(e_.mul(part_, s_.batches), batch_), s_.spec.m), m);
      return e_.at(f_.work, e_.mul(e_.add(e_.mul(row, s_.work_row), column_), bytes_));
    }
    return e_.at(f_.c0, e_.mul(e_.add(e_.mul(m, s_.spec.out_m), column_), bytes_));
  }

  void panels(llvm::Function* const tile[2], const KBlock& k, Value* a, Value* c, Value* add) {
    const int64_t width = s_.nv * s_.w, panel_bytes = s_.b_rows * width * bytes_;
    auto call = [&](llvm::Function* f, Value* p) {
      Value* n = e_.add(column_, e_.mul(p, width));
      Value* b = s_.pack_b ? e_.at(pack_b_, e_.mul(p, panel_bytes)) : f_.rhs_at(k.first, n);
      Values args{a, b, e_.at(c, e_.mul(p, width * bytes_))};
      if (s_.mid_block > 1 && s_.mid_blocks > 1) args.push_back(k.mid);
      if (s_.inner_blocks > 1) args.push_back(k.inner);
      args.push_back(add);
      e_.b.CreateCall(f, args);
    };
    if (tile[0]) e_.loop(e_.i64(0), full_panels_, [&](Value* p) { call(tile[0], p); });
    if (tile[1]) e_.if_then(has_ragged_, [&] { call(tile[1], full_panels_); });
  }

  void finish(Value* c, Value* m, Value* rows) {
    e_.loop(e_.i64(0), rows, [&](Value* r) {
      Value* line = e_.at(c, e_.mul(r, sum_row_bytes()));
      Value* row = e_.add(m, r);
      auto vector = [&](Value* v, Value* mask) {
        Value* lane = e_.mul(v, s_.w);
        f_.finish(e_.load_acc(e_.at(line, e_.mul(lane, bytes_)), in_output() ? mask : nullptr), row,
                  e_.add(column_, lane), mask);
      };
      e_.loop(e_.i64(0), full_vectors_, [&](Value* v) { vector(v, nullptr); });
      e_.if_then(has_tail_, [&] { vector(full_vectors_, e_.mask_const(s_.w, s_.last_lanes)); });
    });
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame f_;
  const int64_t bytes_;
  const bool ragged_;  // the last panel differs from the others
  const int64_t full_tiles_;
  llvm::Function* tile_[2][2] = {};  // [short rows][last panel]
  Value *pack_a_ = nullptr, *pack_b_ = nullptr, *sums_ = nullptr;
  // Of the current item.
  Value *part_ = nullptr, *batch_ = nullptr, *first_tile_ = nullptr, *column_ = nullptr;
  Value *full_panels_ = nullptr, *has_ragged_ = nullptr, *full_vectors_ = nullptr, *has_tail_ = nullptr;
};

}  // namespace

void emit_gemm_tiles(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name) {
  TilesKernel(e, s, hooks).run(name);
}

void emit_gemm_sum(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name) {
  e.begin_kernel(name);
  GemmFrame f(e, s, hooks);
  f.enter();
  const int64_t bytes = byte_size(e.acc), rows = s.batches * s.spec.m;
  const int64_t full = s.spec.n / s.w, tail = s.spec.n % s.w;
  e.loop(e.arg(1), e.arg(2), [&](Value* i) {
    f.set_batch(e.div(i, s.spec.m));
    Value* m = e.rem(i, s.spec.m);
    Value* line = e.at(f.work, e.mul(i, s.work_row * bytes));
    auto vector = [&](Value* v, Value* mask) {
      Value* n = e.mul(v, s.w);
      Value* p = e.at(line, e.mul(n, bytes));
      const Values sum = e.loop_carry(e.i64(1), e.i64(s.parts), 1, {e.load_acc(p)}, true,
                                      [&](Value* part, const Values& acc) {
        return Values{e.plus(acc[0], e.load_acc(e.at(p, e.mul(part, rows * s.work_row * bytes))))};
      });
      f.finish(sum[0], m, n, mask);
    };
    e.loop(e.i64(0), e.i64(full), [&](Value* v) { vector(v, nullptr); });
    if (tail) vector(e.i64(full), e.mask_const(s.w, static_cast<int>(tail)));
  });
  e.end_function();
}

}  // namespace braze::codegen
