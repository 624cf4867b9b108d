// SPDX-License-Identifier: Apache-2.0
// The verbs of the `braze` tool. Each takes its parsed options and returns the exit code: 0 success,
// 1 the program or the comparison failed, 2 the command line is wrong.
#pragma once

#include <string>
#include <vector>

namespace braze::tools {

struct RunOptions {
  std::string file, output, backend = "cpu", compare, stats, target = "host";
  std::vector<std::string> input;
  int repeat = 1, threads = 0;
};
int run(const RunOptions& o);

struct OptOptions {
  std::string file, to = "hlo", passes, target = "host";
  bool list_passes = false, no_passes = false;
};
int opt(const OptOptions& o);

struct ExplainOptions {
  std::string file, target = "host";
};
int explain(const ExplainOptions& o);

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
  std::string dir = "../shared/corpus";
  int every = 1;           // run one program in so many
  double budget_s = 0;     // stop starting programs after so many seconds; 0: no limit
};
int corpus(const CorpusOptions& o);

}  // namespace braze::tools
