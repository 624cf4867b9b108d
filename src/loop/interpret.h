// SPDX-License-Identifier: Apache-2.0
// The kernel interpreter: runs a Kernel's phases and contraction literally, element by element, on host
// memory. Independent of LLVM; what code generation is tested against.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "loop/kernel.h"

namespace braze::loop {

// `buffers`: memory of the kernel's input and output buffers, in order. Workspace and scratch are the
// interpreter's. Reading or writing outside a buffer is an error that names the access.
Status interpret(const Kernel& k, absl::Span<char* const> buffers);

}  // namespace braze::loop
