// SPDX-License-Identifier: Apache-2.0
// Executor: runs a plan on the CPU with its compiled kernels, or, if it is given none
// (LoadedKernels::compiled is false), with each kernel run by the kernel interpreter.
#pragma once

#include <functional>
#include <memory>
#include <atomic>
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

// Hears of each step of a run as it ends, nested ones included, with its times in seconds from the
// start of the run.
using StepObserver = std::function<void(const PlanStep& step, double begin, double end)>;

class Executor {
 public:
  Executor(Plan plan, codegen::LoadedKernels kernels, Pool* pool);
  ~Executor();

  // `arguments` and `results`: one pointer per leaf, row-major. Calls may come from several threads;
  // each running call has an arena of its own.
  Status run(absl::Span<const void* const> arguments, absl::Span<void* const> results,
             World* world = nullptr);

  // The same, step by step: loops run without their native drivers, so that each step can be timed.
  Status run_observed(absl::Span<const void* const> arguments, absl::Span<void* const> results,
                      const StepObserver& observer);

  const Plan& plan() const { return plan_; }
  const codegen::LoadedKernels& kernels() const { return kernels_; }

 private:
  struct Call;
  struct Native;
  Status run_call(Call& c);
  Status steps(const PlanSteps& s, Call& c);
  Status observed(const PlanStep& s, Call& c);
  Status step(const PlanStep& s, Call& c);
  void copy(const char* from, char* to, int64_t n);  // by all threads, if it is large
  Status kernel(const PlanStep& s, Call& c);
  Status native_loop(const codegen::LoadedDriver& d, Call& c);
  Status library(const PlanStep& s, Call& c);
  void prepare(const PlanSteps& s);
  int64_t call_bytes() const;  // arena and scratch of one running call
  char* take_arena();
  void keep_arena(char* a);

  Plan plan_;
  codegen::LoadedKernels kernels_;
  absl::flat_hash_map<const Instr*, std::unique_ptr<LibraryStep>> library_;
  Pool* pool_;
  int64_t scratch_bytes_ = 0;  // per thread
  // Memory of calls that are over: one block at hand without a lock, and those of calls that overlapped.
  std::atomic<char*> idle_arena_{nullptr};
  std::mutex mutex_;
  std::vector<char*> idle_arenas_;
};

}  // namespace braze
