// SPDX-License-Identifier: Apache-2.0
// Implementation of SolveKernels for the instruction set BRAZE_ISA; included by isa_kernels.h only.
//
// Blocks of kRows rows by kVectors vectors are kept in registers while the rows above are subtracted
// in order, so that no element's sum depends on how panels were cut.
#pragma once

#include <type_traits>

#include "runtime/solve_kernels.h"
#include "runtime/square_lanes.h"

namespace braze::BRAZE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kSolveRows = 8, kSolveVectors = 2;
#else
constexpr int kSolveRows = 4, kSolveVectors = 2;
#endif

// Real numbers in the lanes of several vectors.
template <typename T, int kCount = kSolveVectors>
struct Reals {
  static constexpr int kParts = 1, kVectors = kCount, kRows = kSolveRows;
  static constexpr int kLanes = kVectors * Lanes<T>::kCount;
  typename Lanes<T>::Vec v[kVectors];

  BRAZE_INLINE void load(const T* p) {
    for (int i = 0; i < kVectors; ++i) v[i] = Lanes<T>::load(p + i * Lanes<T>::kCount);
  }
  BRAZE_INLINE void store(T* p) const {
    for (int i = 0; i < kVectors; ++i) Lanes<T>::store(p + i * Lanes<T>::kCount, v[i]);
  }
  BRAZE_INLINE void subtract(const T* a, bool, const Reals& x) {
    const T s = *a;
    for (int i = 0; i < kVectors; ++i) v[i] -= x.v[i] * s;
  }
  BRAZE_INLINE void subtract_conjugate(const T* a, const Reals& x) { subtract(a, false, x); }
  BRAZE_INLINE void divide(const T* a, bool) {
    const T s = *a;
    for (int i = 0; i < kVectors; ++i) v[i] = v[i] / s;
  }
  // To and from a row of a matrix.
  BRAZE_INLINE void load_row(const T* p, int64_t width) {
    if (width == kLanes) {
      for (int i = 0; i < kVectors; ++i) v[i] = Lanes<T>::load_loose(p + i * Lanes<T>::kCount);
      return;
    }
    alignas(64) T t[kLanes] = {};
    for (int64_t l = 0; l < width; ++l) t[l] = p[l];
    load(t);
  }
  BRAZE_INLINE void store_row(T* p, int64_t width) const {
    if (width == kLanes) {
      for (int i = 0; i < kVectors; ++i) Lanes<T>::store_loose(p + i * Lanes<T>::kCount, v[i]);
      return;
    }
    alignas(64) T t[kLanes];
    store(t);
    for (int64_t l = 0; l < width; ++l) p[l] = t[l];
  }
};

template <typename T>
struct Complexes {
  static constexpr int kParts = 2, kRows = kSolveRows;
  static constexpr int kLanes = Lanes<T>::kCount;
  typename Lanes<T>::Vec re, im;

  BRAZE_INLINE void load(const T* p) {
    re = Lanes<T>::load(p);
    im = Lanes<T>::load(p + kLanes);
  }
  BRAZE_INLINE void store(T* p) const {
    Lanes<T>::store(p, re);
    Lanes<T>::store(p + kLanes, im);
  }
  BRAZE_INLINE void subtract(const T* a, bool conjugate, const Complexes& x) {
    const T r = a[0], i = conjugate ? -a[1] : a[1];
    re -= x.re * r;
    re += x.im * i;
    im -= x.im * r;
    im -= x.re * i;
  }
  BRAZE_INLINE void subtract_conjugate(const T* a, const Complexes& x) {
    re -= x.re * a[0];
    re -= x.im * a[1];
    im += x.im * a[0];
    im -= x.re * a[1];
  }
  BRAZE_INLINE void divide(const T* a, bool conjugate) {
    // Scaled, so that no square overflows.
    const T r = a[0], i = conjugate ? -a[1] : a[1];
    const T ar = r < 0 ? -r : r, ai = i < 0 ? -i : i;
    if (ar >= ai) {
      const T q = i / r, d = r + i * q;
      const typename Lanes<T>::Vec x = (re + im * q) / d, y = (im - re * q) / d;
      re = x;
      im = y;
    } else {
      const T q = r / i, d = i + r * q;
      const typename Lanes<T>::Vec x = (re * q + im) / d, y = (im * q - re) / d;
      re = x;
      im = y;
    }
  }
  BRAZE_INLINE void load_row(const T* p, int64_t width) {
    if (width == kLanes) return Lanes<T>::split(p, &re, &im);
    alignas(64) T t[2 * kLanes] = {};
    for (int64_t l = 0; l < width; ++l) {
      t[l] = p[2 * l];
      t[kLanes + l] = p[2 * l + 1];
    }
    load(t);
  }
  BRAZE_INLINE void store_row(T* p, int64_t width) const {
    if (width == kLanes) return Lanes<T>::merge(p, re, im);
    alignas(64) T t[2 * kLanes];
    store(t);
    for (int64_t l = 0; l < width; ++l) {
      p[2 * l] = t[l];
      p[2 * l + 1] = t[kLanes + l];
    }
  }
};

