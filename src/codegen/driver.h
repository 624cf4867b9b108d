// SPDX-License-Identifier: Apache-2.0
// Native loops: a `while` step of a plan, with all that is inside it, as one LLVM function.
//
// Kernels of a few elements are emitted into the loop and small values live in registers, so that a
// loop over scalars costs its arithmetic. Serial kernels are called directly. What needs the thread
// pool or the library is handed back to the caller through DriverContext::step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codegen/target.h"
#include "plan/plan.h"

namespace llvm {
class Module;
}

namespace braze::codegen {

// What a driver is called with, and how it calls back.
struct DriverContext {
  char** address = nullptr;  // of each plan buffer
  char* arena = nullptr;
  char* scratch = nullptr;   // for one thread
  // Runs the driver's call number `index`; nonzero stops the driver, which returns it.
  int32_t (*step)(DriverContext* context, int64_t index) = nullptr;
};
using DriverFunction = int32_t(DriverContext*);

// The outermost loops of a plan that gain from a driver of their own, in the order of its steps.
std::vector<const PlanStep*> driver_loops(const Plan& plan);

// The steps that the driver of `loop`, a step of `plan`, calls back for, by index.
std::vector<const PlanStep*> driver_calls(const Plan& plan, const PlanStep& loop);

// Adds the driver of `loop` to `module` as function `name`. Phase p of the plan's kernel k, which it may
// call, is the function symbols[k] (p = 0) or symbols[k].p.
Status emit_driver(llvm::Module& module, const Plan& plan, const PlanStep& loop, std::string_view name,
                   const std::vector<std::string>& symbols, const Target& target);

}  // namespace braze::codegen
