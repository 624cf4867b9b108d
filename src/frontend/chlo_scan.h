// SPDX-License-Identifier: Apache-2.0
// chlo.scan: a loop over one dimension of its inputs that carries values along.
#pragma once

#include <vector>

#include "frontend/chlo.h"

namespace braze::chlo {

// Outputs, then final carries.
Result<std::vector<Instr*>> build_scan(Builder& b, absl::Span<Instr* const> operands,
                                       const ChloAttrs& attrs, absl::Span<const Shape> results);

}  // namespace braze::chlo
