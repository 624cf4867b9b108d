// SPDX-License-Identifier: Apache-2.0
// GEMM kernel speed: GF/s and the share of this machine's multiply-add peak, measured in the same
// run, on one and two threads. `--benchmark_filter=` picks shapes; counters: gflops, peak_pct,
// compile_ms.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "bench/kernel_bench.h"
#include "benchmark/benchmark.h"
#include "codegen/gemm.h"

namespace braze::codegen {
namespace {

struct Shape {
  const char* name;
  int64_t batch, m, n, k;
  bool lhs_t = false, rhs_t = false;
  Dtype in = Dtype::kF32, acc = Dtype::kF32;
};

GemmSpec spec_of(const Shape& s) {
  GemmSpec g;
  g.lhs = g.rhs = g.out = s.in;
  g.acc = s.acc;
  if (!is_float(s.acc)) g.out = s.acc;
  g.m = s.m, g.n = s.n;
  g.batch = {{s.batch, s.m * s.k, s.k * s.n, s.m * s.n}};
  g.lhs_m = s.lhs_t ? 1 : s.k;
  g.rhs_n = s.rhs_t ? s.k : 1;
  g.k = {{s.k, s.lhs_t ? s.m : 1, s.rhs_t ? 1 : s.n}};
  g.out_m = s.n;
  return g;
}

void run(benchmark::State& state, const Shape& s, int threads) {
  const GemmSpec g = spec_of(s);
  const Target target = testing::level_target("avx512");
  bench::run_kernel(
      state, target, [&](llvm::Module& m) { return emit_gemm(m, "k", g, target); },
      {s.batch * s.m * s.k * byte_size(g.lhs), s.batch * s.k * s.n * byte_size(g.rhs),
       s.batch * s.m * s.n * byte_size(g.out)},
      2.0 * static_cast<double>(s.batch * s.m * s.n) * static_cast<double>(s.k), threads);
}

const Shape kShapes[] = {
    {"nn256", 1, 256, 256, 256},
    {"nn512", 1, 512, 512, 512},
    {"nn1024", 1, 1024, 1024, 1024},
    {"nn2048", 1, 2048, 2048, 2048},
    {"nt1024", 1, 1024, 1024, 1024, false, true},
    {"tn1024", 1, 1024, 1024, 1024, true, false},
    {"tt1024", 1, 1024, 1024, 1024, true, true},
    {"nt2048", 1, 2048, 2048, 2048, false, true},
    {"tn2048", 1, 2048, 2048, 2048, true, false},
    {"mlp128x512x784", 1, 128, 512, 784},
    {"bert128x768x768", 1, 128, 768, 768},
    {"bert128x3072x768", 1, 128, 3072, 768},
    {"bert128x768x3072", 1, 128, 768, 3072},
    {"nt128x768x768", 1, 128, 768, 768, false, true},
    {"tn768x768x1024", 1, 768, 768, 1024, true, false},
    {"batch256x64", 256, 64, 64, 64},
    {"batch12x128x128x64nt", 12, 128, 128, 64, false, true},
    {"batch1000x4", 1000, 4, 4, 4},
    {"gemv768x3072", 1, 1, 3072, 768},
    {"gemv768x768nt", 1, 1, 768, 768, false, true},
    {"gemv768x50257nt", 1, 1, 50257, 768, false, true},
    {"m4x768x3072nt", 1, 4, 3072, 768, false, true},
    {"longk64x64x100k", 1, 64, 64, 100352, true, false},
    {"longk64x576x12544", 1, 64, 576, 12544, true, false},
    {"n10m128k512", 1, 128, 10, 512},
    {"n16m1024k512", 1, 1024, 16, 512},
    {"n32m1024k512", 1, 1024, 32, 512},
    {"n48m1024k512", 1, 1024, 48, 512},
    {"n1000m128k2048", 1, 128, 1000, 2048},
    {"f64nn512", 1, 512, 512, 512, false, false, Dtype::kF64, Dtype::kF64},
    {"bf16nn512", 1, 512, 512, 512, false, false, Dtype::kBF16},
    {"bf16nn1024", 1, 1024, 1024, 1024, false, false, Dtype::kBF16},
    {"bf16nt1024", 1, 1024, 1024, 1024, false, true, Dtype::kBF16},
    {"bf16gemv768x3072", 1, 1, 3072, 768, false, false, Dtype::kBF16},
    {"s8nn512", 1, 512, 512, 512, false, false, Dtype::kS8, Dtype::kS32},
    {"s8nn1024", 1, 1024, 1024, 1024, false, false, Dtype::kS8, Dtype::kS32},
    {"s8nt1024", 1, 1024, 1024, 1024, false, true, Dtype::kS8, Dtype::kS32},
};

}  // namespace
}  // namespace braze::codegen

int main(int argc, char** argv) {
  using namespace braze::codegen;
  for (const Shape& s : kShapes) {
    for (int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (std::string("gemm/") + s.name + "/" + std::to_string(threads)).c_str(),
          [s, threads](benchmark::State& st) { run(st, s, threads); })
          ->UseRealTime()
          ->MinTime(0.2);
    }
  }
  return braze::codegen::bench::bench_main(argc, argv);
}
