// SPDX-License-Identifier: Apache-2.0
// libFuzzer: MLIR bytecode. What reads must print, and what imports obeys the verifier.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/verify.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braze::mlir;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto m = read_mlir_bytecode(bytes);
  if (!m.ok()) return 0;
  print_mlir(*m);
  auto module = braze::import_stablehlo(*m);
  if (module.ok() && !braze::verify(**module).ok()) std::abort();
  return 0;
}
