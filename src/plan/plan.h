// SPDX-License-Identifier: Apache-2.0
// Plan: a compiled program as steps over one arena. Kernels, library calls, copies, loops, conditionals.
//
// Every array value lives in a buffer: an argument, a constant, a result, or a range of the arena.
// One walk over the steps in order gives each range its lifetime; values that are live together never
// share bytes (plan/offsets.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/module.h"
#include "loop/kernel.h"
#include "loop/lower.h"

namespace braze {

struct PlanBuffer {
  enum class Kind : uint8_t { kArena, kArgument, kConstant, kResult } kind = Kind::kArena;
  int64_t index = 0;   // argument leaf, constant or result leaf number
  int64_t offset = 0;  // in the arena
  Shape shape;         // an array (or token: no bytes)
};

struct PlanStep;
using PlanSteps = std::vector<PlanStep>;

struct PlanStep {
  enum class Kind : uint8_t { kKernel, kLibrary, kCopy, kWhile, kConditional } kind = Kind::kCopy;
  const Instr* instr = nullptr;   // what it computes, for reports (owned by the plan's module)
  int64_t kernel = -1;            // kKernel
  std::vector<int64_t> inputs;    // buffers: kernel inputs, library operands (leaves), copy source
  std::vector<int64_t> offsets;   // kKernel: bytes from the start of each input to where it begins; or empty
  std::vector<int64_t> outputs;   // buffers: kernel outputs, library results (leaves), copy target
  int64_t workspace = -1;         // kKernel: arena offset
  // kWhile: steps[0] computes `predicate`, steps[1] is the body. kConditional: one list per branch,
  // chosen by buffer `predicate` (pred: true is branch 0; s32: clamped to the last).
  std::vector<PlanSteps> nested;
  int64_t predicate = -1;
  int64_t driver = -1;            // kWhile: number of the native loop that runs it
};

struct Plan {
  std::unique_ptr<Module> module;               // the optimised module the plan was made from
  std::vector<std::unique_ptr<loop::Kernel>> kernels;  // distinct ones
  std::vector<Literal> constants;
  std::vector<PlanBuffer> buffers;
  std::vector<int64_t> argument_buffers;        // by entry parameter leaf
  std::vector<int64_t> result_buffers;          // by result leaf
  PlanSteps steps;
  int64_t arena_bytes = 0;
  static int64_t offset(const PlanStep& s, size_t input) {
    return input < s.offsets.size() ? s.offsets[input] : 0;
  }
  int64_t kernel_launches() const;              // steps that launch kernels, nested ones once
  int64_t library_calls() const;
};

struct PlanOptions {
  loop::Facts facts;
  // Extra workspace bytes a contraction needs, asked of the code generator.
  std::function<int64_t(const loop::Kernel&)> workspace_bytes;
};

// `module` has been fused; it becomes the plan's.
Result<Plan> build_plan(std::unique_ptr<Module> module, const PlanOptions& options);

std::string to_string(const Plan& p);

// The array and token leaves of a shape, depth first.
std::vector<Shape> leaves(const Shape& s);

}  // namespace braze
