// SPDX-License-Identifier: Apache-2.0
// braze explain: which ops share a kernel and why, what each kernel costs by estimate and by the
// clock, and who lives where in memory.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "backend/compile.h"
#include "backend/inputs.h"
#include "backend/memory_report.h"
#include "backend/pipeline.h"
#include "backend/roofline.h"
#include "codegen/target.h"
#include "loop/kernel.h"
#include "runtime/library.h"
#include "runtime/pool.h"
#include "spmd/expand.h"
#include "text/print.h"
#include "tools/program.h"
#include "tools/steps.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

// "12.6 M", to be followed by a unit.
std::string amount(double v) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  int u = 0;
  while (v >= 1000 && u < 4) v /= 1000, ++u;
  return absl::StrFormat("%.3g %s", v, kUnits[u]);
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

// A fusion saves the write and the read of the producer's value; a refusal costs them.
std::string decision(const Instr& p, const Instr& c, std::string_view verdict) {
  const int64_t bytes = p.shape.is_array() ? 2 * p.shape.bytes() : 0;
  const bool fused = verdict == "fused";
  // Groups side by side that read the same arrays: what is saved is reading them twice.
  if (verdict == "computed in each reader" || verdict == "copied into its readers")
    return absl::StrFormat("  %-24s -> %-24s %s: saves %s\n", p.name, "several groups",
                           std::string(verdict), amount(static_cast<double>(bytes)));
  if (verdict.substr(0, 10) == "one kernel")
    return absl::StrFormat("  %-24s +  %-24s merged: %s\n", p.name, c.name, std::string(verdict));
  return absl::StrFormat("  %-24s -> %-24s %s%s: %s %sB of traffic\n", p.name, c.name,
                         fused ? "fused" : "apart, ", fused ? "" : std::string(verdict),
                         fused ? "saves" : "costs", amount(static_cast<double>(bytes)));
}

struct Timing {
  double best = 0, sum = 0;  // seconds: of the fastest execution, of all in the fastest run
  int64_t count = 0;         // executions in a run
};
using Timings = absl::flat_hash_map<const PlanStep*, Timing>;

// Runs the program on made-up inputs a few times; each step's time is that of its fastest
// execution.
Result<Timings> measure(Executable& exe, double* best_ms) {
  std::vector<Literal> args;
  for (size_t k = 0; k < exe.parameters().size(); ++k) {
    ASSIGN(Literal l, make_input(exe.parameters()[k], "random:0", static_cast<int64_t>(k)));
    args.push_back(std::move(l));
  }
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  Timings t;
  const auto start = Clock::now();
  *best_ms = 0;
  for (int r = 0; r < 20 && (r < 3 || seconds(start) < 1.0); ++r) {
    for (auto& [step, timing] : t) timing.count = 0, timing.sum = 0;
    TRY(exe.run_observed(args,
                         [&](const PlanStep& s, double begin, double end) {
                           Timing& x = t[&s];
                           const double d = end - begin;
                           x.best = x.best == 0 ? d : std::min(x.best, d);
                           x.sum += d;
                           ++x.count;
                         })
            .status());
    const auto from = Clock::now();
    TRY(exe.run(args).status());
    const double ms = 1e3 * seconds(from);
    *best_ms = *best_ms == 0 ? ms : std::min(*best_ms, ms);
  }
  return t;
}

class Explainer {
 public:
  Explainer(const Plan& p, const codegen::Target& target, const Timings* timings)
      : p_(p), target_(target), limits_(machine_limits(target)), timings_(timings) {}

  void machine() const {
    print(
        absl::StrFormat("\nmachine (measured): %sB/s read from memory, %sB/s from L3, %sB/s from "
                        "L2, %sflop/s of f32 multiply-add,"
                        " %d threads, %d-bit vectors\n",
                        amount(limits_.read_bytes_per_s), amount(limits_.l3_bytes_per_s),
                        amount(limits_.cache_bytes_per_s), amount(limits_.flops_per_s),
                        Pool::shared().threads(), target_.vector_bits));
  }
  void steps(const PlanSteps& list, int depth) {
    for (const PlanStep& s : list) step(s, depth);
  }

