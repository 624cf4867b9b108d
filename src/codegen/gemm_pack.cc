// SPDX-License-Identifier: Apache-2.0
// Packing of GEMM operands into scratch panels, converted to the accumulator type on the way.
#include <algorithm>

#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

constexpr int64_t kChunk = 8;  // k steps of interleaved rows packed at a time

// One packing function: its frame and block of k come as arguments.
class Packer {
 public:
  Packer(Emit& e, const GemmShape& s, const ContractionHooks& hooks, bool left)
      : e_(e),
        s_(s),
        f_(e, s, hooks),
        left_(left),
        hooked_(left ? hooks.lhs != nullptr : hooks.rhs != nullptr),
        group_(word_elements(s.word)),
        bytes_(byte_size(e.acc)) {}

  llvm::Function* run(const std::string& name) {
    const size_t coordinates = s_.spec.k.size() + (hooked_ ? s_.spec.batch.size() : 0);
    std::vector<llvm::Type*> params{e_.ptr_type(),    e_.ptr_type(), e_.i64_type(), e_.i64_type(),
                                    e_.b.getInt1Ty(), e_.ptr_type(), e_.i64_type(), e_.i64_type()};
    params.insert(params.end(), coordinates, e_.i64_type());
    llvm::Function* f = e_.begin_internal(name, params);
    f_.buffers = e_.arg(0);
    f_.a0 = f_.b0 = e_.arg(1);
    first_ = e_.arg(2);
    count_ = e_.arg(3);
    ragged_ = e_.arg(4);
    to_ = e_.arg(5);
    k_.mid = e_.arg(6);
    k_.inner = e_.arg(7);
    for (unsigned i = 0; i < coordinates; ++i) {
      (i < s_.spec.k.size() ? k_.first : f_.batch).push_back(e_.arg(8 + i));
    }
    if (hooked_ && f_.hooks.entry) f_.hooks.entry(e_.b, f_.buffers);
    if (left_) {
      if (s_.has_slots()) reset_exponents(e_, a_slot(e_, s_, to_));
      pack_a();
    } else {
      pack_b();
      if (s_.shifted) correct();
      if (s_.has_slots()) note_b();
    }
    e_.end_function();
    return f;
  }

 private:
  // Calls body(i, j) for each middle and, in steps of `step`, innermost k step of the block.
  void each_k(int64_t step, absl::FunctionRef<void(Value* i, Value* j)> body) {
    auto inner = [&](Value* i) {
      e_.loop(e_.i64(0), k_.inner, step, [&](Value* j) { body(i, j); });
    };
    if (s_.mid_block == 1) return inner(e_.i64(0));
    e_.loop(e_.i64(0), k_.mid, inner);
  }
  // The linear k step within the packed panel.
  Value* row(Value* i, Value* j) {
    j = e_.div(j, group_);
    return s_.mid_block == 1 ? j : e_.add(e_.mul(i, s_.words(s_.k_inner())), j);
  }
  // Coordinates, for hooks.
  Values at(Value* i, Value* j) {
    Values k = k_.first;
    k[k.size() - 2] = e_.add(k[k.size() - 2], i);
    k.back() = e_.add(k.back(), j);
    return k;
  }
  // Bytes from the element at k_.first.
  Value* offset(Value* i, Value* j) {
    const GemmContractedDim& mid = s_.spec.k[s_.spec.k.size() - 2];
    const GemmContractedDim& inner = s_.spec.k.back();
    const int64_t bytes = byte_size(left_ ? s_.spec.lhs : s_.spec.rhs);
    Value* o = e_.mul(j, (left_ ? inner.lhs : inner.rhs) * bytes);
    return s_.mid_block == 1 ? o : e_.add(o, e_.mul(i, (left_ ? mid.lhs : mid.rhs) * bytes));
  }
  bool k_multiple_of(int64_t n) const { return s_.k_inner() % n == 0 && s_.inner_block % n == 0; }

