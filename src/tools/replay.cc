// SPDX-License-Identifier: Apache-2.0
// braze replay: runs every program of a dump folder again. Programs of one module must give one
// result, whichever stage of the pipeline they were dumped at; snapshots must give what they
// recorded.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "backend/compare.h"
#include "backend/compile.h"
#include "backend/inputs.h"
#include "backend/read_module.h"
#include "base/npy.h"
#include "frontend/hlo_proto.h"
#include "spmd/expand.h"
#include "tools/program.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

// Programs, by the names dumps have; of texts those that begin as HLO does: XLA and Braze write
// reports beside them.
bool is_program(const std::string& dir, const std::string& name) {
  if (ends_with(name, "-report.pb")) return false;  // XLA's report of memory use
  for (const char* form : {".hlo", ".pb", ".mlir", ".mlirbc"})
    if (ends_with(name, form)) return true;
  if (!ends_with(name, ".txt")) return false;
  std::ifstream in(dir + "/" + name, std::ios::binary);
  char start[9] = {};
  in.read(start, sizeof(start));
  return std::string_view(start, sizeof(start)) == "HloModule";
}

// "module_0003.name" of "module_0003.name.before_optimizations.txt": up to the stage.
std::string module_of(const std::string& name) {
  size_t end = std::string::npos;
  for (const char* stage : {".before_optimizations", ".cpu_after_optimizations", ".input.",
                            ".snapshot.", ".after_", ".sm_"}) {
    size_t at = name.find(stage);
    if (at != std::string::npos) end = std::min(end, at);
  }
  // Between passes: module_0003.name.0002.cpu.after_…
  std::string out = name.substr(0, end);
  if (ends_with(out, ".cpu") && out.size() > 9) out.resize(out.size() - 9);
  return out;
}

Result<Literal> run_on(std::unique_ptr<Module> m, const std::string& backend,
                       const std::vector<Literal>& args) {
  static const Debug off;  // replaying must not dump again
  CompileOptions options;
  options.backend = backend;
  options.debug = &off;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  return exe->run(args);
}

// Whether sizes are known only at run time: later stages have a form of their own.
bool is_bounded(const Module& m) {
  for (const auto& c : m.computations())
    for (const auto& i : c->instrs())
      if (i->shape.has_bounded_dim()) return true;
  return false;
}

class Replayer {
 public:
  explicit Replayer(const ReplayOptions& o) : o_(o) {}

  Result<std::string> one(const std::string& name) {
    ASSIGN(std::string bytes, read_file(o_.dir + "/" + name));
    if (name.find(".snapshot.") != std::string::npos) return snapshot(bytes);
    ReadOptions read;
    read.file = name;
    read.fill_elided = true;
    ASSIGN(std::unique_ptr<Module> m, read_module(bytes, read));
    TRY(spmd::to_one_device(*m));
    std::vector<Literal> args;
    for (const Instr* p : m->entry()->params()) {
      if (!p->shape.is_static())
        return absl::UnavailableError(str_cat("argument ", p->parameter_number(), " is ",
                                              to_string(p->shape, false), ", of unknown size"));
      ASSIGN(Literal l, make_input(p->shape, "random:0", p->parameter_number()));
      args.push_back(std::move(l));
    }
    const bool elided = bytes.find("{...}") != std::string::npos;
    const bool bounded = is_bounded(*m);
    ASSIGN(Literal value, run_on(std::move(m), o_.backend, args));
    if (bounded)
      return std::string("runs; later stages are padded to the bounds, with the sizes as results of their own");
    if (elided) return std::string("runs; its constants are made up");
    auto [it, first] = results_.try_emplace(module_of(name), name, value);
    if (first) return std::string("runs");
    std::string why;
    if (!close_by_type(value, it->second.second, &why))
      return internal("differs from ", it->second.first, ": ", why);
    return str_cat("as ", it->second.first.substr(module_of(name).size() + 1), ": ",
                   to_string(difference(value, it->second.second)));
  }

 private:
  Result<std::string> snapshot(const std::string& bytes) {
    ASSIGN(HloSnapshot s, read_any_hlo(bytes));
    ASSIGN(Literal value, run_on(std::move(s.module), o_.backend, s.arguments));
    if (!s.result) return std::string("runs on its arguments");
    std::string why;
    if (!close_by_type(value, *s.result, &why)) return internal("not the recorded result: ", why);
    return str_cat("the recorded result: ", to_string(difference(value, *s.result)));
  }

  const ReplayOptions& o_;
  std::map<std::string, std::pair<std::string, Literal>> results_;
};

}  // namespace

int replay(const ReplayOptions& o) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto& f : std::filesystem::directory_iterator(o.dir, error))
    if (f.is_regular_file() && is_program(o.dir, f.path().filename().string()))
      names.push_back(f.path().filename().string());
  if (error) return finish(not_found(o.dir, ": ", error.message()));
  if (names.empty()) return finish(not_found(o.dir, ": there are no dumped programs"));
  std::sort(names.begin(), names.end());
  Replayer r(o);
  int passed = 0, failed = 0, skipped = 0;
  for (const std::string& name : names) {
    auto verdict = r.one(name);
    const bool skip = verdict.status().code() == absl::StatusCode::kUnavailable;
    ++(verdict.ok() ? passed : skip ? skipped : failed);
    std::printf("%s %s: %s\n", verdict.ok() ? "ok  " : skip ? "skip" : "FAIL", name.c_str(),
                verdict.ok() ? verdict->c_str() : std::string(verdict.status().message()).c_str());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
