// SPDX-License-Identifier: Apache-2.0
// The verbs of the `braze` tool. Each takes its parsed options and returns the exit code: 0
// success, 1 the program or the comparison failed, 2 the command line is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braze::tools {

// Where a verb's program comes from.
struct SourceFlags {
  std::string file;             // "-": standard input
  std::string entry = "main";   // function of an MLIR module
  bool fill_elided = false;     // make up constant({...})
  std::vector<std::string> shape;  // "k=2,3": sizes of arguments whose own are unknown
};

struct RunOptions {
  SourceFlags source;
  std::string output, backend = "cpu", compare, stats, trace, target = "host";
  std::vector<std::string> input;
  int repeat = 1, threads = 0;
};
int run(const RunOptions& o);

struct OptOptions {
  SourceFlags source;
  std::string to = "hlo", passes, target = "host";
  int64_t fuel = -1;
  bool list_passes = false, check = false, verify = false, bisect = false, canonical = false;
};
int opt(const OptOptions& o);

struct ExplainOptions {
  SourceFlags source;
  std::string target = "host";
  bool no_run = false;  // estimates only
};
int explain(const ExplainOptions& o);

struct AheadOptions {
  SourceFlags source;
  std::string output, name, class_name, target = "host";
};
int compile(const AheadOptions& o);

struct ReplayOptions {
  std::string dir, backend = "cpu";
};
int replay(const ReplayOptions& o);

struct CasesOptions {
  std::string dir = "../shared/models", size = "tiny", name = "*", backend = "cpu";
  int repeat = 5;
};
int cases(const CasesOptions& o);

struct ConformanceOptions {
  std::string dir = "../shared/conformance/stablehlo", backend = "cpu";
};
int conformance(const ConformanceOptions& o);

struct CorpusOptions {
  std::string dir = "../shared/corpus", backend = "cpu";
  int first = 0;
  int every = 1;           // run one program in so many
  double budget_s = 0;     // stop starting programs after so many seconds; 0: no limit
  double eval_cpu_s = 20;  // for one evaluation by the reference; 0: no limit
};
int corpus(const CorpusOptions& o);

}  // namespace braze::tools
