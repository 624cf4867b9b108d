// SPDX-License-Identifier: Apache-2.0
#include "backend/roofline.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "codegen/kernels.h"
#include "loop/elements.h"
#include "loop/kernel.h"
#include "runtime/pool.h"

namespace braze {
namespace {

using loop::Kernel;
using scalar::Scalar;

constexpr int kFmaStreams = 12;  // independent accumulators: enough to hide the latency of an FMA
constexpr int kReadStreams = 4;  // and of an addition, without more streams than prefetchers follow
constexpr int64_t kFmaVectors = 1 << 12;
constexpr int64_t kItemsPerThread = 16;  // a thread that is held up gives its items to others

// items × a vector loop of `extent` with `streams` accumulators, each stepped by `next`; the sums
// are stored, so that nothing is dropped.
template <typename Next>
Kernel accumulating(std::string name, int streams, int64_t items, int64_t extent, int lanes,
                    int64_t input, Next next) {
  Kernel k;
  k.name = std::move(name);
  k.buffers = {{"x", Dtype::kF32, input, loop::Role::kInput},
               {"y", Dtype::kF32, items, loop::Role::kOutput}};
  loop::Phase phase;
  phase.items = items;
  phase.item_var = k.new_var();
  phase.width = lanes;
  Scalar item = k.graph.index_var(phase.item_var, items);
  auto l = std::make_shared<loop::Loop>();
  l->var = k.new_var();
  l->extent = extent;
  l->kind = loop::LoopKind::kVector;
  Scalar i = k.graph.index_var(l->var, extent);
  Scalar zero = k.graph.constant(Dtype::kF32, 0), sum = zero;
  for (int s = 0; s < streams; ++s) {
    loop::Accumulator a;
    a.var = {k.new_var()}, a.result = {k.new_var()}, a.lhs = {k.new_var()}, a.rhs = {k.new_var()};
    a.type = {Dtype::kF32};
    a.init = a.identity = {zero};
    a.next = {next(k, item, i, s, k.graph.var(Dtype::kF32, a.var[0]))};
    a.combined = {
        k.graph.add(k.graph.var(Dtype::kF32, a.lhs[0]), k.graph.var(Dtype::kF32, a.rhs[0]))};
    sum = k.graph.add(sum, k.graph.var(Dtype::kF32, a.result[0]));
    l->accumulators.push_back(std::move(a));
  }
  phase.body.push_back(loop::make_loop(l));
  loop::store_value(k, &phase.body, 1, item, {sum, {}});
  k.phases.push_back(std::move(phase));
  return k;
}

// Every item multiplies and adds in registers.
Kernel fma_kernel(int64_t items, int lanes, bool fma) {
  return accumulating(
      "peak", kFmaStreams, items, kFmaVectors * lanes, lanes, kFmaStreams + 1,
      [fma](Kernel& k, Scalar, Scalar, int s, Scalar acc) {
        Scalar a = k.graph.load(Dtype::kF32, 0, k.graph.constant_int(Dtype::kS64, s));
        Scalar b = k.graph.load(Dtype::kF32, 0, k.graph.constant_int(Dtype::kS64, kFmaStreams));
        return fma ? k.graph.fma(acc, b, a) : k.graph.add(k.graph.mul(acc, b), a);
      });
}
// Every item adds up its own part of the input.
Kernel read_kernel(int64_t items, int64_t extent, int lanes) {
  return accumulating(
      "read", kReadStreams, items, extent, lanes, items * extent * kReadStreams,
      [=](Kernel& k, Scalar item, Scalar i, int s, Scalar acc) {
        auto c = [&](int64_t v) { return k.graph.constant_int(Dtype::kS64, v); };
        Scalar at = k.graph.add(
            k.graph.mul(k.graph.add(k.graph.mul(item, c(kReadStreams)), c(s)), c(extent)), i);
        return k.graph.add(acc, k.graph.load(Dtype::kF32, 0, at));
      });
}

// Seconds of the fastest of `repeat` runs; 0 if the kernel cannot be had.
double best_seconds(Kernel kernel, const codegen::Target& target, int repeat) {
  int64_t input = kernel.buffers[0].elements, output = kernel.buffers[1].elements;
  Plan plan;
  plan.kernels.push_back(std::make_unique<Kernel>(std::move(kernel)));
  auto loaded = codegen::compile_kernels(plan, target, 1);
  if (!loaded.ok()) return 0;
  auto buffer = [](int64_t n) {
    void* p = std::aligned_alloc(64, static_cast<size_t>(n * 4 + 63) / 64 * 64);
    if (p) std::memset(p, 0, static_cast<size_t>(n * 4));
    return std::unique_ptr<void, void (*)(void*)>(p, std::free);
  };
  auto x = buffer(input), y = buffer(output);
  if (!x || !y) return 0;
  char* buffers[] = {static_cast<char*>(x.get()), static_cast<char*>(y.get()), nullptr};
  std::vector<char> scratch(static_cast<size_t>(loaded->kernels[0].scratch_bytes) + 256);
  Pool& pool = Pool::shared();
  double best = 0;
  for (int r = 0; r < repeat; ++r) {
    auto from = std::chrono::steady_clock::now();
    for (const codegen::LoadedPhase& p : loaded->kernels[0].phases)
      pool.run(p.items, 1, [&](int64_t begin, int64_t end, int) {
        p.function(buffers, begin, end, scratch.data());
      });
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    if (r == 1 || (r > 1 && s < best)) best = s;  // the first run warms up
  }
  return best;
}

MachineLimits measure(const codegen::Target& target) {
  MachineLimits m;
  const int64_t threads = Pool::shared().threads(), items = threads * kItemsPerThread;
  const int lanes = target.lanes(4);
  if (double s = best_seconds(fma_kernel(items, lanes, target.fma), target, 40); s > 0)
    m.flops_per_s = 2.0 * kFmaStreams * static_cast<double>(kFmaVectors * lanes * items) / s;
  auto bandwidth = [&](int64_t bytes, int repeat) {
    const int64_t extent = std::max<int64_t>(bytes / 4 / kReadStreams / items / 64 * 64, 64);
    const double s = best_seconds(read_kernel(items, extent, lanes), target, repeat);
    return s > 0 ? 4.0 * static_cast<double>(extent * kReadStreams * items) / s : 0;
  };
  m.read_bytes_per_s = bandwidth(std::clamp<int64_t>(4 * target.l3_bytes, 64 << 20, 512 << 20), 8);
  const double l3 = target.l3_bytes > 0 ? bandwidth(target.l3_bytes / 2, 100) : 0;
  m.l3_bytes_per_s = std::max(l3, m.read_bytes_per_s);
  m.cache_bytes_per_s = std::max(bandwidth(threads * target.l2_bytes / 2, 200), m.l3_bytes_per_s);
  return m;
}

}  // namespace

const MachineLimits& machine_limits(const codegen::Target& target) {
  static std::mutex mutex;
  static std::map<std::string, MachineLimits>* known = new std::map<std::string, MachineLimits>();
  std::lock_guard<std::mutex> lock(mutex);
  auto it = known->find(target.key());
  if (it == known->end()) it = known->emplace(target.key(), measure(target)).first;
  return it->second;
}

Estimate estimate(double flops, double bytes, const codegen::Target& target,
                  const MachineLimits& m) {
  const double in_cache = static_cast<double>(Pool::shared().threads() * target.l2_bytes);
  const double in_l3 = static_cast<double>(target.l3_bytes) * 0.75;
  const double speed = bytes <= in_cache ? m.cache_bytes_per_s
                       : bytes <= in_l3  ? m.l3_bytes_per_s
                                         : m.read_bytes_per_s;
  const double memory = speed > 0 ? bytes / speed : 0;
  const double work = m.flops_per_s > 0 ? flops / m.flops_per_s : 0;
  return {std::max(memory, work) * 1e6, memory >= work};
}

}  // namespace braze
