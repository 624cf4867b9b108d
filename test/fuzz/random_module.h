// SPDX-License-Identifier: Apache-2.0
// Random well-typed modules: the rows' samples of nearly all ops, joined by reshapes, slices, pads and
// conversions so that one's results are another's operands, with loops, conditionals and calls around
// random bodies. The same seed gives the same module and arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace braze::fuzz {

struct Case {
  std::unique_ptr<Module> module;
  std::vector<Literal> args;
  Case copy() const { return {module->clone(), args}; }
};

// A null module if the dice made something illegal (seldom).
Case random_case(uint64_t seed);

}  // namespace braze::fuzz
