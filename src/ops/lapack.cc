// SPDX-License-Identifier: Apache-2.0
#include "ops/lapack.h"

#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <mutex>

namespace braze::lapack {
namespace {

using Logical = int32_t;
using Len = size_t;  // hidden length of a Fortran character argument

}  // namespace

// The Fortran symbols whose signatures are alike for real and complex T.
#define BRAZE_LAPACK_ALIKE(T, p, q)                                                               \
  void p##trsm_(const char*, const char*, const char*, const char*, const Int*, const Int*,       \
                const T*, const T*, const Int*, T*, const Int*, Len, Len, Len, Len);              \
  void p##getrf_(const Int*, const Int*, T*, const Int*, Int*, Int*);                             \
  void p##geqrf_(const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);               \
  void p##potrf_(const char*, const Int*, T*, const Int*, Int*, Len);                             \
  void p##gehrd_(const Int*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*);   \
  void p##gtsv_(const Int*, const Int*, T*, T*, T*, T*, const Int*, Int*);                        \
  void q##gqr_(const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*); \
  void q##mqr_(const char*, const char*, const Int*, const Int*, const Int*, const T*, const Int*, \
               const T*, T*, const Int*, T*, const Int*, Int*, Len, Len);

#define BRAZE_LAPACK_REAL(T, p)                                                                   \
  void p##geqp3_(const Int*, const Int*, T*, const Int*, Int*, T*, T*, const Int*, Int*);         \
  void p##sytrd_(const char*, const Int*, T*, const Int*, T*, T*, T*, T*, const Int*, Int*, Len); \
  void p##gesdd_(const char*, const Int*, const Int*, T*, const Int*, T*, T*, const Int*, T*,     \
                 const Int*, T*, const Int*, Int*, Int*, Len);                                    \
  void p##gesvd_(const char*, const char*, const Int*, const Int*, T*, const Int*, T*, T*,        \
                 const Int*, T*, const Int*, T*, const Int*, Int*, Len, Len);                     \
  void p##syevd_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, Int*,  \
                 const Int*, Int*, Len, Len);                                                     \
  void p##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, T*, const Int*, T*, \
                const Int*, T*, const Int*, Int*, Len, Len);                                      \
  void p##gees_(const char*, const char*, Logical (*)(const T*, const T*), const Int*, T*,        \
                const Int*, Int*, T*, T*, T*, const Int*, T*, const Int*, Logical*, Int*, Len, Len);

#define BRAZE_LAPACK_COMPLEX(T, R, p)                                                             \
  void p##geqp3_(const Int*, const Int*, T*, const Int*, Int*, T*, T*, const Int*, R*, Int*);     \
  void p##hetrd_(const char*, const Int*, T*, const Int*, R*, R*, T*, T*, const Int*, Int*, Len); \
  void p##gesdd_(const char*, const Int*, const Int*, T*, const Int*, R*, T*, const Int*, T*,     \
                 const Int*, T*, const Int*, R*, Int*, Int*, Len);                                \
  void p##gesvd_(const char*, const char*, const Int*, const Int*, T*, const Int*, R*, T*,        \
                 const Int*, T*, const Int*, T*, const Int*, R*, Int*, Len, Len);                 \
  void p##heevd_(const char*, const char*, const Int*, T*, const Int*, R*, T*, const Int*, R*,    \
                 const Int*, Int*, const Int*, Int*, Len, Len);                                   \
  void p##geev_(const char*, const char*, const Int*, T*, const Int*, T*, T*, const Int*, T*,     \
                const Int*, T*, const Int*, R*, Int*, Len, Len);                                  \
  void p##gees_(const char*, const char*, Logical (*)(const T*), const Int*, T*, const Int*,      \
                Int*, T*, T*, const Int*, T*, const Int*, R*, Logical*, Int*, Len, Len);

using C64 = std::complex<float>;
using C128 = std::complex<double>;

