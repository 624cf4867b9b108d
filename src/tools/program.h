// SPDX-License-Identifier: Apache-2.0
// What verbs share: reading their program and ending with a message and an exit code.
#pragma once

#include <memory>
#include <string>

#include "backend/read_module.h"
#include "base/status.h"
#include "ir/module.h"
#include "tools/tools.h"

namespace braze::tools {

// Reads the file, or standard input for "-".
Result<std::unique_ptr<Module>> read_program(const SourceFlags& flags);
Result<std::string> read_input_file(const std::string& file);

// 0, or the error on standard error and 1.
int finish(const Status& s);
// For a suite that finds no `what` below `dir`: an error, but in its usual place, where it counts as skipped.
int nothing_to_run(const std::string& what, const std::string& dir, const std::string& usual);
// A wrong command line: 2.
int usage_error(const std::string& what);

}  // namespace braze::tools