// Rows i … i + kRows - 1 of t·x = panel.
template <typename T, typename V, int kRows>
BRAZE_INLINE void solve_rows(T* x, int64_t step, const Triangle<T>& t, int64_t i) {
  constexpr int64_t kRow = V::kLanes * V::kParts;
  const T* row = t.data + V::kParts * i * t.row;
  const int64_t down = V::kParts * t.row, right = V::kParts * t.column;
  V acc[kRows];
  for (int r = 0; r < kRows; ++r) acc[r].load(x + (i + r) * step * kRow);
  for (int64_t k = 0; k < i; ++k) {
    V above;
    above.load(x + k * step * kRow);
    for (int r = 0; r < kRows; ++r) acc[r].subtract(row + r * down + k * right, t.conjugate, above);
  }
  for (int r = 0; r < kRows; ++r) {
    for (int q = 0; q < r; ++q)
      acc[r].subtract(row + r * down + (i + q) * right, t.conjugate, acc[q]);
    if (!t.unit) acc[r].divide(row + r * down + (i + r) * right, t.conjugate);
    acc[r].store(x + (i + r) * step * kRow);
  }
}

template <typename T, typename V>
void solve(T* x, int64_t step, const Triangle<T>& t) {
  int64_t i = 0;
  for (; i + V::kRows <= t.n; i += V::kRows) solve_rows<T, V, V::kRows>(x, step, t, i);
  for (; i < t.n; ++i) solve_rows<T, V, 1>(x, step, t, i);
}

template <typename T, typename V, int kRows>
BRAZE_INLINE void update_rows(T* c, int64_t c_row, const T* a, int64_t a_row, const T* panel,
                              int64_t depth, int64_t width) {
  constexpr int kP = V::kParts;
  V acc[kRows];
  for (int r = 0; r < kRows; ++r) acc[r].load_row(c + kP * r * c_row, width);
  for (int64_t k = 0; k < depth; ++k) {
    V x;
    x.load(panel + k * V::kLanes * kP);
    for (int r = 0; r < kRows; ++r) acc[r].subtract_conjugate(a + kP * (r * a_row + k), x);
  }
  for (int r = 0; r < kRows; ++r) acc[r].store_row(c + kP * r * c_row, width);
}

template <typename T, typename V>
void update(T* c, int64_t c_row, const T* a, int64_t a_row, const T* panel, int64_t depth,
            int64_t rows, int64_t width) {
  constexpr int kP = V::kParts;
  int64_t i = 0;
  for (; i + V::kRows <= rows; i += V::kRows)
    update_rows<T, V, V::kRows>(c + kP * i * c_row, c_row, a + kP * i * a_row, a_row, panel, depth, width);
  for (; i < rows; ++i)
    update_rows<T, V, 1>(c + kP * i * c_row, c_row, a + kP * i * a_row, a_row, panel, depth, width);
}

template <typename T>
BRAZE_INLINE T square_root(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_sqrtf(v);
  else return __builtin_sqrt(v);
}

