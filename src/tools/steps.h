// SPDX-License-Identifier: Apache-2.0
// Steps of a plan in words, for reports and traces.
#pragma once

#include <string>

#include "plan/plan.h"

namespace braze::tools {

std::string step_kind(const PlanStep& s);   // "kernel", "library", "copy", "loop", "conditional"
std::string step_title(const PlanStep& s);  // the instruction's name, or "copy"

}  // namespace braze::tools
