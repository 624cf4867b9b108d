// SPDX-License-Identifier: Apache-2.0
// Rows of memory to and from the lanes of 64 bytes, a row in each: a cache line at a time, as squares that are
// transposed in registers. Included by *_lanes.h only.
#pragma once

#include "runtime/vector_types.h"

namespace braze::BRAZE_ISA {
namespace {

// Element e < n of row l is line[kStep·(e ^ flip) + l].
template <typename T, int kStep>
BRAZE_INLINE void load_squares(T* line, const T* from, int64_t n, int64_t stride, int64_t lanes, int64_t flip) {
  using L = Lanes<T>;
  constexpr int kL = 64 / static_cast<int>(sizeof(T));
  const T* rows[kL];  // lanes that are not used hold the first row again
  for (int l = 0; l < kL; ++l) rows[l] = l < lanes ? from + stride * l : from;
  for (int64_t block = 0; block < n; block += kL) {
    const int64_t end = block + kL < n ? block + kL : n;
    for (int part = 0; part < kL; part += L::kCount) {
      T* to = line + part;
      int64_t e = block;
      for (; e + L::kCount <= end; e += L::kCount) {
        typename L::Vec v[L::kCount];
        for (int l = 0; l < L::kCount; ++l) v[l] = L::load_loose(rows[part + l] + e);
        L::transpose(v);
        for (int i = 0; i < L::kCount; ++i) L::store(to + kStep * ((e + i) ^ flip), v[i]);
      }
      for (; e < end; ++e)
        for (int l = 0; l < L::kCount; ++l) to[kStep * (e ^ flip) + l] = rows[part + l][e];
    }
  }
}
template <typename T, int kStep>
BRAZE_INLINE void store_squares(T* to, const T* line, int64_t n, int64_t stride, int64_t lanes, int64_t flip,
                                T scale) {
  using L = Lanes<T>;
  constexpr int kL = 64 / static_cast<int>(sizeof(T));
  for (int64_t block = 0; block < n; block += kL) {
    const int64_t end = block + kL < n ? block + kL : n;
    for (int part = 0; part < lanes; part += L::kCount) {
      T* rows = to + stride * part;
      const T* from = line + part;
      const int64_t count = lanes - part < L::kCount ? lanes - part : L::kCount;
      int64_t e = block;
      for (; e + L::kCount <= end; e += L::kCount) {
        typename L::Vec v[L::kCount];
        for (int i = 0; i < L::kCount; ++i) v[i] = L::load(from + kStep * ((e + i) ^ flip)) * scale;
        L::transpose(v);
        if (count == L::kCount)
          for (int l = 0; l < L::kCount; ++l) L::store_loose(rows + stride * l + e, v[l]);
        else
          for (int l = 0; l < L::kCount; ++l)
            if (l < count) L::store_loose(rows + stride * l + e, v[l]);
      }
      for (; e < end; ++e)
        for (int64_t l = 0; l < count; ++l) rows[stride * l + e] = from[kStep * (e ^ flip) + l] * scale;
    }
  }
}

}  // namespace
}  // namespace braze::BRAZE_ISA
