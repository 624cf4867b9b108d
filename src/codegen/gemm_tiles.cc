// SPDX-License-Identifier: Apache-2.0
// The tiled form of GEMM: column blocks, K blocks, row tiles, panels; and the sum over K parts.
#include <numeric>

#include "codegen/gemm_kernel.h"
#include "codegen/gemm_tile.h"

namespace braze::codegen {
namespace {

constexpr int64_t kMostTable = 32 << 10;  // bytes, on the stack
constexpr int64_t kLeastSteps = 32;        // of a sum that lasts as long as memory takes to answer
// A step of a small tile (so many sums) is few instructions beside those of the loop: a turn of it has several.
constexpr int kSmallTile = 16;
constexpr int64_t kMostInTurn = 4, kLeastTurned = 16;  // shorter sums share the tile of one step
constexpr int kMostAddressedRows = 9;  // in a tile whose row stride is an argument

class TilesKernel {
 public:
  TilesKernel(Emit& e, const GemmShape& s, const ContractionHooks& hooks)
      : e_(e),
        s_(s),
        f_(e, s, hooks),
        bytes_(byte_size(e.acc)),
        ragged_(s.last_nv != s.nv || s.last_lanes != s.w) {}

  void run(const std::string& name) {
    make_tiles();
    if (s_.pack_a) pack_a_function_ = emit_pack_a(e_, s_, f_.hooks, name + ".a");
    if (s_.pack_b && !s_.prepack && !s_.pack_in_tile) pack_b_function_ = emit_pack_b(e_, s_, f_.hooks, name + ".b");
    if (!touched().empty()) touch_function_ = make_touch();
    if (finishes()) finish_function_ = make_finish(name + ".end");
    e_.mark_glue(e_.begin_kernel(name));
    if (has_table()) {
      llvm::AllocaInst* table = e_.b.CreateAlloca(e_.b.getInt8Ty(), e_.i64(f_.hooks.tables * table_row()));
      table->setAlignment(llvm::Align(64));
      table_ = table;
    }
    if (finishes()) context_ = e_.b.CreateAlloca(e_.i64_type(), e_.i64(kContext));
    f_.enter(e_.arg(0));
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

  // Steps of the packed or unpacked operands along the innermost and the middle k dimension.
  int64_t a_step(const GemmContractedDim& d, bool middle) const {
    if (!s_.pack_a) return d.lhs * byte_size(s_.spec.lhs);
    const int64_t step = s_.a_interleaved ? s_.mr * bytes_ : bytes_;
    return middle ? s_.words(s_.k_inner()) * step : step;
  }
  int64_t b_step(const GemmContractedDim& d, bool middle, bool unpacked = false) const {
    if (!s_.pack_b || unpacked) return d.rhs * byte_size(s_.spec.rhs);
    const int64_t step = s_.nv * s_.w * bytes_;
    return middle ? s_.words(s_.k_inner()) * step : step;
  }
  int64_t a_row_bytes() const {
    if (!s_.pack_a) return s_.spec.lhs_m * byte_size(s_.spec.lhs);
    return s_.a_interleaved ? bytes_ : s_.a_row * bytes_;
  }

  // What the number of steps in each block of k is a multiple of.
  int64_t steps_unit() const {
    return std::gcd(s_.words(s_.inner_block), s_.words(s_.k_inner() - (s_.inner_blocks - 1) * s_.inner_block));
  }

  // copying: reads b where it lies, and packs it.
  TileDesc tile_desc(int rows, bool last, bool copying) const {
    TileDesc d;
    d.rows = rows;
    d.vectors = last ? s_.last_nv : s_.nv;
    d.last_lanes = last && s_.last_lanes != s_.w ? s_.last_lanes : 0;
    d.mask_b = d.last_lanes && (s_.mask_b || copying);
    d.mask_c = d.last_lanes && in_output() && s_.parts == 1;
    d.a_type = s_.pack_a ? e_.acc : s_.spec.lhs;
    d.b_type = s_.pack_b ? e_.acc : s_.spec.rhs;
    d.a_step = a_step(s_.spec.k.back(), false);
    d.adjacent_rows = a_row_bytes() == byte_size(d.a_type) || rows == 1;
    if (!d.adjacent_rows && rows > kMostAddressedRows) d.fixed_row = a_row_bytes();
    d.levels = s_.top_block > 1 ? 3 : s_.mid_block > 1 ? 2 : 1;
    // The longer a turn, the longer it takes to compile: less for what runs less often.
    const int64_t most = copying ? 1 : rows < s_.mr ? kMostInTurn / 2 : kMostInTurn;
    const bool nested = d.levels > 1;  // the innermost loop is run again and again
    if (d.rows * d.vectors <= kSmallTile && (nested || s_.inner_block >= kLeastTurned)) {
      const int64_t unit = steps_unit();
      d.turn = static_cast<int>(nested && unit <= most ? unit : std::gcd(most, unit));
    }
    d.word = s_.word;
    d.start = s_.shifted;
    if (s_.word != WordProduct::kNone) d.a_type = d.b_type = e_.acc;
    d.add = adds();
    d.empty = s_.k_total() == 0;
    d.ahead = s_.ahead;
    if (copying) d.copy_row = s_.nv * s_.w * bytes_;
    return d;
  }

  void make_tiles() {
    const bool has_full = s_.panels > 1 || !ragged_;
    for (int short_rows = 0; short_rows < 2; ++short_rows) {
      if ((short_rows ? s_.short_tiles : s_.full_tiles()) == 0) continue;
      for (int last = 0; last < 2; ++last) {
        if (!(last ? ragged_ : has_full)) continue;
        Tile& t = tile_[short_rows][last];
        t.desc = tile_desc(s_.mr - short_rows, last != 0, false);
        t.function = emit_tile(e_, t.desc);
        if (s_.pack_in_tile) {
          Tile& c = copying_tile_[short_rows][last];
          c.desc = tile_desc(s_.mr - short_rows, last != 0, true);
          c.function = emit_tile(e_, c.desc);
        }
        if (!s_.has_slots()) continue;
        t.exact = t.desc;
        t.exact.word = WordProduct::kBf16Exact;
        t.exact_function = emit_tile(e_, t.exact);
      }
    }
  }

  // Computes the row groups from item i on that share its column block; returns the next item.
  Value* items(Value* i) {
    Value* group = e_.rem(i, s_.row_groups);
    Value* rest = e_.div(i, s_.row_groups);
    Value* block = col_block_ = e_.rem(rest, s_.col_blocks);
    rest = e_.div(rest, s_.col_blocks);
    part_ = s_.parts > 1 ? e_.div(rest, s_.batches) : e_.i64(0);
    batch_ = s_.parts > 1 ? e_.rem(rest, s_.batches) : rest;
    f_.set_batch(batch_);
    if (finishes()) {
      set_context(kBuffers, f_.buffers);
      set_context(kBatch, batch_);
    }
    Value* groups = e_.min(e_.sub(e_.i64(s_.row_groups), group), e_.sub(e_.arg(2), i));
    if (s_.max_groups < s_.row_groups) groups = e_.min(groups, e_.i64(s_.max_groups));
    if (s_.row_groups == 1) groups = e_.i64(1);
    first_tile_ = e_.mul(group, s_.group_tiles);
    Value* end_tile = e_.min(e_.mul(e_.add(group, groups), s_.group_tiles), e_.i64(s_.row_tiles));
    column_ = e_.mul(block, s_.c_row);
    Value* is_last =
        s_.col_blocks == 1 ? e_.b.getTrue() : e_.b.CreateICmpEQ(block, e_.i64(s_.col_blocks - 1));
    const int64_t last_panels = s_.panels - (s_.col_blocks - 1) * s_.block_panels - ragged_;
    full_panels_ = e_.select(is_last, last_panels, s_.block_panels);
    has_ragged_ = ragged_ ? is_last : e_.b.getFalse();
    if (has_table()) {
      const int64_t last_vectors = (s_.spec.n - (s_.col_blocks - 1) * s_.c_row) / s_.w;
      Value* tail = s_.last_lanes == s_.w ? e_.b.getFalse() : is_last;
      fill_table(e_.select(is_last, last_vectors, s_.c_row / s_.w), tail);
    }
    Value* end = e_.add(i, groups);
    if (s_.ahead) {
      // Past the end of this call, too: the next one mostly goes on there.
      Value* last = e_.b.CreateICmpEQ(block, e_.i64(s_.col_blocks - 1));
      Value* all = e_.b.CreateICmpEQ(e_.add(group, groups), e_.i64(s_.row_groups));
      goes_on_ = e_.b.CreateAnd(all, e_.b.CreateNot(last));
    }
    k_blocks(end_tile);
    return end;
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
      is_first_ = e_.b.CreateICmpEQ(kb, lo);
      is_last_ = e_.b.CreateICmpEQ(e_.add(kb, e_.i64(1)), hi);
      if (s_.prepack) {
        packed_ = prepacked_at(f_, batch_, col_block_, kb);
      } else if (s_.pack_b) {
        packed_ = pack_b_;
        if (!s_.pack_in_tile) call_pack_b(f_, pack_b_function_, k, column_, full_panels_, has_ragged_, pack_b_);
      }
      if (s_.ahead) find_next_block(kb, lo);
      if (s_.a_group == 1) {
        e_.loop(first_tile_, end_tile, [&](Value* t) {
          if (s_.pack_a) call_pack_a(f_, pack_a_function_, k, t, e_.i64(1), pack_a_);
          row_tile(t, k, pack_a_);
        });
        return;
      }
      e_.loop(first_tile_, end_tile, s_.a_group, [&](Value* t0) {
        Value* t1 = e_.min(e_.add(t0, e_.i64(s_.a_group)), end_tile);
        call_pack_a(f_, pack_a_function_, k, t0, e_.sub(t1, t0), pack_a_);
        e_.loop(t0, t1, [&](Value* t) {
          row_tile(t, k, e_.at(pack_a_, e_.mul(e_.sub(t, t0), s_.a_tile * bytes_)));
        });
      });
    });
  }

