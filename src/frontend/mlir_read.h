// SPDX-License-Identifier: Apache-2.0
// Reading MLIR modules: StableHLO text, StableHLO or VHLO bytecode → the tree of mlir_ast.h.
//
// Interface: the functions below. All of them accept hostile input: they return an error, bound
// recursion and never allocate more than a small multiple of the input (plus decoded splats).
// The input must outlive the Module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/mlir_ast.h"

namespace braze::mlir {

// Reads text or bytecode, told apart by the bytecode magic "ML\xefR".
Result<Module> read_mlir(std::string_view bytes);
bool is_bytecode(std::string_view bytes);

// `name` is the file name in error messages: "name:3:14: expected ')'", then the line and a caret.
Result<Module> read_mlir_text(std::string_view text, std::string_view name = "");
Result<Module> read_mlir_bytecode(std::string_view bytes);

// Splits a test file at its `// -----` lines.
std::vector<std::string_view> split_mlir(std::string_view text);

// Generic MLIR text, which read_mlir_text reads back. Elements above `max_elements` values are
// written as hex.
std::string print_mlir(const Module& module);
std::string print_type(const Type& type);
std::string print_attr(const Attr& attr);

}  // namespace braze::mlir
