// SPDX-License-Identifier: Apache-2.0
// Compiles and runs contraction kernels for tests and benchmarks: the JIT, guarded buffers, and
// runs over any split of the work items.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codegen/contraction.h"
#include "codegen/target.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

namespace braze::codegen::testing {

using KernelFn = void (*)(char**, int64_t, int64_t, char*);

inline Target level_target(const std::string& level) {
  const auto f = llvm::sys::getHostCPUFeatures();
  Target t;
  t.triple = llvm::sys::getProcessTriple();
  t.cpu = llvm::sys::getHostCPUName().str();
  t.l1_bytes = 32 << 10;
  t.l2_bytes = 1 << 20;
  if (level == "avx512" && f.lookup("avx512vl")) {
    t.avx512 = t.avx2 = t.fma = t.f16c = true;
    t.vnni = f.lookup("avx512vnni");
    t.vector_bits = 512;
  } else if (level == "avx2") {
    t.avx2 = t.fma = t.f16c = true;
    t.vector_bits = 256;
    t.cpu = "x86-64-v3";
  } else {
    t.cpu = "x86-64";
  }
  return t;
}

// A compiled plan. The JIT lives as long as it.
struct Kernel {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  ContractionPlan plan;
  std::vector<KernelFn> functions;
  double compile_ms = 0;
  std::string error;
};

using EmitFn = std::function<Result<ContractionPlan>(llvm::Module&)>;

inline Kernel compile_kernel(const Target& target, const EmitFn& emit, std::string* ir = nullptr) {
  static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)once;
  Kernel k;
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(target.triple)};
  builder.setCPU(target.cpu);
  if (target.avx512) {
    for (const auto& f : llvm::sys::getHostCPUFeatures())
      builder.getFeatures().AddFeature(f.first(), f.second);
  }
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create();
  if (!jit) {
    k.error = llvm::toString(jit.takeError());
    return k;
  }
  k.jit = std::move(*jit);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("test", *context);
  module->setDataLayout(k.jit->getDataLayout());
  module->setTargetTriple(target.triple);
  const auto t0 = std::chrono::steady_clock::now();
  auto plan = emit(*module);
  if (!plan.ok()) {
    k.error = std::string(plan.status().message());
    return k;
  }
  k.plan = *plan;
  if (ir) {
    llvm::raw_string_ostream out(*ir);
    module->print(out, nullptr);
  }
  llvm::raw_string_ostream verify(k.error);
  if (llvm::verifyModule(*module, &verify)) return k;
  llvm::cantFail(
      k.jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  for (const ContractionPhase& p : k.plan.phases) {
    auto symbol = k.jit->lookup(p.function);
    if (!symbol) {
      k.error = llvm::toString(symbol.takeError());
      return k;
    }
    k.functions.push_back(symbol->toPtr<KernelFn>());
  }
  k.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
  return k;
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