  // Where the block of b that comes after this one starts: of the next K block, or of the next columns.
  void find_next_block(Value* kb, Value* lo) {
    Value* k = f_.rhs_at(k_block(e_, s_, e_.add(kb, e_.i64(1))).first, column_);
    Value* columns = f_.rhs_at(k_block(e_, s_, lo).first, e_.add(column_, e_.i64(s_.c_row)));
    next_ = e_.b.CreateSelect(is_last_, columns, k);
    has_next_ = e_.b.CreateOr(goes_on_, e_.b.CreateNot(is_last_));
  }

  // The lines of the next block that row tile t brings.
  void bring_ahead(Value* t, TileCall& call) const {
    if (!s_.ahead) return;
    const int64_t row = s_.spec.k.back().rhs * byte_size(s_.spec.rhs);
    const int64_t every = int64_t{1} << s_.ahead_shift, rows = (s_.inner_block + every - 1) / every;
    Value* turn = e_.sub(t, first_tile_);
    Value* p = e_.at(next_, e_.mul(turn, rows * row));
    Value* any = e_.b.CreateAnd(has_next_, e_.b.CreateICmpSLT(turn, e_.i64(every)));
    call.ahead = p;
    call.ahead_step = e_.i64(row);
    call.ahead_turn = e_.select(any, 0, -1);
    call.ahead_shift = e_.i64(s_.ahead_shift);
  }

