// SPDX-License-Identifier: Apache-2.0
// cholesky: blocks of columns, factored, divided into the rows below and subtracted from what is
// right of them. Batches of small matrices run in parallel (very small ones in lanes), large ones
// inside. LAPACK's potrf, as a custom call, is the same with a second result and another idea of what
// is not computed: the other triangle is the argument's, and a matrix that has no factor is LAPACK's
// own affair.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <limits>

#include "ops/custom_call.h"
#include "ops/lapack.h"
#include "runtime/factor.h"
#include "runtime/matrix_call.h"

namespace braze {
namespace {

constexpr int64_t kSmall = 128;  // matrices that are not worth several threads
constexpr int64_t kFewest = 8;   // small matrices that are worth lanes

// f over [0, items), on the pool or here.
template <typename F>
void each(Pool* pool, int64_t items, int64_t grain, F&& f) {
  if (pool) pool->run(items, grain, [&](int64_t begin, int64_t end, int) { f(begin, end); });
  else f(0, items);
}

template <typename T, bool kComplex>
class CholeskyCall : public LibraryCall {
 public:
  explicit CholeskyCall(const Instr& instr)
      : CholeskyCall(instr.shape, instr.as<CholeskyAttrs>().lower, false) {}
  // potrf: two results, the second the info of each matrix.
  CholeskyCall(const Shape& matrices, bool lower, bool potrf) : lower_(lower), potrf_(potrf) {
    n_ = matrices.dims.back();
    batch_ = product(DimSpan(matrices.dims).first(matrices.dims.size() - 2));
    const int64_t lanes = Kernels::lanes();
    panel_ = kFactorSize * lanes * kP;
    panels_ = n_ > kFactorSize ? (n_ - kFactorSize + lanes - 1) / lanes : 0;
    bytes_ = panels_ * panel_ * static_cast<int64_t>(sizeof(T));
  }

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    if (batch_ * n_ == 0) {
      if (potrf_) std::fill_n(reinterpret_cast<lapack::Int*>(results[1]), batch_, 0);
      return true;
    }
    if constexpr (!kComplex)
      if (n_ <= kSmallMatrix && batch_ >= kFewest) return small(operands, results, pool);
    const bool inside = n_ > kSmall && batch_ < 16;
    Scratch::Lease lease(scratch_, std::max<int64_t>(64, bytes_ * (inside ? 1 : pool.threads())));
    if (!lease.data()) return false;
    const T* in = reinterpret_cast<const T*>(operands[0]);
    T* out = reinterpret_cast<T*>(results[0]);
    auto* info = potrf_ ? reinterpret_cast<lapack::Int*>(results[1]) : nullptr;
    auto one = [&](int64_t b, char* panels, Pool* p) {
      const T* a = in + kP * b * n_ * n_;
      T* to = out + kP * b * n_ * n_;
      if (matrix(a, to, reinterpret_cast<T*>(panels), p)) {
        finish(a, to);
        if (info) info[b] = 0;
      } else if (info) {
        info[b] = by_lapack(a, to);
      } else {
        fail(to);
      }
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

  // Matrices in lanes, one in each.
  bool small(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) const {
    constexpr int64_t kLanes = 64 / sizeof(T);
    const T* in = reinterpret_cast<const T*>(operands[0]);
    T* out = reinterpret_cast<T*>(results[0]);
    auto* info = potrf_ ? reinterpret_cast<lapack::Int*>(results[1]) : nullptr;
    const SolveKernels<T>& kernels = solve_kernels<T>();
    const int64_t size = n_ * n_, grain = std::max<int64_t>(1, 4096 / (size * n_));
    pool.run((batch_ + kLanes - 1) / kLanes, grain, [&](int64_t begin, int64_t end, int) {
      alignas(64) T m[kSmallMatrix * kSmallMatrix * kLanes];
      bool sound[kLanes];
      for (int64_t b = begin * kLanes; b < std::min(end * kLanes, batch_); b += kLanes) {
        const int64_t count = std::min(kLanes, batch_ - b);
        kernels.load_small(m, in + b * size, size, count);
        kernels.small_factor(m, n_, lower_, sound);
        if (!potrf_)
          for (int64_t i = 0; i < n_; ++i)
            for (int64_t j = 0; j < i; ++j) std::fill_n(m + (lower_ ? j * n_ + i : i * n_ + j) * kLanes, kLanes, T(0));
        kernels.store_small(out + b * size, m, size, count);
        for (int64_t l = 0; l < count; ++l) {
          if (info) info[b + l] = sound[l] ? 0 : by_lapack(in + (b + l) * size, out + (b + l) * size);
          else if (!sound[l]) fail(out + (b + l) * size);
        }
      }
    });
    return true;
  }

  // The factor in the lower triangle (of an upper matrix: its adjoint); false if there is none.
  bool matrix(const T* a, T* out, T* panels, Pool* pool) const {
    // The other triangle of an upper matrix is read as its adjoint's lower one.
    each(pool, n_, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j <= i; ++j)
          for (int64_t part = 0; part < kP; ++part) {
            const T v = a[kP * (lower_ ? i * n_ + j : j * n_ + i) + part];
            out[kP * (i * n_ + j) + part] = part == 1 && !lower_ ? -v : v;
          }
    });
    return blocks(out, panels, pool);
  }

