// SPDX-License-Identifier: Apache-2.0
// cleanup: dead code out; equal instructions merged (never across opt-barrier); copies, trivial
// reshapes, transposes and broadcasts out; reductions of a transpose read what it transposes; get-tuple-element(tuple(…)) → the element.
#pragma once

#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze {

// What an instruction is equal to: among its operands (and theirs), or a new one; null if the rule
// does not apply. test/passes/rules_test.cc has a program for each rule and one for its limits.
struct CleanupRule {
  std::string_view name;
  std::optional<Op> op;  // of the instructions it looks at; none: of all
  Instr* (*apply)(Instr*);
};
absl::Span<const CleanupRule> cleanup_rules();

Status cleanup(Module& m);

}  // namespace braze
