// SPDX-License-Identifier: Apache-2.0
// LAPACK runs in the calling thread and leaves the process's number of BLAS threads as it was.
#include "ops/lapack.h"

#include <gtest/gtest.h>

#include <thread>

extern "C" {
__attribute__((weak)) int openblas_get_num_threads(void);
__attribute__((weak)) void openblas_set_num_threads(int);
}

namespace braze::lapack {
namespace {

// Factors a diagonally dominant matrix; LAPACK's info.
Int factor(Int n) {
  std::vector<double> a(static_cast<size_t>(n) * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>((i * 37) % 64) / 64;
  for (Int i = 0; i < n; ++i) a[static_cast<size_t>(i) * n + i] += n;
  std::vector<Int> pivots(n);
  return getrf<double>(n, n, a.data(), pivots.data());
}

TEST(Lapack, PutsTheNumberOfBlasThreadsBack) {
  if (!openblas_set_num_threads) GTEST_SKIP() << "this LAPACK is not OpenBLAS";
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  if (openblas_get_num_threads() != 2) GTEST_SKIP() << "this OpenBLAS has one thread";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(factor(1 + i), 0);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(openblas_get_num_threads(), 2);
  openblas_set_num_threads(before);
}

// A number that a NaN should have reached is a wrong number.
template <typename T>
void expect_nan_spreads() {
  const Int n = 4;
  const T nan = std::numeric_limits<Real<T>>::quiet_NaN();
  std::vector<T> a(n * n), tau(n);
  for (Int i = 0; i < n * n; ++i) a[i] = T(static_cast<Real<T>>((i * 7) % 5 - 2));
  a[2 * n + 1] = nan;  // row 1 of column 2
  EXPECT_EQ(geqrf<T>(n, n, a.data(), tau.data()), 0);
  for (Int j = 0; j < n; ++j)
    for (Int i = 0; i < n; ++i)
      if (j < 2 || i >= 2) EXPECT_EQ(a[j * n + i] != a[j * n + i], j >= 2) << i << ' ' << j;
  EXPECT_EQ(orgqr<T>(n, n, n, a.data(), tau.data()), 0);
  for (Int j = 2; j < n; ++j)
    for (Int i = 0; i < n; ++i) EXPECT_NE(a[j * n + i], a[j * n + i]) << i << ' ' << j;
}

TEST(Lapack, QrOfANanIsNan) {
  expect_nan_spreads<float>();
  expect_nan_spreads<double>();
  expect_nan_spreads<std::complex<float>>();
  expect_nan_spreads<std::complex<double>>();
}

}  // namespace
}  // namespace braze::lapack
