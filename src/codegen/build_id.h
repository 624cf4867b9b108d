// SPDX-License-Identifier: Apache-2.0
// Which build of the code generator this is: part of every key of compiled code.
#pragma once

#include <string>

namespace braze::codegen {

// The linker's hash of the library or program that this code is in, LLVM included; where there is
// none, the file's name, size and time. Read once.
const std::string& build_id();

}  // namespace braze::codegen
