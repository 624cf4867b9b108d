// SPDX-License-Identifier: Apache-2.0
// Finds what makes a wrong result: which part of the compiler (passes, lowering, code), and by fuel
// the first rewrite with which the result is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "backend/compile.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze {

// Runs the program on made-up inputs on the evaluator after each pass (options.checked hears of each),
// with interpreted kernels, and compiled. An error names the first part that changed the result.
Result<std::string> check_engines(const Module& m, const CompileOptions& options);

struct Bisection {
  int64_t fuel = -1;    // least fuel with a wrong result; -1: the result is right, or wrong without any
  std::string verdict;  // some lines for people
};
// Compiles with different amounts of fuel; `tried` hears of each.
Result<Bisection> bisect(const Module& m, const CompileOptions& options,
                         const std::function<void(int64_t fuel, bool right)>& tried);

}  // namespace braze
