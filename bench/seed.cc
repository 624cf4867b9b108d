// SPDX-License-Identifier: Apache-2.0
// The seed example, reduce_sum(x + y*z), against a loop written by hand: AVX-512 or AVX2, one and two threads, in
// the same process, in turns. For each size a line of medians: microseconds of both, what share of the
// two-thread loop's speed Braze has, and of the better loop's.
//
//   braze_seed [--rounds N] [--min PERCENT] [LOG2 …]
//
// Exit code 1 if a value is wrong, or the share of the two-thread loop at some size is below --min.
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "braze/braze.h"

namespace {

using Clock = std::chrono::steady_clock;

// Eight sums at a time: enough to hide the latency of additions. Not for inlining or analysis: a call
// whose value is overwritten would be left out, and nothing measured.
__attribute__((target("avx512f"), noipa)) float sum_avx512(const float* x, const float* y, const float* z, int64_t n) {
  __m512 acc[8];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 128 <= n; i += 128)
    for (int k = 0; k < 8; ++k) {
      const int64_t at = i + 16 * k;
      const __m512 product = _mm512_mul_ps(_mm512_loadu_ps(y + at), _mm512_loadu_ps(z + at));
      acc[k] = _mm512_add_ps(acc[k], _mm512_add_ps(_mm512_loadu_ps(x + at), product));
    }
  for (int k = 4; k > 0; k /= 2)
    for (int j = 0; j < k; ++j) acc[j] = _mm512_add_ps(acc[j], acc[j + k]);
  float s = _mm512_reduce_add_ps(acc[0]);
  for (; i < n; ++i) s += x[i] + y[i] * z[i];
  return s;
}

__attribute__((target("avx2"), noipa)) float sum_avx2(const float* x, const float* y, const float* z, int64_t n) {
  __m256 acc[8];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  int64_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 8; ++k) {
      const int64_t at = i + 8 * k;
      const __m256 product = _mm256_mul_ps(_mm256_loadu_ps(y + at), _mm256_loadu_ps(z + at));
      acc[k] = _mm256_add_ps(acc[k], _mm256_add_ps(_mm256_loadu_ps(x + at), product));
    }
  for (int k = 4; k > 0; k /= 2)
    for (int j = 0; j < k; ++j) acc[j] = _mm256_add_ps(acc[j], acc[j + k]);
  float lanes[8], s = 0;
  _mm256_storeu_ps(lanes, acc[0]);
  for (float lane : lanes) s += lane;
  for (; i < n; ++i) s += x[i] + y[i] * z[i];
  return s;
}

float sum(const float* x, const float* y, const float* z, int64_t n) {
  static const auto by_hand = __builtin_cpu_supports("avx512f") ? sum_avx512 : sum_avx2;
  return by_hand(x, y, z, n);
}

// A second thread for the upper half. It spins while a measurement runs and sleeps otherwise, as the
// threads of Braze do.
class Partner {
 public:
  Partner() : thread_([this] { work(); }) {}
  ~Partner() {
    stop_ = true;
    awake(true);
    thread_.join();
  }
  void awake(bool on) {
    awake_.store(on);
    awake_.notify_one();
  }
  float sum_of(const float* x, const float* y, const float* z, int64_t n) {
    const int64_t half = n / 2 / 128 * 128;
    x_ = x + half, y_ = y + half, z_ = z + half, n_ = n - half;
    const uint64_t turn = ticket_.load(std::memory_order_relaxed) + 1;
    ticket_.store(turn, std::memory_order_release);
    const float mine = sum(x, y, z, half);
    while (done_.load(std::memory_order_acquire) != turn) _mm_pause();
    return mine + result_;
  }

 private:
  void work() {
    for (uint64_t last = 0;;) {
      awake_.wait(false);
      if (stop_) return;
      const uint64_t turn = ticket_.load(std::memory_order_acquire);
      if (turn == last) {
        _mm_pause();
        continue;
      }
      result_ = sum(x_, y_, z_, n_);
      last = turn;
      done_.store(turn, std::memory_order_release);
    }
  }

