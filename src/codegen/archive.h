// SPDX-License-Identifier: Apache-2.0
// Relocatable objects as one static library, the file that `ar` makes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace braze::codegen {

// Members are named `name`.0.o, `name`.1.o …; the same bytes for the same objects.
Result<std::string> static_library(std::string_view name, const std::vector<std::string>& objects);

}  // namespace braze::codegen
