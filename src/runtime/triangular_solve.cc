// SPDX-License-Identifier: Apache-2.0
// triangular-solve: panels of right-hand sides, one to a lane, each solved on its own; of many
// small systems, one of these to a lane. LAPACK's trsm, as a custom call, is the same in other words.
#include <algorithm>

#include "ops/custom_call.h"
#include "runtime/factor.h"
#include "runtime/matrix_call.h"

namespace braze {
namespace {

constexpr int64_t kFewColumns = 8, kFewest = 8;  // right-hand sides and small matrices that are worth lanes

template <typename T, bool kComplex>
class SolveCall : public LibraryCall {
 public:
  explicit SolveCall(const Instr& instr)
      : SolveCall(instr, instr.as<TriangularSolveAttrs>()) {}
  SolveCall(const Instr& instr, const TriangularSolveAttrs& attrs) : attrs_(attrs) {
    const Shape &a = instr.operand(0)->shape, &b = instr.shape;
    n_ = a.dims.back();
    batch_ = product(DimSpan(a.dims).first(a.dims.size() - 2));
    rows_ = b.dims[b.dims.size() - 2];
    columns_ = b.dims.back();
    count_ = attrs_.left_side ? columns_ : rows_;
  }

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    if (batch_ * n_ * count_ == 0) return true;
    if constexpr (!kComplex)
      if (n_ <= kSmallMatrix && count_ <= kFewColumns && batch_ >= kFewest) return small(operands, results, pool);
    const int64_t lanes = Kernels::lanes_for(count_), panels = (count_ + lanes - 1) / lanes;
    const int64_t panel = n_ * lanes * kP;  // elements; whole vectors
    Scratch::Lease lease(scratch_, pool.threads() * panel * static_cast<int64_t>(sizeof(T)));
    if (!lease.data()) return false;
    const T* a = reinterpret_cast<const T*>(operands[0]);
    const T* b = reinterpret_cast<const T*>(operands[1]);
    T* out = reinterpret_cast<T*>(results[0]);
    const int64_t row = attrs_.left_side ? 1 : n_, column = attrs_.left_side ? count_ : 1;
    const int64_t work = std::max<int64_t>(1, n_ * n_ / 2);
    pool.run(batch_ * panels, std::max<int64_t>(1, 2048 / work),
             [&](int64_t begin, int64_t end, int thread) {
      T* x = reinterpret_cast<T*>(lease.data()) + thread * panel;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = i / panels, first = i % panels * lanes;
        const int64_t width = std::min(lanes, count_ - first);
        const int64_t at = kP * (k * rows_ * columns_ + first * row);
        load_panel<T, kP>(x, lanes, b + at, row, column, width, n_);
        solve(x, lanes, a + kP * k * n_ * n_);
        store_panel<T, kP>(x, lanes, out + at, row, column, width, n_);
      }
    });
    return true;
  }

 private:
  using Kernels = MatrixKernels<T, kComplex>;
  static constexpr int64_t kP = Kernels::kParts;

  // x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ. An upper triangle is a lower one from its end: then `backwards`. Elements of a are
  // `apart` numbers from each other.
  Triangle<T> triangle(const T* a, int64_t apart, bool* backwards) const {
    const bool swap = (attrs_.transpose_a != TransposeA::kNo) == attrs_.left_side;
    Triangle<T> t{a, swap ? 1 : n_, swap ? n_ : 1, n_, attrs_.unit_diagonal,
                  attrs_.transpose_a == TransposeA::kAdjoint};
    *backwards = attrs_.lower == swap;
    if (*backwards) {
      t.data = a + apart * (n_ * n_ - 1);
      t.row = -t.row;
      t.column = -t.column;
    }
    return t;
  }
  void solve(T* x, int64_t lanes, const T* a) const {
    bool backwards;
    const Triangle<T> t = triangle(a, kP, &backwards);
    if (backwards) Kernels::solve(x + (n_ - 1) * lanes * kP, -1, t, lanes);
    else Kernels::solve(x, 1, t, lanes);
  }

  // Matrices in lanes, one in each with its right-hand sides.
  bool small(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) const {
    constexpr int64_t kLanes = 64 / sizeof(T);
    const T* a = reinterpret_cast<const T*>(operands[0]);
    const T* b = reinterpret_cast<const T*>(operands[1]);
    T* out = reinterpret_cast<T*>(results[0]);
    const SolveKernels<T>& kernels = solve_kernels<T>();
    const int64_t size = n_ * n_, sides = n_ * count_, grain = std::max<int64_t>(1, 1024 / (size * count_));
    const int64_t row = attrs_.left_side ? count_ : 1, column = attrs_.left_side ? 1 : n_;
    pool.run((batch_ + kLanes - 1) / kLanes, grain, [&](int64_t begin, int64_t end, int) {
      alignas(64) T m[kSmallMatrix * kSmallMatrix * kLanes], x[kSmallMatrix * kFewColumns * kLanes];
      bool backwards;
      const Triangle<T> t = triangle(m, kLanes, &backwards);
      for (int64_t k = begin * kLanes; k < std::min(end * kLanes, batch_); k += kLanes) {
        const int64_t count = std::min(kLanes, batch_ - k);
        kernels.load_small(m, a + k * size, size, count);
        kernels.load_small(x, b + k * sides, sides, count);
        if (backwards) kernels.small_solve(x + (n_ - 1) * row * kLanes, -row, column, count_, t);
        else kernels.small_solve(x, row, column, count_, t);
        kernels.store_small(out + k * sides, x, sides, count);
      }
    });
    return true;
  }

  const TriangularSolveAttrs attrs_;
  int64_t n_, batch_, rows_, columns_, count_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_triangular_solve(const Instr& instr) {
  return matrix_call<SolveCall>(instr);
}

std::unique_ptr<LibraryCall> prepare_trsm(const Instr& instr) {
  const std::string& config = instr.as<CustomCallAttrs>().backend_config;
  const auto option = [&](std::string_view key, char otherwise) {
    const Result<int64_t> v = dictionary_int(config, key, otherwise);
    return v.ok() ? *v : -1;
  };
  const int64_t side = option("side", 'L'), uplo = option("uplo", 'L'), diag = option("diag", 'N'),
                trans = option("trans_x", 'N');
  if ((side != 'L' && side != 'R') || (uplo != 'L' && uplo != 'U') || (diag != 'N' && diag != 'U') ||
      (trans != 'N' && trans != 'T' && trans != 'C'))
    return nullptr;
  TriangularSolveAttrs a;
  a.left_side = side == 'L';
  a.lower = uplo == 'L';
  a.unit_diagonal = diag == 'U';
  a.transpose_a = trans == 'N'   ? TransposeA::kNo
                  : trans == 'T' ? TransposeA::kTranspose
                                 : TransposeA::kAdjoint;
  switch (instr.shape.is_array() ? instr.shape.dtype : Dtype::kPred) {
    case Dtype::kF32: return std::make_unique<SolveCall<float, false>>(instr, a);
    case Dtype::kF64: return std::make_unique<SolveCall<double, false>>(instr, a);
    case Dtype::kC64: return std::make_unique<SolveCall<float, true>>(instr, a);
    case Dtype::kC128: return std::make_unique<SolveCall<double, true>>(instr, a);
    default: return nullptr;
  }
}

}  // namespace braze