  const float *x_ = nullptr, *y_ = nullptr, *z_ = nullptr;
  int64_t n_ = 0;
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint64_t> done_{0};
  float result_ = 0;
  alignas(64) std::atomic<bool> awake_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

struct Aligned {
  explicit Aligned(int64_t n) : data(static_cast<float*>(std::aligned_alloc(4096, (n * 4 + 4095) / 4096 * 4096))) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* data;
};

std::string program_text(int64_t n) {
  const std::string t = "f32[" + std::to_string(n) + "]";
  return "HloModule seed\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
         "ENTRY main { x = " + t + " parameter(0)\n y = " + t + " parameter(1)\n z = " + t +
         " parameter(2)\n m = " + t + " multiply(y, z)\n s = " + t +
         " add(x, m)\n i = f32[] constant(0)\n ROOT r = f32[] reduce(s, i), dimensions={0}, to_apply=add }\n";
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size()) / 2, v.end());
  return v[v.size() / 2];
}

// Microseconds of a call, the median of many, after some to warm up.
template <typename F>
double microseconds(F f, int calls) {
  for (int i = 0; i < 3 + calls / 8; ++i) f();
  std::vector<double> us(calls);
  for (double& t : us) {
    const auto from = Clock::now();
    f();
    t = std::chrono::duration<double, std::micro>(Clock::now() - from).count();
  }
  return median(us);
}

// Threads that spun for the last measurement are asleep.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

int measure(int log2, int rounds, double least) {
  const int64_t n = int64_t{1} << log2;
  Aligned x(n), y(n), z(n);
  double want = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto noise = [](int64_t k) { return static_cast<float>(static_cast<uint32_t>(k * 2654435761u) >> 8) * 0x1p-24f; };
    x.data[i] = noise(i), y.data[i] = noise(i + 7), z.data[i] = noise(3 * i + 1);
    want += x.data[i] + static_cast<double>(y.data[i]) * z.data[i];
  }
  braze::Program program;
  braze::CompiledProgram seed;
  auto e = braze::Program::read(program_text(n), {}, &program);
  if (e.ok()) e = program.compile({}, &seed);
  if (!e.ok()) {
    std::fprintf(stderr, "%s\n", e.message().c_str());
    return 1;
  }
  float got = 0, by_two = 0, by_one = 0;
  const void* in[] = {x.data, y.data, z.data};
  void* out[] = {&got};
  Partner partner;
  const int calls = std::max(20, static_cast<int>((int64_t{1} << 25) / n / 4));
  std::vector<double> ours, one, two, share;
  for (int r = 0; r < rounds; ++r) {
    settle();
    ours.push_back(microseconds([&] { (void)seed.run(in, 3, out, 1); }, std::min(calls, 2000)));
    settle();
    partner.awake(true);
    two.push_back(microseconds([&] { by_two = partner.sum_of(x.data, y.data, z.data, n); }, std::min(calls, 2000)));
    partner.awake(false);
    settle();
    one.push_back(microseconds([&] { by_one = sum(x.data, y.data, z.data, n); }, std::min(calls, 2000)));
    share.push_back(two.back() / ours.back());
  }
  const double b = median(ours), t1 = median(one), t2 = median(two), s = 100 * median(share);
  std::printf("2^%-3d braze %9.2f us %6.1f GB/s   by hand: 2 threads %9.2f us, 1 thread %9.2f us   share %5.1f %% "
              "(of the better loop %5.1f %%)\n",
              log2, b, 12.0 * static_cast<double>(n) / b * 1e-3, t2, t1, s, 100 * std::min(t1, t2) / b);
  const double room = 1e-5 * want;
  if (std::abs(got - want) > room || std::abs(by_two - want) > room || std::abs(by_one - want) > room) {
    std::printf("wrong value: %g by Braze, %g and %g by hand, %g\n", got, by_two, by_one, want);
    return 1;
  }
  return s < least;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 15, bad = 0;
  double least = 0;
  std::vector<int> sizes;
  for (int k = 1; k < argc; ++k) {
    if (!std::strcmp(argv[k], "--rounds") && k + 1 < argc) rounds = std::max(1, std::atoi(argv[++k]));
    else if (!std::strcmp(argv[k], "--min") && k + 1 < argc) least = std::atof(argv[++k]);
    else if (const int n = std::atoi(argv[k]); n >= 1 && n <= 30) sizes.push_back(n);
    else return std::fprintf(stderr, "usage: braze_seed [--rounds N] [--min PERCENT] [LOG2 ...]\n"), 2;
  }
  if (!__builtin_cpu_supports("avx2")) return std::printf("no AVX2 here\n"), 0;
  if (sizes.empty()) sizes = {14, 20, 24};
  for (int n : sizes) bad |= measure(n, rounds, least);
  return bad;
}
