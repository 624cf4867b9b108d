// SPDX-License-Identifier: Apache-2.0
// The passes before planning: the table of passes and the pipeline that runs them, with all that
// debugging hangs on it: dumps, verification, evaluation before and after, fuel, times.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backend/compile.h"
#include "base/status.h"
#include "codegen/target.h"
#include "ir/module.h"
#include "plan/plan.h"

namespace braze {

class DebugSession;

struct PassRow {
  std::string_view name, doc;
};
// Every pass by name, and the names of the standard pipeline in order.
absl::Span<const PassRow> pass_table();
std::vector<std::string> standard_pipeline();
// "inline,cleanup,fuse" or "none" → names, or an error that lists the passes.
Result<std::vector<std::string>> parse_pipeline(std::string_view text);

// What `disable=` and --xla_disable_hlo_passes name that is no pass, as a sentence for the user: once per
// process, then "".
std::string unknown_passes_note(const Debug& d);

// `session` may be null. `stats` may be null; phases are added to it.
Status run_pipeline(Module& m, const CompileOptions& options, CompileStats* stats,
                    DebugSession* session);

// The target asked for, or, where that is the host, what BRAZE_DEBUG's target=NAME says.
Result<codegen::Target> target_of(const CompileOptions& options);

// The plan of a module after the passes, for code of this target.
Result<Plan> plan_for(std::unique_ptr<Module> m, const codegen::Target& t);

}  // namespace braze
