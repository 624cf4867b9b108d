// SPDX-License-Identifier: Apache-2.0
// StableHLO (with CHLO, func, sdy, mhlo and the check and interpreter dialects of its test suite)
// → Module.
//
// Interface: import_stablehlo. Invariants of the result:
// - a function is a computation with one parameter per argument; its root is the result, or a tuple
//   of them if there is not exactly one. The entry function is the entry computation;
// - a while has one tuple as its state, each branch of a conditional takes one tuple: what the
//   regions use from outside, except constants, which are copied into them;
// - unknown dimensions (`?`) stay as declared; passes/refine_shapes replaces them.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "frontend/mlir_ast.h"
#include "ir/module.h"

namespace braze {

struct ImportOptions {
  std::string entry = "main";
  // If there is no function called `entry` and only one public function, that one is the entry.
  bool any_entry = true;
};

Result<std::unique_ptr<Module>> import_stablehlo(const mlir::Module& source,
                                                 const ImportOptions& options = {});

}  // namespace braze
