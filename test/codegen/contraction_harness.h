// SPDX-License-Identifier: Apache-2.0
// Compiles and runs contraction kernels for tests and benchmarks: the JIT, guarded buffers, and
// runs over any split of the work items.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codegen/contraction.h"
#include "codegen/jit.h"
#include "codegen/target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace braze::codegen::testing {

using KernelFn = void (*)(char**, int64_t, int64_t, char*);

// The host's own target for the widest level it has, a named one below; the baseline where the host
// lacks the level.
inline Target level_target(const std::string& level) {
  const Target& host = host_target();
  if (level == "avx512" && host.avx512) return host;
  Result<Target> t = target_named(level == "avx2" && host.avx2 ? "avx2" : "baseline");
  return t.ok() ? *t : host;
}

// A compiled plan. The code lives as long as it.
struct Kernel {
  std::unique_ptr<Jit> jit;
  ContractionPlan plan;
  std::vector<KernelFn> functions;
  double compile_ms = 0;  // code generation alone
  std::string error;
};

using EmitFn = std::function<Result<ContractionPlan>(llvm::Module&)>;

inline Result<Kernel> try_compile(const Target& target, const EmitFn& emit) {
  Kernel k;
  llvm::LLVMContext context;
  auto module = make_module(context, "test", target);
  const auto t0 = std::chrono::steady_clock::now();
  ASSIGN(k.plan, emit(*module));
  for (llvm::Function& f : *module) {
    if (!f.isDeclaration()) set_function_attributes(f, target);
  }
  ASSIGN(std::string object, compile(*module, target));
  k.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
  ASSIGN(k.jit, Jit::create(target));
  TRY(k.jit->add_object(std::move(object)));
  for (const ContractionPhase& p : k.plan.phases) {
    ASSIGN(void* f, k.jit->lookup(p.function));
    k.functions.push_back(reinterpret_cast<KernelFn>(f));
  }
  return k;
}

inline Kernel compile_kernel(const Target& target, const EmitFn& emit) {
  Result<Kernel> k = try_compile(target, emit);
  if (k.ok()) return std::move(k).value();
  Kernel bad;
  bad.error = std::string(k.status().message());
  return bad;
}

// Memory whose end touches an inaccessible page: a read or write past it faults.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    map_bytes_ = (bytes + page - 1) / page * page + 2 * page;
    map_ = static_cast<char*>(
        mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_, page, PROT_NONE);
    mprotect(map_ + map_bytes_ - page, page, PROT_NONE);
    data_ = map_ + map_bytes_ - page - bytes;
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(map_, map_bytes_); }
  char* data() { return data_; }
  size_t size() const { return bytes_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }

 private:
  size_t bytes_, map_bytes_;
  char *map_, *data_;
};

// 64-byte aligned block.
struct Aligned {
  explicit Aligned(size_t bytes)
      : data(static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {}
  Aligned(const Aligned&) = delete;
  ~Aligned() { std::free(data); }
  char* data;
};

// Runs all phases, each split at random into pieces that run in a random order with dirty scratch.
inline void run_split(const Kernel& k, std::vector<char*> buffers, std::mt19937& rng) {
  for (size_t p = 0; p < k.functions.size(); ++p) {
    const int64_t items = k.plan.phases[p].items;
    const int pieces = std::uniform_int_distribution<int>(1, 5)(rng);
    std::vector<int64_t> cuts{0, items};
    for (int i = 1; i < pieces; ++i)
      cuts.push_back(std::uniform_int_distribution<int64_t>(0, items)(rng));
    std::sort(cuts.begin(), cuts.end());
    std::vector<size_t> order;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), rng);
    for (size_t i : order) {
      Aligned scratch(static_cast<size_t>(k.plan.scratch_bytes));
      std::memset(scratch.data, 0xff, static_cast<size_t>(k.plan.scratch_bytes));
      k.functions[p](buffers.data(), cuts[i], cuts[i + 1], scratch.data);
    }
  }
}

}  // namespace braze::codegen::testing
