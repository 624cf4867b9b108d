// SPDX-License-Identifier: Apache-2.0
// emit_tile: broadcast an element of a, multiply-add with the vectors of b.
#include "codegen/gemm_tile.h"

#include "base/status.h"

namespace braze::codegen {
namespace {

enum Argument : unsigned {
  kA,
  kB,
  kC,
  kPanels,
  kARow,
  kCRow,
  kBPanel,
  kOld,
  kOldRow,
  kOldPanel,
  kStart,
  kAhead,
  kAheadStep,
  kAheadTurn,
  kAheadShift,
  kCopy,
  kCopyPanel,
  kLevels
};
constexpr unsigned kPerLevel = 3;

// Rows of a share a pointer in threes: [p], [p + row], [p + 2 * row] are addressing modes.
constexpr int kRowsPerPointer = 3;
constexpr int64_t kLine = 64;  // bytes

std::vector<llvm::Type*> parameters(Emit& e, const TileDesc& d) {
  llvm::Type *p = e.ptr_type(), *i = e.i64_type();
  std::vector<llvm::Type*> out{p, p, p, i, i, i, i, p, i, i, i, p, i, i, i, p, i};
  out.insert(out.end(), kPerLevel * static_cast<size_t>(d.levels), i);
  out.insert(out.end(), {p, p, e.b.getInt1Ty()});
  return out;
}

class TileEmitter {
 public:
  TileEmitter(Emit& e, const TileDesc& d) : e_(e), d_(d), lanes_(e.w), bytes_(byte_size(e.acc)) {
    if (d.last_lanes && d.last_lanes < lanes_) tail_ = e.mask_const(lanes_, d.last_lanes);
    pointers_ = d.adjacent_rows || d.fixed_row
                    ? 1
                    : static_cast<size_t>((d.rows + kRowsPerPointer - 1) / kRowsPerPointer);
  }

  llvm::Function* run() {
    const std::string name = describe();
    if (llvm::Function* f = e_.module.getFunction(name)) return f;
    finish_at_ = kLevels + kPerLevel * static_cast<unsigned>(d_.levels);
    llvm::Function* f = e_.begin_internal(name, parameters(e_, d_));
    if (d_.ahead) ahead_mask_ = e_.sub(e_.b.CreateShl(e_.i64(1), e_.arg(kAheadShift)), e_.i64(1));
    Values a{e_.arg(kA)};
    while (a.size() < pointers_)
      a.push_back(e_.at(a.back(), e_.mul(e_.arg(kARow), kRowsPerPointer)));
    const Values start{e_.arg(kB), e_.arg(kC), e_.arg(kOld), e_.arg(kAhead),
                       e_.arg(kCopy)};
    e_.loop_carry(e_.i64(0), e_.arg(kPanels), 1, start, false, [&](Value* panel, const Values& v) {
      ahead_ = v[3];
      copy_ = v[4];
      bring_old(v[2]);
      Values sums = start_sums(v[0]);
      if (!d_.empty) sums = level(0, a, v[0], sums);
      store(v[1], sums, v[2]);
      finish(v[1], panel);
      return Values{e_.at(v[0], e_.arg(kBPanel)), e_.at(v[1], d_.vectors * lanes_ * bytes_),
                    e_.at(v[2], e_.arg(kOldPanel)),
                    d_.ahead ? e_.at(v[3], d_.vectors * lanes_ * byte_size(d_.b_type)) : v[3],
                    d_.copy_row ? e_.at(v[4], e_.arg(kCopyPanel)) : v[4]};
    });
    e_.end_function();
    return f;
  }

 private:
  Values start_sums(Value* b) {
    Values sums(static_cast<size_t>(d_.rows * d_.vectors), e_.zero_acc());
    if (!d_.start) return sums;
    for (int v = 0; v < d_.vectors; ++v) {
      Value* x = e_.load_acc(e_.at(e_.at(b, e_.arg(kStart)), v * lanes_ * bytes_));
      for (int r = 0; r < d_.rows; ++r) sums[static_cast<size_t>(r * d_.vectors + v)] = x;
    }
    return sums;
  }

