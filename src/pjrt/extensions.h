// SPDX-License-Identifier: Apache-2.0
// The chain of extensions that the plugin offers.
#pragma once

#include "pjrt/c_api.h"

namespace braze::pjrt {

PJRT_Extension_Base* extensions();

}  // namespace braze::pjrt
