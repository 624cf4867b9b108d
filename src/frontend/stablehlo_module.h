// SPDX-License-Identifier: Apache-2.0
// Functions, their arguments' attributes and the attributes of the module.
//
// Interface: what import_stablehlo is made of.
#pragma once

#include <vector>

#include "frontend/stablehlo_import.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {

void import_module_attributes(const mlir::Op& op, Module& module);
Result<const mlir::Op*> find_entry(const Program& program, const ImportOptions& options);
// The functions that the entry reaches, callees first; an error if they call each other in a
// circle.
Result<std::vector<const mlir::Op*>> function_order(const Program& program, const mlir::Op& entry);
// Adds the computation of a func.func whose callees are there already.
Status import_function(Program& program, const mlir::Op& func, bool is_entry);

}  // namespace braze::stablehlo
