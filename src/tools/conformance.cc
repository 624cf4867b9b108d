// SPDX-License-Identifier: Apache-2.0
// StableHLO's test programs: every function without arguments of every module in a file is run; the check
// ops in it (ops/check.h) fail it. Files below vhlo/ must read.
#include <ftw.h>

#include <algorithm>
#include <cstdio>

#include "backend/compile.h"
#include "base/npy.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "ops/check.h"
#include "passes/refine_shapes.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

std::vector<std::string> files;

int visit(const char* path, const struct stat*, int type, FTW*) {
  if (type == FTW_F && std::string(path).find(".mlir") != std::string::npos) files.push_back(path);
  return 0;
}

// Functions a test runner would call: public, without arguments.
std::vector<std::string> entries(const mlir::Module& m);

Status run_function(const mlir::Module& tree, const std::string& function, const ConformanceOptions& o) {
  ImportOptions import;
  import.entry = function;
  import.any_entry = false;
  ASSIGN(std::unique_ptr<Module> m, import_stablehlo(tree, import));
  TRY(refine_shapes(*m, {}));
  CompileOptions options;
  options.backend = o.backend;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  return exe->run({}).status();
}

Status run_file(const std::string& path, const ConformanceOptions& o) {
  ASSIGN(std::string bytes, read_file(path));
  if (mlir::is_bytecode(bytes)) return mlir::read_mlir_bytecode(bytes).status();
  bool only_read = path.find("/vhlo/") != std::string::npos;
  for (std::string_view part : mlir::split_mlir(bytes)) {
    ASSIGN(mlir::Module tree, mlir::read_mlir_text(part, path));
    if (only_read) continue;
    for (const std::string& f : entries(tree)) TRY(note(str_cat("@", f), run_function(tree, f, o)));
  }
  return absl::OkStatus();
}

std::vector<std::string> entries(const mlir::Module& m) {
  std::vector<std::string> out;
  auto visit_op = [&](auto& self, const mlir::Op& op) -> void {
    if (op.name == "func.func") {
      const mlir::Attr* name = op.attr("sym_name");
      const mlir::Attr* visibility = op.attr("sym_visibility");
      bool is_public = !visibility || visibility->text == "public";
      const mlir::Block* body = op.block(0);
      if (name && is_public && body && body->num_args == 0) out.emplace_back(name->text);
      return;
    }
    for (const mlir::Region& r : op.regions)
      for (const mlir::Block& b : r.blocks)
        for (const mlir::Op* inner : b.ops) self(self, *inner);
  };
  visit_op(visit_op, *m.op);
  return out;
}

}  // namespace

int conformance(const ConformanceOptions& o) {
  if (Status s = register_check_calls(); !s.ok()) {
    std::fprintf(stderr, "braze: %s\n", std::string(s.message()).c_str());
    return 1;
  }
  files.clear();
  nftw(o.dir.c_str(), visit, 16, FTW_PHYS);
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::printf("skipped: no programs below %s\n0 passed, 0 failed, 1 skipped\n", o.dir.c_str());
    return 0;
  }
  int passed = 0, failed = 0;
  for (const std::string& f : files) {
    Status s = run_file(f, o);
    if (s.ok()) {
      ++passed;
      continue;
    }
    ++failed;
    std::printf("FAIL %s: %s\n", f.c_str(), std::string(s.message()).c_str());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
