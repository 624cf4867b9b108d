// SPDX-License-Identifier: Apache-2.0
// The vector kernels of triangular systems and factorisations: each lane holds a right-hand side, or
// a column of the matrix that is updated.
//
// A panel of n rows is n × (its real parts, then for complex numbers the imaginary ones), `lanes`
// each, aligned as a vector is. Matrices outside are row-major, complex ones interleaved; strides count
// elements and may be negative.
// Interface: SolveKernels<T>, a table of functions; runtime/isa.h has one for each instruction set.
#pragma once

#include <cstdint>

namespace braze {

// t(i, j) of a lower triangle, or its complex conjugate.
template <typename T>
struct Triangle {
  const T* data;
  int64_t row, column;  // strides
  int64_t n;
  bool unit, conjugate;
};

constexpr int64_t kFactorSize = 64;  // the largest block that `factor` takes
constexpr int64_t kSmallMatrix = 16;  // the largest that `small_lu`, `small_factor` and `small_solve` take

template <typename T>
struct SolveKernels {
  int64_t lanes, narrow_lanes, complex_lanes;  // of a panel
  // Solves t·x = panel in place. Row i of the panel is at x + i·step (in panel rows, ±1). A narrow panel
  // holds the same bits in fewer lanes, for few right-hand sides.
  void (*solve)(T* x, int64_t step, const Triangle<T>& t);
  void (*narrow_solve)(T* x, int64_t step, const Triangle<T>& t);
  void (*complex_solve)(T* x, int64_t step, const Triangle<T>& t);
  // c[i][l] -= sum over k < depth of a[i][k]·conj(panel[k][l]), for i < rows, l < width ≤ lanes.
  void (*update)(T* c, int64_t c_row, const T* a, int64_t a_row, const T* panel, int64_t depth,
                 int64_t rows, int64_t width);
  void (*complex_update)(T* c, int64_t c_row, const T* a, int64_t a_row, const T* panel,
                         int64_t depth, int64_t rows, int64_t width);
  // The lower triangle a (n ≤ kFactorSize) becomes l of a = l·lᴴ; false if there is none. Elements
  // above the diagonal are not touched.
  bool (*factor)(T* a, int64_t row, int64_t n);
  bool (*complex_factor)(T* a, int64_t row, int64_t n);
  // Matrices of n rows and columns, one in each lane of 64 bytes: element e of matrix l is a[e·lanes + l], 64-byte
  // aligned. Each becomes the unit lower and the upper factor of the matrix with rows exchanged: row k with
  // pivots[k·lanes + l], the first of the largest magnitude. Rows count from 1; info[l] is that of the first pivot that
  // is zero, or 0.
  void (*small_lu)(T* a, int64_t n, int32_t* pivots, int32_t* info);
  // The triangle of each such matrix becomes l of a = l·lᵀ, or its transpose, with the bits of `factor`; the other stays.
  // sound[l]: there is one.
  void (*small_factor)(T* a, int64_t n, bool lower, bool* sound);
  // Solves t·x = x in each lane, with the bits of `solve`: element (i, j) of t is at lanes·(i·t.row + j·t.column), (i, r)
  // of x at lanes·(i·row + r·column), r < columns.
  void (*small_solve)(T* x, int64_t row, int64_t column, int64_t columns, const Triangle<T>& t);
  // `count` ≤ lanes matrices (or right-hand sides) of `size` elements to and from the lanes.
  void (*load_small)(T* a, const T* from, int64_t size, int64_t count);
  void (*store_small)(T* to, const T* a, int64_t size, int64_t count);
};

}  // namespace braze
