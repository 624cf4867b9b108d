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

std::string kernel_symbol(int64_t i) { return str_cat("kernel_", i); }

}  // namespace

Result<LoadedKernels> compile_kernels(absl::Span<const std::unique_ptr<loop::Kernel>> kernels,
                                      const Target& target, int threads) {
  int64_t n = static_cast<int64_t>(kernels.size());
  int64_t per = std::clamp<int64_t>((n + threads - 1) / std::max(threads, 1), 1, kPerModule);
  int64_t modules = (n + per - 1) / per;
  std::vector<EmittedKernel> emitted(n);
  ASSIGN(std::vector<std::string> objects,
         compile_all(modules, threads, [&](int64_t m) -> Result<std::string> {
           llvm::LLVMContext context;
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
  return out;
}

int64_t extra_workspace(const loop::Kernel& k, const Target& target) {
  if (!k.contraction) return 0;
  auto plan = plan_contraction(k, target);
  return plan.ok() ? plan->workspace_bytes : 0;
}

Result<std::string> kernels_text(absl::Span<const std::unique_ptr<loop::Kernel>> kernels,
                                 const Target& target, bool assembly_text) {
  llvm::LLVMContext context;
  auto module = make_module(context, "kernels", target);
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto e = emit_kernel(*module, *kernels[i], kernel_symbol(static_cast<int64_t>(i)), target);
    if (!e.ok()) return note(str_cat("kernel '", kernels[i]->name, "'"), e.status());
  }
  if (assembly_text) return assembly(*module, target);
  return ir_text(*module);
}

}  // namespace braze::codegen
