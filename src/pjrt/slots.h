// SPDX-License-Identifier: Apache-2.0
// The plugin's implementation of each slot of the PJRT table, as C++ functions that return Status.
//
// Every slot has exactly one definition, by family in the files of this folder (a missing one does
// not link); unimplemented.cc holds those that Braze refuses. plugin.cc wraps them for C.
#pragma once

#include "base/status.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

#define SLOT(name, ...) Status name(PJRT_##name##_Args& a);
#include "pjrt/c_api_slots.def"
#undef SLOT

}  // namespace braze::pjrt
