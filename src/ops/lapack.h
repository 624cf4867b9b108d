// SPDX-License-Identifier: Apache-2.0
// LAPACK, called with C++ types: one template per routine, for float, double and their complex types.
//
// Matrices are column-major, stacked without gaps, with the least legal leading dimension; ColumnStack
// is the one place where row-major literals turn into them and back. Each routine returns LAPACK's info:
// 0 fine, -i argument i illegal, > 0 the numerical failure LAPACK documents.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ir/literal.h"

namespace braze::lapack {

using Int = int32_t;

template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T>
using Real = typename RealOf<T>::type;
template <typename T>
using Complex = std::complex<Real<T>>;
template <typename T>
constexpr bool is_complex_number = !std::is_same_v<T, Real<T>>;

// A stack of rows × columns matrices, each column-major.
template <typename T>
struct ColumnStack {
  int64_t batch = 1, rows = 0, columns = 0;
  std::vector<T> data;

  ColumnStack(int64_t b, int64_t r, int64_t c)
      : batch(b), rows(r), columns(c), data(static_cast<size_t>(b * r * c)) {}
  // The last two dimensions are the matrices'. The literal's element type is T's.
  explicit ColumnStack(const Literal& l)
      : ColumnStack(product(DimSpan(l.shape().dims).first(l.shape().dims.size() - 2)),
                    l.shape().dims[l.shape().dims.size() - 2], l.shape().dims.back()) {
    const auto from = l.data<T>();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          at(b)[j * rows + i] = from[(b * rows + i) * columns + j];
  }
  T* at(int64_t b) { return data.data() + b * rows * columns; }
  // `out` has this stack's dimensions.
  void store(Literal& out) const {
    auto to = out.mutable_data<T>();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          to[(b * rows + i) * columns + j] = data[(b * columns + j) * rows + i];
  }
};

// Keeps OpenBLAS to the calling thread while one of these lives: its threads would wait for cores that
// Braze's threads spin on, and the bits of a result would depend on their number. The number is the
// process's, so the last one to end puts back what the first one found. Each routine has one; a batch
// that holds one as well changes the number once.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

// m×n matrices a, factored in place.
template <typename T> Int getrf(Int m, Int n, T* a, Int* pivots);
template <typename T> Int geqrf(Int m, Int n, T* a, T* tau);
template <typename T> Int geqp3(Int m, Int n, T* a, Int* pivots, T* tau);
template <typename T> Int potrf(char uplo, Int n, T* a);
template <typename T> Int gehrd(Int n, Int low, Int high, T* a, T* tau);
template <typename T> Int sytrd(char uplo, Int n, T* a, Real<T>* d, Real<T>* e, T* tau);
// Q (m×n) of k reflectors in a.
template <typename T> Int orgqr(Int m, Int n, Int k, T* a, const T* tau);
// c (m×n) ← op(Q)·c or c·op(Q), the reflectors in the first k columns of a (lda rows).
template <typename T>
Int ormqr(bool left, bool adjoint, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c);
// mode 'A', 'S' or 'N'; u is m×(m or min), vt is (n or min)×n. gesvd: the QR iteration instead.
template <typename T>
Int gesdd(char mode, Int m, Int n, T* a, Real<T>* s, T* u, T* vt);
template <typename T>
Int gesvd(char mode, Int m, Int n, T* a, Real<T>* s, T* u, T* vt);
// Eigenvalues w ascending and, with mode 'V', vectors in a.
template <typename T> Int syevd(char mode, char uplo, Int n, T* a, Real<T>* w);
// Eigenvalues w, left and right eigenvectors where asked for ('V').
template <typename T>
Int geev(char left, char right, Int n, T* a, Complex<T>* w, Complex<T>* vl, Complex<T>* vr);
// Schur form in a, vectors in vs with mode 'V'. No sorting.
template <typename T> Int gees(char mode, Int n, T* a, T* vs, Complex<T>* w, Int* selected);
// Tridiagonal systems by elimination; dl, d, du and b (n×nrhs) are overwritten.
template <typename T> Int gtsv(Int n, Int nrhs, T* dl, T* d, T* du, T* b);
// b (m×n) ← op(a)⁻¹·b or b·op(a)⁻¹.
template <typename T>
void trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, T* b);

// False if an extent does not fit LAPACK's 32-bit integers.
inline bool fits(int64_t n) { return n <= INT32_MAX; }

}  // namespace braze::lapack
