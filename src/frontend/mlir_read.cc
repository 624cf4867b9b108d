// SPDX-License-Identifier: Apache-2.0
// Tells MLIR text from bytecode.
#include "frontend/mlir_read.h"

namespace braze::mlir {

bool is_bytecode(std::string_view bytes) { return bytes.starts_with("ML\xefR"); }

Result<Module> read_mlir(std::string_view bytes) {
  return is_bytecode(bytes) ? read_mlir_bytecode(bytes) : read_mlir_text(bytes);
}

}  // namespace braze::mlir
