// SPDX-License-Identifier: Apache-2.0
#include "tools/steps.h"

namespace braze::tools {

std::string step_kind(const PlanStep& s) {
  switch (s.kind) {
    case PlanStep::Kind::kKernel:
      return "kernel";
    case PlanStep::Kind::kLibrary:
      return "library";
    case PlanStep::Kind::kCopy:
      return "copy";
    case PlanStep::Kind::kWhile:
      return "loop";
    case PlanStep::Kind::kConditional:
      return "conditional";
  }
  return "step";
}

std::string step_title(const PlanStep& s) { return s.instr ? s.instr->name : step_kind(s); }

}  // namespace braze::tools
