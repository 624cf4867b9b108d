// SPDX-License-Identifier: Apache-2.0
// CHLO's special functions as elementwise HLO.
#pragma once

#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ops/builder.h"

namespace braze {

// "erf_inv", without the dialect's prefix.
bool is_chlo_function(std::string_view op);
Result<std::vector<Instr*>> build_chlo_function(Builder& b, std::string_view op,
                                                absl::Span<Instr* const> operands);

}  // namespace braze
