// SPDX-License-Identifier: Apache-2.0
// Native fft: any length and type of transform over the last one to three dimensions.
//
// Interface: prepare_fft. Lines along a dimension go through vector lanes, one line a lane; a few
// long lines are split into many short ones first (n = n1·n2). How depends on shapes alone.
#pragma once

#include <memory>

#include "runtime/library.h"

namespace braze {

std::unique_ptr<LibraryCall> prepare_fft(const Instr& instr);

}  // namespace braze
