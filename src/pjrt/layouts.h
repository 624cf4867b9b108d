// SPDX-License-Identifier: Apache-2.0
// The Layouts extension of PJRT: the order of dimensions in memory, as "{1,0}" (minor to major).
#pragma once

#include "pjrt/c_api.h"

namespace braze::pjrt {

PJRT_Extension_Base* layouts_extension(PJRT_Extension_Base* next);

}  // namespace braze::pjrt