  // Whether sums are not the final output.
  bool finishes() const {
    return s_.parts == 1 && s_.sums != Sums::kDirect &&
           !(s_.sums == Sums::kOut && !f_.hooks.epilogue);
  }
  bool has_table() const {
    return finishes() && s_.row_tiles > 1 && f_.hooks.table && f_.hooks.tables * table_row() <= kMostTable;
  }
  int64_t table_row() const { return s_.c_row * bytes_; }

  // The arrays that the end of a panel reads where its results go.
  std::vector<int> touched() const {
    const GemmSpec& p = s_.spec;
    if (!finishes() || p.out_n != 1 || p.n == 1 || byte_size(p.out) != bytes_ || s_.k_total() < kLeastSteps) return {};
    std::vector<int> out;
    for (int i : f_.hooks.read_in_place)
      if (!in_output() || i != p.out_buffer) out.push_back(i);
    return out;
  }

  struct RowTile {
    Value* index;
    GemmRow first;
  };

  // What the ends of a row tile's panels have in common.
  void set_finish(const RowTile& at, Value* is_short) {
    if (!finishes()) return;
    set_context(kOuter, at.first.outer ? at.first.outer : e_.i64(0));
    set_context(kM, at.first.m);
    set_context(kRows, e_.select(is_short, s_.mr - 1, s_.mr));
    if (touched().empty()) return;
    const GemmRow next = tile_rows(e_, s_, e_.add(at.index, e_.i64(1))).first;
    Value* out = e_.b.CreateAlignedLoad(e_.ptr_type(), e_.at(f_.buffers, 8 * s_.spec.out_buffer), llvm::Align(8));
    set_context(kNext, e_.b.CreatePtrDiff(e_.b.getInt8Ty(), f_.out_at(next, column_), out));
  }

