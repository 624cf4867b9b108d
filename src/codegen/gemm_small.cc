// SPDX-License-Identifier: Apache-2.0
// GEMM forms for few rows: dot products along a contiguous k, and tiny products unrolled in full.
#include <algorithm>

#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

class DotKernel {
 public:
  DotKernel(Emit& e, const GemmShape& s, const ContractionHooks& hooks)
      : e_(e), s_(s), f_(e, s, hooks), bytes_(byte_size(e.acc)), rows_(s.mr) {
    const int most = vector_registers(e.target) == 32 ? 16 : 8;
    while (columns_ * 2 * rows_ <= most && columns_ * 2 <= std::min<int64_t>(8, s.spec.n) &&
           columns_ * 2 <= s.w) {
      columns_ *= 2;
    }
    while (chains_ * 2 * columns_ * rows_ <= 8) chains_ *= 2;
  }

  void run(const std::string& name) {
    e_.begin_kernel(name);
    f_.enter(e_.arg(0));
    sums_ = e_.arg(3);
    e_.loop(e_.arg(1), e_.arg(2), [&](Value* i) {
      Value* block = e_.rem(i, s_.col_blocks);
      Value* rest = e_.div(i, s_.col_blocks);
      part_ = s_.parts > 1 ? e_.div(rest, s_.batches) : e_.i64(0);
      batch_ = s_.parts > 1 ? e_.rem(rest, s_.batches) : rest;
      f_.set_batch(batch_);
      Value* lo = e_.mul(block, s_.block_panels);
      Value* hi = e_.min(e_.add(lo, e_.i64(s_.block_panels)), e_.i64(s_.panels));
      e_.loop(lo, hi, [&](Value* panel) { columns(panel); });
    });
    e_.end_function();
  }

 private:
  // The w columns of a panel.
  void columns(Value* panel) {
    Value* n0 = e_.mul(panel, s_.w);
    Value* valid = e_.min(e_.i64(s_.w), e_.sub(e_.i64(s_.spec.n), n0));
    e_.loop(e_.i64(0), valid, columns_, [&](Value* j) { dots(n0, j); });
    Value* mask = s_.spec.n % s_.w ? e_.mask_below(s_.w, valid) : nullptr;
    for (int r = 0; r < rows_; ++r) {
      Value* v = e_.load_acc(e_.at(sums_, r * s_.w * bytes_));
      if (s_.parts == 1) {
        f_.finish(v, {nullptr, e_.i64(r)}, n0, mask);
      } else {
        Value* row = e_.add(e_.mul(e_.add(e_.mul(part_, s_.batches), batch_), rows_), e_.i64(r));
        e_.store_acc(v, e_.at(f_.work, e_.mul(e_.add(e_.mul(row, s_.work_row), n0), bytes_)));
      }
    }
  }

  // All rows against columns [n0 + j, + columns_): sums into lanes j.. of each row's vector.
  void dots(Value* n0, Value* j) {
    Values n;
    for (int c = 0; c < columns_; ++c) {
      n.push_back(e_.min(e_.add(e_.add(n0, j), e_.i64(c)), e_.i64(s_.spec.n - 1)));
    }
    const int64_t k = s_.k_inner();
    Value* lo = e_.i64(0);
    Value* hi = e_.i64(k);
    if (s_.parts > 1) {
      lo = e_.mul(part_, s_.blocks_per_part * s_.inner_block);
      hi = e_.min(e_.add(lo, e_.i64(s_.blocks_per_part * s_.inner_block)), hi);
    }
    const int64_t step = chains_ * s_.w;
    // The whole steps of [lo, hi), then the rest a masked vector at a time.
    Value* span = e_.sub(hi, lo);
    Value* whole = e_.add(lo, e_.sub(span, e_.rem(span, step)));
    Values acc(static_cast<size_t>(rows_ * columns_ * chains_), e_.zero_acc());
    acc = e_.loop_carry(lo, whole, step, acc, false, [&](Value* at, const Values& v) {
      Values next = v;
      for (int u = 0; u < chains_; ++u)
        madd_step(next, u, e_.add(at, e_.i64(u * s_.w)), n, nullptr);
      return next;
    });
    if (s_.parts > 1 || k % step) {
      acc = e_.loop_carry(whole, hi, s_.w, acc, false, [&](Value* at, const Values& v) {
        Values next = v;
        Value* mask = k % s_.w ? e_.mask_below(s_.w, e_.sub(hi, at)) : nullptr;
        madd_step(next, 0, at, n, mask);
        return next;
      });
    }
    const size_t chain = static_cast<size_t>(rows_ * columns_);
    for (int r = 0; r < rows_; ++r) {
      for (int c = 0; c < columns_; ++c) {
        const auto i = static_cast<size_t>(r * columns_ + c);
        for (size_t u = static_cast<size_t>(chains_) / 2; u >= 1; u /= 2) {
          for (size_t x = 0; x < u; ++x)
            acc[x * chain + i] = e_.plus(acc[x * chain + i], acc[(x + u) * chain + i]);
        }
        Value* p = e_.at(sums_, e_.mul(e_.add(j, e_.i64(r * s_.w + c)), bytes_));
        e_.b.CreateAlignedStore(e_.sum_lanes(acc[i]), p,
                                llvm::Align(static_cast<uint64_t>(bytes_)));
      }
    }
  }

