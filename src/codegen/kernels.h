// SPDX-License-Identifier: Apache-2.0
// Kernels → callable code: emits, compiles on all cores and links the distinct kernels of a plan and
// the drivers of its loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "codegen/driver.h"
#include "codegen/jit.h"
#include "loop/kernel.h"

namespace braze::codegen {

using PhaseFunction = void(char** buffers, int64_t begin, int64_t end, char* scratch);

struct LoadedPhase {
  PhaseFunction* function = nullptr;
  int64_t items = 1, grain = 1;
};

struct LoadedKernel {
  std::vector<LoadedPhase> phases;
  int64_t scratch_bytes = 0;
  int64_t workspace_bytes = 0;  // of the extra buffer a contraction asks for
};

struct LoadedDriver {
  DriverFunction* function = nullptr;
  std::vector<const PlanStep*> calls;  // steps it calls back for, by index
};

struct LoadedKernels {
  std::vector<LoadedKernel> kernels;
  std::vector<LoadedDriver> drivers;  // by PlanStep::driver
  std::unique_ptr<Jit> jit;  // owns the code
  int64_t code_bytes = 0;
};

// Numbers the plan's loops that get a driver. The result refers to the plan's steps.
Result<LoadedKernels> compile_kernels(Plan& plan, const Target& target, int threads);

// Workspace a contraction kernel needs beyond the kernel's own buffers, in bytes.
int64_t extra_workspace(const loop::Kernel& k, const Target& target);

// Symbol of the driver of the plan's loop number `i`.
std::string driver_symbol(int64_t i);

}  // namespace braze::codegen
