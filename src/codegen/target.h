// SPDX-License-Identifier: Apache-2.0
// The CPU that code is generated for: its name for LLVM and the facts schedules and emission read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace braze::codegen {

struct Target {
  std::string triple;    // "x86_64-pc-linux-gnu"
  std::string cpu;       // "znver5"
  std::string features;  // "+avx2,+fma,-avx512f,…"
  bool sse41 = false;
  bool avx2 = false;
  bool avx512 = false;  // F, BW, DQ and VL together
  bool fma = false;
  bool f16c = false;
  bool vnni = false;         // AVX-512 VNNI
  bool avx512_bf16 = false;  // vdpbf16ps; flushes denormals, so never for conversions
  int vector_bits = 128;     // widest registers worth using
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 0;  // 0: none known
  int cores = 1;         // that this process may use

  // Lanes of a full register for elements of `bytes` bytes.
  int lanes(int bytes) const { return vector_bits / 8 / bytes; }
  // Changes exactly when compiled code may change: part of cache keys.
  std::string key() const;
};

// This machine, detected once.
const Target& host_target();

// "host", or a level the host or another machine has: "baseline" (x86-64: SSE2), "avx2"
// (x86-64-v3), "avx512" (x86-64-v4). Cache sizes and cores are the host's.
Result<Target> target_named(std::string_view name);

}  // namespace braze::codegen