// Column by column; what is below and right of it is updated by rows.
template <typename T>
bool factor(T* a, int64_t row, int64_t n) {
  alignas(64) T column[kFactorSize];
  for (int64_t j = 0; j < n; ++j) {
    T d = a[j * row + j];
    if (!(d > 0)) return false;
    d = square_root(d);
    a[j * row + j] = d;
    for (int64_t i = j + 1; i < n; ++i) column[i] = a[i * row + j] = a[i * row + j] / d;
    for (int64_t i = j + 1; i < n; ++i) {
      const T s = column[i];
      T* r = a + i * row;
      for (int64_t k = j + 1; k <= i; ++k) r[k] -= s * column[k];
    }
  }
  return true;
}

template <typename T>
bool complex_factor(T* a, int64_t row, int64_t n) {
  alignas(64) T re[kFactorSize], im[kFactorSize];
  for (int64_t j = 0; j < n; ++j) {
    T* diagonal = a + 2 * (j * row + j);
    if (!(diagonal[0] > 0)) return false;
    const T d = square_root(diagonal[0]);
    diagonal[0] = d;
    diagonal[1] = 0;
    for (int64_t i = j + 1; i < n; ++i) {
      T* v = a + 2 * (i * row + j);
      re[i] = v[0] = v[0] / d;
      im[i] = v[1] = v[1] / d;
    }
    for (int64_t i = j + 1; i < n; ++i) {
      const T sr = re[i], si = im[i];
      T* r = a + 2 * i * row;
      for (int64_t k = j + 1; k <= i; ++k) {
        r[2 * k] -= sr * re[k] + si * im[k];
        r[2 * k + 1] -= si * re[k] - sr * im[k];
      }
    }
  }
  return true;
}

// Of the matrices in the lanes of one vector; the elements of these are kSmallLanes apart.
template <typename T>
constexpr int kSmallLanes = 64 / static_cast<int>(sizeof(T));
template <typename T>
BRAZE_INLINE void small_lu_part(T* a, int64_t n, int32_t* pivots, int32_t* info) {
  using Vec = typename Lanes<T>::Vec;
  using Mask = decltype(Vec{} < Vec{});
  using Whole = std::remove_reference_t<decltype(Mask{}[0])>;  // an integer as wide as T
  constexpr int kL = kSmallLanes<T>;
  const auto at = [&](int64_t i, int64_t j) -> Vec& { return *reinterpret_cast<Vec*>(a + (i * n + j) * kL); };
  Mask failed = {};
  for (int64_t k = 0; k < n; ++k) {
    const auto magnitude = [&](int64_t i) { return at(i, k) < T(0) ? -at(i, k) : at(i, k); };
    Vec largest = magnitude(k);
    Mask pivot = Mask{} + static_cast<Whole>(k);
    for (int64_t i = k + 1; i < n; ++i) {
      const Vec v = magnitude(i);
      const Mask larger = v > largest;
      largest = larger ? v : largest;
      pivot = larger ? Mask{} + static_cast<Whole>(i) : pivot;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const Mask exchanged = pivot == static_cast<Whole>(i);
      for (int64_t j = 0; j < n; ++j) {
        const Vec x = at(k, j), y = at(i, j);
        at(k, j) = exchanged ? y : x;
        at(i, j) = exchanged ? x : y;
      }
    }
    for (int l = 0; l < Lanes<T>::kCount; ++l) pivots[k * kL + l] = static_cast<int32_t>(pivot[l] + 1);
    const Mask zero = at(k, k) == T(0);
    failed = (zero & (failed == 0)) ? Mask{} + static_cast<Whole>(k + 1) : failed;
    const Vec divisor = zero ? Vec{} + T(1) : at(k, k);
    for (int64_t i = k + 1; i < n; ++i) {
      const Vec f = at(i, k) / divisor;
      at(i, k) = f;
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
    }
  }
  for (int l = 0; l < Lanes<T>::kCount; ++l) info[l] = static_cast<int32_t>(failed[l]);
}
template <typename T>
void small_lu(T* a, int64_t n, int32_t* pivots, int32_t* info) {
  for (int part = 0; part < kSmallLanes<T>; part += Lanes<T>::kCount)
    small_lu_part(a + part, n, pivots + part, info + part);
}

