// SPDX-License-Identifier: Apache-2.0
// Errors as PJRT hosts see them: a Status behind a pointer, null if there is none.
#pragma once

#include "base/status.h"
#include "pjrt/c_api.h"

struct PJRT_Error {
  const PJRT_Error_FunctionTable* table;
  braze::Status status;
};

namespace braze::pjrt {

// The caller owns the error and frees it through the table.
PJRT_Error* to_error(const Status& s);
Status from_code(PJRT_Error_Code code, std::string_view message);

}  // namespace braze::pjrt
