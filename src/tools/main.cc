// SPDX-License-Identifier: Apache-2.0
// The `braze` tool: one binary, one verb per task. Its help is the manual: every verb ends with
// examples that work as they stand.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "backend/pipeline.h"
#include "base/debug.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

constexpr const char* kBackends =
    "cpu: compiled kernels; reference: the evaluator, slow and plain; kernel: interpreted kernels";
constexpr const char* kTargets = "host, baseline (SSE2), avx2 or avx512";

// Numbers from `low` on. CLI11's own checks answer with the largest double, in 309 digits.
CLI::Validator at_least(int64_t low) {
  return CLI::Validator(
      [low](std::string& text) {
        double v = 0;
        if (!CLI::detail::lexical_cast(text, v)) return "'" + text + "' is no number";
        return v >= static_cast<double>(low) ? std::string()
                                             : text + " is less than " + std::to_string(low);
      },
      ">= " + std::to_string(low));
}

// "k=2,3".
const CLI::Validator kSizes(
    [](std::string& text) {
      const size_t eq = text.find('=');
      bool fine = eq != std::string::npos && eq > 0 && eq + 1 < text.size() && text.back() != ',';
      for (size_t i = 0; fine && i < text.size(); ++i)
        fine = i == eq || (text[i] >= '0' && text[i] <= '9') || (text[i] == ',' && i > eq + 1 && text[i - 1] != ',');
      return fine ? std::string() : "'" + text + "' is not like 0=2,3";
    },
    "");

const CLI::IsMember kBackendNames({"cpu", "reference", "kernel"});
const CLI::IsMember kTargetNames({"host", "baseline", "avx2", "avx512"});

void add_source(CLI::App* verb, SourceFlags* s, bool required) {
  auto* file =
      verb->add_option("file", s->file, "The program, in any form; - reads standard input");
  if (required) file->required();
  verb->add_option("--entry", s->entry, "Function of an MLIR module to run")->capture_default_str();
  verb->add_option("--shape", s->shape,
                   "Sizes of argument k (from 0) as k=2,3 where the program leaves them unknown. May be "
                   "repeated")
      ->allow_extra_args(false)
      ->check(kSizes);
  verb->add_flag("--fill-elided", s->fill_elided,
                 "Make up the values that HLO text leaves out: constant({...})");
}

void add_run(CLI::App& app, RunOptions* r, int* code) {
  auto* v = app.add_subcommand("run", "Compile a program and run it on given or made-up inputs");
  add_source(v, &r->source, true);
  v->add_option(
      "--input", r->input,
      "Argument k (from 0) as k=FILE.npy, k=random:SEED, k=zeros or k=iota; without \"k=\" for "
      "all that are not named. May be repeated. Default: random:0, floats in [-1,1), integers in "
      "[0,8)")
      ->allow_extra_args(false);
  v->add_option("--output", r->output,
                "Folder for results as result_N.npy, or - to print them whole");
  v->add_option("--backend", r->backend, kBackends)->capture_default_str()->check(kBackendNames);
  v->add_option(
       "--compare", r->compare,
       "Run on this backend too; print the distance of each result in ulps, absolute and relative; "
       "fail if they disagree")
      ->check(kBackendNames);
  v->add_option("--repeat", r->repeat, "Run so many times and print median, p10 and p90")
      ->capture_default_str()
      ->check(at_least(1));
  v->add_option("--threads", r->threads, "Threads (0: one per core); results do not depend on it")
      ->check(at_least(0));
  v->add_option("--target", r->target, kTargets)->capture_default_str()->check(kTargetNames);
  v->add_option("--stats", r->stats,
                "Write kernels, library calls, compile ms by phase, run ms, arena, code and peak "
                "bytes, flops "
                "and bytes to this JSON file");
  v->add_option("--trace", r->trace,
                "Write one run as a trace for chrome://tracing or ui.perfetto.dev");
  v->footer(
      "Examples:\n"
      "  braze run examples/seed.mlir --input random:1 --compare reference\n"
      "  braze run model.mlirbc --input 0=x.npy --input zeros --output results\n"
      "  braze run step.hlo --repeat 100 --stats step.json");
  v->callback([=] { *code = run(*r); });
}