  void madd_step(Values& acc, int chain, Value* at, const Values& n, Value* mask) {
    const Values k{e_.i64(0), at};
    Values right;
    for (int c = 0; c < columns_; ++c)
      right.push_back(f_.load_rhs(k, n[static_cast<size_t>(c)], true, mask, s_.w));
    for (int r = 0; r < rows_; ++r) {
      Value* left = f_.load_lhs({nullptr, e_.i64(r)}, k, true, mask, s_.w);
      for (int c = 0; c < columns_; ++c) {
        Value*& s = acc[static_cast<size_t>((chain * rows_ + r) * columns_ + c)];
        s = e_.madd(left, right[static_cast<size_t>(c)], s);
      }
    }
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame f_;
  const int64_t bytes_;
  const int rows_;
  int columns_ = 1;  // right-side columns at a time
  int chains_ = 1;   // independent sums per output, along k
  Value *sums_ = nullptr, *part_ = nullptr, *batch_ = nullptr;
};

}  // namespace

void emit_gemm_dot(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                   const std::string& name) {
  DotKernel(e, s, hooks).run(name);
}

namespace {

// Elements from the first to the last that one batch element reads.
int64_t reach(const GemmSpec& p, bool left) {
  int64_t last = left ? (p.m - 1) * p.lhs_m : (p.n - 1) * p.rhs_n;
  for (const GemmContractedDim& d : p.k) last += (d.size - 1) * (left ? d.lhs : d.rhs);
  return last + 1;
}

// All outputs in the lanes of a vector, row by row: both operands are loaded whole, and each step
// of k is two permutations and a multiply-add, so that a loop that multiplies small matrices again
// and again keeps them in registers.
class FlatKernel {
 public:
  FlatKernel(Emit& e, const GemmShape& s, GemmFrame& f) : e_(e), s_(s), f_(f), lanes_(lanes(s)) {}

  // How many lanes: of one or two vectors; 0: not all fits.
  static int lanes(const GemmShape& s) {
    const GemmSpec& p = s.spec;
    if (s.batches != 1 || p.m < 2 || s.k_total() == 0) return 0;
    int64_t most = p.m * p.n;
    for (bool left : {true, false}) {
      if ((left ? p.lhs_m : p.rhs_n) < 0) return 0;
      for (const GemmContractedDim& d : p.k)
        if ((left ? d.lhs : d.rhs) < 0) return 0;
      most = std::max(most, reach(p, left));
    }
    return most <= s.w ? s.w : most <= 2 * s.w ? 2 * s.w : 0;
  }