  // The old sums are wanted when the sum is complete: asked for now, they are near by then.
  void bring_old(Value* old) {
    for (int r = 0; d_.add && r < d_.rows; ++r) {
      for (int64_t line = 0; line < d_.vectors * lanes_ * bytes_; line += kLine) e_.prefetch(e_.at(old, line));
      old = e_.at(old, e_.arg(kOldRow));
    }
  }

  // What a loop carries: the sums, the pointers into a, the pointer into b.
  Values carried(Values sums, const Values& a, Value* b) const {
    sums.insert(sums.end(), a.begin(), a.end());
    sums.push_back(b);
    return sums;
  }
  Values sums_of(Values v) const {
    v.resize(static_cast<size_t>(d_.rows * d_.vectors));
    return v;
  }
  Values pointers_of(const Values& v) const { return Values(v.end() - 1 - static_cast<long>(pointers_), v.end() - 1); }

  Values level(int l, const Values& a, Value* b, Values sums) {
    if (l == d_.levels) return step(a, b, std::move(sums));
    const unsigned at = kLevels + kPerLevel * static_cast<unsigned>(l);
    const bool innermost = l == d_.levels - 1;
    const int turn = innermost ? d_.turn : 1;
    return sums_of(e_.loop_carry(
        e_.i64(0), e_.arg(at), turn, carried(std::move(sums), a, b), true, [&](Value* i, Values v) {
          if (innermost) bring_ahead(i);
          for (int t = 0; t < turn; ++t) {
            step_ = e_.add(i, e_.i64(t));
            Values next = level(l + 1, pointers_of(v), v.back(), sums_of(v)), pointers = pointers_of(v);
            for (Value*& p : pointers) p = innermost ? e_.at(p, d_.a_step) : e_.at(p, e_.arg(at + 1));
            v = carried(std::move(next), pointers, e_.at(v.back(), e_.arg(at + 2)));
          }
          return v;
        }));
  }

  // Panel by panel, so that it runs beside the multiply-adds of the next one.
  void finish(Value* c, Value* panel) {
    e_.if_then(e_.arg(finish_at_ + 2), [&] {
      llvm::Type* p = e_.ptr_type();
      auto* type = llvm::FunctionType::get(e_.b.getVoidTy(), {p, e_.i64_type(), p}, false);
      e_.b.CreateCall(type, e_.arg(finish_at_), {c, panel, e_.arg(finish_at_ + 1)});
    });
  }

  // Asks for the lines that belong to the steps of a turn of the innermost loop.
  void bring_ahead(Value* step) {
    if (d_.ahead == 0) return;
    Value *shift = e_.arg(kAheadShift), *place = e_.b.CreateAnd(step, ahead_mask_);
    e_.if_then(e_.b.CreateICmpEQ(place, e_.arg(kAheadTurn)), [&] {
      Value* row = e_.at(ahead_, e_.b.CreateMul(e_.b.CreateLShr(step, shift), e_.arg(kAheadStep)));
      auto ask = [&](Value* p) {
        for (int line = 0; line < d_.ahead; ++line) e_.prefetch(e_.at(p, line * kLine), 2);
      };
      ask(row);
      if (d_.turn == 1) return;
      e_.loop(e_.i64(1), e_.b.CreateLShr(e_.i64(d_.turn), shift), 1,
              [&](Value* r) { ask(e_.at(row, e_.b.CreateMul(r, e_.arg(kAheadStep)))); });
    });
  }

  Value* mask(int vector) const { return vector == d_.vectors - 1 ? tail_ : nullptr; }

  Value* row_at(const Values& a, int r) {
    if (d_.adjacent_rows) return e_.at(a[0], r * byte_size(d_.a_type));
    if (d_.fixed_row) return e_.at(a[0], r * d_.fixed_row);
    Value* p = a[static_cast<size_t>(r / kRowsPerPointer)];
    const int rest = r % kRowsPerPointer;
    if (rest == 0) return p;
    return e_.b.CreateGEP(rest == 1 ? e_.b.getInt8Ty() : e_.b.getInt16Ty(), p, e_.arg(kARow));
  }

