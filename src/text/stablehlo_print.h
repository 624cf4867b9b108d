// SPDX-License-Identifier: Apache-2.0
// Writes a module as StableHLO text in MLIR's generic form.
//
// Interface: print_stablehlo. Tuples vanish: a value of tuple shape is the list of its leaves.
// Computations that are called (by call, fusion, custom-call) become functions, all others regions.
// Copies and dependencies without a StableHLO op are dropped; an op without any counterpart is an
// error.
#pragma once

#include <string>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Result<std::string> print_stablehlo(const Module& m);

}  // namespace braze
