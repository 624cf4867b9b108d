// SPDX-License-Identifier: Apache-2.0
// What the contraction generators need to know of a CPU: vector width, registers, instructions, caches.
#pragma once

#include <cstdint>
#include <string_view>

namespace braze::codegen {

struct CpuTarget {
  int vector_bits = 128;      // width of the vectors the kernels use
  int vector_registers = 16;  // of that width
  bool fma = false;           // fused multiply-add for f32 and f64
  bool f16c = false;          // f16 <-> f32 conversions
  bool vnni = false;          // vpdpbusd at vector_bits
  bool masks = false;         // AVX-512 mask registers (F, BW, DQ, VL)
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;

  // Vector lanes of an element of `bytes` bytes.
  int lanes(int bytes) const { return vector_bits / 8 / bytes; }
};

// From LLVM's subtarget feature string ("+avx2,+fma,-avx512f"): the widest vectors it allows.
CpuTarget cpu_target_from_features(std::string_view features);

// The CPU this process runs on, cache sizes included.
CpuTarget host_cpu_target();

}  // namespace braze::codegen
