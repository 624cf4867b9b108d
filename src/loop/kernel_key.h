// SPDX-License-Identifier: Apache-2.0
// The contents of a kernel as a hash: the key under which its code is kept and found again, in this
// process or another. Everything that code generation can read goes into it; names do not.
#pragma once

#include "base/hash128.h"
#include "loop/kernel.h"

namespace braze::loop {

Hash128 kernel_key(const Kernel& k);

}  // namespace braze::loop