void add_opt(CLI::App& app, OptOptions* o, int* code) {
  auto* v = app.add_subcommand(
      "opt", "Show a program after the passes, as a module, kernels, plan or code");
  add_source(v, &o->source, false);
  v->add_option("--to", o->to,
                "hlo, stablehlo (without passes unless --passes is given), dot or html (pictures), "
                "kernel, plan, llvm or asm")
      ->capture_default_str();
  v->add_option("--passes", o->passes,
                "These passes, as in inline,cleanup,fuse, or none; default: all");
  v->add_flag("--list-passes", o->list_passes, "List the passes and the standard pipeline");
  v->add_flag(
      "--check", o->check,
      "Evaluate before and after each pass, with interpreted and with compiled kernels, on made-up "
      "inputs; fail with the name of the first that changed the result");
  v->add_flag("--verify", o->verify, "Verify the module after each pass");
  v->add_option("--fuel", o->fuel, "Take only the first N rewrites (also BRAZE_FUEL)")
      ->check(at_least(0));
  v->add_flag("--bisect", o->bisect, "Find the first rewrite with which the result is wrong");
  v->add_flag("--canonical", o->canonical, "HLO without names, locations and dead code");
  v->add_option("--target", o->target, kTargets)->capture_default_str()->check(kTargetNames);
  v->footer(
      "Examples:\n"
      "  braze opt examples/seed.mlir                       # fused HLO\n"
      "  braze opt examples/seed.mlir --to=kernel           # also plan, llvm, asm\n"
      "  braze opt program.hlo --to=stablehlo               # translate\n"
      "  braze opt program.hlo --check >/dev/null           # which pass is wrong?\n"
      "  braze opt program.hlo --bisect                     # which rewrite?");
  v->callback([=] { *code = opt(*o); });
}

void add_explain(CLI::App& app, ExplainOptions* e, int* code) {
  auto* v = app.add_subcommand(
      "explain",
      "Which ops share a kernel and why, estimated and measured time of each step, memory");
  add_source(v, &e->source, true);
  v->add_option("--target", e->target, kTargets)->capture_default_str()->check(kTargetNames);
  v->add_flag("--no-run", e->no_run, "Estimates only");
  v->footer(
      "A kernel's estimate is its roofline: the larger of its bytes over the bandwidth and its "
      "operations over\n"
      "the peak that this machine was measured to reach. Example:\n"
      "  braze explain examples/digits/train_step.mlir");
  v->callback([=] { *code = explain(*e); });
}

void add_compile(CLI::App& app, AheadOptions* o, int* code) {
  auto* v = app.add_subcommand("compile", "Compile a program ahead of time into a static library and a header");
  add_source(v, &o->source, true);
  v->add_option("-o,--output", o->output, "Write OUTPUT.a and OUTPUT.h")->required();
  v->add_option("--name", o->name, "The C function is NAME_run; default: from OUTPUT");
  v->add_option("--class", o->class_name, "C++ class in the header, as in ns::Model; default: from NAME");
  v->add_option("--target", o->target, kTargets)->capture_default_str()->check(kTargetNames);
  v->footer(
      "The library needs the C library alone; threads, and library calls such as sorts, come from\n"
      "libbraze_runtime (include/braze/runtime.h) or from a runtime of the host. Examples:\n"
      "  braze compile examples/seed.mlir -o seed && cc app.c seed.a -lm\n"
      "  braze compile model.mlirbc -o model --class my::Model --target avx2");
  v->callback([=] { *code = compile(*o); });
}

void add_replay(CLI::App& app, ReplayOptions* o, int* code) {
  auto* v = app.add_subcommand("replay", "Run every program of a dump folder again and compare");
  v->add_option("dir", o->dir, "Folder that XLA_FLAGS=--xla_dump_to=DIR wrote")->required();
  v->add_option("--backend", o->backend, kBackends)->capture_default_str()->check(kBackendNames);
  v->footer(
      "All stages of one module must give one result, a snapshot the result it recorded. Example:\n"
      "  XLA_FLAGS='--xla_dump_to=/tmp/d --xla_dump_hlo_pass_re=.*' braze run examples/seed.mlir\n"
      "  braze replay /tmp/d");
  v->callback([=] { *code = replay(*o); });
}

