// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernels_code.h"

#include "codegen/driver.h"
#include "codegen/jit.h"
#include "codegen/kernel_emit.h"
#include "codegen/kernels.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

struct Emitted {
  std::unique_ptr<llvm::Module> module;
  CompileOptions options;
};

Result<Emitted> emit_all(llvm::LLVMContext& context, const Plan& plan, const Target& target) {
  Emitted out{make_module(context, "kernels", target), {}};
  std::vector<std::string> symbols;  // by number, to be read
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    symbols.push_back(str_cat("kernel_", i));
    auto e = emit_kernel(*out.module, *plan.kernels[i], symbols.back(), target);
    if (!e.ok()) return note(str_cat("kernel '", plan.kernels[i]->name, "'"), e.status());
  }
  std::vector<const PlanStep*> loops = driver_loops(plan);
  for (size_t i = 0; i < loops.size(); ++i)
    TRY(emit_driver(*out.module, plan, *loops[i], str_cat("loop_", i), symbols, target));
  out.options.simplify = !loops.empty();
  return out;
}

}  // namespace

Result<std::string> kernels_text(const Plan& plan, const Target& target, bool assembly_text) {
  llvm::LLVMContext context;
  ASSIGN(Emitted e, emit_all(context, plan, target));
  if (assembly_text) return assembly(*e.module, target, e.options);
  return ir_text(*e.module);
}

Result<KernelsCode> kernels_code(const Plan& plan, const Target& target) {
  KernelsCode out;
  llvm::LLVMContext context;
  ASSIGN(Emitted e, emit_all(context, plan, target));
  out.ir = ir_text(*e.module);
  ASSIGN(out.object, compile(*e.module, target, e.options));
  out.prepared_ir = ir_text(*e.module);
  ASSIGN(e, emit_all(context, plan, target));
  ASSIGN(out.assembly, assembly(*e.module, target, e.options));
  return out;
}

}  // namespace braze::codegen