template <typename T>
BRAZE_INLINE void small_factor_part(T* a, int64_t n, bool lower, bool* sound) {
  using Vec = typename Lanes<T>::Vec;
  using Mask = decltype(Vec{} < Vec{});
  const int64_t row = kSmallLanes<T> * (lower ? n : 1), column = kSmallLanes<T> * (lower ? 1 : n);
  const auto at = [&](int64_t i, int64_t j) -> Vec& { return *reinterpret_cast<Vec*>(a + i * row + j * column); };
  Mask good = ~Mask{};
  for (int64_t j = 0; j < n; ++j) {
    good &= at(j, j) > T(0);
    Vec d = good ? at(j, j) : Vec{} + T(1);
    for (int l = 0; l < Lanes<T>::kCount; ++l) d[l] = square_root(d[l]);
    at(j, j) = d;
    for (int64_t i = j + 1; i < n; ++i) {
      const Vec s = at(i, j) / d;
      at(i, j) = s;
      for (int64_t k = j + 1; k <= i; ++k) at(i, k) -= s * at(k, j);
    }
  }
  for (int l = 0; l < Lanes<T>::kCount; ++l) sound[l] = good[l] != 0;
}
template <typename T>
void small_factor(T* a, int64_t n, bool lower, bool* sound) {
  for (int part = 0; part < kSmallLanes<T>; part += Lanes<T>::kCount)
    small_factor_part(a + part, n, lower, sound + part);
}

// kColumns columns of x, in the lanes of a vector.
template <typename T, int kColumns>
BRAZE_INLINE void small_solve_columns(T* x, int64_t row, int64_t column, const Triangle<T>& t, const T* triangle) {
  constexpr int kL = kSmallLanes<T>;
  const auto from = [&](int64_t i, int64_t j) { return Lanes<T>::load(triangle + kL * (i * t.row + j * t.column)); };
  for (int64_t i = 0; i < t.n; ++i) {
    typename Lanes<T>::Vec v[kColumns];
    for (int r = 0; r < kColumns; ++r) v[r] = Lanes<T>::load(x + kL * (i * row + r * column));
    for (int64_t k = 0; k < i; ++k) {
      const auto s = from(i, k);
      for (int r = 0; r < kColumns; ++r) v[r] -= Lanes<T>::load(x + kL * (k * row + r * column)) * s;
    }
    if (!t.unit) {
      const auto d = from(i, i);
      for (int r = 0; r < kColumns; ++r) v[r] = v[r] / d;
    }
    for (int r = 0; r < kColumns; ++r) Lanes<T>::store(x + kL * (i * row + r * column), v[r]);
  }
}
template <typename T>
void small_solve(T* x, int64_t row, int64_t column, int64_t columns, const Triangle<T>& t) {
  for (int part = 0; part < kSmallLanes<T>; part += Lanes<T>::kCount) {
    int64_t r = 0;
    for (; r + 4 <= columns; r += 4)
      small_solve_columns<T, 4>(x + part + kSmallLanes<T> * r * column, row, column, t, t.data + part);
    for (; r < columns; ++r)
      small_solve_columns<T, 1>(x + part + kSmallLanes<T> * r * column, row, column, t, t.data + part);
  }
}

template <typename T>
void load_small(T* a, const T* from, int64_t size, int64_t count) {
  load_squares<T, kSmallLanes<T>>(a, from, size, size, count, 0);
}
template <typename T>
void store_small(T* to, const T* a, int64_t size, int64_t count) {
  store_squares<T, kSmallLanes<T>>(to, a, size, size, count, 0, T(1));
}

template <typename T>
constexpr SolveKernels<T> solve_table() {
  return {Reals<T>::kLanes,       Reals<T, 1>::kLanes,    Complexes<T>::kLanes,
          solve<T, Reals<T>>,     solve<T, Reals<T, 1>>,  solve<T, Complexes<T>>,
          update<T, Reals<T>>,    update<T, Complexes<T>>, factor<T>,
          complex_factor<T>,      small_lu<T>,            small_factor<T>,
          small_solve<T>,         load_small<T>,          store_small<T>};
}

}  // namespace
}  // namespace braze::BRAZE_ISA
