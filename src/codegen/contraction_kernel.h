// SPDX-License-Identifier: Apache-2.0
// A contraction kernel → LLVM, by the GEMM and convolution generators, its epilogue emitted from the
// kernel's scalar DAG through their hooks.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "codegen/contraction.h"
#include "codegen/gemm.h"
#include "codegen/kernel_emit.h"

namespace braze::codegen {

Result<EmittedKernel> emit_contraction(llvm::Module& module, const loop::Kernel& kernel,
                                       std::string_view name, const Target& target,
                                       const EmitOptions& options = {});

// Sizes and phases of a contraction kernel, without generating code.
Result<ContractionPlan> plan_contraction(const loop::Kernel& kernel, const Target& target);

// The functions of a module before a kernel's are added.
using FunctionNames = absl::flat_hash_set<std::string>;
FunctionNames function_names(const llvm::Module& module);
// The kernel that `plan` describes, its new functions with the target's attributes.
EmittedKernel emitted(llvm::Module& module, const FunctionNames& before, const ContractionPlan& plan,
                      const Target& target);

// The parts of a chain (chain_kernel.h): a product as the GEMM generator takes it, without a workspace, the
// target as its sums want it, and the kernel's epilogue.
GemmSpec product_spec(const loop::Contraction& c);
Target product_target(const loop::Contraction& c, const Target& target);
void set_product_epilogue(ContractionHooks& hooks, const loop::Kernel& kernel, const Target& target,
                          bool inputs_constant);

// True if a generator exists for the contraction's types and form.
bool contraction_supported(const loop::Contraction& c, const Target& target);

}  // namespace braze::codegen