  Values step(const Values& a, Value* b, Values sums) {
    const int64_t vector = lanes_ * byte_size(d_.b_type);
    Values right;
    for (int v = 0; v < d_.vectors; ++v) {
      right.push_back(
          e_.load(d_.b_type, e_.at(b, v * vector), lanes_, d_.mask_b ? mask(v) : nullptr));
    }
    if (d_.copy_row) {
      Value* to = e_.at(copy_, e_.mul(step_, d_.copy_row));
      for (int v = 0; v < d_.vectors; ++v)
        e_.store_acc(right[static_cast<size_t>(v)], e_.at(to, v * lanes_ * bytes_));
    }
    for (int r = 0; r < d_.rows; ++r) {
      Value* x = e_.load_broadcast(d_.a_type, row_at(a, r), lanes_);
      for (int v = 0; v < d_.vectors; ++v) {
        Value*& s = sums[static_cast<size_t>(r * d_.vectors + v)];
        s = e_.dot(d_.word, x, right[static_cast<size_t>(v)], s);
      }
    }
    return sums;
  }

  void store(Value* c, const Values& sums, Value* old) {
    for (int r = 0; r < d_.rows; ++r) {
      for (int v = 0; v < d_.vectors; ++v) {
        const int64_t offset = v * lanes_ * bytes_;
        Value* m = d_.mask_c ? mask(v) : nullptr;
        Value* s = sums[static_cast<size_t>(r * d_.vectors + v)];
        if (d_.add) s = e_.plus(e_.load_acc(e_.at(old, offset), m), s);
        e_.store_acc(s, e_.at(c, offset), m);
      }
      c = e_.at(c, e_.arg(kCRow));
      if (d_.add) old = e_.at(old, e_.arg(kOldRow));
    }
  }

  std::string describe() const {
    return str_cat("tile.", e_.w, ".", name(e_.acc), ".", name(d_.a_type), ".", name(d_.b_type),
                   ".", d_.rows, "x", d_.vectors, ".", d_.last_lanes, d_.mask_b ? "b" : "",
                   d_.mask_c ? "c" : "", d_.add ? "+" : "", d_.empty ? "0" : "",
                   d_.adjacent_rows ? "a" : "", ".", d_.a_step, ".", d_.levels, ".", d_.fixed_row,
                   ".w", static_cast<int>(d_.word), e_.target.fma ? "" : "r", d_.start ? "s" : "",
                   ".p", d_.ahead, ".", d_.copy_row, ".", d_.turn);
  }

  Emit& e_;
  const TileDesc& d_;
  const int lanes_;
  const int64_t bytes_;
  size_t pointers_ = 1;  // into a
  unsigned finish_at_ = 0;  // the first argument of these
  Value* tail_ = nullptr;
  Value *ahead_ = nullptr, *copy_ = nullptr;  // of the current panel
  Value* step_ = nullptr;                     // of the innermost loop
  Value* ahead_mask_ = nullptr;
};

}  // namespace

llvm::Function* emit_tile(Emit& e, const TileDesc& d) { return TileEmitter(e, d).run(); }

void call_tile(Emit& e, Value* tile, const TileDesc& d, const TileCall& call) {
  Value* none = llvm::Constant::getNullValue(e.ptr_type());
  Value* zero = e.i64(0);
  Values args{call.a, call.b, call.c, call.panels, call.a_row, call.c_row, call.b_panel};
  args.insert(args.end(), {d.add ? call.old : none, d.add ? call.old_row : zero,
                           d.add ? call.old_panel : zero});
  args.insert(args.end(), {d.start ? call.start : zero, d.ahead ? call.ahead : none,
                           d.ahead ? call.ahead_step : zero, d.ahead ? call.ahead_turn : zero,
                           d.ahead ? call.ahead_shift : zero,
                           d.copy_row ? call.copy : none, d.copy_row ? call.copy_panel : zero});
  for (const TileLevel& l : call.levels) args.insert(args.end(), {l.count, l.a_step, l.b_step});
  args.insert(args.end(), {call.finish ? call.finish : none, call.context ? call.context : none,
                           call.finishes ? call.finishes : e.b.getFalse()});
  e.b.CreateCall(llvm::FunctionType::get(e.b.getVoidTy(), parameters(e, d), false), tile, args);
}

}  // namespace braze::codegen
