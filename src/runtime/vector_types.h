// SPDX-License-Identifier: Apache-2.0
// Vectors of 64 bytes for the files compiled per instruction set; narrower machines split them.
// Included by *_lanes.h only, after BRAZE_ISA is defined.
#pragma once

#include <cstdint>

#define BRAZE_INLINE inline __attribute__((always_inline))

namespace braze::BRAZE_ISA {
namespace {

template <typename T>
struct Lanes;

template <>
struct Lanes<float> {
  typedef float Vec __attribute__((vector_size(64)));
  typedef float Loose __attribute__((vector_size(64), aligned(4)));
  static constexpr int kCount = 16;
  static BRAZE_INLINE Vec zero() { return Vec{}; }
  static BRAZE_INLINE Vec load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
  static BRAZE_INLINE void store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
  static BRAZE_INLINE Vec load_loose(const float* p) { return *reinterpret_cast<const Loose*>(p); }
  static BRAZE_INLINE void store_loose(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
  // Interleaved pairs ↔ two vectors.
  static BRAZE_INLINE void split(const float* p, Vec* a, Vec* b) {
    const Vec x = load_loose(p), y = load_loose(p + 16);
    *a = __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *b = __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
  static BRAZE_INLINE void merge(float* p, Vec a, Vec b) {
    store_loose(p, __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    store_loose(p + 16, __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31));
  }
};

template <>
struct Lanes<double> {
  typedef double Vec __attribute__((vector_size(64)));
  typedef double Loose __attribute__((vector_size(64), aligned(8)));
  static constexpr int kCount = 8;
  static BRAZE_INLINE Vec zero() { return Vec{}; }
  static BRAZE_INLINE Vec load(const double* p) { return *reinterpret_cast<const Vec*>(p); }
  static BRAZE_INLINE void store(double* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
  static BRAZE_INLINE Vec load_loose(const double* p) { return *reinterpret_cast<const Loose*>(p); }
  static BRAZE_INLINE void store_loose(double* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
  static BRAZE_INLINE void split(const double* p, Vec* a, Vec* b) {
    const Vec x = load_loose(p), y = load_loose(p + 8);
    *a = __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);
    *b = __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
  }
  static BRAZE_INLINE void merge(double* p, Vec a, Vec b) {
    store_loose(p, __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
    store_loose(p + 8, __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
  }
};

}  // namespace
}  // namespace braze::BRAZE_ISA
