// SPDX-License-Identifier: Apache-2.0
// Evaluates a module on made-up inputs before and after each pass, and names the pass that changed
// the result.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace braze {

class PassChecker {
 public:
  // Runs `m` as it is. If it cannot be evaluated (unknown shapes, too large, waits for others) every
  // check says so and passes.
  static std::unique_ptr<PassChecker> create(const Module& m);
  // One line about the module after `pass`: the same bits, or how far apart within the tolerance of
  // the element type; an error if it is farther.
  Result<std::string> check(std::string_view pass, const Module& m);
  const std::vector<Literal>& arguments() const { return arguments_; }

 private:
  std::vector<Literal> arguments_;
  Result<Literal> value_ = absl::UnknownError("");
};

}  // namespace braze
