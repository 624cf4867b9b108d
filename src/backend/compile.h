// SPDX-License-Identifier: Apache-2.0
// compile: Module → Executable, on one of the backends:
//   cpu        fused, compiled kernels (the product)
//   reference  the evaluator
//   kernel     as cpu, but each kernel is run by the kernel interpreter: slow, independent of LLVM
// Bounded dynamic dimensions are padded to their bounds (passes/dynamic_padding.h); a program for which
// that has no rule runs on the evaluator, and its statistics count each instruction as a library call.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/debug.h"
#include "base/disk_cache.h"
#include "base/status.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "ops/op_def.h"
#include "plan/plan.h"
#include "runtime/executor.h"

namespace braze {

struct CompileOptions {
  std::string backend = "cpu";
  std::string target = "host";   // host, baseline, avx2, avx512
  int threads = 0;               // 0: the process's pool
  bool check = false;            // verify the module after each pass
  std::string passes;            // "inline,cleanup"; "none"; empty: the standard pipeline
  const Debug* debug = nullptr;  // null: as BRAZE_DEBUG and XLA_FLAGS say
  // Where compiled code may come from: Executable::code_image of the same program, and a cache on
  // disk (null: as BRAZE_CACHE_DIR says). What does not fit is compiled anew.
  std::string_view code;
  DiskCache* cache = nullptr;
  // Called after each pass with its name and the module, for dumps.
  std::function<void(std::string_view pass, const Module& m)> after_pass;
  // After each pass that was checked by evaluation (Debug::check), with the verdict in one line.
  std::function<void(std::string_view pass, std::string_view verdict)> checked;
  std::function<void(const Instr& producer, const Instr& consumer, std::string_view verdict)> trace;
};

struct CompileStats {
  std::vector<std::pair<std::string, double>> phases;  // name, milliseconds
  double total_ms = 0;
  int64_t kernels = 0, launches = 0, library_calls = 0;
  int64_t arena_bytes = 0, code_bytes = 0;
  // Kernels and native loops, by where their code comes from: compiled now, shared with a program of
  // this process, loaded from the cache or from CompileOptions::code.
  int64_t code_compiled = 0, code_shared = 0, code_loaded = 0;
  double flops = 0, bytes = 0;  // of all kernel launches, loops counted once
  int64_t fuel_used = 0;        // rewrites taken
  std::string last_rewrite;     // "fuse add.3", if fuel was limited
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Arguments by entry parameter (tuples allowed) → the root's value.
  virtual Result<Literal> run(absl::Span<const Literal> args, World* world = nullptr) = 0;
  // One pointer per leaf; results are written where asked. UNIMPLEMENTED on `reference`.
  virtual Status run_raw(absl::Span<const void* const> args, absl::Span<void* const> results) = 0;
  // As run, and `observer` hears of each step with its times; only of plans.
  virtual Result<Literal> run_observed(absl::Span<const Literal> args, const StepObserver& observer) {
    (void)observer;
    return run(args);
  }
  virtual const Plan* plan() const { return nullptr; }
  // The compiled code as bytes, for CompileOptions::code of this build on a machine of this kind; may
  // be empty.
  virtual std::string code_image() const { return {}; }
  const CompileStats& stats() const { return stats_; }
  const std::vector<Shape>& parameters() const { return parameters_; }
  const Shape& result() const { return result_; }

 protected:
  friend Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Module>, const CompileOptions&);
  CompileStats stats_;
  std::vector<Shape> parameters_;
  Shape result_;
};

Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Module> module,
                                            const CompileOptions& options = {});

// The passes before planning, by name, on the module in place.
Status optimize(Module& m, const CompileOptions& options, CompileStats* stats = nullptr);

// "llvm" or "asm" text of a plan's kernels.
Result<std::string> code_text(const Plan& p, const CompileOptions& options, bool assembly);

}  // namespace braze