  void pack_b() {
    const int64_t panel = s_.nv * s_.w, panel_bytes = s_.b_rows * panel * bytes_;
    if (s_.spec.k.back().rhs == 1 && s_.spec.rhs_n != 1 && s_.k_inner() > 1)
      return pack_transposed();
    // A few steps of all panels at a time: whole lines of b are read while they are near, however far apart its rows lie.
    each_k(kChunk * group_, [&](Value* i, Value* j) {
      Value* to = e_.at(to_, e_.mul(row(i, j), panel * bytes_));
      e_.loop(e_.i64(0), count_, [&](Value* p) {
        pack_steps(i, j, e_.add(first_, e_.mul(p, panel)), s_.nv, s_.w, e_.at(to, e_.mul(p, panel_bytes)));
      });
      if (s_.last_nv == s_.nv && s_.last_lanes == s_.w) return;
      e_.if_then(ragged_, [&] {
        pack_steps(i, j, e_.add(first_, e_.mul(count_, panel)), s_.last_nv, s_.last_lanes, e_.at(to, e_.mul(count_, panel_bytes)));
      });
    });
  }

  // At most kChunk steps from (i, j) on of a panel of `vectors` vectors from column n: a row of b per step.
  void pack_steps(Value* i, Value* j, Value* n, int vectors, int last_lanes, Value* to) {
    const int64_t rhs_bytes = byte_size(s_.spec.rhs);
    Value* from = hooked_ ? nullptr : e_.at(f_.rhs_at(k_.first, n), offset(i, j));
    Value* end = e_.min(e_.i64(kChunk * group_), e_.sub(k_.inner, j));
    e_.loop(e_.i64(0), end, group_, [&](Value* step) {
      Value* line = e_.at(to, e_.mul(e_.div(step, group_), s_.nv * s_.w * bytes_));
      Value* source = hooked_ ? nullptr : e_.at(from, e_.mul(step, s_.spec.k.back().rhs * rhs_bytes));
      Value* k = e_.add(j, step);
      for (int v = 0; v < vectors; ++v) {
        Value* mask =
            v == vectors - 1 && last_lanes < s_.w ? e_.mask_const(s_.w, last_lanes) : nullptr;
        Value* x;
        if (hooked_) {
          x = f_.load_rhs(at(i, k), e_.add(n, e_.i64(v * s_.w)), false, mask, s_.w);
        } else {
          Value* p = e_.at(source, v * s_.w * s_.spec.rhs_n * rhs_bytes);
          x = group_ > 1 ? word_across(p, k, mask)
                         : e_.load(s_.spec.rhs, p, s_.w, mask, s_.spec.rhs_n * rhs_bytes);
        }
        e_.store_acc(x, e_.at(line, v * s_.w * bytes_));
      }
    });
  }

