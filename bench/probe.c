// SPDX-License-Identifier: Apache-2.0
// Loops that measure what the machine can do: the denominators of the table and the canary between rounds.
//
//   probe(kind, a, b, c, n, repeat): seconds on the calling thread. Arrays hold n floats, 64-byte aligned, n a
//   multiple of 128. kinds: 0 independent FMAs (n * 24 * 32 flops), 1 dependent FMAs (n), 2 exp of a (n * repeat),
//   3 sum of a + b * c (12 bytes an element), 4 a = b / 2 + c (12), 5 the same with streaming stores.
#include <time.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

// The widest vectors, and as many sums as their registers hold beside what they are made of.
#if defined(__AVX512F__)
enum { kLanes = 16, kSums = 24 };
#elif defined(__AVX__)
enum { kLanes = 8, kSums = 12 };
#else
enum { kLanes = 4, kSums = 12 };
#endif
typedef float V __attribute__((vector_size(4 * kLanes)));
typedef int I __attribute__((vector_size(4 * kLanes)));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static volatile float sink;

static V all(float x) { return (V){} + x; }

static void independent(long n) {
  V s[kSums];
  for (int i = 0; i < kSums; ++i) s[i] = all(1 + i * 1e-3f);
  for (long k = 0; k < n * (24 * 16 / (kSums * kLanes)); ++k)
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) s[i] = s[i] * all(0.999f) + all(1e-4f);
  for (int i = 1; i < kSums; ++i) s[0] += s[i];
  sink = s[0][0];
}

static void dependent(long n) {
  float x = 1;
  for (long k = 0; k < n; ++k) x = __builtin_fmaf(x, 0.999f, 1e-4f);
  sink = x;
}

static V exponential(V x) {
  V n = x * all(1.442695041f) + all(12582912.f);
  I bits = (I)n << 23;
  n -= all(12582912.f);
  V r = x - n * all(0.69314718f);
  V p = all(1.398e-3f) * r + all(8.333e-3f);
  p = p * r + all(4.16666e-2f);
  p = p * r + all(1.666666e-1f);
  p = p * r + all(0.5f);
  p = p * (r * r) + (r + all(1));
  return (V)((I)p + bits);
}

static void exponentials(const V* a, long n) {
  V s = all(0), t = all(0);
  for (long i = 0; i < n / kLanes; i += 2) s += exponential(a[i]), t += exponential(a[i + 1]);
  sink = (s + t)[0];
}

static void sum(const V* a, const V* b, const V* c, long n) {
  V s[8];
  for (int j = 0; j < 8; ++j) s[j] = all(0);
  for (long i = 0; i < n / kLanes; i += 8)
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) s[j] += a[i + j] + b[i + j] * c[i + j];
  for (int j = 1; j < 8; ++j) s[0] += s[j];
  sink = s[0][0];
}

static void stream(float* to, V x) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)x);
#elif defined(__AVX__)
  _mm256_stream_ps(to, (__m256)x);
#elif defined(__SSE2__)
  _mm_stream_ps(to, (__m128)x);
#else
  *(V*)to = x;
#endif
}

static void triad(V* a, const V* b, const V* c, long n, int past_caches) {
  if (past_caches) {
    for (long i = 0; i < n / kLanes; ++i) stream((float*)(a + i), b[i] * all(0.5f) + c[i]);
#ifdef __SSE2__
    _mm_sfence();
#endif
    return;
  }
  for (long i = 0; i < n / kLanes; ++i) a[i] = b[i] * all(0.5f) + c[i];
}

double probe(int kind, float* a, float* b, float* c, long n, long repeat) {
  double start = now();
  for (long k = 0; k < repeat; ++k) {
    if (kind == 0) independent(n);
    if (kind == 1) dependent(n);
    if (kind == 2) exponentials((V*)a, n);
    if (kind == 3) sum((V*)a, (V*)b, (V*)c, n);
    if (kind >= 4) triad((V*)a, (V*)b, (V*)c, n, kind == 5);
    __asm__ volatile("" ::: "memory");
  }
  return now() - start;
}
