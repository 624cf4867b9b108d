// SPDX-License-Identifier: Apache-2.0
// A chain (product, rows, product; loop/kernel.h) → LLVM: the three parts as functions for one tile of
// rows, and a function over tiles that calls them on a table of buffers moved to the tile.
#pragma once

#include <string_view>

#include "base/status.h"
#include "codegen/contraction.h"
#include "codegen/kernel_emit.h"

namespace braze::codegen {

Result<EmittedKernel> emit_chain(llvm::Module& module, const loop::Kernel& kernel, std::string_view name,
                                 const Target& target, const EmitOptions& options);

// Sizes and phases, without generating code.
Result<ContractionPlan> plan_chain(const loop::Kernel& kernel, const Target& target);

}  // namespace braze::codegen
