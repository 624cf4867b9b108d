// SPDX-License-Identifier: Apache-2.0
// cholesky: blocks of columns, factored, divided into the rows below and subtracted from what is
// right of them. Batches of small matrices run in parallel, large ones inside.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "runtime/factor.h"
#include "runtime/matrix_call.h"

namespace braze {
namespace {

constexpr int64_t kSmall = 128;  // matrices that are not worth several threads

// f over [0, items), on the pool or here.
template <typename F>
void each(Pool* pool, int64_t items, int64_t grain, F&& f) {
  if (pool) pool->run(items, grain, [&](int64_t begin, int64_t end, int) { f(begin, end); });
  else f(0, items);
}

template <typename T, bool kComplex>
class CholeskyCall : public LibraryCall {
 public:
  explicit CholeskyCall(const Instr& instr) : lower_(instr.as<CholeskyAttrs>().lower) {
    n_ = instr.shape.dims.back();
    batch_ = product(DimSpan(instr.shape.dims).first(instr.shape.dims.size() - 2));
    const int64_t lanes = Kernels::lanes();
    panel_ = kFactorSize * lanes * kP;
    panels_ = n_ > kFactorSize ? (n_ - kFactorSize + lanes - 1) / lanes : 0;
    bytes_ = panels_ * panel_ * static_cast<int64_t>(sizeof(T));
  }

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    if (batch_ * n_ == 0) return true;
    const bool inside = n_ > kSmall && batch_ < 16;
    Scratch::Lease lease(scratch_, std::max<int64_t>(64, bytes_ * (inside ? 1 : pool.threads())));
    if (!lease.data()) return false;
    const T* in = reinterpret_cast<const T*>(operands[0]);
    T* out = reinterpret_cast<T*>(results[0]);
    auto one = [&](int64_t b, char* panels, Pool* p) {
      matrix(in + kP * b * n_ * n_, out + kP * b * n_ * n_, reinterpret_cast<T*>(panels), p);
    };
    if (inside) {
      for (int64_t b = 0; b < batch_; ++b) one(b, lease.data(), &pool);
      return true;
    }
    const int64_t grain = std::max<int64_t>(1, 8192 / (n_ * n_ * n_ / 3 + 1));
    pool.run(batch_, grain, [&](int64_t begin, int64_t end, int thread) {
      for (int64_t b = begin; b < end; ++b) one(b, lease.data() + thread * bytes_, nullptr);
    });
    return true;
  }

 private:
  using Kernels = MatrixKernels<T, kComplex>;
  static constexpr int64_t kP = Kernels::kParts;

  void matrix(const T* a, T* out, T* panels, Pool* pool) const {
    // The other triangle of an upper matrix is read as its adjoint's lower one.
    each(pool, n_, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j <= i; ++j)
          for (int64_t part = 0; part < kP; ++part) {
            const T v = a[kP * (lower_ ? i * n_ + j : j * n_ + i) + part];
            out[kP * (i * n_ + j) + part] = part == 1 && !lower_ ? -v : v;
          }
    });
    if (!blocks(out, panels, pool)) {
      std::fill(out, out + kP * n_ * n_, std::numeric_limits<T>::quiet_NaN());
      if constexpr (kComplex)
        for (int64_t i = 0; i < n_ * n_; ++i) out[2 * i + 1] = T(0);
      return;
    }
    finish(out);
  }

  // Puts the factor in its triangle, and zeros in the other.
  void finish(T* out) const {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        for (int64_t part = 0; part < kP; ++part) {
          T &above = out[kP * (i * n_ + j) + part], &below = out[kP * (j * n_ + i) + part];
          above = lower_ ? T(0) : part == 1 ? -below : below;
          if (!lower_) below = T(0);
        }
  }

  bool blocks(T* w, T* panels, Pool* pool) const {
    const int64_t lanes = Kernels::lanes();
    for (int64_t j = 0; j < n_; j += kFactorSize) {
      const int64_t size = std::min(kFactorSize, n_ - j), next = j + size;
      T* corner = w + kP * (j * n_ + j);
      if (!Kernels::factor(corner, n_, size)) return false;
      const int64_t rest = n_ - next, count = (rest + lanes - 1) / lanes;
      auto width = [&](int64_t p) { return std::min(lanes, rest - p * lanes); };
      // Rows below: l·cornerᴴ = a, each a right-hand side of conj(corner).
      const Triangle<T> t{corner, n_, 1, size, false, true};
      each(pool, count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          T* rows = w + kP * ((next + p * lanes) * n_ + j);
          T* panel = panels + p * panel_;
          load_panel<T, kP>(panel, lanes, rows, n_, 1, width(p), size);
          Kernels::solve(panel, 1, t);
          store_panel<T, kP>(panel, lanes, rows, n_, 1, width(p), size);
        }
      });
      each(pool, count * (count + 1) / 2, 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto [p, q] = tile(i);
          const int64_t row = next + p * lanes;
          Kernels::update(w + kP * (row * n_ + next + q * lanes), n_, w + kP * (row * n_ + j), n_,
                          panels + q * panel_, size, width(p), width(q));
        }
      });
    }
    return true;
  }

  // The i-th pair (p, q) with q ≤ p.
  static std::pair<int64_t, int64_t> tile(int64_t i) {
    int64_t p = static_cast<int64_t>((std::sqrt(8.0 * static_cast<double>(i) + 1) - 1) / 2);
    while (p * (p + 1) / 2 > i) --p;
    while ((p + 1) * (p + 2) / 2 <= i) ++p;
    return {p, i - p * (p + 1) / 2};
  }

  const bool lower_;
  int64_t n_, batch_, panel_, panels_, bytes_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_cholesky(const Instr& instr) {
  return matrix_call<CholeskyCall>(instr);
}

}  // namespace braze