extern "C" {
BRAZE_LAPACK_ALIKE(float, s, sor)
BRAZE_LAPACK_ALIKE(double, d, dor)
BRAZE_LAPACK_ALIKE(C64, c, cun)
BRAZE_LAPACK_ALIKE(C128, z, zun)
BRAZE_LAPACK_REAL(float, s)
BRAZE_LAPACK_REAL(double, d)
BRAZE_LAPACK_COMPLEX(C64, float, c)
BRAZE_LAPACK_COMPLEX(C128, double, z)
}

// OpenBLAS's, where LAPACK comes from it.
extern "C" {
__attribute__((weak)) int openblas_get_num_threads(void);
__attribute__((weak)) void openblas_set_num_threads(int);
}

namespace {

std::mutex threads_mutex;        // held while OneThreads go from none to some, and back
std::atomic<int> threads_users{0};
int threads_before = 1;          // what the first one found

template <typename T>
struct Symbols;

#define BRAZE_LAPACK_SYMBOLS(T, p, q, sytrd_name, syevd_name)                                    \
  template <>                                                                                    \
  struct Symbols<T> {                                                                            \
    static constexpr auto trsm = p##trsm_;                                                       \
    static constexpr auto getrf = p##getrf_;                                                     \
    static constexpr auto geqrf = p##geqrf_;                                                     \
    static constexpr auto geqp3 = p##geqp3_;                                                     \
    static constexpr auto potrf = p##potrf_;                                                     \
    static constexpr auto gehrd = p##gehrd_;                                                     \
    static constexpr auto gtsv = p##gtsv_;                                                       \
    static constexpr auto orgqr = q##gqr_;                                                       \
    static constexpr auto ormqr = q##mqr_;                                                       \
    static constexpr auto sytrd = sytrd_name;                                                    \
    static constexpr auto syevd = syevd_name;                                                    \
    static constexpr auto gesdd = p##gesdd_;                                                     \
    static constexpr auto gesvd = p##gesvd_;                                                     \
    static constexpr auto geev = p##geev_;                                                       \
    static constexpr auto gees = p##gees_;                                                       \
  };
BRAZE_LAPACK_SYMBOLS(float, s, sor, ssytrd_, ssyevd_)
BRAZE_LAPACK_SYMBOLS(double, d, dor, dsytrd_, dsyevd_)
BRAZE_LAPACK_SYMBOLS(C64, c, cun, chetrd_, cheevd_)
BRAZE_LAPACK_SYMBOLS(C128, z, zun, zhetrd_, zheevd_)

Int lead(int64_t rows) { return static_cast<Int>(std::max<int64_t>(rows, 1)); }

// Calls f(work, length, info) twice: to ask for the best length, then to work.
template <typename T, typename F>
Int with_work(F&& f) {
  const OneThread scope;
  T best{};
  Int query = -1, info = 0;
  f(&best, &query, &info);
  if (info != 0) return info;
  Int length = std::max<Int>(1, static_cast<Int>(std::real(best)));
  std::vector<T> work(length);
  f(work.data(), &length, &info);
  return info;
}

}  // namespace

OneThread::OneThread() {
  if (!openblas_set_num_threads) return;
  for (int n = threads_users.load(); n > 0;)
    if (threads_users.compare_exchange_weak(n, n + 1)) return;
  const std::lock_guard<std::mutex> lock(threads_mutex);
  if (threads_users.load() == 0) {
    threads_before = openblas_get_num_threads();
    if (threads_before != 1) openblas_set_num_threads(1);
  }
  ++threads_users;
}

OneThread::~OneThread() {
  if (!openblas_set_num_threads) return;
  for (int n = threads_users.load(); n > 1;)
    if (threads_users.compare_exchange_weak(n, n - 1)) return;
  const std::lock_guard<std::mutex> lock(threads_mutex);
  if (--threads_users == 0 && threads_before != 1) openblas_set_num_threads(threads_before);
}

template <typename T>
Int getrf(Int m, Int n, T* a, Int* pivots) {
  const OneThread scope;
  Int info = 0;
  const Int lda = lead(m);
  Symbols<T>::getrf(&m, &n, a, &lda, pivots, &info);
  return info;
}

