// SPDX-License-Identifier: Apache-2.0
// The `braze` tool: one binary, one verb per task.
#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/debug.h"
#include "tools/tools.h"

using namespace braze::tools;  // NOLINT: the verbs

int main(int argc, char** argv) {
  CLI::App app(
      "braze: an optimizing compiler and runtime for array programs.\n"
      "Reads StableHLO text, StableHLO/VHLO bytecode, HLO text and HLO protos; the format is detected.");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all verbs");
  int code = 0;

  RunOptions r;
  auto* run_verb = app.add_subcommand("run", "Compile a program and run it on given or made-up inputs");
  run_verb->add_option("file", r.file, "The program")->required();
  run_verb->add_option("--input", r.input,
                       "k=FILE.npy | k=random:SEED | k=zeros | k=iota; without k: for all inputs "
                       "(default random:0). May be repeated");
  run_verb->add_option("--output", r.output, "Directory for results as NAME.npy, or - for text");
  run_verb->add_option("--backend", r.backend, "cpu or reference")->capture_default_str();
  run_verb->add_option("--compare", r.compare, "Run on this backend too and compare: cpu or reference");
  run_verb->add_option("--repeat", r.repeat, "Time so many runs")->capture_default_str();
  run_verb->add_option("--threads", r.threads, "Threads (0: one per core)");
  run_verb->add_option("--target", r.target, "host, baseline, avx2 or avx512")->capture_default_str();
  run_verb->add_option("--stats", r.stats, "Write compile and run statistics to this JSON file");
  run_verb->callback([&] { code = run(r); });

  OptOptions p;
  auto* opt_verb = app.add_subcommand("opt", "Show a program after the compiler's passes");
  opt_verb->add_option("file", p.file, "The program");
  opt_verb->add_option("--to", p.to, "hlo, kernel, plan, llvm or asm")->capture_default_str();
  opt_verb->add_option("--target", p.target, "host, baseline, avx2 or avx512")->capture_default_str();
  opt_verb->add_flag("--no-passes", p.no_passes, "Only read and print (hlo)");
  opt_verb->add_flag("--list-passes", p.list_passes, "List the passes in order");
  opt_verb->callback([&] { code = opt(p); });

  ExplainOptions e;
  auto* explain_verb = app.add_subcommand("explain", "Which ops went into which kernel, and why");
  explain_verb->add_option("file", e.file, "The program")->required();
  explain_verb->callback([&] { code = explain(e); });

  CasesOptions c;
  auto* cases_verb = app.add_subcommand("cases", "Run model folders and check their outputs");
  cases_verb->add_option("dir", c.dir, "Folder of model folders")->capture_default_str();
  cases_verb->add_option("--size", c.size, "tiny, full or all")->capture_default_str();
  cases_verb->add_option("--name", c.name, "Only models that match this pattern")->capture_default_str();
  cases_verb->add_option("--backend", c.backend, "cpu or reference")->capture_default_str();
  cases_verb->add_option("--repeat", c.repeat, "Timed runs of full cases")->capture_default_str();
  cases_verb->callback([&] { code = cases(c); });

  ConformanceOptions f;
  auto* conformance_verb = app.add_subcommand("conformance", "Run StableHLO's test programs");
  conformance_verb->add_option("dir", f.dir, "Folder of test programs")->capture_default_str();
  conformance_verb->add_option("--backend", f.backend, "cpu or reference")->capture_default_str();
  conformance_verb->callback([&] { code = conformance(f); });

  CorpusOptions k;
  auto* corpus_verb = app.add_subcommand("corpus", "Compile and run every program on both engines");
  corpus_verb->add_option("dir", k.dir, "Folder of programs")->capture_default_str();
  corpus_verb->add_option("--every", k.every, "One program in so many")->capture_default_str();
  corpus_verb->add_option("--budget", k.budget_s, "Seconds after which no program is started");
  corpus_verb->callback([&] { code = corpus(k); });

  if (std::string ignored = braze::ignored_flags_note(); !ignored.empty())
    std::fprintf(stderr, "braze: %s\n", ignored.c_str());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return code;
}
