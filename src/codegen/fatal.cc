// SPDX-License-Identifier: Apache-2.0
#include "codegen/fatal.h"

#include <csetjmp>
#include <mutex>
#include <string>

#include "llvm/Support/ErrorHandling.h"

namespace braze::codegen {
namespace {

// Where this thread goes on if LLVM gives up; null: nobody waits, and LLVM does as it likes.
struct Landing {
  std::jmp_buf place;
  std::string reason;
};
thread_local Landing* landing = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
  Landing* to = landing;
  if (!to) return;
  to->reason = reason;
  landing = nullptr;
  std::longjmp(to->place, 1);
}

}  // namespace

Status survive(absl::FunctionRef<void()> f) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
  Landing here;
  if (setjmp(here.place) != 0) return internal("LLVM: ", here.reason);
  landing = &here;
  f();
  landing = nullptr;
  return absl::OkStatus();
}

}  // namespace braze::codegen
