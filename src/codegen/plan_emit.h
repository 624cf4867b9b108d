// SPDX-License-Identifier: Apache-2.0
// Steps of a plan as one LLVM function: what loop drivers (driver.h) and whole programs ahead of time
// (program.h) share.
//
// Interface: PlanEmitter, a base whose heirs say how the function is called, where buffers outside the arena
// lie and how a step is run that is neither emitted here nor called directly. Kernels of a few elements are
// emitted into the function and small values live in registers; serial kernels are called directly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "codegen/kernel_emit.h"
#include "codegen/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "plan/plan.h"

namespace braze::codegen {

// Small enough to be emitted into the function that runs it.
bool is_inlined(const loop::Kernel& k);

// Calls f for `step` and all that is nested in it.
template <typename F>
void for_each_step(const PlanStep& step, F f) {
  f(step);
  for (const PlanSteps& steps : step.nested)
    for (const PlanStep& s : steps) for_each_step(s, f);
}

// Which kernels of some steps are emitted with them, called directly, or left to the heir's call.
class StepChoice {
 public:
  // `in_loops`: kernels are emitted only where a loop runs them again and again.
  StepChoice(const Plan& p, absl::Span<const PlanStep> steps, bool in_loops);
  bool inlines(const PlanStep& s) const { return inlined_.contains(&s); }
  bool calls_kernel(const PlanStep& s) const;
  bool calls_back(const PlanStep& s) const;
  bool inlines_any() const { return !inlined_.empty(); }

 private:
  void add(const PlanStep& s);
  const Plan& plan_;
  absl::flat_hash_set<const PlanStep*> inlined_;
  int64_t nodes_ = 0;
};

class PlanEmitter {
 public:
  // `steps` are the plan's own or one of those nested in it. Phase p of kernel k is the function symbols[k]
  // (p = 0) or symbols[k].p.
  PlanEmitter(llvm::Module& m, const Plan& plan, absl::Span<const PlanStep> steps,
              const std::vector<std::string>& symbols, const Target& target, bool in_loops);
  virtual ~PlanEmitter() = default;

  // Defines `function`, which returns an i32: 0, or what a call that failed returned.
  Status run(llvm::Function* function);

 protected:
  // At the function's entry: sets arena_ and scratch_ (of one thread).
  virtual void begin() = 0;
  // The address of a buffer outside the arena; at the function's entry.
  virtual llvm::Value* address(int64_t buffer) = 0;
  // Runs a step for which choice().calls_back.
  virtual Status call(const PlanStep& s) = 0;
  // Before the function returns.
  virtual void end() {}

  const StepChoice& choice() const { return choice_; }
  llvm::Type* pointer() const { return ptr_; }
  llvm::Value* place(int64_t id);                // where a buffer is
  llvm::Value* buffer_array(const PlanStep& s);  // a kernel's buffers, workspaces included
  llvm::Value* pointer_array(absl::Span<llvm::Value* const> pointers);  // each known at the function's entry
  llvm::FunctionType* phase_type();
  void return_unless_zero(llvm::Value* status);

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const Plan& plan_;
  const std::vector<std::string>& symbols_;
  const Target& target_;
  llvm::Function* function_ = nullptr;
  llvm::Value *arena_ = nullptr, *scratch_ = nullptr;

 private:
  llvm::BasicBlock* block(const char* name);
  void choose_registers();
  llvm::Value* addresses(int64_t id);
  void to_entry();
  llvm::Value* in_entry(uint64_t bytes);
  void copy(llvm::Value* to, llvm::Value* from, int64_t id);
  Status steps(absl::Span<const PlanStep> list);
  Status step(const PlanStep& s);
  Status call_kernel(const PlanStep& s);
  Status inline_kernel(const PlanStep& s);
  Status loop(const PlanStep& s);
  Status conditional(const PlanStep& s);

  const absl::Span<const PlanStep> steps_;
  const StepChoice choice_;
  llvm::Type* ptr_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *exit_ = nullptr;
  llvm::PHINode* status_ = nullptr;
  absl::flat_hash_map<std::string, EmittedKernel> emitted_;  // by symbol
  std::vector<int64_t> register_ids_, copied_in_, copied_out_;
  absl::flat_hash_map<int64_t, llvm::Value*> registers_, address_;
};

}  // namespace braze::codegen
