// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "base/npy.h"
#include "loop/kernel.h"
#include "text/print.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

Result<std::unique_ptr<Module>> read(const std::string& file) {
  ASSIGN(std::string bytes, read_file(file));
  ReadOptions options;
  options.file = file;
  return read_module(bytes, options);
}

int report(const Status& s) {
  if (s.ok()) return 0;
  std::fprintf(stderr, "braze: %s\n", std::string(s.message()).c_str());
  return 1;
}

Status print_plan(const OptOptions& o, std::unique_ptr<Module> m) {
  CompileOptions options;
  options.target = o.target;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  const Plan& plan = *exe->plan();
  if (o.to == "plan") std::fputs(to_string(plan).c_str(), stdout);
  else if (o.to == "kernel")
    for (const auto& k : plan.kernels) std::printf("%s\n", loop::to_string(*k).c_str());
  else {
    ASSIGN(std::string text, code_text(plan, options, o.to == "asm"));
    std::fputs(text.c_str(), stdout);
  }
  return absl::OkStatus();
}

Status opt_program(const OptOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read(o.file));
  if (o.to == "kernel" || o.to == "plan" || o.to == "llvm" || o.to == "asm") return print_plan(o, std::move(m));
  CompileOptions options;
  options.target = o.target;
  if (!o.no_passes) TRY(optimize(*m, options));
  if (o.to != "hlo") return invalid("--to=", o.to, ": expected hlo, kernel, plan, llvm or asm");
  std::fputs(print_hlo(*m).c_str(), stdout);
  return absl::OkStatus();
}

void explain_steps(const Plan& p, const PlanSteps& steps, int depth) {
  for (const PlanStep& s : steps) {
    std::string pad(static_cast<size_t>(depth) * 2, ' ');
    if (s.kind == PlanStep::Kind::kKernel) {
      const loop::Kernel& k = *p.kernels[s.kernel];
      std::printf("%skernel %s: %.3g flops, %.3g bytes\n", pad.c_str(), s.instr->name.c_str(), k.flops, k.bytes);
      for (auto& i : s.instr->calls[0]->instrs())
        if (i->op != Op::kParameter)
          std::printf("%s    %s\n", pad.c_str(), print_instr(*i).c_str());
    } else if (s.kind == PlanStep::Kind::kLibrary) {
      std::printf("%slibrary call %s %s\n", pad.c_str(), std::string(name(s.instr->op)).c_str(), s.instr->name.c_str());
    } else if (s.kind == PlanStep::Kind::kCopy) {
      std::printf("%scopy of %lld bytes\n", pad.c_str(),
                  static_cast<long long>(p.buffers[s.outputs[0]].shape.bytes()));
    } else {
      std::printf("%s%s %s\n", pad.c_str(), s.kind == PlanStep::Kind::kWhile ? "loop" : "conditional", s.instr->name.c_str());
      for (const PlanSteps& inner : s.nested) explain_steps(p, inner, depth + 1);
    }
  }
}

Status explain_program(const ExplainOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read(o.file));
  CompileOptions options;
  options.target = o.target;
  std::printf("fusion decisions (producer -> consumer: verdict)\n");
  options.trace = [](const Instr& p, const Instr& c, std::string_view verdict) {
    std::printf("  %s -> %s: %s\n", p.name.c_str(), c.name.c_str(), std::string(verdict).c_str());
  };
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  const Plan& plan = *exe->plan();
  std::printf("\nprogram: %d kernels in %d launches, %d library calls, %lld bytes of temporaries\n",
              static_cast<int>(exe->stats().kernels), static_cast<int>(exe->stats().launches),
              static_cast<int>(exe->stats().library_calls), static_cast<long long>(plan.arena_bytes));
  explain_steps(plan, plan.steps, 0);
  std::printf("\ncompile phases\n");
  for (auto& [phase, ms] : exe->stats().phases) std::printf("  %-10s %8.2f ms\n", phase.c_str(), ms);
  return absl::OkStatus();
}

}  // namespace

int opt(const OptOptions& o) {
  if (o.list_passes) {
    std::fputs("inline\ncleanup\nexpand\ncleanup\nfuse\n", stdout);
    return 0;
  }
  if (o.file.empty()) {
    std::fputs("braze opt: FILE is required (or --list-passes)\n", stderr);
    return 2;
  }
  return report(opt_program(o));
}

int explain(const ExplainOptions& o) { return report(explain_program(o)); }

}  // namespace braze::tools
