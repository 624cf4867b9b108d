// SPDX-License-Identifier: Apache-2.0
// The code of a plan's kernels and loops as text, for dumps and tools: all of it in one module.
#pragma once

#include <string>

#include "base/status.h"
#include "codegen/target.h"
#include "plan/plan.h"

namespace braze::codegen {

// LLVM IR as emitted, or assembly.
Result<std::string> kernels_text(const Plan& plan, const Target& target, bool assembly_text);

struct KernelsCode {
  std::string ir;           // as emitted
  std::string prepared_ir;  // as rewritten for instruction selection
  std::string object, assembly;
};
Result<KernelsCode> kernels_code(const Plan& plan, const Target& target);

}  // namespace braze::codegen
