// SPDX-License-Identifier: Apache-2.0
// Every program of a folder: read, compiled, run on made-up inputs on both engines, compared.
#include <ftw.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "base/npy.h"
#include "backend/compare.h"
#include "backend/inputs.h"
#include "backend/noise.h"
#include "spmd/expand.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

std::vector<std::string> found;

int visit(const char* path, const struct stat*, int type, FTW*) {
  std::string p = path;
  bool program = p.find(".mlir") != std::string::npos || p.find(".hlo") != std::string::npos;
  if (type == FTW_F && program) found.push_back(p);
  return 0;
}

constexpr uint64_t kNoisyRuns = 16;

// `unsteady`: why the engines agree only as far as the values hold still under noise.
Status agree(const std::string& file, const std::string& backend, std::string* unsteady) {
  ASSIGN(std::string bytes, read_file(file));
  ReadOptions read;
  read.file = file;
  ASSIGN(std::unique_ptr<Module> m, read_module(bytes, read));
  TRY(spmd::to_one_device(*m));
  std::unique_ptr<Module> copy = m->clone(), original = m->clone();
  CompileOptions options;
  options.backend = "reference";
  ASSIGN(std::unique_ptr<Executable> reference, compile(std::move(copy), options));
  options.backend = backend;
  ASSIGN(std::unique_ptr<Executable> engine, compile(std::move(m), options));
  std::vector<Literal> args;
  for (size_t k = 0; k < engine->parameters().size(); ++k) {
    ASSIGN(Literal l, make_input(engine->parameters()[k], "random:0", static_cast<int64_t>(k)));
    args.push_back(std::move(l));
  }
  ASSIGN(Literal want, reference->run(args));
  ASSIGN(Literal got, engine->run(args));
  std::string why;
  if (close_by_type(got, want, &why)) return absl::OkStatus();
  // Far apart. Is that more than the program itself makes of a few last bits?
  std::vector<Literal> noisy;
  std::string beyond;
  for (uint64_t seed = 1; seed <= kNoisyRuns; ++seed) {
    CompileOptions plain;
    plain.backend = "reference";
    ASSIGN(std::unique_ptr<Executable> other, compile(with_noise(*original, seed), plain));
    ASSIGN(Literal v, other->run(args));
    noisy.push_back(std::move(v));
    if (seed % 4 == 0 && agree_within_noise(got, want, noisy, &beyond)) break;
    if (seed == kNoisyRuns) return internal("disagree: ", why, "; beyond noise: ", beyond);
  }
  *unsteady = std::move(why);
  return absl::OkStatus();
}

}  // namespace

int corpus(const CorpusOptions& o) {
  found.clear();
  nftw(o.dir.c_str(), visit, 16, FTW_PHYS);
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    std::printf("skipped: no programs below %s\n0 passed, 0 failed, 1 skipped\n", o.dir.c_str());
    return 0;
  }
  int passed = 0, failed = 0, skipped = 0, unsteady = 0;
  auto start = std::chrono::steady_clock::now();
  for (size_t i = static_cast<size_t>(std::max(o.first, 0)); i < found.size(); i += static_cast<size_t>(std::max(o.every, 1))) {
    double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (o.budget_s > 0 && elapsed > o.budget_s) {
      ++skipped;
      continue;
    }
    std::string why;
    Status s = agree(found[i], o.backend, &why);
    if (s.ok()) {
      ++passed;
      if (why.empty()) continue;
      ++unsteady;
      std::printf("note %s: chaotic: %s\n", found[i].c_str(), why.c_str());
      std::fflush(stdout);
      continue;
    }
    ++failed;
    std::printf("FAIL %s: %s\n", found[i].c_str(), std::string(s.message()).c_str());
    std::fflush(stdout);
  }
  if (unsteady > 0)
    std::printf("%d of the passed hang on last bits: the engines differ, by no more than noise makes\n", unsteady);
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