  // Columns are contiguous along k: w columns by q steps at a time, q elements being 128 bits.
  // Vector j gathers columns j, q + j, 2q + j...; transposed within its 128-bit lanes it has all
  // columns in order.
  void pack_transposed() {
    const int q = static_cast<int>(16 / bytes_);
    const int64_t panel = s_.b_rows * s_.nv * s_.w * bytes_, rhs_bytes = byte_size(s_.spec.rhs);
    const bool clamp = s_.spec.n % s_.w != 0;
    Value* tail = e_.b.CreateSelect(ragged_, e_.i64(s_.last_nv), e_.i64(0));
    Value* vectors = e_.add(e_.mul(count_, s_.nv), tail);
    e_.loop(e_.i64(0), vectors, [&](Value* g) {
      Value* n = e_.add(first_, e_.mul(g, s_.w));
      Value* base = e_.at(
          to_, e_.add(e_.mul(e_.div(g, s_.nv), panel), e_.mul(e_.rem(g, s_.nv), s_.w * bytes_)));
      Values column;  // index if hooked, else address
      for (int c = 0; c < s_.w; ++c) {
        Value* index = e_.add(n, e_.i64(c));
        // Columns past the last repeat it: their sums are never stored.
        if (clamp) index = e_.min(index, e_.i64(s_.spec.n - 1));
        if (hooked_) {
          column.push_back(index);
        } else if (clamp || c == 0) {
          column.push_back(f_.rhs_at(k_.first, index));
        } else {
          column.push_back(e_.at(column[0], c * s_.spec.rhs_n * rhs_bytes));
        }
      }
      each_k(q * group_, [&](Value* i, Value* j) {
        Value* mask =
            group_ > 1 || k_multiple_of(q) ? nullptr : e_.mask_below(q, e_.sub(k_.inner, j));
        Value* from = offset(i, j);
        Values v;
        for (int r = 0; r < q; ++r) {
          Values parts;
          for (int c = r; c < s_.w; c += q) {
            Value* x = column[static_cast<size_t>(c)];
            parts.push_back(hooked_ ? f_.load_rhs(at(i, j), x, true, mask, q)
                            : group_ > 1
                                ? words_along(e_.at(x, from), j, q)
                                : e_.load_raw(s_.spec.rhs, e_.at(x, from), q, mask, rhs_bytes));
          }
          v.push_back(e_.concat(parts));
          if (!hooked_ && group_ == 1) v.back() = e_.convert_in(s_.spec.rhs, v.back());
        }
        e_.transpose_in_lanes(v);
        // Rows past the block fall on the next middle step's, written later, or on the panel's
        // padding.
        Value* line = e_.at(base, e_.mul(row(i, j), s_.nv * s_.w * bytes_));
        for (int r = 0; r < q; ++r)
          e_.store_acc(v[static_cast<size_t>(r)], e_.at(line, r * s_.nv * s_.w * bytes_));
      });
    });
  }

  void pack_a() {
    if (s_.a_interleaved) return pack_interleaved();
    e_.loop(e_.i64(0), count_, [&](Value* t) {
      const GemmTileRows tile = tile_rows(e_, s_, e_.add(first_, t));
      Value* rows = e_.select(tile.is_short, s_.mr - 1, s_.mr);
      e_.loop(e_.i64(0), rows, [&](Value* r) {
        Value* line = e_.at(to_, e_.mul(e_.add(e_.mul(t, s_.a_tile), e_.mul(r, s_.a_row)), bytes_));
        const GemmRow at_row{tile.first.outer, e_.add(tile.first.m, r)};
        each_k(s_.w * group_, [&](Value* i, Value* j) {
          if (group_ > 1) {
            e_.store_acc(words_along(f_.lhs_at(at_row, at(i, j)), j, s_.w),
                         e_.at(line, e_.mul(row(i, j), bytes_)));
            return;
          }
          Value* mask = k_multiple_of(s_.w) ? nullptr : e_.mask_below(s_.w, e_.sub(k_.inner, j));
          e_.store_acc(f_.load_lhs(at_row, at(i, j), true, mask, s_.w),
                       e_.at(line, e_.mul(row(i, j), bytes_)));
        });
      });
      if (s_.has_slots())
        note_exponents(e_, a_slot(e_, s_, to_), {e_.at(to_, e_.mul(t, s_.a_tile * bytes_)), rows, e_.i64(s_.a_row * bytes_), steps()});
    });
  }

