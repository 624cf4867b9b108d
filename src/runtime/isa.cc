// SPDX-License-Identifier: Apache-2.0
#include "runtime/isa.h"

namespace braze {

const IsaKernels& isa_kernels() {
  static const IsaKernels* best = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      return &isa_avx512::kKernels;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &isa_avx2::kKernels;
#endif
    return &isa_baseline::kKernels;
  }();
  return *best;
}

}  // namespace braze
