// SPDX-License-Identifier: Apache-2.0
// StableHLO's test programs (backend/conformance.h). Files below vhlo/ must read.
#include <ftw.h>

#include <algorithm>
#include <cstdio>

#include "backend/compile.h"
#include "backend/conformance.h"
#include "base/npy.h"
#include "frontend/mlir_read.h"
#include "tools/program.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

std::vector<std::string> files;

int visit(const char* path, const struct stat*, int type, FTW*) {
  if (type == FTW_F && std::string(path).find(".mlir") != std::string::npos) files.push_back(path);
  return 0;
}

Engine engine_of(const std::string& backend) {
  return [backend](std::unique_ptr<Module> m) -> Result<Literal> {
    CompileOptions options;
    options.backend = backend;
    ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
    return exe->run({});
  };
}

Status read_only(const std::string& path) {
  ASSIGN(std::string bytes, read_file(path));
  if (mlir::is_bytecode(bytes)) return mlir::read_mlir_bytecode(bytes).status();
  for (std::string_view part : mlir::split_mlir(bytes)) TRY(mlir::read_mlir_text(part, path).status());
  return absl::OkStatus();
}

// One word for a file: the worst of its programs.
ConformanceResult run_file(const std::string& path, const Engine& engine) {
  ConformanceResult worst{path};
  if (path.find("/vhlo/") != std::string::npos) {
    Status s = read_only(path);
    // A program from the future must be refused.
    if (s.ok() == (path.find("invalid_vhlo_future") != std::string::npos)) {
      worst.kind = ConformanceResult::kFailed;
      worst.error = s.ok() ? "was read" : std::string(s.message());
    }
    return worst;
  }
  for (const ConformanceResult& r : run_conformance_file(path, engine)) {
    if (r.kind == ConformanceResult::kFailed) return r;
    if (r.kind == ConformanceResult::kLoosely || r.kind == ConformanceResult::kDisabled) worst = r;
  }
  return worst;
}

}  // namespace

int conformance(const ConformanceOptions& o) {
  files.clear();
  nftw(o.dir.c_str(), visit, 16, FTW_PHYS);
  std::sort(files.begin(), files.end());
  if (files.empty()) return nothing_to_run("programs", o.dir, ConformanceOptions().dir);
  int passed = 0, loosely = 0, failed = 0, disabled = 0;
  const Engine engine = engine_of(o.backend);
  for (const std::string& f : files) {
    const ConformanceResult r = run_file(f, engine);
    if (r.kind == ConformanceResult::kDisabled) {
      ++disabled;
      ++passed;
      std::printf("note %s: %s\n", f.c_str(), r.error.c_str());
      continue;
    }
    if (r.kind != ConformanceResult::kFailed && r.kind != ConformanceResult::kLoosely) {
      ++passed;
      continue;
    }
    // Outside the file's own tolerance is a failure; how far outside is told apart below.
    if (r.kind == ConformanceResult::kLoosely) ++loosely;
    ++failed;
    std::printf("FAIL %s: %s\n", f.c_str(), r.error.c_str());
    std::fflush(stdout);
  }
  if (loosely > 0)
    std::printf("%d of the failures are within 8 steps of the largest value\n", loosely);
  if (disabled > 0)
    std::printf("%d passed within 8 steps of the largest value only: their run is switched off in the "
                "suite itself (RUN-DISABLED)\n", disabled);
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
