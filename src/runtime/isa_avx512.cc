// SPDX-License-Identifier: Apache-2.0
// The library's vector kernels, compiled for one instruction set: see isa.h.
#define BRAZE_ISA isa_avx512
#include "runtime/isa_kernels.h"