namespace {

template <typename T>
bool is_nan(T v) {
  return v != v;
}

// The first reflector of m×n a that holds a NaN, or min(m, n).
template <typename T>
Int first_nan(Int m, Int n, const T* a, const T* tau) {
  for (Int k = 0; k < std::min(m, n); ++k) {
    const T* column = a + static_cast<int64_t>(k) * m;
    if (is_nan(tau[k]) || std::any_of(column + k, column + m, is_nan<T>)) return k;
  }
  return std::min(m, n);
}

// A reflector of NaNs leaves no number where it acts. Some BLAS compare NaNs on the way and leave some.
template <typename T>
void spread_nan(Int m, Int n, T* a, T* tau) {
  const T nan = std::numeric_limits<Real<T>>::quiet_NaN();
  const Int k = first_nan(m, n, a, tau);
  if (k == std::min(m, n)) return;
  std::fill(tau + k, tau + std::min(m, n), nan);
  for (Int j = k; j < n; ++j)
    std::fill(a + static_cast<int64_t>(j) * m + k, a + static_cast<int64_t>(j + 1) * m, nan);
}

}  // namespace

template <typename T>
Int geqrf(Int m, Int n, T* a, T* tau) {
  const Int lda = lead(m);
  const Int info = with_work<T>([&](T* work, const Int* length, Int* info) {
    Symbols<T>::geqrf(&m, &n, a, &lda, tau, work, length, info);
  });
  spread_nan(m, n, a, tau);
  return info;
}

template <typename T>
Int geqp3(Int m, Int n, T* a, Int* pivots, T* tau) {
  const Int lda = lead(m);
  std::vector<Real<T>> real_work(2 * std::max<Int>(n, 1));
  const Int info = with_work<T>([&](T* work, const Int* length, Int* info) {
    if constexpr (is_complex_number<T>)
      Symbols<T>::geqp3(&m, &n, a, &lda, pivots, tau, work, length, real_work.data(), info);
    else
      Symbols<T>::geqp3(&m, &n, a, &lda, pivots, tau, work, length, info);
  });
  spread_nan(m, n, a, tau);
  return info;
}

template <typename T>
Int potrf(char uplo, Int n, T* a) {
  const OneThread scope;
  Int info = 0;
  const Int lda = lead(n);
  Symbols<T>::potrf(&uplo, &n, a, &lda, &info, 1);
  // OpenBLAS's own single-precision version takes a NaN for positive.
  for (Int k = 0; info == 0 && k < n; ++k)
    if (std::isnan(std::real(a[k * static_cast<size_t>(lda) + k]))) info = k + 1;
  return info;
}

template <typename T>
Int gehrd(Int n, Int low, Int high, T* a, T* tau) {
  const Int lda = lead(n);
  return with_work<T>([&](T* work, const Int* length, Int* info) {
    Symbols<T>::gehrd(&n, &low, &high, a, &lda, tau, work, length, info);
  });
}

template <typename T>
Int sytrd(char uplo, Int n, T* a, Real<T>* d, Real<T>* e, T* tau) {
  const Int lda = lead(n);
  return with_work<T>([&](T* work, const Int* length, Int* info) {
    Symbols<T>::sytrd(&uplo, &n, a, &lda, d, e, tau, work, length, info, 1);
  });
}

template <typename T>
Int orgqr(Int m, Int n, Int k, T* a, const T* tau) {
  const Int lda = lead(m);
  const Int info = with_work<T>([&](T* work, const Int* length, Int* info) {
    Symbols<T>::orgqr(&m, &n, &k, a, &lda, tau, work, length, info);
  });
  const auto first = static_cast<int64_t>(std::find_if(tau, tau + k, is_nan<T>) - tau);
  if (first < k)
    std::fill(a + first * m, a + static_cast<int64_t>(n) * m,
              T(std::numeric_limits<Real<T>>::quiet_NaN()));
  return info;
}

template <typename T>
Int ormqr(bool left, bool adjoint, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c) {
  const char side = left ? 'L' : 'R';
  const char trans = !adjoint ? 'N' : is_complex_number<T> ? 'C' : 'T';
  const Int a_lead = lead(lda), ldc = lead(m);
  return with_work<T>([&](T* work, const Int* length, Int* info) {
    Symbols<T>::ormqr(&side, &trans, &m, &n, &k, a, &a_lead, tau, c, &ldc, work, length, info, 1, 1);
  });
}

