// SPDX-License-Identifier: Apache-2.0
// Native library calls: ops that are algorithms rather than loop nests (sort, fft, factorisations,
// scatters). Prepared once per step of a plan, run at each call.
//
// Interface: LibraryStep, which runs any instruction: natively, by the custom call's own function or by the
// evaluator; prepare_library for the native ones. Results agree with the op's eval, and have the same bits at any number
// of threads. Calls may come from several threads at once.
#pragma once

#include <memory>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "ops/op_def.h"
#include "runtime/pool.h"

namespace braze {

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // One pointer per leaf. False, with nothing written, for what it does not handle after all: the
  // caller takes the op's eval.
  virtual bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
                   Pool& pool) = 0;
};

// Null: the op has no native implementation for these types. `instr` must outlive the call.
std::unique_ptr<LibraryCall> prepare_library(const Instr& instr);

class LibraryStep {
 public:
  explicit LibraryStep(const Instr& instr) : instr_(instr), native_(prepare_library(instr)) {}  // outlives it
  // One pointer per leaf of the operands and the result.
  Status run(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool, World* world) const;

 private:
  const Instr& instr_;
  const std::unique_ptr<LibraryCall> native_;
};

}  // namespace braze
