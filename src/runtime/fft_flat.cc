// SPDX-License-Identifier: Apache-2.0
#include "runtime/fft_flat.h"

#include <algorithm>
#include <cmath>

#include "runtime/isa.h"

namespace braze {
namespace {

constexpr int64_t kLow = 1024;  // roots are products of two from tables; this is the second's length

// The divisor of n nearest below its square root.
int64_t split_of(int64_t n) {
  int64_t d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (d > 1 && n % d != 0) --d;
  return d;
}

constexpr int64_t kLongLine = 4096;  // shorter lines that don't split go through lanes

bool splits(int64_t n) { return n >= 512 && split_of(n) >= 16; }

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

template <typename T>
bool FftFlat<T>::fits(int64_t n) {
  return splits(n) || n >= kLongLine;
}

template <typename T>
FftFlat<T>::FftFlat(int64_t n) : n_(n) {
  constexpr int kL = fft_lanes<T>();
  if (!splits(n)) {
    plan_chirps();
    return;
  }
  n1_ = split_of(n);
  n2_ = n / n1_;
  pitch_ = round_up(n2_, kL) + 16;  // rows that don't share cache sets
  columns_ = std::make_unique<FftLine<T>>(n1_);
  rows_ = std::make_unique<FftLine<T>>(n2_);
  for (int64_t k = 0; k <= n / kLow; ++k) {
    double re, im;
    unit_root(k * kLow, n, &re, &im);
    high_.push_back(re);
    high_.push_back(im);
  }
  for (int64_t k = 0; k < kLow; ++k) {
    double re, im;
    unit_root(k, n, &re, &im);
    low_.push_back(re);
    low_.push_back(im);
  }
  table_ = LineArray<T>(2 * kL * n1_);
  for (int64_t k = 0; k < n1_; ++k)
    for (int64_t l = 0; l < kL; ++l) {
      double re, im;
      root(k * l % n, &re, &im);
      table_.data()[2 * kL * k + l] = static_cast<T>(re);
      table_.data()[2 * kL * k + kL + l] = static_cast<T>(im);
    }
}

template <typename T>
void FftFlat<T>::plan_chirps() {
  const int64_t m = chirp_length(n_);
  inner_ = std::make_unique<FftFlat>(m);
  const FftFlat<double> wide(m);
  Pool alone(1);
  std::vector<double> chirp, mirror(2 * m);
  make_chirps(n_, m, &chirp, mirror.data(), 2, 1);
  chirp_.assign(chirp.begin(), chirp.end());
  LineArray<char> scratch(wide.scratch_bytes(1));
  wide.transform(mirror.data(), mirror.data(), false, 1.0 / static_cast<double>(m), scratch.data(),
                 alone);
  spectrum_.assign(mirror.begin(), mirror.end());
}

template <typename T>
void FftFlat<T>::convolve(const T* from, T* to, bool swap, T scale, char* scratch,
                          Pool& pool) const {
  const int64_t m = inner_->n_;
  T* line = reinterpret_cast<T*>(scratch);
  char* rest = scratch + round_up(2 * m * static_cast<int64_t>(sizeof(T)), 64);
  const int re = swap ? 1 : 0, im = 1 - re;
  auto times = [](T a, T b, T c, T d, T* x, T* y) {
    *x = a * c - b * d;
    *y = a * d + b * c;
  };
  pool.run(m, 4096, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      if (k < n_)
        times(from[2 * k + re], from[2 * k + im], chirp_[2 * k], chirp_[2 * k + 1], &line[2 * k],
              &line[2 * k + 1]);
      else
        line[2 * k] = line[2 * k + 1] = T(0);
    }
  });
  inner_->transform(line, line, false, T(1), rest, pool);
  pool.run(m, 4096, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k)
      times(line[2 * k], line[2 * k + 1], spectrum_[2 * k], spectrum_[2 * k + 1], &line[2 * k],
            &line[2 * k + 1]);
  });
  inner_->transform(line, line, true, T(1), rest, pool);
  pool.run(n_, 4096, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      T x, y;
      times(line[2 * k], line[2 * k + 1], chirp_[2 * k], chirp_[2 * k + 1], &x, &y);
      to[2 * k + re] = x * scale;
      to[2 * k + im] = y * scale;
    }
  });
}

template <typename T>
void FftFlat<T>::root(int64_t k, double* re, double* im) const {
  const double* a = &high_[2 * (k / kLow)];
  const double* b = &low_[2 * (k % kLow)];
  *re = a[0] * b[0] - a[1] * b[1];
  *im = a[0] * b[1] + a[1] * b[0];
}

template <typename T>
int64_t FftFlat<T>::scratch_bytes(int threads) const {
  constexpr int kL = fft_lanes<T>();
  if (inner_)
    return round_up(2 * inner_->n_ * static_cast<int64_t>(sizeof(T)), 64) +
           inner_->scratch_bytes(threads);
  const int64_t lines = 2 * std::max(columns_->capacity(), rows_->capacity()) * 2 * kL;
  const int64_t scalars = round_up(2 * n1_, kL);
  return static_cast<int64_t>(sizeof(T)) * (round_up(2 * n1_ * pitch_, kL) + threads * (lines + scalars));
}

template <typename T>
void FftFlat<T>::transform(const T* from, T* to, bool swap, T scale, char* scratch,
                           Pool& pool) const {
  if (inner_) return convolve(from, to, swap, scale, scratch, pool);
  constexpr int kL = fft_lanes<T>();
  const FftKernels<T>& kernels = fft_kernels<T>();
  T* between = reinterpret_cast<T*>(scratch);
  T* lines = between + round_up(2 * n1_ * pitch_, kL);
  const int64_t line = std::max(columns_->capacity(), rows_->capacity()) * 2 * kL;
  const int64_t per_thread = 2 * line + round_up(2 * n1_, kL);
  const int64_t grain = std::max<int64_t>(1, 4096 / n1_ / kL);
  pool.run((n2_ + kL - 1) / kL, grain, [&](int64_t begin, int64_t end, int thread) {
    T* a = lines + thread * per_thread;
    T* scalars = a + 2 * line;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t c = block * kL, lanes = std::min<int64_t>(kL, n2_ - c);
      kernels.load_columns(a, from + 2 * c, n1_, n2_, lanes, swap);
      T* r = columns_->transform(a, a + line);
      for (int64_t k = 0; k < n1_; ++k) {
        double re, im;
        root(k * c, &re, &im);
        scalars[2 * k] = static_cast<T>(re);
        scalars[2 * k + 1] = static_cast<T>(im);
      }
      kernels.twiddle(r, table_.data(), scalars, n1_);
      kernels.store_columns(between + 2 * c, r, n1_, pitch_, lanes, false, T(1));
    }
  });
  pool.run((n1_ + kL - 1) / kL, grain, [&](int64_t begin, int64_t end, int thread) {
    T* a = lines + thread * per_thread;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t c = block * kL, lanes = std::min<int64_t>(kL, n1_ - c);
      kernels.load_rows(a, between + 2 * pitch_ * c, n2_, pitch_, lanes, false);
      T* r = rows_->transform(a, a + line);
      kernels.store_columns(to + 2 * c, r, n2_, n1_, lanes, swap, scale);
    }
  });
}

template class FftFlat<float>;
template class FftFlat<double>;

}  // namespace braze