  // Rows are contiguous: a few k steps of all tiles at a time, so that whole cache lines are used
  // while they are near, however far apart the k steps lie.
  void pack_interleaved() {
    const int64_t step = s_.spec.k.back().lhs * byte_size(s_.spec.lhs);
    each_k(kChunk * group_, [&](Value* i, Value* j) {
      Value* steps = e_.div(e_.add(e_.sub(k_.inner, j), e_.i64(group_ - 1)), group_);
      Value* left = e_.min(e_.i64(kChunk), steps);
      Value* line = e_.at(to_, e_.mul(row(i, j), s_.mr * bytes_));
      e_.loop(e_.i64(0), count_, [&](Value* t) {
        const GemmTileRows tile = tile_rows(e_, s_, e_.add(first_, t));
        Value* from = hooked_ ? nullptr : f_.lhs_at(tile.first, at(i, j));
        Value* to = e_.at(line, e_.mul(t, s_.a_tile * bytes_));
        e_.loop_carry(e_.i64(0), left, 1, {to}, true, [&](Value* c, const Values& v) {
          for (int r = 0; r < s_.mr; r += s_.w) {
            interleave(tile, r, i, e_.add(j, e_.mul(c, group_)), from, e_.mul(c, step * group_),
                       v[0]);
          }
          return Values{e_.at(v[0], s_.mr * bytes_)};
        });
      });
    });
    if (s_.has_slots())
      note_exponents(e_, a_slot(e_, s_, to_), {to_, count_, e_.i64(s_.a_tile * bytes_), e_.mul(steps(), s_.mr)});
  }

  // Packed steps of the block.
  Value* steps() {
    if (s_.mid_block > 1) return e_.mul(k_.mid, s_.words(s_.k_inner()));
    return e_.div(e_.add(k_.inner, e_.i64(group_ - 1)), group_);
  }

  void note_b() {
    const int64_t line = s_.nv * s_.w * bytes_, panel = s_.b_rows * line;
    Value* slot = b_slot(e_, s_, to_);
    reset_exponents(e_, slot);
    note_exponents(e_, slot, {to_, count_, e_.i64(panel), e_.mul(steps(), s_.nv * s_.w)});
    if (s_.last_nv == s_.nv && s_.last_lanes == s_.w) return;
    e_.if_then(ragged_, [&] {
      note_exponents(e_, slot, {e_.at(to_, e_.mul(count_, panel)), steps(), e_.i64(line), e_.i64(s_.last_nv * s_.w)});
    });
  }

  // Rows [r, r + w) of a tile at one k step, from `from` + `offset` if no hook loads them.
  void interleave(const GemmTileRows& tile, int r, Value* i, Value* j, Value* from, Value* offset,
                  Value* to) {
    Value* mask = e_.mask_const(s_.w, std::min(s_.mr - r, s_.w));
    // A whole vector is stored faster where masks are slow: the next step, stored later, or room after the last one follows.
    Value* all_rows = e_.target.avx512 ? mask : nullptr;
    if (s_.short_tiles) {
      Value* fewer = e_.mask_const(s_.w, std::min(s_.mr - 1 - r, s_.w));
      mask = e_.b.CreateSelect(tile.is_short, fewer, mask);
    }
    Value* v;
    if (hooked_) {
      v = f_.load_lhs({tile.first.outer, e_.add(tile.first.m, e_.i64(r))}, at(i, j), false, mask,
                      s_.w);
    } else {
      const int64_t bytes = byte_size(s_.spec.lhs);
      Value* p = e_.at(e_.at(from, offset), r * bytes);
      e_.prefetch(e_.at(p, kChunk * s_.spec.k.back().lhs * bytes));
      v = group_ > 1 ? word_across(p, j, mask) : e_.load(s_.spec.lhs, p, s_.w, mask);
    }
    e_.store_acc(v, e_.at(to, r * bytes_), all_rows);
  }

  // The integer in the low bits of a word lane: as u8 of the left side, s8 of the right, or s16.
  Value* narrow(Value* v, llvm::Type* to) {
    const Dtype t = left_ ? s_.spec.lhs : s_.spec.rhs;
    if (s_.word == WordProduct::kBytes) {
      return left_ && s_.shifted ? e_.b.CreateXor(v, llvm::ConstantInt::get(v->getType(), 0x80))
                                 : v;
    }
    return t == Dtype::kU8 ? e_.b.CreateZExt(v, to) : e_.b.CreateSExtOrBitCast(v, to);
  }

