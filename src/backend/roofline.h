// SPDX-License-Identifier: Apache-2.0
// What this machine can do at best, measured once per process, and what that means for a kernel.
//
// read bandwidth: sum of an array larger than the caches, by a compiled kernel on all threads.
// peak: multiply-adds on registers, fused where the target has that, the same way. Both are what
// Braze's own code reaches, so a kernel at 100 % of its roofline leaves nothing to be had from
// better code.
#pragma once

#include "base/status.h"
#include "codegen/target.h"

namespace braze {

struct MachineLimits {
  double read_bytes_per_s = 0;   // main memory, all threads
  double l3_bytes_per_s = 0;     // data that stays in the last-level cache
  double cache_bytes_per_s = 0;  // data that stays in the second-level caches
  double flops_per_s = 0;        // f32, all threads
};
const MachineLimits& machine_limits(const codegen::Target& target);

struct Estimate {
  double us = 0;
  bool memory_bound = false;
};
// `bytes` that fit a cache are taken to be there: the estimate is of a program run again and again.
Estimate estimate(double flops, double bytes, const codegen::Target& target,
                  const MachineLimits& limits);

}  // namespace braze
