// SPDX-License-Identifier: Apache-2.0
// emit_tile: broadcast an element of a, multiply-add with the vectors of b.
#include "codegen/gemm_tile.h"

#include "base/status.h"

namespace braze::codegen {
namespace {

class TileEmitter {
 public:
  TileEmitter(Emit& e, const TileDesc& d) : e_(e), d_(d), lanes_(e.w) {
    if (d.last_lanes && d.last_lanes < lanes_) tail_ = e.mask_const(lanes_, d.last_lanes);
  }

  llvm::Function* run() {
    const std::string name = describe();
    if (llvm::Function* f = e_.module.getFunction(name)) return f;
    std::vector<llvm::Type*> params(3, e_.ptr_type());
    if (d_.c_panel) params.push_back(e_.i64_type());
    const auto old = static_cast<unsigned>(params.size());
    if (d_.add) params.insert(params.end(), {e_.ptr_type(), e_.i64_type(), e_.i64_type()});
    const auto counts = static_cast<unsigned>(params.size());
    for (const TileLevel& l : d_.levels) {
      if (l.count < 0) params.push_back(e_.i64_type());
    }
    llvm::Function* f = e_.begin_internal(name, params);
    auto panel = [&](Value* b, Value* c, Value* from) {
      Values acc(static_cast<size_t>(d_.rows * d_.vectors), e_.zero_acc());
      if (!d_.empty) acc = level(0, counts, e_.arg(0), b, acc);
      store(c, acc, from, d_.add ? e_.arg(old + 1) : nullptr);
    };
    Values start{e_.arg(1), e_.arg(2)};
    if (d_.add) start.push_back(e_.arg(old));
    if (d_.c_panel) {
      e_.loop_carry(e_.i64(0), e_.arg(3), 1, start, false, [&](Value*, const Values& v) {
        panel(v[0], v[1], d_.add ? v[2] : nullptr);
        Values next{e_.at(v[0], d_.b_panel), e_.at(v[1], d_.c_panel)};
        if (d_.add) next.push_back(e_.at(v[2], e_.arg(old + 2)));
        return next;
      });
    } else {
      panel(e_.arg(1), e_.arg(2), d_.add ? e_.arg(old) : nullptr);
    }
    e_.end_function();
    return f;
  }

 private:
  Values level(size_t l, unsigned arg, Value* a, Value* b, Values acc) {
    if (l == d_.levels.size()) return step(a, b, std::move(acc));
    const TileLevel& lv = d_.levels[l];
    const bool runtime = lv.count < 0;
    Value* count = runtime ? e_.arg(arg) : e_.i64(lv.count);
    acc.push_back(a);
    acc.push_back(b);
    acc = e_.loop_carry(e_.i64(0), count, 1, std::move(acc), true, [&](Value*, const Values& v) {
      Values inner(v.begin(), v.end() - 2);
      Value* pa = v[v.size() - 2];
      Value* pb = v.back();
      inner = level(l + 1, arg + runtime, pa, pb, std::move(inner));
      inner.push_back(e_.at(pa, lv.a_step));
      inner.push_back(e_.at(pb, lv.b_step));
      return inner;
    });
    acc.resize(acc.size() - 2);
    return acc;
  }

  Value* mask(int vector) const { return vector == d_.vectors - 1 ? tail_ : nullptr; }

  Values step(Value* a, Value* b, Values acc) {
    Values bv;
    for (int v = 0; v < d_.vectors; ++v) {
      bv.push_back(
          e_.load(d_.b_type, e_.at(b, v * d_.b_vector), lanes_, d_.mask_b ? mask(v) : nullptr));
    }
    for (int r = 0; r < d_.rows; ++r) {
      Value* x = e_.load_broadcast(d_.a_type, e_.at(a, r * d_.a_row), lanes_);
      for (int v = 0; v < d_.vectors; ++v) {
        Value*& s = acc[static_cast<size_t>(r * d_.vectors + v)];
        s = e_.madd(x, bv[static_cast<size_t>(v)], s);
      }
    }
    return acc;
  }

  void store(Value* c, const Values& acc, Value* old, Value* old_row) {
    const int64_t bytes = lanes_ * byte_size(e_.acc);
    for (int r = 0; r < d_.rows; ++r) {
      for (int v = 0; v < d_.vectors; ++v) {
        Value* m = d_.mask_c ? mask(v) : nullptr;
        Value* s = acc[static_cast<size_t>(r * d_.vectors + v)];
        if (old) s = e_.plus(e_.load_acc(e_.at(old, v * bytes), m), s);
        e_.store_acc(s, e_.at(c, r * d_.c_row + v * bytes), m);
      }
      if (old) old = e_.at(old, old_row);
    }
  }

  // Everything the code depends on.
  std::string describe() const {
    std::string s = str_cat("tile.", e_.w, ".", name(e_.acc), ".", name(d_.a_type), ".",
                            name(d_.b_type), ".", d_.rows, "x", d_.vectors, ".", d_.last_lanes,
                            d_.mask_b ? "b" : "", d_.mask_c ? "c" : "", d_.add ? "+" : "",
                            d_.empty ? "0" : "", ".", d_.a_row, ".", d_.b_vector);
    absl::StrAppend(&s, ".", d_.c_row, ".", d_.b_panel, ".", d_.c_panel);
    for (const TileLevel& l : d_.levels)
      absl::StrAppend(&s, "|", l.a_step, ".", l.b_step, ".", l.count);
    return s;
  }

  Emit& e_;
  const TileDesc& d_;
  const int lanes_;
  Value* tail_ = nullptr;
};

}  // namespace

llvm::Function* emit_tile(Emit& e, const TileDesc& d) { return TileEmitter(e, d).run(); }

}  // namespace braze::codegen