void add_suites(CLI::App& app, CasesOptions* c, ConformanceOptions* f, CorpusOptions* k,
                int* code) {
  auto* v = app.add_subcommand("cases", "Run model folders and check their outputs");
  v->add_option("dir", c->dir, "Folder of model folders")->capture_default_str();
  v->add_option("--size", c->size, "tiny, full or all")
      ->capture_default_str()
      ->check(CLI::IsMember({"tiny", "full", "all"}));
  v->add_option("--name", c->name, "Only models that match this pattern")->capture_default_str();
  v->add_option("--backend", c->backend, kBackends)->capture_default_str()->check(kBackendNames);
  v->add_option("--repeat", c->repeat, "Timed runs of full cases")
      ->capture_default_str()
      ->check(at_least(1));
  v->callback([=] { *code = cases(*c); });

  v = app.add_subcommand("conformance", "Run StableHLO's test programs");
  v->add_option("dir", f->dir, "Folder of test programs")->capture_default_str();
  v->add_option("--backend", f->backend, kBackends)->capture_default_str()->check(kBackendNames);
  v->callback([=] { *code = conformance(*f); });

  v = app.add_subcommand("corpus", "Compile and run every program on two engines and compare");
  v->add_option("dir", k->dir, "Folder of programs")->capture_default_str();
  v->add_option("--backend", k->backend, "Compared with reference: cpu or kernel")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "kernel"}));
  v->add_option("--every", k->every, "One program in so many")
      ->capture_default_str()
      ->check(at_least(1));
  v->add_option("--budget", k->budget_s, "Seconds after which no program is started; 0: no limit")
      ->check(at_least(0));
  v->add_option("--eval-cpu", k->eval_cpu_s,
                "Seconds of processor time for one evaluation by the reference; 0: any. A program that takes "
                "longer is listed and counted as skipped")
      ->capture_default_str()
      ->check(at_least(0));
  v->add_option("--first", k->first, "Number of the first program")
      ->capture_default_str()
      ->check(at_least(0));
  v->callback([=] { *code = corpus(*k); });
}

std::string knobs() {
  std::string out =
      "Exit codes: 0 success; 1 the program is wrong, a run failed or results disagree; 2 a wrong "
      "command "
      "line.\n\nDebugging, here and in every program that uses Braze:\n"
      "  BRAZE_DEBUG=LEVEL,KNOB,…   1 phases and times, 2 kernels, 3 module after each pass that "
      "changed it,\n"
      "                             4 kernel IR, 5 LLVM IR and assembly, 6 every rewrite\n";
  for (const DebugKnob& k : debug_knobs()) {
    std::string head(k.name);
    if (!k.value.empty()) head += "=" + std::string(k.value);
    if (head.size() < 32) head.resize(32, ' ');
    const bool xla = k.name.substr(0, 2) == "--";
    out += (xla ? "  XLA_FLAGS   " : "  BRAZE_DEBUG ") + head + " " + std::string(k.doc) + "\n";
  }
  return out + "  BRAZE_FUEL=N                               as BRAZE_DEBUG=fuel=N";
}

int tool(int argc, char** argv) {
  CLI::App app(
      "braze: an optimizing compiler and runtime for array programs.\n"
      "Reads StableHLO text, StableHLO/VHLO bytecode, HLO text and HLO protos; the format is "
      "detected.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "braze " BRAZE_VERSION);
  app.set_help_all_flag("--help-all", "Help of all verbs");
  app.footer(knobs());
  int code = 0;
  RunOptions run_options;
  OptOptions opt_options;
  ExplainOptions explain_options;
  AheadOptions ahead_options;
  ReplayOptions replay_options;
  CasesOptions cases_options;
  ConformanceOptions conformance_options;
  CorpusOptions corpus_options;
  add_run(app, &run_options, &code);
  add_opt(app, &opt_options, &code);
  add_explain(app, &explain_options, &code);
  add_compile(app, &ahead_options, &code);
  add_replay(app, &replay_options, &code);
  add_suites(app, &cases_options, &conformance_options, &corpus_options, &code);
  if (std::string ignored = ignored_flags_note(); !ignored.empty())
    std::fprintf(stderr, "braze: %s\n", ignored.c_str());
  if (std::string unknown = unknown_passes_note(debug()); !unknown.empty())
    std::fprintf(stderr, "braze: %s\n", unknown.c_str());
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    if (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())
      return app.exit(error) == 0 ? 0 : 2;
    std::fprintf(stderr, "braze: there is no verb '%s'; braze --help lists them\n", argv[1]);
    return 2;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return code;
}

}  // namespace
}  // namespace braze::tools

int main(int argc, char** argv) { return braze::tools::tool(argc, argv); }