template <typename T>
Int gesdd(char mode, Int m, Int n, T* a, Real<T>* s, T* u, T* vt) {
  const int64_t low = std::min(m, n), high = std::max(m, n);
  const Int lda = lead(m), ldu = lead(m), ldvt = lead(mode == 'A' ? n : low);
  std::vector<Int> int_work(std::max<int64_t>(8 * low, 1));
  const int64_t real_length =
      mode == 'N' ? 7 * low
                  : std::max(5 * low * low + 5 * low, 2 * high * low + 2 * low * low + low);
  std::vector<Real<T>> real_work(is_complex_number<T> ? std::max<int64_t>(real_length, 1) : 1);
  return with_work<T>([&](T* work, const Int* length, Int* info) {
    if constexpr (is_complex_number<T>)
      Symbols<T>::gesdd(&mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length,
                        real_work.data(), int_work.data(), info, 1);
    else
      Symbols<T>::gesdd(&mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length,
                        int_work.data(), info, 1);
  });
}

template <typename T>
Int gesvd(char mode, Int m, Int n, T* a, Real<T>* s, T* u, T* vt) {
  const int64_t low = std::min(m, n);
  const Int lda = lead(m), ldu = lead(m), ldvt = lead(mode == 'A' ? n : low);
  std::vector<Real<T>> real_work(std::max<int64_t>(5 * low, 1));
  return with_work<T>([&](T* work, const Int* length, Int* info) {
    if constexpr (is_complex_number<T>)
      Symbols<T>::gesvd(&mode, &mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length,
                        real_work.data(), info, 1, 1);
    else
      Symbols<T>::gesvd(&mode, &mode, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, length, info, 1,
                        1);
  });
}

template <typename T>
Int syevd(char mode, char uplo, Int n, T* a, Real<T>* w) {
  const Int lda = lead(n);
  const int64_t wide = n;
  std::vector<Int> int_work(3 + 5 * wide);
  const Int int_length = static_cast<Int>(int_work.size());
  if constexpr (is_complex_number<T>) {
    std::vector<Real<T>> real_work(1 + 5 * wide + 2 * wide * wide);
    const Int real_length = static_cast<Int>(std::min<int64_t>(real_work.size(), INT32_MAX));
    return with_work<T>([&](T* work, const Int* length, Int* info) {
      Symbols<T>::syevd(&mode, &uplo, &n, a, &lda, w, work, length, real_work.data(), &real_length,
                        int_work.data(), &int_length, info, 1, 1);
    });
  } else {
    return with_work<T>([&](T* work, const Int* length, Int* info) {
      Symbols<T>::syevd(&mode, &uplo, &n, a, &lda, w, work, length, int_work.data(), &int_length,
                        info, 1, 1);
    });
  }
}

namespace {

// Real LAPACK gives a conjugate pair of vectors as two columns, real and imaginary part.
template <typename R>
void unpack_vectors(Int n, const std::vector<R>& imaginary, const std::vector<R>& packed,
                    std::complex<R>* out) {
  const int64_t wide = n;
  for (int64_t j = 0; j < wide; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < wide;
    for (int64_t i = 0; i < wide; ++i) {
      const R re = packed[j * wide + i], im = pair ? packed[(j + 1) * wide + i] : 0;
      out[j * wide + i] = {re, im};
      if (pair) out[(j + 1) * wide + i] = {re, -im};
    }
    if (pair) ++j;
  }
}

}  // namespace

