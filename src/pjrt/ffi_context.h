// SPDX-License-Identifier: Apache-2.0
// What handlers reach through the FFI's own table: errors, contexts, futures, threads.
#pragma once

#include "base/status.h"
#include "pjrt/event.h"
#include "pjrt/ffi.h"
#include "pjrt/ffi_abi.h"

namespace braze::pjrt::ffi {

struct Error {
  Status status;
  std::string text;
};
struct Context {
  States::Entry* state = nullptr;
};
struct Future {
  CompletionRef completion;
};

const Api* api();
// Takes the error over.
Status from_error(Error* e);
void delete_state(int64_t type, void* state);

}  // namespace braze::pjrt::ffi