  // Puts the factor in its triangle, and zeros (potrf: what was there) in the other.
  void finish(const T* a, T* out) const {
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = i + 1; j < n_; ++j)
        for (int64_t part = 0; part < kP; ++part) {
          const int64_t u = kP * (i * n_ + j) + part, l = kP * (j * n_ + i) + part;
          if (!lower_) out[u] = part == 1 ? -out[l] : out[l];
          const int64_t other = lower_ ? u : l;
          out[other] = potrf_ ? a[other] : T(0);
        }
  }

  void fail(T* out) const {
    std::fill(out, out + kP * n_ * n_, std::numeric_limits<T>::quiet_NaN());
    if constexpr (kComplex)
      for (int64_t i = 0; i < n_ * n_; ++i) out[2 * i + 1] = T(0);
  }

  lapack::Int by_lapack(const T* a, T* out) const {
    using Number = std::conditional_t<kComplex, std::complex<T>, T>;
    const auto* from = reinterpret_cast<const Number*>(a);
    auto* to = reinterpret_cast<Number*>(out);
    std::vector<Number> columns(static_cast<size_t>(n_ * n_));
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) columns[j * n_ + i] = from[i * n_ + j];
    const lapack::Int info =
        lapack::potrf(lower_ ? 'L' : 'U', static_cast<lapack::Int>(n_), columns.data());
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) to[i * n_ + j] = columns[j * n_ + i];
    return info;
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

  const bool lower_, potrf_;
  int64_t n_, batch_, panel_, panels_, bytes_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_cholesky(const Instr& instr) {
  return matrix_call<CholeskyCall>(instr);
}

std::unique_ptr<LibraryCall> prepare_potrf(const Instr& instr) {
  const auto& attrs = instr.as<CustomCallAttrs>();
  const Result<int64_t> uplo = dictionary_int(attrs.backend_config, "uplo", 'L');
  if (!uplo.ok() || (*uplo != 'L' && *uplo != 'U')) return nullptr;
  const Shape& s = instr.operand(0)->shape;
  const bool lower = *uplo == 'L';
  switch (s.dtype) {
    case Dtype::kF32: return std::make_unique<CholeskyCall<float, false>>(s, lower, true);
    case Dtype::kF64: return std::make_unique<CholeskyCall<double, false>>(s, lower, true);
    case Dtype::kC64: return std::make_unique<CholeskyCall<float, true>>(s, lower, true);
    case Dtype::kC128: return std::make_unique<CholeskyCall<double, true>>(s, lower, true);
    default: return nullptr;
  }
}

}  // namespace braze
