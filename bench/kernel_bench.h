// SPDX-License-Identifier: Apache-2.0
// Runs a contraction kernel under Google Benchmark with a spinning second thread, and measures the
// multiply-add peak beside it.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "benchmark/benchmark.h"
#include "test/codegen/contraction_harness.h"

namespace braze::codegen::bench {

// Threads that spin for the next share of work; the caller runs share 0.
class SpinPool {
 public:
  explicit SpinPool(int threads) : threads_(threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  }
  ~SpinPool() {
    stop_ = true;
    for (auto& w : workers_) w.join();
  }
  void run(const std::function<void(int)>& f) {
    job_ = &f;
    left_ = threads_ - 1;
    go_.fetch_add(1, std::memory_order_release);
    f(0);
    while (left_.load(std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }

 private:
  void work(int i) {
    int seen = 0;
    while (!stop_) {
      if (go_.load(std::memory_order_acquire) == seen) {
        __builtin_ia32_pause();
        continue;
      }
      ++seen;
      (*job_)(i);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }
  const int threads_;
  std::vector<std::thread> workers_;
  std::atomic<bool> stop_{false};
  std::atomic<int> go_{0}, left_{0};
  const std::function<void(int)>* job_ = nullptr;
};

// GF/s of f32 of a loop of independent multiply-adds of `bits` wide vectors, on this thread.
inline double fma_rate(bool wide) {
  const int n = 400'000;
  const auto t0 = std::chrono::steady_clock::now();
  if (wide) {
    asm volatile(
        "mov %0, %%ecx\n1:\n"
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vfmadd231ps %%zmm16, %%zmm17, "
        "%%zmm\\r\n.endr\n"
        "dec %%ecx\njnz 1b\nvzeroupper\n"
        :
        : "i"(n)
        : "ecx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  } else {
    asm volatile(
        "mov %0, %%ecx\n1:\n"
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n vfmadd231ps %%ymm14, %%ymm15, %%ymm\\r\n.endr\n"
        "dec %%ecx\njnz 1b\nvzeroupper\n"
        :
        : "i"(n)
        : "ecx", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
          "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  return (wide ? 16.0 * 16 : 14.0 * 8) * 2 * n / s / 1e9;
}

// The sum over `threads` threads, best of thirty.
inline double fma_peak(int threads) {
  const bool wide = testing::level_target("avx512").avx512;
  double best = 0;
  for (int round = 0; round < 30; ++round) {
    std::vector<double> rate(static_cast<size_t>(threads));
    SpinPool pool(threads);
    pool.run([&](int i) { rate[static_cast<size_t>(i)] = fma_rate(wide); });
    double sum = 0;
    for (double r : rate) sum += r;
    best = std::max(best, sum);
  }
  return best;
}

inline double peak(int threads) {
  static const double p[2] = {fma_peak(1), fma_peak(2)};
  return p[threads - 1];
}

inline void run_kernel(benchmark::State& state, const Target& target, const testing::EmitFn& emit,
                       const std::vector<int64_t>& buffer_bytes, double flops, int threads) {
  testing::Kernel k = testing::compile_kernel(target, emit);
  if (!k.error.empty()) return state.SkipWithError(k.error.c_str());
  std::vector<std::unique_ptr<testing::Aligned>> memory;
  std::vector<char*> buffers;
  for (int64_t bytes : buffer_bytes) {
    memory.push_back(
        std::make_unique<testing::Aligned>(static_cast<size_t>(bytes) + 64 * 5 * memory.size()));
    // Values that are small in every type.
    for (int64_t i = 0; i < bytes; ++i)
      memory.back()->data[i] = i % 4 == 3 ? 0x3c : static_cast<char>(i * 37 % 19);
    buffers.push_back(memory.back()->data);
  }
  testing::Aligned work(static_cast<size_t>(k.plan.workspace_bytes));
  buffers.push_back(work.data);
  std::vector<std::unique_ptr<testing::Aligned>> scratch;
  for (int i = 0; i < threads; ++i)
    scratch.push_back(
        std::make_unique<testing::Aligned>(static_cast<size_t>(k.plan.scratch_bytes)));
  SpinPool pool(threads);
  auto once = [&] {
    for (size_t p = 0; p < k.functions.size(); ++p) {
      const int64_t items = k.plan.phases[p].items;
      pool.run([&](int i) {
        k.functions[p](buffers.data(), items * i / threads, items * (i + 1) / threads,
                       scratch[static_cast<size_t>(i)]->data);
      });
    }
  };
  once();
  // One thread is timed by its processor time, which other programs disturb less.
  auto now = [&] {
    timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  double best = 1e30;
  for (auto _ : state) {
    const double t0 = now();
    once();
    best = std::min(best, now() - t0);
  }
  state.counters["gflops"] =
      benchmark::Counter(flops / 1e9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["best_gf"] = flops / best / 1e9;
  state.counters["best_pct"] = 100 * flops / best / 1e9 / peak(threads);
  state.counters["items"] = static_cast<double>(k.plan.phases[0].items);
  state.counters["compile_ms"] = k.compile_ms;
}

inline int bench_main(int argc, char** argv) {
  std::printf("multiply-add peak, f32: %.1f GF/s on one thread, %.1f on two\n", peak(1), peak(2));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace braze::codegen::bench
