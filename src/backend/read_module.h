// SPDX-License-Identifier: Apache-2.0
// Reads a program in any form Braze knows; the form is detected, never asked for: StableHLO text,
// StableHLO or VHLO bytecode, HLO text, HLO protos and snapshots, and any of them compressed by gzip.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

struct ReadOptions {
  std::string file;                    // for messages
  std::string entry = "main";          // of an MLIR module
  // Refine unknown dimensions with these. Without them a program whose arguments have fixed shapes is
  // refined too; any other stays as it is.
  std::vector<Shape> argument_shapes;
  bool fill_elided = false;            // constant({...}) in HLO text
};

Result<std::unique_ptr<Module>> read_module(std::string_view bytes, const ReadOptions& options = {});

}  // namespace braze
