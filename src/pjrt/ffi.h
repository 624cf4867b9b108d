// SPDX-License-Identifier: Apache-2.0
// Foreign functions: handlers that the host registers, called as steps of a program.
//
// Targets that Braze knows itself (ops/custom_call.h) stay its own; a handler of such a name is kept but
// not called. A handler may have stages besides execution: the instantiate stage runs once for each call
// site of a program, whose state lives as long as the program (States).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "pjrt/c_api.h"
#include "pjrt/ffi_abi.h"

namespace braze::pjrt::ffi {

// State of the call sites of one program.
class States {
 public:
  ~States();
  struct Entry {
    std::mutex mutex;  // of instantiation
    bool instantiated = false;
    void* state = nullptr;
    int64_t type = 0;
  };
  Entry& of(const Instr* i);

 private:
  std::mutex mutex_;
  std::map<const Instr*, std::unique_ptr<Entry>> entries_;
};

Status register_handler(std::string_view name, Stage stage, Handler* handler, uint32_t traits);
// A function for this target exists: Braze's or a handler.
bool is_known(std::string_view target);
// The table of the XLA in the host's own process. Handlers that came with it take errors of the table they are
// given for that XLA's objects and free them so: from now on they get such ones.
Status set_host_table(const Api* api);
// By XLA's numbers; 0: choose one.
Result<int64_t> register_type(std::string_view name, int64_t id, void (*deleter)(void*));

// A PJRT extension record, for the chain.
PJRT_Extension_Base* extension(PJRT_Extension_Base* next);

}  // namespace braze::pjrt::ffi
