// SPDX-License-Identifier: Apache-2.0
// Kernel → LLVM: one function per phase, `void f(char** buffers, int64 begin, int64 end, char* scratch)`,
// where `buffers` holds the kernel's input, output and workspace buffers by number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codegen/target.h"
#include "loop/kernel.h"

namespace llvm {
class Module;
}

namespace braze::codegen {

struct EmittedPhase {
  std::string function;
  int64_t items = 1, grain = 1;
};

struct EmittedKernel {
  std::vector<EmittedPhase> phases;
  int64_t scratch_bytes = 0;
  int64_t workspace_bytes = 0;  // of the buffer numbered kernel.buffers.size(), if > 0 (contractions)
};

struct EmitOptions {
  // Nothing else writes the inputs while the caller of the functions runs: true for a launch, false
  // for code that becomes part of a loop over several kernels.
  bool inputs_constant = true;
};

// Adds the kernel's functions, named from `name`, to `module`.
Result<EmittedKernel> emit_kernel(llvm::Module& module, const loop::Kernel& kernel,
                                  std::string_view name, const Target& target,
                                  const EmitOptions& options = {});

// Adds one phase of it.
void emit_phase(llvm::Module& module, const loop::Kernel& kernel, const loop::Phase& phase,
                std::string_view name, const Target& target, const EmitOptions& options);

}  // namespace braze::codegen
