// SPDX-License-Identifier: Apache-2.0
// FftLine: the plan of a complex transform of one length, and its tables.
//
// Interface: transform() runs on a line in lanes (see fft_kernels.h). Lengths with a large prime
// factor become a convolution with chirps (Bluestein) of a length that has none.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/fft_kernels.h"

namespace braze {

// Zeroed memory on a 64-byte boundary, as lines need.
template <typename T>
class LineArray {
 public:
  explicit LineArray(int64_t count = 0) : count_(count) {
    const size_t bytes = (static_cast<size_t>(count) * sizeof(T) + 64) / 64 * 64;
    data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
    if (!data_) count_ = 0;
    for (int64_t i = 0; i < count_; ++i) data_[i] = T(0);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  int64_t size() const { return count_; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  int64_t count_;
  std::unique_ptr<T[], Free> data_;
};

// e^(-2πi·k/n), k taken modulo n exactly.
void unit_root(int64_t k, int64_t n, double* re, double* im);
void unit_root(int64_t k, int64_t n, long double* re, long double* im);

// e^(-2πi·k/n) for many k, as products of two from tables: as exact as unit_root, far cheaper.
class UnitRoots {
 public:
  explicit UnitRoots(int64_t n);
  void get(int64_t k, double* re, double* im) const;  // 0 ≤ k < n

 private:
  static constexpr int64_t kLow = 1024;
  std::vector<long double> high_, low_;
};

template <typename T>
class FftLine {
 public:
  explicit FftLine(int64_t n);
  int64_t length() const { return n_; }
  // Numbers that each of transform's two buffers must hold.
  int64_t capacity() const { return inner_ ? inner_->capacity() : n_; }
  // Forward transform of the line in a; returns which of a and b holds the result.
  T* transform(T* a, T* b) const;

 private:
  void plan_factors();
  void plan_chirps();

  int64_t n_;
  FftFactors<T> factors_;
  std::vector<T> tables_;
  std::unique_ptr<FftLine> inner_;  // of the convolution
  std::vector<T> chirp_, spectrum_;
};

// Bluestein: X[k] = c[k]·Σ (x[j]·c[j])·conj(c[k-j]) with the chirps c[k] = e^(-πi·k²/n), as a cyclic
// convolution of a length from 2n-1 on without large factors.
int64_t chirp_length(int64_t n);
// chirp: n numbers; mirror: the m numbers of conj(c) wrapped around, spaced by `stride` numbers with
// im at `im_offset` from re.
void make_chirps(int64_t n, int64_t m, std::vector<double>* chirp, double* mirror, int64_t stride,
                 int64_t im_offset);

}  // namespace braze
