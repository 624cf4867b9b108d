// SPDX-License-Identifier: Apache-2.0
// A contraction kernel → LLVM, by the GEMM and convolution generators, its epilogue emitted from the
// kernel's scalar DAG through their hooks.
#pragma once

#include <string_view>

#include "base/status.h"
#include "codegen/contraction.h"
#include "codegen/kernel_emit.h"

namespace braze::codegen {

Result<EmittedKernel> emit_contraction(llvm::Module& module, const loop::Kernel& kernel,
                                       std::string_view name, const Target& target,
                                       const EmitOptions& options = {});

// Sizes and phases of a contraction kernel, without generating code.
Result<ContractionPlan> plan_contraction(const loop::Kernel& kernel, const Target& target);

// True if a generator exists for the contraction's types and form.
bool contraction_supported(const loop::Contraction& c, const Target& target);

}  // namespace braze::codegen
