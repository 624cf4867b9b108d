// SPDX-License-Identifier: Apache-2.0
// Code loaded in this process, found by the key of what it computes: programs that have a kernel in
// common share its code, and a kernel is compiled once while anybody has it, and for a while after.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash128.h"
#include "codegen/code_image.h"
#include "codegen/jit.h"

namespace braze::codegen {

struct LoadedUnit {
  const EmittedKernel* code = nullptr;
  std::vector<void*> functions;  // by phase
};

// Objects linked together. Never changes once it is made.
struct LoadedCode {
  std::vector<CodeObject> objects;
  absl::flat_hash_map<Hash128, LoadedUnit> units;
  std::vector<std::shared_ptr<const LoadedCode>> callees;  // whose functions this code calls
  std::unique_ptr<Jit> jit;
  int64_t bytes() const;
};
using LoadedCodeRef = std::shared_ptr<const LoadedCode>;

// Null: no code of this process has the unit.
LoadedCodeRef find_code(const Hash128& unit);
// From now on the code's units are found.
void share_code(LoadedCodeRef code);
// Code that nobody uses is let go and no longer found; what is in use stays.
void forget_code();

}  // namespace braze::codegen
