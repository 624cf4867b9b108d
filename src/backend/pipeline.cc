// SPDX-License-Identifier: Apache-2.0
#include "backend/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/verify.h"
#include "backend/debug_session.h"
#include "backend/pass_check.h"
#include "base/fuel.h"
#include "codegen/contraction_kernel.h"
#include "codegen/kernels.h"
#include "passes/cleanup.h"
#include "passes/complex_dot.h"
#include "passes/control.h"
#include "passes/dot_to_sums.h"
#include "passes/expand.h"
#include "passes/flat_tuples.h"
#include "passes/fuse.h"
#include "passes/inline_calls.h"
#include "passes/known_windows.h"
#include "passes/loop_invariants.h"
#include "passes/loop_weights.h"
#include "passes/recompute.h"
#include "passes/repeated_dot.h"
#include "passes/sort_to_topk.h"
#include "passes/transposed_dot.h"

namespace braze {
namespace {

struct Pass {
  PassRow row;
  Status (*run)(Module& m, const FuseOptions& o);
};

const Pass kPasses[] = {
    {{"inline", "calls and fusions become their bodies"},
     [](Module& m, const FuseOptions&) { return inline_calls(m); }},
    {{"flat-tuples", "loops and conditionals carry arrays rather than tuples of tuples"},
     [](Module& m, const FuseOptions&) { return flat_tuples(m); }},
    {{"cleanup", "no-ops, equal and dead instructions go"},
     [](Module& m, const FuseOptions&) { return cleanup(m); }},
    {{"control", "loops and conditionals of known course become straight code"},
     [](Module& m, const FuseOptions&) { return simplify_control(m); }},
    {{"expand", "ops without code of their own become smaller ops"},
     [](Module& m, const FuseOptions&) { return expand(m); }},
    {{"repeated-dot", "products with equal rows compute one of them"},
     [](Module& m, const FuseOptions&) { return repeated_dot(m); }},
    {{"complex-dot", "products of complex matrices become products of real ones"},
     [](Module& m, const FuseOptions&) { return complex_dot(m); }},
    {{"sort-to-topk", "sorts of which the first elements are read become selections"},
     [](Module& m, const FuseOptions&) { return sort_to_topk(m); }},
    {{"known-windows", "gathers, scatters and updates of one window at a known place become slices and plain updates"},
     [](Module& m, const FuseOptions&) { return known_windows(m); }},
    {{"transposed-dot", "products swap operands or read them as they lie in place of transposes"},
     [](Module& m, const FuseOptions&) { return transposed_dot(m); }},
    {{"loop-invariants", "what a loop computes from what it does not change is computed before it"},
     [](Module& m, const FuseOptions&) { return loop_invariants(m); }},
    {{"loop-weights", "matrices that loops multiply a few rows with are laid out before them"},
     [](Module& m, const FuseOptions& o) { return loop_weights(m, o.facts.vector_bits); }},
    {{"dot-to-sums", "products of a vector with a few computed columns become sums of products"},
     [](Module& m, const FuseOptions&) { return dot_to_sums(m); }},
    {{"recompute", "cheap values are computed again where they are read late"},
     [](Module& m, const FuseOptions&) { return recompute(m); }},
    {{"fuse", "instructions are grouped into kernels"},
     [](Module& m, const FuseOptions& o) { return fuse(m, o); }},
};
constexpr std::string_view kStandard[] = {
    "inline",       "flat-tuples", "cleanup",     "control",   "expand",       "repeated-dot",   "complex-dot",
    "known-windows", "cleanup",    "sort-to-topk", "transposed-dot", "loop-invariants", "loop-weights",
    "dot-to-sums",  "recompute",   "fuse"};

const Pass* find_pass(std::string_view name) {
  for (const Pass& p : kPasses)
    if (p.row.name == name) return &p;
  return nullptr;
}

Result<std::vector<std::string>> chosen(const CompileOptions& options, const Debug& d) {
  std::vector<std::string> names = standard_pipeline();
  if (!options.passes.empty()) {
    ASSIGN(names, parse_pipeline(options.passes));
  }
  if (d.disable_all_passes) return std::vector<std::string>();
  std::vector<std::string> off =
      absl::StrSplit(d.disabled_passes, absl::ByAnyChar(", "), absl::SkipEmpty());
  std::erase_if(names, [&](const std::string& n) {
    return std::find(off.begin(), off.end(), n) != off.end();
  });
  return names;
}

loop::Facts facts_of(const codegen::Target& t) {
  loop::Facts f;
  f.vector_bits = t.vector_bits;
  f.l1_bytes = t.l1_bytes;
  f.l2_bytes = t.l2_bytes;
  f.l3_bytes = t.l3_bytes;
  f.can_contract = [t](const loop::Contraction& c) { return codegen::contraction_supported(c, t); };
  return f;
}

}  // namespace

std::string unknown_passes_note(const Debug& d) {
  static std::atomic<bool> told{false};
  std::vector<std::string> unknown =
      absl::StrSplit(d.disabled_passes, absl::ByAnyChar(", "), absl::SkipEmpty());
  std::erase_if(unknown, [](const std::string& n) { return find_pass(n) != nullptr; });
  if (unknown.empty() || told.exchange(true)) return "";
  std::vector<std::string> names;
  for (const Pass& p : kPasses) names.emplace_back(p.row.name);
  return str_cat("passes to leave out that do not exist: ", absl::StrJoin(unknown, ", "),
                 "; there are ", absl::StrJoin(names, ", "));
}

Result<codegen::Target> target_of(const CompileOptions& options) {
  const Debug& d = options.debug ? *options.debug : debug();
  const bool replaced = options.target == "host" && !d.target.empty();
  return codegen::target_named(replaced ? d.target : options.target);
}

Result<Plan> plan_for(std::unique_ptr<Module> m, const codegen::Target& t) {
  PlanOptions options;
  options.facts = facts_of(t);
  options.workspace_bytes = [&](const loop::Kernel& k) { return codegen::extra_workspace(k, t); };
  return build_plan(std::move(m), options);
}

absl::Span<const PassRow> pass_table() {
  static const std::vector<PassRow>* rows = [] {
    auto* v = new std::vector<PassRow>();
    for (const Pass& p : kPasses) v->push_back(p.row);
    return v;
  }();
  return *rows;
}

std::vector<std::string> standard_pipeline() {
  return {std::begin(kStandard), std::end(kStandard)};
}

Result<std::vector<std::string>> parse_pipeline(std::string_view text) {
  if (text == "none") return std::vector<std::string>();
  std::vector<std::string> names = absl::StrSplit(absl::string_view(text.data(), text.size()),
                                                  absl::ByAnyChar(", "), absl::SkipEmpty());
  for (const std::string& n : names) {
    if (find_pass(n)) continue;
    std::vector<std::string> known;
    for (const Pass& p : kPasses) known.emplace_back(p.row.name);
    return invalid("no pass '", n, "': choose from ", absl::StrJoin(known, ", "));
  }
  return names;
}

Status run_pipeline(Module& m, const CompileOptions& options, CompileStats* stats,
                    DebugSession* session) {
  ASSIGN(codegen::Target target, target_of(options));
  const Debug& d = options.debug ? *options.debug : debug();
  FuseOptions fuse_options;
  fuse_options.facts = facts_of(target);
  fuse_options.trace = options.trace;
  ASSIGN(std::vector<std::string> names, chosen(options, d));
  std::unique_ptr<PassChecker> checker;
  if (d.check) checker = PassChecker::create(m);
  FuelScope fuel(d.fuel, session ? session->fired() : nullptr);
  for (size_t k = 0; k < names.size(); ++k) {
    const Pass& p = *find_pass(names[k]);
    if (session) session->before_pass(p.row.name, m);
    const int64_t changes = m.changes();
    auto from = std::chrono::steady_clock::now();
    TRY(note(str_cat("pass ", p.row.name), p.run(m, fuse_options)));
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
    if (stats) {
      stats->phases.emplace_back(std::string(p.row.name), ms);
      stats->total_ms += ms;
    }
    if (options.check || d.verify > 1 || (d.verify == 1 && k + 1 == names.size()))
      TRY(note(str_cat("after pass ", p.row.name), verify(m)));
    if (session) {
      const std::string_view next = k + 1 < names.size() ? std::string_view(names[k + 1]) : "plan";
      session->after_pass(p.row.name, next, m, m.changes() != changes);
    }
    if (checker) {
      Result<std::string> said = checker->check(p.row.name, m);
      if (!said.ok() && !fuel.last().empty())
        return Status(said.status().code(),
                      str_cat(said.status().message(), "; the last rewrite was ", fuel.last()));
      TRY(said.status());
      if (session) session->note(*said);
      if (options.checked) options.checked(p.row.name, *said);
    }
    if (options.after_pass) options.after_pass(p.row.name, m);
  }
  if (stats) stats->fuel_used = fuel.used(), stats->last_rewrite = fuel.last();
  return absl::OkStatus();
}

}  // namespace braze