  // w words across the lanes of p, each of the group's k steps from j on; steps past the block are
  // 0.
  Value* word_across(Value* p, Value* j, Value* mask) {
    const Dtype t = left_ ? s_.spec.lhs : s_.spec.rhs;
    const int64_t lanes_step = byte_size(t);
    const int64_t step = (left_ ? s_.spec.k.back().lhs : s_.spec.k.back().rhs) * byte_size(t);
    llvm::Type* half = Emit::vector(e_.b.getInt16Ty(), s_.w);
    Value* word = nullptr;
    for (int i = 0; i < group_; ++i) {
      Value* m = mask;
      if (i > 0 && !k_multiple_of(group_)) {
        Value* inside = e_.b.CreateICmpSLT(e_.add(j, e_.i64(i)), k_.inner);
        m = e_.b.CreateVectorSplat(static_cast<unsigned>(s_.w), inside);
        if (mask) m = e_.b.CreateAnd(m, mask);
      }
      Value* v = narrow(e_.load_raw(t, e_.at(p, i * step), s_.w, m, lanes_step), half);
      v = e_.b.CreateZExt(v, Emit::vector(e_.b.getInt32Ty(), s_.w));
      if (i > 0) v = e_.b.CreateShl(v, static_cast<uint64_t>(32 / group_ * i));
      word = word ? e_.b.CreateOr(word, v) : v;
    }
    return e_.b.CreateBitCast(word, e_.acc_vector());
  }

  // `words` words along k at p, from step j on; steps past the block are 0 (128 if shifted).
  Value* words_along(Value* p, Value* j, int words) {
    const Dtype t = left_ ? s_.spec.lhs : s_.spec.rhs;
    const int n = words * group_;
    Value* mask = nullptr;
    if (!k_multiple_of(n)) {
      mask = e_.mask_below(n, e_.sub(k_.inner, j));
    }
    Value* v = narrow(e_.load_raw(t, p, n, mask, byte_size(t)), Emit::vector(e_.b.getInt16Ty(), n));
    return e_.b.CreateBitCast(v, Emit::vector(e_.memory_type(e_.acc), words));
  }

  // The last row of each panel: -128 times the sum of each column.
  void correct() {
    const int64_t vector = s_.w * bytes_, line = s_.nv * vector;
    const int64_t tail = s_.last_nv != s_.nv || s_.last_lanes != s_.w;
    Value* panels = tail ? e_.add(count_, e_.b.CreateZExt(ragged_, e_.i64_type())) : count_;
    Value* rows = steps();
    Value* weight = llvm::ConstantInt::get(e_.acc_vector(), 0x80808080U);
    e_.loop(e_.i64(0), panels, [&](Value* p) {
      Value* panel = e_.at(to_, e_.mul(p, s_.b_rows * line));
      Values sums(static_cast<size_t>(s_.nv), e_.zero_acc());
      sums = e_.loop_carry(e_.i64(0), rows, 1, sums, true, [&](Value* r, const Values& v) {
        Values next;
        for (int i = 0; i < s_.nv; ++i) {
          Value* x = e_.load_acc(e_.at(panel, e_.add(e_.mul(r, line), e_.i64(i * vector))));
          next.push_back(e_.dot(s_.word, weight, x, v[static_cast<size_t>(i)]));
        }
        return next;
      });
      for (int i = 0; i < s_.nv; ++i) {
        e_.store_acc(e_.b.CreateNeg(sums[static_cast<size_t>(i)]),
                     e_.at(panel, (s_.b_rows - 1) * line + i * vector));
      }
    });
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame f_;
  const bool left_, hooked_;
  const int group_;  // k steps in a packed word
  const int64_t bytes_;
  KBlock k_;
  Value *first_ = nullptr, *count_ = nullptr, *ragged_ = nullptr, *to_ = nullptr;
};

void call_pack(GemmFrame& f, llvm::Function* pack, const KBlock& k, Value* base, Value* first,
               Value* count, Value* ragged, Value* to) {
  Values args{f.buffers, base, first, count, ragged, to, k.mid, k.inner};
  args.insert(args.end(), k.first.begin(), k.first.end());
  if (pack->arg_size() > args.size()) args.insert(args.end(), f.batch.begin(), f.batch.end());
  f.e.b.CreateCall(pack, args);
}

}  // namespace

