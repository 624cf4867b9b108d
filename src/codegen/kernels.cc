// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernels.h"

#include <algorithm>

#include "codegen/contraction_kernel.h"
#include "codegen/kernel_emit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

// Kernels per LLVM module: larger ones amortise the fixed cost, smaller ones spread over cores.
constexpr int64_t kPerModule = 12;

}  // namespace

std::string driver_symbol(int64_t i) { return str_cat("loop_", i); }

Result<LoadedKernels> compile_kernels(Plan& plan, const Target& target, int threads) {
  const auto& kernels = plan.kernels;
  int64_t n = static_cast<int64_t>(kernels.size());
  std::vector<const PlanStep*> loops = driver_loops(plan);
  std::vector<LoadedDriver> drivers(loops.size());
  for (size_t i = 0; i < loops.size(); ++i)
    const_cast<PlanStep*>(loops[i])->driver = static_cast<int64_t>(i);
  int64_t per = std::clamp<int64_t>((n + threads - 1) / std::max(threads, 1), 1, kPerModule);
  int64_t modules = (n + per - 1) / per;
  std::vector<EmittedKernel> emitted(n);
  ASSIGN(std::vector<std::string> objects,
         compile_all(modules + static_cast<int64_t>(loops.size()), threads,
                     [&](int64_t m) -> Result<std::string> {
           llvm::LLVMContext context;
           if (m >= modules) {
             int64_t i = m - modules;
             auto module = make_module(context, driver_symbol(i), target);
             ASSIGN(drivers[i].calls, emit_driver(*module, plan, *loops[i], driver_symbol(i), target));
             CompileOptions options;
             options.simplify = true;
             return compile(*module, target, options);
           }
           auto module = make_module(context, str_cat("kernels_", m), target);
           for (int64_t i = m * per; i < std::min(n, (m + 1) * per); ++i) {
             auto e = emit_kernel(*module, *kernels[i], kernel_symbol(i), target);
             if (!e.ok()) return note(str_cat("kernel '", kernels[i]->name, "'"), e.status());
             emitted[i] = std::move(e).value();
           }
           return compile(*module, target);
         }));
  LoadedKernels out;
  ASSIGN(out.jit, Jit::create(target));
  for (std::string& o : objects) {
    out.code_bytes += static_cast<int64_t>(o.size());
    TRY(out.jit->add_object(std::move(o)));
  }
  for (int64_t i = 0; i < n; ++i) {
    LoadedKernel k;
    k.scratch_bytes = emitted[i].scratch_bytes;
    k.workspace_bytes = emitted[i].workspace_bytes;
    for (const EmittedPhase& p : emitted[i].phases) {
      LoadedPhase phase{nullptr, p.items, p.grain};
      ASSIGN(phase.function, out.jit->function<PhaseFunction>(p.function));
      k.phases.push_back(phase);
    }
    out.kernels.push_back(std::move(k));
  }
  for (size_t i = 0; i < drivers.size(); ++i) {
    ASSIGN(drivers[i].function,
           out.jit->function<DriverFunction>(driver_symbol(static_cast<int64_t>(i))));
  }
  out.drivers = std::move(drivers);
  return out;
}

int64_t extra_workspace(const loop::Kernel& k, const Target& target) {
  if (!k.contraction) return 0;
  auto plan = plan_contraction(k, target);
  return plan.ok() ? plan->workspace_bytes : 0;
}

}  // namespace braze::codegen
