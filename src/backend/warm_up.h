// SPDX-License-Identifier: Apache-2.0
// Getting the compiler ready before the first program comes: a process's first compilation spends most
// of its time on LLVM's tables and on pages of code that nobody has read yet.
#pragma once

namespace braze {

// Compiles a small program on a thread of its own, once per process. Does nothing where the process may
// use one core only.
void start_warm_up();
// Returns when that is done, or was never begun.
void finish_warm_up();

}  // namespace braze