GemmTileRows tile_rows(Emit& e, const GemmShape& s, Value* t) {
  GemmTileRows r;
  r.first.outer = s.outer_rows == 1 ? e.i64(0) : e.div(t, s.outer_tiles);
  if (s.outer_rows > 1) t = e.rem(t, s.outer_tiles);
  r.first.m = e.mul(t, s.mr);
  r.is_short = e.b.getInt1(s.short_tiles == s.outer_tiles);
  if (s.short_tiles == 0) return r;
  // Less one row for each short tile before.
  if (s.full_tiles() > 0) r.is_short = e.b.CreateICmpSGE(t, e.i64(s.full_tiles()));
  Value* shorts = e.sub(t, e.i64(s.full_tiles()));
  r.first.m = e.sub(r.first.m, e.b.CreateSelect(r.is_short, shorts, e.i64(0)));
  return r;
}

Value* a_slot(Emit& e, const GemmShape& s, Value* packed) { return e.at(packed, s.a_bytes - kSlotBytes); }

Value* b_slot(Emit& e, const GemmShape& s, Value* packed) {
  return e.at(packed, packed_block_bytes(s, e.acc) - kSlotBytes);
}

int64_t packed_block_bytes(const GemmShape& s, Dtype acc) {
  return s.b_rows * s.c_row * byte_size(acc) + (s.has_slots() ? kSlotBytes : 0);
}

Value* prepacked_at(GemmFrame& f, Value* batch, Value* col_block, Value* k_block) {
  Emit& e = f.e;
  Value* block = e.add(e.mul(batch, f.s.col_blocks), col_block);
  block = e.add(e.mul(block, f.s.k_blocks), k_block);
  return e.at(f.work, e.mul(block, packed_block_bytes(f.s, e.acc)));
}

void emit_gemm_prepack(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                       const std::string& name) {
  llvm::Function* pack = emit_pack_b(e, s, hooks, name + ".b");
  e.mark_glue(e.begin_kernel(name));
  GemmFrame f(e, s, hooks);
  f.enter(e.arg(0));
  const bool ragged = s.last_nv != s.nv || s.last_lanes != s.w;
  const int64_t last_panels = s.panels - (s.col_blocks - 1) * s.block_panels - ragged;
  e.loop(e.arg(1), e.arg(2), [&](Value* i) {
    Value* kb = e.rem(i, s.k_blocks);
    Value* rest = e.div(i, s.k_blocks);
    Value* block = e.rem(rest, s.col_blocks);
    Value* batch = e.div(rest, s.col_blocks);
    f.set_batch(batch);
    Value* is_last = e.b.CreateICmpEQ(block, e.i64(s.col_blocks - 1));
    call_pack_b(f, pack, k_block(e, s, kb), e.mul(block, s.c_row),
                e.select(is_last, last_panels, s.block_panels), ragged ? is_last : e.b.getFalse(),
                prepacked_at(f, batch, block, kb));
  });
  e.end_function();
}

llvm::Function* emit_pack_a(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                            const std::string& name) {
  return Packer(e, s, hooks, true).run(name);
}
llvm::Function* emit_pack_b(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                            const std::string& name) {
  return Packer(e, s, hooks, false).run(name);
}
void call_pack_a(GemmFrame& f, llvm::Function* pack, const KBlock& k, Value* first, Value* count,
                 Value* to) {
  call_pack(f, pack, k, f.a0, first, count, f.e.b.getFalse(), to);
}
void call_pack_b(GemmFrame& f, llvm::Function* pack, const KBlock& k, Value* first, Value* count,
                 Value* ragged, Value* to) {
  call_pack(f, pack, k, f.b0, first, count, ragged, to);
}

}  // namespace braze::codegen
