// SPDX-License-Identifier: Apache-2.0
// braze opt: a program after the passes, in any form; evaluated before and after each on request.
#include <cstdio>

#include "backend/bisect.h"
#include "backend/compile.h"
#include "backend/pipeline.h"
#include "base/debug.h"
#include "loop/kernel.h"
#include "spmd/expand.h"
#include "text/dot.h"
#include "text/print.h"
#include "text/stablehlo_print.h"
#include "tools/program.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

bool needs_plan(const std::string& form) {
  return form == "kernel" || form == "plan" || form == "llvm" || form == "asm";
}

// The module after the passes, or the plan made from it, as text.
Result<std::string> text_of(const OptOptions& o, std::unique_ptr<Module> m,
                            const CompileOptions& options) {
  if (needs_plan(o.to)) {
    ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
    if (!exe->plan())
      return unimplemented("a program with bounded dimensions runs on the evaluator: it has no ",
                           o.to);
    if (o.to == "llvm" || o.to == "asm") return code_text(*exe->plan(), options, o.to == "asm");
    if (o.to == "plan") return to_string(*exe->plan());
    std::string text;
    for (const auto& k : exe->plan()->kernels) text += loop::to_string(*k) + "\n";
    return text;
  }
  TRY(optimize(*m, options));
  if (o.to == "stablehlo") return print_stablehlo(*m);
  if (o.to == "dot") return print_dot(*m);
  if (o.to == "html") return print_html(*m);
  return print_hlo(*m, o.canonical ? PrintOptions::canonical() : PrintOptions());
}

Status opt_program(const OptOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read_program(o.source));
  if (needs_plan(o.to) || o.check) TRY(spmd::to_one_device(*m));
  Debug d = debug();
  if (o.fuel >= 0) d.fuel = o.fuel;
  if (o.check) d.check = true;
  if (o.verify) d.verify = 2;
  CompileOptions options;
  options.target = o.target;
  options.debug = &d;
  options.passes = o.passes;
  // StableHLO is for other programs to read: nothing is fused unless asked for.
  if (o.passes.empty() && o.to == "stablehlo") options.passes = "none";
  if (o.check) {
    options.checked = [](std::string_view, std::string_view verdict) {
      std::fprintf(stderr, "%s\n", std::string(verdict).c_str());
    };
    ASSIGN(std::string verdict, check_engines(*m, options));
    std::fprintf(stderr, "%s\n", verdict.c_str());
    options.checked = nullptr;
    d.check = false;
  }
  ASSIGN(std::string text, text_of(o, std::move(m), options));
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

Status bisect_program(const OptOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read_program(o.source));
  TRY(spmd::to_one_device(*m));
  CompileOptions options;
  options.target = o.target;
  options.passes = o.passes;
  ASSIGN(Bisection b, bisect(*m, options, [](int64_t fuel, bool right) {
           std::fprintf(stderr, "fuel %lld: %s\n", static_cast<long long>(fuel),
                        right ? "right" : "wrong");
         }));
  std::fputs(b.verdict.c_str(), stdout);
  return absl::OkStatus();
}

void list_passes() {
  for (const PassRow& p : pass_table())
    std::printf("%-15s %s\n", std::string(p.name).c_str(), std::string(p.doc).c_str());
  std::string order;
  for (const std::string& n : standard_pipeline()) order += (order.empty() ? "" : ",") + n;
  std::printf("\nthe standard pipeline: --passes=%s\n", order.c_str());
}

}  // namespace

int opt(const OptOptions& o) {
  if (o.list_passes) {
    list_passes();
    return 0;
  }
  if (o.source.file.empty()) return usage_error("opt: FILE is required (or --list-passes)");
  if (o.to != "hlo" && o.to != "stablehlo" && o.to != "dot" && o.to != "html" &&
      !needs_plan(o.to))
    return usage_error("opt --to=" + o.to + ": expected hlo, stablehlo, dot, html, kernel, plan, llvm or asm");
  if (auto names = parse_pipeline(o.passes); !names.ok())
    return usage_error("opt --passes: " + std::string(names.status().message()));
  return finish(o.bisect ? bisect_program(o) : opt_program(o));
}

}  // namespace braze::tools
