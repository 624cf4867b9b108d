// SPDX-License-Identifier: Apache-2.0
// Implementation of FftKernels for the instruction set BRAZE_ISA; included by isa_kernels.h only.
//
// A mixed-radix transform by decimation in frequency, in sorted order at each pass (Stockham). All
// arithmetic is on vectors of independent transforms, so no shuffles are needed inside. Where a line has more lanes
// than a vector, the innermost loops are over `part`, the first lane of a vector.
#pragma once

#include "runtime/fft_kernels.h"
#include "runtime/square_lanes.h"

namespace braze::BRAZE_ISA {
namespace {

// One complex number in the lanes of a vector: get(line + part, k) has those from lane `part` on.
template <typename T>
struct Number {
  typename Lanes<T>::Vec re, im;
};

template <typename T>
BRAZE_INLINE Number<T> get(const T* line, int64_t k) {
  constexpr int kL = fft_lanes<T>();
  const T* p = line + 2 * kL * k;
  return {Lanes<T>::load(p), Lanes<T>::load(p + kL)};
}
template <typename T>
BRAZE_INLINE void put(T* line, int64_t k, const Number<T>& v) {
  constexpr int kL = fft_lanes<T>();
  T* p = line + 2 * kL * k;
  Lanes<T>::store(p, v.re);
  Lanes<T>::store(p + kL, v.im);
}
template <typename T>
BRAZE_INLINE Number<T> operator+(const Number<T>& a, const Number<T>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename T>
BRAZE_INLINE Number<T> operator-(const Number<T>& a, const Number<T>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename T>
BRAZE_INLINE Number<T> times_minus_i(const Number<T>& a) {
  return {a.im, -a.re};
}
template <typename T>
BRAZE_INLINE Number<T> times(const Number<T>& a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

template <typename T>
BRAZE_INLINE void butterfly2(Number<T>* x) {
  const Number<T> t = x[0] - x[1];
  x[0] = x[0] + x[1];
  x[1] = t;
}
template <typename T>
BRAZE_INLINE void butterfly3(Number<T>* x) {
  const T half = T(0.5), sine = T(0.866025403784438646763723170752936183L);
  const Number<T> s = x[1] + x[2], d = x[1] - x[2];
  const Number<T> m = {x[0].re - s.re * half, x[0].im - s.im * half};
  const Number<T> r = {d.im * sine, -d.re * sine};
  x[0] = x[0] + s;
  x[1] = m + r;
  x[2] = m - r;
}
template <typename T>
BRAZE_INLINE void butterfly4(Number<T>* x) {
  const Number<T> a = x[0] + x[2], b = x[0] - x[2];
  const Number<T> c = x[1] + x[3], d = times_minus_i(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}
template <typename T>
BRAZE_INLINE void butterfly5(Number<T>* x) {
  const T c1 = T(0.309016994374947424102293417182819059L), c2 = T(-0.809016994374947424102293417182819059L);
  const T s1 = T(0.951056516295153572116439333379382143L), s2 = T(0.587785252292473129168705954639072769L);
  const Number<T> p = x[1] + x[4], q = x[2] + x[3], u = x[1] - x[4], v = x[2] - x[3];
  const Number<T> a = {x[0].re + p.re * c1 + q.re * c2, x[0].im + p.im * c1 + q.im * c2};
  const Number<T> b = {x[0].re + p.re * c2 + q.re * c1, x[0].im + p.im * c2 + q.im * c1};
  const Number<T> r = {u.im * s1 + v.im * s2, -(u.re * s1 + v.re * s2)};
  const Number<T> t = {u.im * s2 - v.im * s1, -(u.re * s2 - v.re * s1)};
  x[0] = x[0] + p + q;
  x[1] = a + r;
  x[2] = b + t;
  x[3] = b - t;
  x[4] = a - r;
}
template <typename T>
BRAZE_INLINE void butterfly8(Number<T>* x) {
  const T h = T(0.707106781186547524400844362104849039L);
  Number<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  butterfly4(even);
  butterfly4(odd);
  odd[1] = {(odd[1].re + odd[1].im) * h, (odd[1].im - odd[1].re) * h};
  odd[2] = times_minus_i(odd[2]);
  odd[3] = {(odd[3].im - odd[3].re) * h, -(odd[3].re + odd[3].im) * h};
  for (int k = 0; k < 4; ++k) {
    x[k] = even[k] + odd[k];
    x[k + 4] = even[k] - odd[k];
  }
}

template <typename T, int kF>
BRAZE_INLINE void butterfly(Number<T>* x) {
  if constexpr (kF == 2) butterfly2(x);
  if constexpr (kF == 3) butterfly3(x);
  if constexpr (kF == 4) butterfly4(x);
  if constexpr (kF == 5) butterfly5(x);
  if constexpr (kF == 8) butterfly8(x);
}

template <typename T, int kF>
void pass(const T* from, T* to, int64_t l1, int64_t ido, const T* w) {
  for (int64_t k = 0; k < l1; ++k)
    for (int64_t i = 0; i < ido; ++i)
      for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) {
        Number<T> x[kF];
        for (int j = 0; j < kF; ++j) x[j] = get(from + part, i + ido * (j + kF * k));
        butterfly<T, kF>(x);
        put(to + part, i + ido * k, x[0]);
        const T* wi = w + 2 * (kF - 1) * i;
        for (int j = 1; j < kF; ++j)
          put(to + part, i + ido * (k + l1 * j), times(x[j], wi[2 * j - 2], wi[2 * j - 1]));
      }
}
// The last pass, whose twiddles are all 1.
template <typename T, int kF>
void last_pass(const T* from, T* to, int64_t l1) {
  for (int64_t k = 0; k < l1; ++k)
    for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) {
      Number<T> x[kF];
      for (int j = 0; j < kF; ++j) x[j] = get(from + part, j + kF * k);
      butterfly<T, kF>(x);
      for (int j = 0; j < kF; ++j) put(to + part, k + l1 * j, x[j]);
    }
}
template <typename T, int kF>
void pass_of(const T* from, T* to, int64_t l1, int64_t ido, const T* w) {
  if (ido == 1) last_pass<T, kF>(from, to, l1);
  else pass<T, kF>(from, to, l1, ido, w);
}

// Any odd factor, by the definition with the symmetry of cosines and sines: one number's part.
template <typename T>
BRAZE_INLINE void odd_butterfly(int64_t f, const T* from, T* to, int64_t from_step, int64_t to_step, const T* wi,
                                const T* roots) {
  const int64_t half = f / 2;
  Number<T> sum[kMaxFactor / 2 + 1], difference[kMaxFactor / 2 + 1];
  const Number<T> first = get(from, 0);
  Number<T> all = first;
  for (int64_t j = 1; j <= half; ++j) {
    const Number<T> a = get(from, from_step * j), b = get(from, from_step * (f - j));
    sum[j] = a + b;
    difference[j] = a - b;
    all = all + sum[j];
  }
  put(to, 0, all);
  for (int64_t q = 1; q <= half; ++q) {
    Number<T> a = first, b = {first.re - first.re, first.im - first.im};
    for (int64_t j = 1; j <= half; ++j) {
      const int64_t at = j * q % f;
      const T c = roots[2 * at], s = -roots[2 * at + 1];
      a = {a.re + sum[j].re * c, a.im + sum[j].im * c};
      b = j == 1 ? Number<T>{difference[j].re * s, difference[j].im * s}
                 : Number<T>{b.re + difference[j].re * s, b.im + difference[j].im * s};
    }
    const Number<T> r = times_minus_i(b);
    put(to, to_step * q, times(a + r, wi[2 * q - 2], wi[2 * q - 1]));
    const int64_t p = f - q;
    put(to, to_step * p, times(a - r, wi[2 * p - 2], wi[2 * p - 1]));
  }
}
template <typename T>
void pass_odd(int64_t f, const T* from, T* to, int64_t l1, int64_t ido, const T* w, const T* roots) {
  constexpr int64_t kNumber = 2 * fft_lanes<T>();
  for (int64_t k = 0; k < l1; ++k)
    for (int64_t i = 0; i < ido; ++i)
      for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount)
        odd_butterfly(f, from + kNumber * (i + ido * f * k) + part, to + kNumber * (i + ido * k) + part, ido,
                      ido * l1, w + 2 * (f - 1) * i, roots);
}

template <typename T>
T* passes(const FftFactors<T>& f, T* a, T* b) {
  int64_t l1 = 1;
  for (int s = 0; s < f.count; ++s) {
    const int64_t p = f.factor[s], ido = f.n / (l1 * p);
    const T* w = f.twiddle[s];
    switch (p) {
      case 2: pass_of<T, 2>(a, b, l1, ido, w); break;
      case 3: pass_of<T, 3>(a, b, l1, ido, w); break;
      case 4: pass_of<T, 4>(a, b, l1, ido, w); break;
      case 5: pass_of<T, 5>(a, b, l1, ido, w); break;
      case 8: pass_of<T, 8>(a, b, l1, ido, w); break;
      default: pass_odd<T>(p, a, b, l1, ido, w, f.roots[s]); break;
    }
    T* t = a;
    a = b;
    b = t;
    l1 *= p;
  }
  return a;
}

// Rows of columns lie in pages of their own, where no processor looks ahead.
constexpr int64_t kAhead = 16;
template <int kWrite, typename T>
BRAZE_INLINE void ask_for(const T* row) {
  __builtin_prefetch(row, kWrite);
  __builtin_prefetch(row + 64 / sizeof(T), kWrite);
}

template <typename T>
void load_columns(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap) {
  constexpr int kL = fft_lanes<T>();
  const int re = swap ? kL : 0, im = kL - re;
  if (lanes == kL) {
    for (int64_t k = 0; k < n; ++k) {
      if (k + kAhead < n) ask_for<0>(from + 2 * stride * (k + kAhead));
      for (int part = 0; part < kL; part += Lanes<T>::kCount) {
        T* p = to + 2 * kL * k + part;
        typename Lanes<T>::Vec a, b;
        Lanes<T>::split(from + 2 * (stride * k + part), &a, &b);
        Lanes<T>::store(p + re, a);
        Lanes<T>::store(p + im, b);
      }
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    T* p = to + 2 * kL * k;
    const T* q = from + 2 * stride * k;
    for (int l = 0; l < kL; ++l) {
      p[re + l] = l < lanes ? q[2 * l] : T(0);
      p[im + l] = l < lanes ? q[2 * l + 1] : T(0);
    }
  }
}

template <typename T>
void store_columns(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap, T scale) {
  constexpr int kL = fft_lanes<T>();
  const int re = swap ? kL : 0, im = kL - re;
  if (lanes == kL) {
    for (int64_t k = 0; k < n; ++k) {
      if (k + kAhead < n) ask_for<1>(to + 2 * stride * (k + kAhead));
      for (int part = 0; part < kL; part += Lanes<T>::kCount) {
        const T* p = from + 2 * kL * k + part;
        Lanes<T>::merge(to + 2 * (stride * k + part), Lanes<T>::load(p + re) * scale,
                        Lanes<T>::load(p + im) * scale);
      }
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    const T* p = from + 2 * kL * k;
    T* q = to + 2 * stride * k;
    for (int64_t l = 0; l < lanes; ++l) {
      q[2 * l] = p[re + l] * scale;
      q[2 * l + 1] = p[im + l] * scale;
    }
  }
}

// Of complex rows, re and im in turn; of real ones, the real parts.
template <typename T>
void load_rows(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap) {
  load_squares<T, fft_lanes<T>()>(to, from, 2 * n, 2 * stride, lanes, swap ? 1 : 0);
}
template <typename T>
void load_real_rows(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes) {
  constexpr int kL = fft_lanes<T>();
  load_squares<T, 2 * kL>(to, from, n, stride, lanes, 0);
  for (int64_t k = 0; k < n; ++k)
    for (int part = 0; part < kL; part += Lanes<T>::kCount)
      Lanes<T>::store(to + kL * (2 * k + 1) + part, Lanes<T>::zero());
}
template <typename T>
void store_rows(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, bool swap, T scale) {
  store_squares<T, fft_lanes<T>()>(to, from, 2 * n, 2 * stride, lanes, swap ? 1 : 0, scale);
}
template <typename T>
void store_real_rows(T* to, const T* from, int64_t n, int64_t stride, int64_t lanes, T scale) {
  store_squares<T, 2 * fft_lanes<T>()>(to, from, n, stride, lanes, 0, scale);
}

template <typename T>
void multiply(T* line, const T* factors, int64_t n, bool swap) {
  for (int64_t k = 0; k < n; ++k)
    for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) {
      const Number<T> v = times(get(line + part, k), factors[2 * k], factors[2 * k + 1]);
      put(line + part, k, swap ? Number<T>{v.im, v.re} : v);
    }
}

template <typename T>
void twiddle(T* line, const T* table, const T* scalars, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) {
      const Number<T> w = times(get(table + part, k), scalars[2 * k], scalars[2 * k + 1]), v = get(line + part, k);
      put(line + part, k, Number<T>{v.re * w.re - v.im * w.im, v.re * w.im + v.im * w.re});
    }
}

template <typename T>
BRAZE_INLINE void unpack_real_part(T* line, const T* w, int64_t m) {
  put(line, m, get(line, 0));
  const T half = T(0.5);
  for (int64_t k = 0; 2 * k <= m; ++k) {
    const Number<T> a = get(line, k), b = get(line, m - k);
    const Number<T> even = {(a.re + b.re) * half, (a.im - b.im) * half};
    const Number<T> odd = {(a.im + b.im) * half, (b.re - a.re) * half};
    const Number<T> t = times(odd, w[2 * k], w[2 * k + 1]);
    put(line, k, even + t);
    if (k < m - k) put(line, m - k, Number<T>{even.re - t.re, t.im - even.im});
  }
}

template <typename T>
BRAZE_INLINE void pack_real_part(T* line, const T* w, int64_t m) {
  // The first and the last number of a real signal's spectrum are real: other parts are ignored.
  for (int64_t k = 0; k <= m; k += m) {
    const Number<T> v = get(line, k);
    put(line, k, Number<T>{v.re, Lanes<T>::zero()});
    if (m == 0) break;
  }
  for (int64_t k = 0; 2 * k <= m; ++k) {
    const Number<T> a = get(line, k), b = get(line, m - k);
    const Number<T> even = {a.re + b.re, a.im - b.im}, d = {a.re - b.re, a.im + b.im};
    const Number<T> odd = times(d, w[2 * k], -w[2 * k + 1]);
    put(line, k, Number<T>{even.re - odd.im, even.im + odd.re});
    if (k < m - k) put(line, m - k, Number<T>{even.re + odd.im, odd.re - even.im});
  }
}

template <typename T>
void unpack_real(T* line, const T* w, int64_t m) {
  for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) unpack_real_part(line + part, w, m);
}
template <typename T>
void pack_real(T* line, const T* w, int64_t m) {
  for (int part = 0; part < fft_lanes<T>(); part += Lanes<T>::kCount) pack_real_part(line + part, w, m);
}

template <typename T>
constexpr FftKernels<T> fft_table() {
  return {passes<T>,        load_columns<T>,  load_rows<T>,       load_real_rows<T>,
          store_columns<T>, store_rows<T>,    store_real_rows<T>, multiply<T>,
          twiddle<T>,       unpack_real<T>,   pack_real<T>};
}

}  // namespace
}  // namespace braze::BRAZE_ISA
