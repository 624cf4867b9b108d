// SPDX-License-Identifier: Apache-2.0
// The vector kernels of fft: each lane holds a transform of its own.
//
// A line of n complex numbers in lanes is n × { re[L], im[L] }, 64-byte aligned, L = fft_lanes<T>().
// Interface: FftKernels<T>, a table of functions; runtime/isa.h has one for each instruction set.
// Arrays outside are interleaved complex numbers (or reals), strides counted in these. `lanes` ≤ L
// lanes are used, the others hold numbers that do not matter. `swap` exchanges re and im on the way, which turns a forward
// transform into an inverse one.
#pragma once

#include <cstdint>

namespace braze {

template <typename T>
constexpr int fft_lanes() {
  return 64 / static_cast<int>(sizeof(T));
}

// A length as factors. Factor f of n: l1 = product of the factors before it, ido = n / (l1·f);
// twiddle[i·(f-1) + j-1] = e^(-2πi·j·l1·i/n); roots[k] = e^(-2πi·k/f), for odd factors from 7 on.
constexpr int kMaxFactors = 48;
constexpr int64_t kMaxFactor = 61;
template <typename T>
struct FftFactors {
  int64_t n = 1;
  int count = 0;
  int64_t factor[kMaxFactors] = {};
  const T* twiddle[kMaxFactors] = {};
  const T* roots[kMaxFactors] = {};
};

template <typename T>
struct FftKernels {
  // Transforms the line in a, b being room for another; returns which of them holds the result.
  T* (*passes)(const FftFactors<T>& f, T* a, T* b);
  // Lane l is element l of n rows (columns), or row l of n elements (rows).
  void (*load_columns)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap);
  void (*load_rows)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap);
  void (*load_real_rows)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes);
  void (*store_columns)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap,
                        T scale);
  void (*store_rows)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap,
                     T scale);
  void (*store_real_rows)(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, T scale);
  // line[k] *= factors[k] (complex), then re and im exchanged if `swap`.
  void (*multiply)(T* line, const T* factors, int64_t n, bool swap);
  // line[k] *= scalars[k] · table[k], a line.
  void (*twiddle)(T* line, const T* table, const T* scalars, int64_t n);
  // Spectrum of m packed complex numbers → half spectrum (m + 1) of the 2m reals they are, and back
  // (up to a factor 2). w[k] = e^(-πi·k/m), k ≤ m/2.
  void (*unpack_real)(T* line, const T* w, int64_t m);
  void (*pack_real)(T* line, const T* w, int64_t m);
};

}  // namespace braze
