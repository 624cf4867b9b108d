// SPDX-License-Identifier: Apache-2.0
// LLVM ends the process where it meets what it cannot compile (report_fatal_error). Here that becomes
// an error of the call that led there.
//
// Interface: survive. What the call had in hand when LLVM gave up is not cleaned up: it stays
// allocated, and nothing that it was changing may be used afterwards but to be destroyed.
#pragma once

#include "absl/functional/function_ref.h"
#include "base/status.h"

namespace braze::codegen {

// Runs f on this thread; an error with LLVM's reason if LLVM gave up in it.
Status survive(absl::FunctionRef<void()> f);

}  // namespace braze::codegen
