// SPDX-License-Identifier: Apache-2.0
// How rng and rng-bit-generator become elementwise ops over counters.
#pragma once

#include "base/status.h"
#include "ops/builder.h"

namespace braze {

// How one rng instruction draws: key of the generator, bits per draw, how many draws, and how many high
// bits of a draw make a fraction.
struct RngPlan {
  uint64_t key = 0;
  bool normal = false;
  int width = 32, mantissa = 0;
  int64_t draws = 0;
  Dtype compute = Dtype::kF32;
};
RngPlan rng_plan(const Instr& rng);

Result<Instr*> expand_rng(Builder& b, const Instr& instr);
Result<Instr*> expand_rng_bits(Builder& b, const Instr& instr);

}  // namespace braze
