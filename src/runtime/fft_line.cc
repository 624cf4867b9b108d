// SPDX-License-Identifier: Apache-2.0
#include "runtime/fft_line.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "runtime/isa.h"

namespace braze {
namespace {

std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> f;
  for (int64_t p : {8, 4, 2}) {
    // 2·8 as 4·4: fewer operations.
    while (n % p == 0 && !(p == 8 && n == 16)) {
      f.push_back(p);
      n /= p;
    }
  }
  for (int64_t p = 3; p * p <= n; p += 2)
    for (; n % p == 0; n /= p) f.push_back(p);
  if (n > 1) f.push_back(n);
  return f;
}

}  // namespace

void unit_root(int64_t k, int64_t n, double* re, double* im) {
  long double x, y;
  unit_root(k, n, &x, &y);
  *re = static_cast<double>(x);
  *im = static_cast<double>(y);
}

UnitRoots::UnitRoots(int64_t n) {
  auto add = [&](int64_t k, std::vector<long double>* table) {
    long double re, im;
    unit_root(k, n, &re, &im);
    table->push_back(re);
    table->push_back(im);
  };
  for (int64_t k = 0; k <= n / kLow; ++k) add(k * kLow, &high_);
  for (int64_t k = 0; k < kLow && k < n; ++k) add(k, &low_);
}

void UnitRoots::get(int64_t k, double* re, double* im) const {
  const long double* a = &high_[2 * (k / kLow)];
  const long double* b = &low_[2 * (k % kLow)];
  *re = static_cast<double>(a[0] * b[0] - a[1] * b[1]);
  *im = static_cast<double>(a[0] * b[1] + a[1] * b[0]);
}

void unit_root(int64_t k, int64_t n, long double* re, long double* im) {
  // Octants keep the angle small and the symmetric values equal.
  const int64_t e = static_cast<int64_t>(static_cast<__int128>(k) % n);
  const int64_t octant = static_cast<int64_t>(static_cast<__int128>(e) * 8 / n);
  static constexpr int64_t kTurn[8] = {0, 1, 1, 2, 2, 3, 3, 4};  // quarter turns nearest
  const __int128 rest = static_cast<__int128>(e) * 4 - static_cast<__int128>(kTurn[octant]) * n;
  const long double angle = static_cast<long double>(rest) / static_cast<long double>(n) *
                            std::numbers::pi_v<long double> / 2;
  const long double c = std::cos(angle), s = std::sin(angle);
  switch (kTurn[octant] % 4) {
    case 0: *re = c, *im = -s; return;
    case 1: *re = -s, *im = -c; return;
    case 2: *re = -c, *im = s; return;
    default: *re = s, *im = c; return;
  }
}

int64_t chirp_length(int64_t n) {
  const int64_t least = 2 * n - 1;
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5, 9, 15}) {
    int64_t m = odd;
    while (m < least) m *= 2;
    if (m < best) best = m;
  }
  return best;
}

void make_chirps(int64_t n, int64_t m, std::vector<double>* chirp, double* mirror, int64_t stride,
                 int64_t im_offset) {
  chirp->resize(2 * n);
  const UnitRoots roots(2 * n);
  for (int64_t k = 0; k < n; ++k) {
    double re, im;
    roots.get(static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n)), &re, &im);
    (*chirp)[2 * k] = re;
    (*chirp)[2 * k + 1] = im;
    for (int64_t at : {k, k == 0 ? 0 : m - k}) {
      mirror[stride * at] = re;
      mirror[stride * at + im_offset] = -im;
    }
  }
}

template <typename T>
FftLine<T>::FftLine(int64_t n) : n_(n) {
  int64_t largest = 1;
  for (int64_t f : factors_of(n)) largest = f > largest ? f : largest;
  if (largest > kMaxFactor) plan_chirps();
  else plan_factors();
}

template <typename T>
void FftLine<T>::plan_factors() {
  factors_.n = n_;
  const std::vector<int64_t> list = factors_of(n_);
  std::vector<size_t> twiddle, roots;
  const UnitRoots all(n_);
  int64_t l1 = 1;
  auto add = [&](const UnitRoots& from, int64_t k) {
    double re, im;
    from.get(k, &re, &im);
    tables_.push_back(static_cast<T>(re));
    tables_.push_back(static_cast<T>(im));
  };
  for (int64_t f : list) {
    twiddle.push_back(tables_.size());
    const int64_t ido = n_ / (l1 * f);
    for (int64_t i = 0; i < ido; ++i)
      for (int64_t j = 1; j < f; ++j) add(all, j * l1 * i);
    roots.push_back(tables_.size());
    if (f > 5 && f % 2 == 1) {
      const UnitRoots few(f);
      for (int64_t k = 0; k < f; ++k) add(few, k);
    }
    l1 *= f;
  }
  factors_.count = static_cast<int>(list.size());
  for (size_t s = 0; s < list.size(); ++s) {
    factors_.factor[s] = list[s];
    factors_.twiddle[s] = tables_.data() + twiddle[s];
    factors_.roots[s] = tables_.data() + roots[s];
  }
}

template <typename T>
void FftLine<T>::plan_chirps() {
  const int64_t m = chirp_length(n_);
  inner_ = std::make_unique<FftLine>(m);
  constexpr int kL = fft_lanes<double>();
  LineArray<double> a(2 * kL * m), b(2 * kL * m);
  std::vector<double> chirp;
  make_chirps(n_, m, &chirp, a.data(), 2 * kL, kL);
  chirp_.assign(chirp.begin(), chirp.end());
  const FftLine<double> wide(m);
  const double* spectrum = wide.transform(a.data(), b.data());
  spectrum_.resize(2 * m);
  for (int64_t k = 0; k < m; ++k) {
    spectrum_[2 * k] = static_cast<T>(spectrum[2 * kL * k] / static_cast<double>(m));
    spectrum_[2 * k + 1] = static_cast<T>(spectrum[2 * kL * k + kL] / static_cast<double>(m));
  }
}

template <typename T>
T* FftLine<T>::transform(T* a, T* b) const {
  const FftKernels<T>& kernels = fft_kernels<T>();
  if (!inner_) return kernels.passes(factors_, a, b);
  constexpr int64_t kNumber = 2 * fft_lanes<T>();
  const int64_t m = inner_->length();
  kernels.multiply(a, chirp_.data(), n_, false);
  std::memset(a + kNumber * n_, 0, sizeof(T) * kNumber * (m - n_));
  T* r = inner_->transform(a, b);
  kernels.multiply(r, spectrum_.data(), m, true);
  r = inner_->transform(r, r == a ? b : a);
  // The second transform was an inverse one, by exchanged parts.
  for (int64_t k = 0; k < n_; ++k) {
    T* re = r + kNumber * k;
    T* im = re + kNumber / 2;
    for (int64_t l = 0; l < kNumber / 2; ++l) {
      const T t = re[l];
      re[l] = im[l];
      im[l] = t;
    }
  }
  kernels.multiply(r, chirp_.data(), n_, false);
  return r;
}

template class FftLine<float>;
template class FftLine<double>;

}  // namespace braze