  // Asks for what the next row tile's end will read, with each panel some of its rows: whole rows one after another, as
  // memory likes to be read. `panel` is of the block.
  void touch_next(Value* panel, Value* place) {
    const int64_t rows = touched_rows(), row = s_.spec.out_m * bytes_;
    const int64_t lines = (s_.c_row * bytes_ + kSlotBytes - 1) / kSlotBytes;
    e_.if_then(e_.b.CreateICmpSLT(panel, e_.i64((s_.mr + rows - 1) / rows)), [&] {
      Value* first = e_.add(place, e_.mul(panel, rows * row));
      for (int i : touched()) {
        Value* p = e_.b.CreateAlignedLoad(e_.ptr_type(), e_.at(f_.buffers, 8 * i), llvm::Align(8));
        e_.b.CreateCall(touch_function_, {e_.at(p, first), e_.i64(rows), e_.i64(row), e_.i64(lines)});
      }
    });
  }
  // A function of the module, void(ptr first, i64 rows, i64 bytes between them, i64 lines of each), that asks for lines.
  llvm::Function* make_touch() {
    const std::string name = "touch.rows";
    if (llvm::Function* f = e_.module.getFunction(name)) return f;
    llvm::Type* i = e_.i64_type();
    llvm::Function* f = e_.begin_internal(name, {e_.ptr_type(), i, i, i});
    e_.loop(e_.i64(0), e_.arg(1), [&](Value* r) {
      Value* line = e_.at(e_.arg(0), e_.b.CreateMul(r, e_.arg(2)));
      e_.loop(e_.i64(0), e_.arg(3), [&](Value* l) { e_.prefetch(e_.at(line, e_.mul(l, kSlotBytes)), 2); });
    });
    e_.end_function();
    return f;
  }
  int64_t touched_rows() const { return (s_.mr + s_.block_panels - 1) / s_.block_panels; }

  // What the function that finishes a panel is told beside it.
  enum Context : int64_t { kOuter, kM, kColumn, kRows, kFull, kTail, kBuffers, kBatch, kTable, kNext, kPanel, kContext };
  void set_context(Context field, Value* v) {
    e_.b.CreateAlignedStore(v, e_.at(context_, 8 * field), llvm::Align(8));
  }
  Value* context(Value* from, Context field) {
    llvm::Type* type = field == kBuffers || field == kTable ? e_.ptr_type() : e_.i64_type();
    return e_.b.CreateAlignedLoad(type, e_.at(from, 8 * field), llvm::Align(8));
  }

  bool adds() const { return (s_.parts > 1 ? s_.blocks_per_part : s_.k_blocks) > 1; }

