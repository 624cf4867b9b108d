// SPDX-License-Identifier: Apache-2.0
// libFuzzer: MLIR bytecode. What reads must print.
#include <cstdint>
#include <string>

#include "frontend/mlir_read.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braze::mlir;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto m = read_mlir_bytecode(bytes);
  if (m.ok()) print_mlir(*m);
  return 0;
}
