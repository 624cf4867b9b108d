// SPDX-License-Identifier: Apache-2.0
// Element types between PJRT, the FFI and Braze.
#pragma once

#include "base/status.h"
#include "ir/dtype.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

Result<Dtype> to_dtype(PJRT_Buffer_Type t);
PJRT_Buffer_Type to_buffer_type(Dtype t);
// As XLA numbers primitive types, which its FFI uses.
int to_primitive_type(Dtype t);

}  // namespace braze::pjrt