  void row_tile(Value* t, const KBlock& k, Value* packed) {
    const GemmTileRows tile = tile_rows(e_, s_, t);
    Value* is_short = tile.is_short;
    Value* c = sums_at(t, tile.first);
    Value* a = s_.pack_a ? packed : f_.lhs_at(tile.first, k.first);
    const RowTile tile_at{t, tile.first};
    set_finish(tile_at, is_short);
    if (s_.has_slots()) fast_ = nothing_flushed(e_, a_slot(e_, s_, pack_a_), b_slot(e_, s_, packed_));
    const auto product = [&](const Tile tile[2][2]) {
      const Tile by_panel[2] = {chosen(tile[0][0], tile[1][0], is_short), chosen(tile[0][1], tile[1][1], is_short)};
      panels(by_panel, tile_at, k, a, c);
    };
    if (s_.pack_in_tile) {
      e_.if_else(
          e_.b.CreateICmpEQ(t, first_tile_), [&] { product(copying_tile_); },
          [&] { product(tile_); });
    } else {
      product(tile_);
    }
  }

  Value* sums_at(Value* t, const GemmRow& first) {
    if (!in_output()) {
      if (s_.k_blocks == 1) return sums_;
      return e_.at(sums_, e_.mul(e_.sub(t, first_tile_), s_.mr * s_.c_row * bytes_));
    }
    if (s_.parts > 1) {
      Value* row =
          e_.add(e_.mul(e_.add(e_.mul(part_, s_.batches), batch_), s_.rows()), f_.linear(first));
      return e_.at(e_.at(f_.work, s_.packed_bytes),
                   e_.mul(e_.add(e_.mul(row, s_.work_row), column_), bytes_));
    }
    return f_.out_at(first, column_);
  }

  int64_t panel_bytes() const { return s_.b_rows * s_.nv * s_.w * bytes_; }

  struct Tile {
    TileDesc desc, exact;
    Value *function = nullptr, *exact_function = nullptr;
  };

  // Tiles of either height, which are called alike.
  Tile chosen(const Tile& full, const Tile& shorter, Value* is_short) {
    if (!shorter.function || !full.function) return full.function ? full : shorter;
    Tile t = full;
    t.function = e_.b.CreateSelect(is_short, shorter.function, full.function);
    if (t.exact_function) t.exact_function = e_.b.CreateSelect(is_short, shorter.exact_function, full.exact_function);
    return t;
  }

  void panels(const Tile tile[2], const RowTile& at, const KBlock& k, Value* a, Value* c) {
    const int64_t width = s_.nv * s_.w;
    const bool copying = tile[0].desc.copy_row || tile[1].desc.copy_row;
    const int64_t b_panel =
        s_.pack_b && !copying ? panel_bytes() : width * s_.spec.rhs_n * byte_size(s_.spec.rhs);
    const size_t dims = s_.spec.k.size();
    const GemmContractedDim &mid = s_.spec.k[dims - 2], &inner = s_.spec.k.back();
    TileCall call;
    call.a = a;
    call.a_row = e_.i64(a_row_bytes());
    call.c_row = e_.i64(sum_row_bytes());
    call.b_panel = e_.i64(b_panel);
    if (s_.top_block > 1) {  // neither side is packed
      const GemmContractedDim& top = s_.spec.k[dims - 3];
      call.levels.push_back({k.top, e_.i64(a_step(top, false)), e_.i64(b_step(top, false))});
    }
    if (s_.mid_block > 1 || s_.top_block > 1)
      call.levels.push_back({k.mid, e_.i64(a_step(mid, true)), e_.i64(b_step(mid, true))});
    call.start = e_.i64((s_.b_rows - 1) * s_.nv * s_.w * bytes_);
    const int per_word = word_elements(s_.word);
    Value* steps = e_.div(e_.add(k.inner, e_.i64(per_word - 1)), per_word);
    call.levels.push_back({steps, e_.i64(a_step(inner, false)), e_.i64(b_step(inner, false, copying))});
    Value* b = s_.pack_b && !copying ? packed_ : f_.rhs_at(k.first, column_);
    bring_ahead(at.index, call);
    if (finishes()) {
      call.finish = finish_function_;
      call.context = context_;
      call.finishes = is_last_;
    }
    Value* ahead = call.ahead;
    auto run = [&](const Tile& t, Value* skip, Value* count) {
      if (ahead) call.ahead = e_.at(ahead, e_.mul(skip, width * byte_size(s_.spec.rhs)));
      call.b = e_.at(b, e_.mul(skip, b_panel));
      if (copying) {
        call.copy = e_.at(packed_, e_.mul(skip, panel_bytes()));
        call.copy_panel = e_.i64(panel_bytes());
      }
      call.c = e_.at(c, e_.mul(skip, width * bytes_));
      if (finishes()) {
        const bool tail = t.desc.last_lanes != 0;
        set_context(kColumn, e_.add(column_, e_.mul(skip, width)));
        set_context(kFull, e_.i64(t.desc.vectors - tail));
        set_context(kTail, e_.i64(tail));
        if (!touched().empty()) set_context(kPanel, skip);
        if (has_table()) set_context(kTable, e_.at(table_, e_.mul(skip, width * bytes_)));
      }
      call.panels = count;
      if (adds()) {
        call.old = e_.b.CreateSelect(is_first_, zeros(), call.c);
        call.old_row = e_.select(is_first_, 0, sum_row_bytes());
        call.old_panel = e_.select(is_first_, 0, width * bytes_);
      }
      if (!s_.has_slots()) return call_tile(e_, t.function, t.desc, call);
      e_.if_else(
          fast_, [&] { call_tile(e_, t.function, t.desc, call); },
          [&] { call_tile(e_, t.exact_function, t.exact, call); });
    };
    if (tile[0].function) run(tile[0], e_.i64(0), full_panels_);
    if (tile[1].function) e_.if_then(has_ragged_, [&] { run(tile[1], full_panels_, e_.i64(1)); });
  }

