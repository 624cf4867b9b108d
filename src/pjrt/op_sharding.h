// SPDX-License-Identifier: Apache-2.0
// Shardings as hosts read them.
#pragma once

#include <string>

#include "spmd/tiling.h"

namespace braze::pjrt {

// A serialized OpSharding.
std::string sharding_proto(const spmd::Tiling& t);

}  // namespace braze::pjrt
