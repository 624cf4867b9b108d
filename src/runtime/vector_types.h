// SPDX-License-Identifier: Apache-2.0
// Vectors of the width of the instruction set that a file is compiled for: wider ones would be taken apart through
// memory. Included by *_lanes.h only, after BRAZE_ISA is defined.
#pragma once

#include <cstdint>
#include <utility>

#define BRAZE_INLINE inline __attribute__((always_inline))

namespace braze::BRAZE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct Lanes {
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(sizeof(T))));
  static constexpr int kCount = kVectorBytes / static_cast<int>(sizeof(T));
  static BRAZE_INLINE Vec zero() { return Vec{}; }
  static BRAZE_INLINE Vec load(const T* p) { return *reinterpret_cast<const Vec*>(p); }
  static BRAZE_INLINE void store(T* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
  static BRAZE_INLINE Vec load_loose(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static BRAZE_INLINE void store_loose(T* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
  // Interleaved pairs ↔ two vectors.
  static BRAZE_INLINE void split(const T* p, Vec* a, Vec* b) {
    split_at(p, a, b, std::make_integer_sequence<int, kCount>());
  }
  static BRAZE_INLINE void merge(T* p, Vec a, Vec b) {
    merge_at(p, a, b, std::make_integer_sequence<int, kCount>());
  }
  // Of a square of kCount vectors: blocks of half the size change places, then those inside, down to elements.
  template <int kBlock = kCount / 2>
  static BRAZE_INLINE void transpose(Vec* v) {
    for (int i = 0; i < kCount; ++i)
      if ((i & kBlock) == 0) exchange<kBlock>(v + i, v + i + kBlock, std::make_integer_sequence<int, kCount>());
    if constexpr (kBlock > 1) transpose<kBlock / 2>(v);
  }

 private:
  template <int kBlock, int... kI>
  static BRAZE_INLINE void exchange(Vec* a, Vec* b, std::integer_sequence<int, kI...>) {
    const Vec x = *a, y = *b;
    *a = __builtin_shufflevector(x, y, (kI & kBlock ? kCount + kI - kBlock : kI)...);
    *b = __builtin_shufflevector(x, y, (kI & kBlock ? kCount + kI : kI + kBlock)...);
  }
  template <int... kI>
  static BRAZE_INLINE void split_at(const T* p, Vec* a, Vec* b, std::integer_sequence<int, kI...>) {
    const Vec x = load_loose(p), y = load_loose(p + kCount);
    *a = __builtin_shufflevector(x, y, 2 * kI...);
    *b = __builtin_shufflevector(x, y, 2 * kI + 1 ...);
  }
  template <int... kI>
  static BRAZE_INLINE void merge_at(T* p, Vec a, Vec b, std::integer_sequence<int, kI...>) {
    store_loose(p, __builtin_shufflevector(a, b, kI / 2 + kI % 2 * kCount...));
    store_loose(p + kCount, __builtin_shufflevector(a, b, (kCount + kI) / 2 + kI % 2 * kCount...));
  }
};

}  // namespace
}  // namespace braze::BRAZE_ISA