  // A row of a panel of zeros.
  Value* zeros() {
    auto* type =
        llvm::ArrayType::get(e_.b.getInt8Ty(), static_cast<uint64_t>(s_.nv * s_.w * bytes_));
    const std::string name = str_cat("zeros.", s_.nv * s_.w * bytes_);
    if (llvm::GlobalVariable* g = e_.module.getGlobalVariable(name, true)) return g;
    auto* g = new llvm::GlobalVariable(e_.module, type, true, llvm::GlobalValue::InternalLinkage,
                                       llvm::Constant::getNullValue(type), name);
    g->setAlignment(llvm::Align(64));
    return g;
  }

  // An internal function void(ptr c, i64 panel, ptr context) that applies the epilogue to a panel of sums and stores it.
  llvm::Function* make_finish(const std::string& name) {
    llvm::Function* f = e_.begin_internal(name, {e_.ptr_type(), e_.i64_type(), e_.ptr_type()});
    auto given = [&](Context field) { return context(e_.arg(2), field); };
    f_.enter(given(kBuffers));
    f_.set_batch(given(kBatch));
    Value* rows = s_.mr == 1 ? e_.i64(1) : given(kRows);
    const GemmRow first{given(kOuter), given(kM)};
    Value* column = e_.add(given(kColumn), e_.mul(e_.arg(1), s_.nv * s_.w));
    if (!touched().empty()) touch_next(e_.add(given(kPanel), e_.arg(1)), given(kNext));
    Value* table = nullptr;
    if (has_table()) table = e_.at(given(kTable), e_.mul(e_.arg(1), s_.nv * s_.w * bytes_));
    auto vector = [&](Value* v, Value* mask) {
      Value* lane = e_.mul(v, s_.w);
      Value* values = table ? e_.at(table, e_.mul(lane, bytes_)) : nullptr;
      const GemmFrame::Columns columns = f_.columns(e_.add(column, lane), mask, values, table_row());
      Value* top = e_.at(e_.arg(0), e_.mul(lane, bytes_));
      e_.loop_carry(e_.i64(0), rows, 1, {top}, true, [&](Value* r, const Values& line) {
        Value* sum = e_.load_acc(line[0], in_output() ? mask : nullptr);
        f_.finish(sum, {first.outer, e_.add(first.m, r)}, columns);
        return Values{e_.at(line[0], sum_row_bytes())};
      });
    };
    Value* full = given(kFull);
    e_.loop(e_.i64(0), full, [&](Value* v) { vector(v, nullptr); });
    if (s_.last_lanes != s_.w) {
      Value* tail = e_.b.CreateICmpNE(given(kTail), e_.i64(0));
      e_.if_then(tail, [&] { vector(full, e_.mask_const(s_.w, s_.last_lanes)); });
    }
    e_.end_function();
    return f;
  }

