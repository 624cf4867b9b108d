// SPDX-License-Identifier: Apache-2.0
// Kernels → callable code, for the distinct kernels of a plan and the drivers of its loops: found in
// this process, loaded from compiled code or the disk cache, or else compiled on all cores. What is
// found is told by its key (code_keys.h), so that where code comes from never changes what it does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/disk_cache.h"
#include "base/status.h"
#include "codegen/code_pool.h"
#include "codegen/driver.h"
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
  bool compiled = false;  // false: there is no code
  std::vector<LoadedKernel> kernels;
  std::vector<LoadedDriver> drivers;  // by PlanStep::driver
  std::vector<LoadedCodeRef> code;    // holds the code
  std::vector<Hash128> units;         // of kernels and drivers
  int64_t code_bytes = 0;
  int64_t fresh = 0, shared = 0, cached = 0;  // units compiled, found in this process, loaded
  std::vector<std::string> notes;             // what the cache said, for the debug output
};

// Where code may come from besides this process.
struct CodeSources {
  std::string_view image;      // of code_image; bytes that do not fit are passed over
  DiskCache* disk = nullptr;
};

// Numbers the plan's loops that get a driver. The result refers to the plan's steps.
Result<LoadedKernels> compile_kernels(Plan& plan, const Target& target, int threads,
                                      const CodeSources& sources = {});

// The code as bytes, for CodeSources::image in another process; empty if this build cannot be told
// from others.
std::string code_image(const LoadedKernels& kernels);

// Workspace a contraction kernel needs beyond the kernel's own buffers, in bytes.
int64_t extra_workspace(const loop::Kernel& k, const Target& target);

}  // namespace braze::codegen