template <typename T>
Int geev(char left, char right, Int n, T* a, Complex<T>* w, Complex<T>* vl, Complex<T>* vr) {
  const Int lda = lead(n);
  const int64_t wide = n;
  if constexpr (is_complex_number<T>) {
    std::vector<Real<T>> real_work(std::max<int64_t>(2 * wide, 1));
    return with_work<T>([&](T* work, const Int* length, Int* info) {
      Symbols<T>::geev(&left, &right, &n, a, &lda, w, vl, &lda, vr, &lda, work, length,
                       real_work.data(), info, 1, 1);
    });
  } else {
    std::vector<T> re(wide), im(wide), l(wide * wide), r(wide * wide);
    const Int info = with_work<T>([&](T* work, const Int* length, Int* code) {
      Symbols<T>::geev(&left, &right, &n, a, &lda, re.data(), im.data(), l.data(), &lda, r.data(),
                       &lda, work, length, code, 1, 1);
    });
    for (int64_t i = 0; i < wide; ++i) w[i] = {re[i], im[i]};
    if (left == 'V') unpack_vectors(n, im, l, vl);
    if (right == 'V') unpack_vectors(n, im, r, vr);
    return info;
  }
}

template <typename T>
Int gees(char mode, Int n, T* a, T* vs, Complex<T>* w, Int* selected) {
  const Int lda = lead(n);
  const char sort = 'N';
  std::vector<Logical> logical_work(std::max<Int>(n, 1));
  std::vector<Real<T>> re(std::max<Int>(n, 1)), im(std::max<Int>(n, 1));
  const Int info = with_work<T>([&](T* work, const Int* length, Int* code) {
    if constexpr (is_complex_number<T>)
      Symbols<T>::gees(&mode, &sort, nullptr, &n, a, &lda, selected, w, vs, &lda, work, length,
                       re.data(), logical_work.data(), code, 1, 1);
    else
      Symbols<T>::gees(&mode, &sort, nullptr, &n, a, &lda, selected, re.data(), im.data(), vs, &lda,
                       work, length, logical_work.data(), code, 1, 1);
  });
  if constexpr (!is_complex_number<T>)
    for (Int i = 0; i < n; ++i) w[i] = {re[i], im[i]};
  return info;
}

template <typename T>
Int gtsv(Int n, Int nrhs, T* dl, T* d, T* du, T* b) {
  const OneThread scope;
  Int info = 0;
  const Int ldb = lead(n);
  Symbols<T>::gtsv(&n, &nrhs, dl, d, du, b, &ldb, &info);
  return info;
}

template <typename T>
void trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, T* b) {
  const OneThread scope;
  const T one = 1;
  const Int lda = lead(side == 'L' ? m : n), ldb = lead(m);
  Symbols<T>::trsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

#define BRAZE_LAPACK_INSTANCES(T)                                                                 \
  template Int getrf<T>(Int, Int, T*, Int*);                                                      \
  template Int geqrf<T>(Int, Int, T*, T*);                                                        \
  template Int geqp3<T>(Int, Int, T*, Int*, T*);                                                  \
  template Int potrf<T>(char, Int, T*);                                                           \
  template Int gehrd<T>(Int, Int, Int, T*, T*);                                                   \
  template Int sytrd<T>(char, Int, T*, Real<T>*, Real<T>*, T*);                                   \
  template Int orgqr<T>(Int, Int, Int, T*, const T*);                                             \
  template Int ormqr<T>(bool, bool, Int, Int, Int, const T*, Int, const T*, T*);                  \
  template Int gesdd<T>(char, Int, Int, T*, Real<T>*, T*, T*);                                    \
  template Int gesvd<T>(char, Int, Int, T*, Real<T>*, T*, T*);                                    \
  template Int syevd<T>(char, char, Int, T*, Real<T>*);                                           \
  template Int geev<T>(char, char, Int, T*, Complex<T>*, Complex<T>*, Complex<T>*);               \
  template Int gees<T>(char, Int, T*, T*, Complex<T>*, Int*);                                     \
  template Int gtsv<T>(Int, Int, T*, T*, T*, T*);                                                 \
  template void trsm<T>(char, char, char, char, Int, Int, const T*, T*);
BRAZE_LAPACK_INSTANCES(float)
BRAZE_LAPACK_INSTANCES(double)
BRAZE_LAPACK_INSTANCES(C64)
BRAZE_LAPACK_INSTANCES(C128)

}  // namespace braze::lapack
