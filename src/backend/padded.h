// SPDX-License-Identifier: Apache-2.0
// An executable for a program with bounded dynamic dimensions, around one for its padded form (see
// passes/dynamic_padding.h): arguments are padded to their bounds, results cut to their sizes.
//
// Interface: padded_executable. Raw calls need static parameters and results.
#pragma once

#include <memory>
#include <vector>

#include "backend/compile.h"
#include "passes/dynamic_padding.h"

namespace braze {

// `inner` runs the padded module; `padding` tells what it added. The caller sets the executable's facts.
std::unique_ptr<Executable> padded_executable(std::unique_ptr<Executable> inner, PaddedModule padding);

}  // namespace braze
