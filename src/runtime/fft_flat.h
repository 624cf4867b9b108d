// SPDX-License-Identifier: Apache-2.0
// FftFlat: a complex transform of one long line, as n1 columns and n2 rows in lanes (n = n1·n2).
//
// Lengths that do not split well become convolutions with chirps of a length that does.
//
// Interface: fits() says if a length is long enough; transform() goes from one interleaved array to
// another (which may be the same), in parallel, with the caller's scratch.
#pragma once

#include <memory>
#include <vector>

#include "runtime/fft_line.h"
#include "runtime/pool.h"

namespace braze {

template <typename T>
class FftFlat {
 public:
  static bool fits(int64_t n);  // worth it, at least for single lines
  explicit FftFlat(int64_t n);
  int64_t scratch_bytes(int threads) const;
  // swap: re and im exchanged in and out, an inverse transform.
  void transform(const T* from, T* to, bool swap, T scale, char* scratch, Pool& pool) const;

 private:
  void plan_chirps();
  void convolve(const T* from, T* to, bool swap, T scale, char* scratch, Pool& pool) const;
  void root(int64_t k, double* re, double* im) const;  // e^(-2πi·k/n) for k < n

  int64_t n_, n1_ = 1, n2_ = 1, pitch_ = 0;
  std::unique_ptr<FftLine<T>> columns_, rows_;
  LineArray<T> table_;              // e^(-2πi·k·l/n) for k < n1 and each lane l, as a line
  std::vector<double> high_, low_;  // roots by the parts of their exponent
  // A length that does not split: a convolution with chirps.
  std::unique_ptr<FftFlat> inner_;
  std::vector<T> chirp_, spectrum_;
};

}  // namespace braze
