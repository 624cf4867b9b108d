// SPDX-License-Identifier: Apache-2.0
// Executor: runs a plan on the CPU with its compiled kernels.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "codegen/kernels.h"
#include "ops/op_def.h"
#include "plan/plan.h"
#include "runtime/library.h"
#include "runtime/pool.h"

namespace braze {

class Executor {
 public:
  Executor(Plan plan, codegen::LoadedKernels kernels, Pool* pool);
  ~Executor();

  // `arguments` and `results`: one pointer per leaf, row-major. Calls may come from several threads;
  // each running call has an arena of its own.
  Status run(absl::Span<const void* const> arguments, absl::Span<void* const> results,
             World* world = nullptr);

  const Plan& plan() const { return plan_; }
  const codegen::LoadedKernels& kernels() const { return kernels_; }

 private:
  struct Call;
  struct Native;
  Status steps(const PlanSteps& s, Call& c);
  Status step(const PlanStep& s, Call& c);
  void kernel(const PlanStep& s, Call& c);
  Status native_loop(const codegen::LoadedDriver& d, Call& c);
  Status library(const PlanStep& s, Call& c);
  void prepare(const PlanSteps& s);
  char* take_arena();

  Plan plan_;
  codegen::LoadedKernels kernels_;
  absl::flat_hash_map<const Instr*, std::unique_ptr<LibraryCall>> library_;  // native ones
  Pool* pool_;
  int64_t scratch_bytes_ = 0;  // per thread
  std::mutex mutex_;
  std::vector<char*> idle_arenas_;
};

}  // namespace braze
