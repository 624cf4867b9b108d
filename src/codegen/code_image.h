// SPDX-License-Identifier: Apache-2.0
// Compiled code as data: objects of the code generator with what they define, and their one form as
// bytes, which the compile cache and serialized executables hold.
//
// A unit is the code of one kernel or one loop driver. Its key is a hash of all that code generation
// read to make it (see code_keys.h): whoever finds a unit by key may run it, and bytes of another
// version, target or program are just never found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/hash128.h"
#include "base/status.h"
#include "codegen/kernel_emit.h"

namespace braze::codegen {

struct CodeUnit {
  Hash128 key;
  EmittedKernel code;  // of a driver: one phase, its function
};

// A relocatable object and the units it defines. It refers to nothing but the C functions that Jit
// offers and functions of other units, by symbols.
struct CodeObject {
  std::string bytes;
  std::vector<CodeUnit> units;
};

std::string write_code_image(absl::Span<const CodeObject* const> objects);
// Bytes that are not whole are an error.
Result<std::vector<CodeObject>> read_code_image(std::string_view bytes);

}  // namespace braze::codegen