  // Computes what depends on the columns of the current block alone.
  void fill_table(Value* full, Value* tail) {
    auto vector = [&](Value* v, Value* mask) {
      Value* lane = e_.mul(v, s_.w);
      Value* to = e_.at(table_, e_.mul(lane, bytes_));
      for (Value* x : f_.hooks.table(e_.b, f_.column_args(e_.add(column_, lane), mask))) {
        e_.store_acc(x, to);
        to = e_.at(to, table_row());
      }
    };
    e_.loop(e_.i64(0), full, [&](Value* v) { vector(v, nullptr); });
    if (s_.last_lanes != s_.w) e_.if_then(tail, [&] { vector(full, e_.mask_const(s_.w, s_.last_lanes)); });
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame f_;
  const int64_t bytes_;
  const bool ragged_;  // the last panel differs from the others

  Tile tile_[2][2], copying_tile_[2][2];  // [short rows][last panel]
  llvm::Function *pack_a_function_ = nullptr, *pack_b_function_ = nullptr;
  llvm::Function *finish_function_ = nullptr, *touch_function_ = nullptr;
  Value* table_ = nullptr;    // of the values that depend on the columns alone
  Value* context_ = nullptr;  // of it
  Value *pack_a_ = nullptr, *pack_b_ = nullptr, *sums_ = nullptr;
  // Of the current item and K block.
  Value *is_first_ = nullptr, *is_last_ = nullptr;
  Value *col_block_ = nullptr, *packed_ = nullptr;
  Value *part_ = nullptr, *batch_ = nullptr, *first_tile_ = nullptr, *column_ = nullptr;
  Value *full_panels_ = nullptr, *has_ragged_ = nullptr;
  Value* fast_ = nullptr;  // bf16: nothing would be flushed
  Value *goes_on_ = nullptr, *next_ = nullptr, *has_next_ = nullptr;  // to the block of b after this one
};

}  // namespace

void emit_gemm_tiles(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                     const std::string& name) {
  TilesKernel(e, s, hooks).run(name);
}

void emit_gemm_sum(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                   const std::string& name) {
  e.begin_kernel(name);
  GemmFrame f(e, s, hooks);
  f.enter(e.arg(0));
  const int64_t bytes = byte_size(e.acc), rows = s.batches * s.rows();
  const int64_t full = s.spec.n / s.w, tail = s.spec.n % s.w;
  e.loop(e.arg(1), e.arg(2), [&](Value* i) {
    f.set_batch(e.div(i, s.rows()));
    const Values row = unravel(e, e.rem(i, s.rows()), {s.outer_rows, s.spec.m});
    Value* line = e.at(e.at(f.work, s.packed_bytes), e.mul(i, s.work_row * bytes));
    auto vector = [&](Value* v, Value* mask) {
      Value* n = e.mul(v, s.w);
      Value* p = e.at(line, e.mul(n, bytes));
      const Values sum = e.loop_carry(
          e.i64(1), e.i64(s.parts), 1, {e.load_acc(p)}, true, [&](Value* part, const Values& acc) {
            return Values{
                e.plus(acc[0], e.load_acc(e.at(p, e.mul(part, rows * s.work_row * bytes))))};
          });
      f.finish(sum[0], {row[0], row[1]}, n, mask);
    };
    e.loop(e.i64(0), e.i64(full), [&](Value* v) { vector(v, nullptr); });
    if (tail) vector(e.i64(full), e.mask_const(s.w, static_cast<int>(tail)));
  });
  e.end_function();
}

}  // namespace braze::codegen
