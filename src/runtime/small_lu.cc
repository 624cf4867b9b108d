// SPDX-License-Identifier: Apache-2.0
// The custom call getrf on batches of small matrices: one in each lane of a vector. Which row is the largest where
// some are no numbers is LAPACK's word: such a matrix goes there.
#include <algorithm>
#include <cmath>

#include "ops/lapack.h"
#include "runtime/factor.h"
#include "runtime/isa.h"

namespace braze {
namespace {

template <typename T>
class SmallLuCall : public LibraryCall {
 public:
  explicit SmallLuCall(const Shape& s) : n_(s.dims.back()), batch_(s.elements() / (n_ * n_)) {}

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) override {
    const T* in = reinterpret_cast<const T*>(operands[0]);
    T* out = reinterpret_cast<T*>(results[0]);
    auto* pivots = reinterpret_cast<int32_t*>(results[1]);
    auto* info = reinterpret_cast<int32_t*>(results[2]);
    const int64_t grain = std::max<int64_t>(1, 4096 / (n_ * n_ * n_));
    pool.run((batch_ + kLanes - 1) / kLanes, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t p = begin; p < end; ++p) block(p * kLanes, in, out, pivots, info);
    });
    return true;
  }

 private:
  static constexpr int64_t kLanes = 64 / sizeof(T);

  void block(int64_t first, const T* in, T* out, int32_t* pivots, int32_t* info) const {
    alignas(64) T m[kSmallMatrix * kSmallMatrix * kLanes];
    int32_t rows[kSmallMatrix * kLanes], failed[kLanes];
    const int64_t count = std::min(kLanes, batch_ - first), size = n_ * n_;
    solve_kernels<T>().load_small(m, in + first * size, size, count);
    solve_kernels<T>().small_lu(m, n_, rows, failed);
    solve_kernels<T>().store_small(out + first * size, m, size, count);
    for (int64_t l = 0; l < count; ++l) {
      const T* from = in + (first + l) * size;
      T* to = out + (first + l) * size;
      int32_t* order = pivots + (first + l) * n_;
      if (!std::all_of(from, from + size, [](T v) { return std::isfinite(v); })) {
        info[first + l] = by_lapack(from, to, order);
        continue;
      }
      for (int64_t k = 0; k < n_; ++k) order[k] = rows[k * kLanes + l];
      info[first + l] = failed[l];
    }
  }

  int32_t by_lapack(const T* from, T* to, int32_t* pivots) const {
    T columns[kSmallMatrix * kSmallMatrix];
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) columns[j * n_ + i] = from[i * n_ + j];
    const auto info = lapack::getrf(static_cast<lapack::Int>(n_), static_cast<lapack::Int>(n_), columns, pivots);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) to[i * n_ + j] = columns[j * n_ + i];
    return info;
  }

  const int64_t n_, batch_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_getrf(const Instr& instr) {
  constexpr int64_t kFewest = 4;  // matrices
  const Shape& s = instr.operand(0)->shape;
  const int64_t n = s.dims.back();
  if (s.dims[s.dims.size() - 2] != n || n < 1 || n > kSmallMatrix || s.elements() < kFewest * n * n) return nullptr;
  if (s.dtype == Dtype::kF32) return std::make_unique<SmallLuCall<float>>(s);
  if (s.dtype == Dtype::kF64) return std::make_unique<SmallLuCall<double>>(s);
  return nullptr;
}

}  // namespace braze
