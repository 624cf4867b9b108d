// SPDX-License-Identifier: Apache-2.0
// libFuzzer: MLIR text. What reads must print, what was printed must read again, and what imports obeys
// the verifier.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/verify.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace braze::mlir;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto m = read_mlir_text(text);
  if (!m.ok()) return 0;
  std::string printed = print_mlir(*m);
  if (!read_mlir_text(printed).ok()) std::abort();
  auto module = braze::import_stablehlo(*m);
  if (module.ok() && !braze::verify(**module).ok()) std::abort();
  return 0;
}
