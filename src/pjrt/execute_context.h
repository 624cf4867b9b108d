// SPDX-License-Identifier: Apache-2.0
// What a host attaches to one call of a program for the foreign functions that the program calls.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

// Pointers by type id; the host keeps what they point to alive until the call is done.
using UserData = absl::InlinedVector<std::pair<int64_t, void*>, 2>;

// The call that runs on this thread, for callees that find no other way to it.
namespace ffi {
class States;
}
struct CallScope {
  CallScope(const UserData* data, int device, ffi::States* states);
  ~CallScope();
  static const CallScope* current();
  const UserData* data;
  int device;
  ffi::States* states;  // of the program

 private:
  const CallScope* outer_;
};

}  // namespace braze::pjrt

struct PJRT_ExecuteContext {
  braze::pjrt::UserData data;
};
