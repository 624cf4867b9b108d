// SPDX-License-Identifier: Apache-2.0
// A whole plan as machine code that stands alone: one function and the kernels it calls.
//
// The function is
//   int32_t NAME(const void* const* arguments, void* const* results, void* temp, const braze_runtime* runtime)
// with the contract of include/braze/runtime.h. Kernels run on the runtime's threads, library steps through its
// `library`; without a runtime all runs on the caller's thread and library steps end the run with
// kNeedsRuntime. Objects refer to each other and to functions of the C library, nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codegen/target.h"
#include "plan/plan.h"

namespace braze::codegen {

constexpr int32_t kNeedsRuntime = 2;

struct ProgramCode {
  std::vector<std::string> objects;  // relocatable
  int64_t temp_bytes = 0;            // of `temp`, without scratch
  int64_t scratch_bytes = 0;         // more of it for each thread
};

// The library steps of a plan, nested ones included, in the order of its steps.
std::vector<const PlanStep*> library_steps(const Plan& plan);

// `calls`: for each of library_steps, the text that the runtime is to be given. Symbols begin with `name`.
Result<ProgramCode> program_code(const Plan& plan, const Target& target, std::string_view name,
                                 const std::vector<std::string>& calls, int threads);

}  // namespace braze::codegen
