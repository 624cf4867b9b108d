// SPDX-License-Identifier: Apache-2.0
// How a dynamic-update-slice is best computed, alone or with what makes its update:
//
//   in place     only the window is written; what makes the update must not read the array elsewhere
//   own window   in place, and the update is made of what the window held: x.at[w].add(u)
//   after        in place, from an update that a kernel of its own makes of several parts of the array
//   rewritten    as a choice between update and old element, for each element: one pass that reads any part
//                of the array and writes another (stencils with a fixed border)
//
// Rewriting reads and writes the whole array. That is less than to write the update, read it and write the window
// if the window, at a place known now, is half of the array or more.
#pragma once

#include <functional>

#include "ir/module.h"

namespace braze::fusion {

enum class UpdateRoad : uint8_t { kInPlace, kOwnWindow, kAfter, kRewritten };

// A window of known start and half of the array or more.
bool is_rewritable(const Instr& update);

// For an update that begins a group. `is_cheap`: computed again wherever it is read.
UpdateRoad road_of(const Instr& update, const std::function<bool(const Instr&)>& is_cheap);

}  // namespace braze::fusion