 private:
  std::string measured(const PlanStep& s, double roofline_us) const {
    if (!timings_) return "";
    auto it = timings_->find(&s);
    if (it == timings_->end()) return ", not reached";
    const double us = it->second.best * 1e6;
    std::string out = absl::StrFormat(", measured %.2f us", us);
    if (roofline_us > 0 && us > 0)
      out += absl::StrFormat(" = %.0f %% of roofline", 100 * roofline_us / us);
    if (it->second.count > 1) out += absl::StrFormat(", %d times", it->second.count);
    return out;
  }
  void step(const PlanStep& s, int depth) {
    const std::string pad(static_cast<size_t>(depth) * 2, ' ');
    const int64_t number = next_++;
    std::string head = absl::StrFormat("%s[%d] %s", pad, number, step_kind(s));
    if (s.instr) head += " " + s.instr->name;
    if (s.kind == PlanStep::Kind::kKernel) return kernel(s, head, pad);
    if (s.kind == PlanStep::Kind::kCopy) {
      const double bytes = 2.0 * static_cast<double>(p_.buffers[s.outputs[0]].shape.bytes());
      const double us = estimate(0, bytes, target_, limits_).us;
      return print(absl::StrFormat("%s: %%%d to %%%d, %sB moved, estimated %.2f us%s\n", head,
                                   s.inputs[0], s.outputs[0], amount(bytes), us, measured(s, us)));
    }
    if (s.kind == PlanStep::Kind::kLibrary) {
      const bool native = prepare_library(*s.instr) != nullptr;
      return print(absl::StrFormat("%s: %s by %s%s\n", head, std::string(name(s.instr->op)),
                                   native ? "a native call" : "the evaluator, which is slow",
                                   measured(s, 0)));
    }
    print(absl::StrFormat("%s%s%s\n", head,
                          s.driver >= 0 ? ", a native loop (steps timed without it)" : "",
                          measured(s, 0)));
    for (const PlanSteps& inner : s.nested) {
      if (&inner != &s.nested[0]) print(pad + "  ---\n");
      steps(inner, depth + 1);
    }
  }
  void kernel(const PlanStep& s, const std::string& head, const std::string& pad) {
    const loop::Kernel& k = *p_.kernels[s.kernel];
    Estimate e = estimate(k.flops, k.bytes, target_, limits_);
    print(absl::StrFormat("%s: %sflop, %sB, estimated %.2f us (%s)%s\n", head, amount(k.flops),
                          amount(k.bytes), e.us, e.memory_bound ? "memory" : "arithmetic",
                          measured(s, e.us)));
    std::string parallel;
    for (const loop::Phase& ph : k.phases)
      parallel += absl::StrFormat("%s%d items of %d lanes", parallel.empty() ? "" : ", then ",
                                  ph.items, ph.width);
    if (k.chain)
      parallel = absl::StrFormat("products with rows between, on tiles of %d rows of %d x %d", k.chain->tile,
                                 k.chain->batches, k.chain->rows);
    else if (k.contraction)
      parallel = k.contraction->is_conv ? "convolution on tiles" : "matrix product on tiles";
    print(absl::StrFormat("%s      %s\n", pad, parallel));
    PrintOptions brief;
    brief.layouts = brief.metadata = brief.frontend_attributes = false;
    for (auto& i : s.instr->calls[0]->instrs())
      if (i->op != Op::kParameter) print(absl::StrFormat("%s      %s\n", pad, print_instr(*i, brief)));
  }

  const Plan& p_;
  const codegen::Target& target_;
  const MachineLimits& limits_;
  const Timings* timings_;
  int64_t next_ = 0;
};

Status explain_program(const ExplainOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read_program(o.source));
  TRY(spmd::to_one_device(*m));
  CompileOptions options;
  options.target = o.target;
  ASSIGN(codegen::Target target, target_of(options));
  std::string decisions;
  options.trace = [&](const Instr& p, const Instr& c, std::string_view verdict) {
    decisions += decision(p, c, verdict);
  };
  const std::string title = m->name();
  const int64_t instructions = m->instruction_count();
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  if (!exe->plan())
    return unimplemented(
        "a program with bounded dimensions runs on the evaluator: there is no plan to explain");
  const Plan& plan = *exe->plan();
  const CompileStats& s = exe->stats();
  print(absl::StrFormat(
      "%s: %d instructions become %d kernels in %d launches, %d library calls, %d bytes of "
      "temporaries\n",
      title, instructions, s.kernels, s.launches, s.library_calls, plan.arena_bytes));
  if (!decisions.empty())
    print("\nfusion decisions: producer -> group of its consumer\n" + decisions);
  Timings timings;
  double best_ms = 0;
  bool timed = false;
  if (!o.no_run) {
    auto t = measure(*exe, &best_ms);
    if (t.ok())
      timings = std::move(*t), timed = true;
    else
      std::fprintf(stderr, "braze: not timed: %s\n", std::string(t.status().message()).c_str());
  }
  Explainer e(plan, target, timed ? &timings : nullptr);
  e.machine();
  print("\nsteps\n");
  e.steps(plan.steps, 1);
  if (timed) print(absl::StrFormat("\na whole run takes %.4f ms\n", best_ms));
  print("\nmemory\n" + memory_report(plan));
  print("\ncompile phases\n");
  for (auto& [phase, ms] : s.phases) print(absl::StrFormat("  %-14s %8.2f ms\n", phase, ms));
  return absl::OkStatus();
}

}  // namespace

int explain(const ExplainOptions& o) { return finish(explain_program(o)); }

}  // namespace braze::tools
