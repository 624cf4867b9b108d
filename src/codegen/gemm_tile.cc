// SPDX-License-Identifier: Apache-2.0
// emit_tile: broadcast an element of a, multiply-add with the vectors of b.
#include "codegen/gemm_tile.h"

namespace braze::codegen {
namespace {

class TileEmitter {
 public:
  TileEmitter(Emit& e, const TileDesc& d) : e_(e), d_(d), lanes_(e.w) {
    if (d.last_lanes && d.last_lanes < lanes_) tail_ = e.mask_const(lanes_, d.last_lanes);
  }

  llvm::Function* run(const std::string& name) {
    std::vector<llvm::Type*> params(3, e_.ptr_type());
    unsigned runtime = 0;
    for (const TileLevel& l : d_.levels) runtime += l.count < 0;
    params.insert(params.end(), runtime, e_.i64_type());
    params.push_back(e_.b.getInt1Ty());
    llvm::Function* f = e_.begin_internal(name, params);
    Value* c = e_.arg(2);
    Value* add = e_.arg(3 + runtime);
    Values acc(static_cast<size_t>(d_.rows * d_.vectors), e_.zero_acc());
    if (!d_.empty) acc = level(0, 3, e_.arg(0), e_.arg(1), acc);
    if (d_.may_add) {
      e_.if_else(add, [&] { store(c, acc, true); }, [&] { store(c, acc, false); });
    } else {
      store(c, acc, false);
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
      bv.push_back(e_.load(d_.b_type, e_.at(b, v * d_.b_vector), lanes_, d_.mask_b ? mask(v) : nullptr));
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

  void store(Value* c, const Values& acc, bool add) {
    const int64_t bytes = lanes_ * byte_size(e_.acc);
    for (int r = 0; r < d_.rows; ++r) {
      for (int v = 0; v < d_.vectors; ++v) {
        Value* p = e_.at(c, r * d_.c_row + v * bytes);
        Value* m = d_.mask_c ? mask(v) : nullptr;
        Value* s = acc[static_cast<size_t>(r * d_.vectors + v)];
        e_.store_acc(add ? e_.plus(e_.load_acc(p, m), s) : s, p, m);
      }
    }
  }

  Emit& e_;
  const TileDesc& d_;
  const int lanes_;
  Value* tail_ = nullptr;
};

}  // namespace

llvm::Function* emit_tile(Emit& e, const std::string& name, const TileDesc& d) {
  return TileEmitter(e, d).run(name);
}

}  // namespace braze::codegen
