// SPDX-License-Identifier: Apache-2.0
// The kernels of a plan while it is made: each distinct one once. Computations of the same contents,
// which models have many of, are lowered once; kernels that differ in names alone are one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash128.h"
#include "plan/plan.h"

namespace braze {

// What a fused computation became.
struct LoweredKernel {
  int64_t kernel = -1;           // its number; none: the computation has no kernel
  int64_t workspace = 0;         // bytes
  std::vector<int64_t> offsets;  // as PlanStep::offsets
};

class KernelSet {
 public:
  // Adds to `list`; both outlive the set.
  KernelSet(std::vector<std::unique_ptr<loop::Kernel>>& list, const PlanOptions& options)
      : list_(list), options_(options) {}
  // `name` is the kernel's if it is a new one. Valid until the next call.
  const LoweredKernel& lowered(const Computation& fused, std::string_view name);

 private:
  std::vector<std::unique_ptr<loop::Kernel>>& list_;
  const PlanOptions& options_;
  absl::flat_hash_map<Hash128, LoweredKernel> lowered_;   // by contents of the computation
  absl::flat_hash_map<std::string, int64_t> by_text_;
};

}  // namespace braze