  // The only item.
  void run() {
    const GemmSpec& p = s_.spec;
    f_.set_batch(e_.i64(0));
    Value* left = load(p.lhs, f_.a0, reach(p, true));
    Value* right = load(p.rhs, f_.b0, reach(p, false));
    Value* acc = llvm::Constant::getNullValue(left->getType());
    for (int64_t i = 0; i < s_.k_total(); ++i) acc = e_.madd(pick(left, i, true), pick(right, i, false), acc);
    const bool dense = p.out_n == 1 && (p.out_m == p.n);
    if (dense && (!f_.hooks.epilogue || f_.hooks.epilogue_of_sum)) return finish_all(acc);
    for (int64_t m = 0; m < p.m; ++m) {
      llvm::SmallVector<int, 32> row;
      for (int64_t n = 0; n < s_.w; ++n) row.push_back(n < p.n ? static_cast<int>(m * p.n + n) : 0);
      f_.finish(e_.b.CreateShuffleVector(acc, row), {nullptr, e_.i64(m)}, e_.i64(0),
                p.n < s_.w ? e_.mask_const(s_.w, static_cast<int>(p.n)) : nullptr);
    }
  }

 private:
  Value* load(Dtype t, Value* p, int64_t elements) {
    return e_.load(t, p, lanes_,
                   elements < lanes_ ? e_.mask_const(lanes_, static_cast<int>(elements)) : nullptr);
  }

  // Step i of k of an operand, for each output.
  Value* pick(Value* v, int64_t i, bool left) {
    const GemmSpec& p = s_.spec;
    int64_t at = 0;
    for (size_t d = p.k.size(); d-- > 0; i /= p.k[d].size)
      at += i % p.k[d].size * (left ? p.k[d].lhs : p.k[d].rhs);
    llvm::SmallVector<int, 32> from;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const int64_t m = lane / p.n, n = lane % p.n;
      from.push_back(m < p.m ? static_cast<int>(at + (left ? m * p.lhs_m : n * p.rhs_n)) : 0);
    }
    return e_.b.CreateShuffleVector(v, from);
  }

  void finish_all(Value* acc) {
    const auto count = static_cast<int>(s_.spec.m * s_.spec.n);
    Value* mask = count < lanes_ ? e_.mask_const(lanes_, count) : nullptr;
    if (f_.hooks.epilogue) {
      HookArgs a{.acc = acc, .buffers = f_.buffers, .index = f_.batch, .lanes = lanes_, .mask = mask};
      a.index.insert(a.index.end(), s_.row_sizes.size() + 1, e_.i64(0));
      a.lane_axis = static_cast<int>(a.index.size()) - 1;
      acc = f_.hooks.epilogue(e_.b, a);
    }
    e_.store(s_.spec.out, acc, f_.c0, mask);
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame& f_;
  const int lanes_;
};

}  // namespace

void emit_gemm_tiny(Emit& e, const GemmShape& s, const ContractionHooks& hooks,
                    const std::string& name) {
  e.begin_kernel(name);
  GemmFrame f(e, s, hooks);
  f.enter(e.arg(0));
  if (!hooks.lhs && !hooks.rhs && FlatKernel::lanes(s) > 0) {
    e.loop(e.arg(1), e.arg(2), [&](Value*) { FlatKernel(e, s, f).run(); });
    return e.end_function();
  }
  const auto n = static_cast<int>(s.spec.n);
  Value* mask = n < s.w ? e.mask_const(s.w, n) : nullptr;
  std::vector<int64_t> sizes;
  for (const GemmContractedDim& d : s.spec.k) sizes.push_back(d.size);
  std::vector<Values> k;
  for (int64_t i = 0; i < s.k_total(); ++i) k.push_back(unravel(e, e.i64(i), sizes));
  e.loop(e.arg(1), e.arg(2), [&](Value* item) {
    f.set_batch(item);
    Values right;
    for (const Values& at : k) right.push_back(f.load_rhs(at, e.i64(0), false, mask, s.w));
    for (int64_t m = 0; m < s.spec.m; ++m) {
      Value* acc = e.zero_acc();
      for (size_t i = 0; i < k.size(); ++i) {
        Value* x =
            hooks.lhs
                ? e.b.CreateVectorSplat(
                      static_cast<unsigned>(s.w),
                      e.b.CreateExtractElement(
                          f.load_lhs({nullptr, e.i64(m)}, k[i], true, nullptr, 1), uint64_t{0}))
                : e.load_broadcast(s.spec.lhs, f.lhs_at({nullptr, e.i64(m)}, k[i]), s.w);
        acc = e.madd(x, right[i], acc);
      }
      f.finish(acc, {nullptr, e.i64(m)}, e.i64(0), mask);
    }
  });
  e.end_function();
}

}  // namespace braze::codegen
