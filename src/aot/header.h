// SPDX-License-Identifier: Apache-2.0
// The C and C++ header of a program compiled ahead of time.
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"
#include "ir/shape.h"

namespace braze::aot {

struct HeaderFacts {
  std::string name, class_name;           // as in LibraryOptions; class_name is not empty
  std::string program;                    // the module's name
  std::vector<Shape> arguments, results;  // leaves
  int64_t temp_bytes = 0, scratch_bytes = 0;
  int64_t library_calls = 0;
  const codegen::Target* target = nullptr;
};

std::string header_text(const HeaderFacts& f);

}  // namespace braze::aot
