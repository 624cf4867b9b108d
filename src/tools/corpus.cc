// SPDX-License-Identifier: Apache-2.0
// Every program of a folder: read, compiled, run on made-up inputs on both engines, compared. Loops of some
// run for hours on made-up bounds: the reference gives up, which counts as skipped, and so do programs that
// call the Python process that made them.
#include <ftw.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "base/npy.h"
#include "backend/compare.h"
#include "backend/inputs.h"
#include "backend/noise.h"
#include "eval/evaluator.h"
#include "ops/custom_call.h"
#include "spmd/expand.h"
#include "tools/program.h"
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

struct Outcome {
  enum { kAgree, kUnsteady, kTooLong, kNeedsHost, kFail } what = kAgree;
  std::string text;
};

// How arguments are made up.
struct Made {
  std::string_view integers = "random:0";
  double scale = 1;  // of floats
};

void scale_floats(Literal& l, double by) {
  for (Literal& part : l.mutable_parts()) scale_floats(part, by);
  if (!l.shape().is_array() || !(is_float(l.dtype()) || is_complex(l.dtype()))) return;
  for (int64_t i = 0; i < l.elements(); ++i) l.set_complex(i, by * l.get_complex(i));
}

// One program on both engines.
class Comparison {
 public:
  Comparison(const Module& m, Executable& engine, const CorpusOptions& o)
      : module_(m), engine_(engine), options_(o) {}

  // `unsteady`: why the engines agree only as far as the values hold still. Where the reference refuses
  // the arguments (indices beyond what they index), others are tried; so they are where sums overflow, as
  // an engine's partial sums may overflow to infinities of both signs.
  Status run(std::string* unsteady) {
    const Status first = run({}, unsteady);
    if (refused_)
      for (const std::string_view integers : {"iota", "zeros"}) {
        unsteady->clear();
        if (Status s = run({integers, 1}, unsteady); s.ok() || !refused_) return s;
      }
    if (!overflows_ || first.ok()) return first;
    TRY(run({"random:0", 1.0 / 16}, unsteady));
    *unsteady = str_cat("agrees on small arguments; where values overflow: ", first.message());
    return absl::OkStatus();
  }

 private:
  Result<Literal> reference(const Module& m) {
    EvalOptions limits;
    limits.max_cpu_seconds = options_.eval_cpu_s;
    return evaluate(m, args_, limits);
  }

  Status run(Made made, std::string* unsteady) {
    refused_ = overflows_ = false;
    args_.clear();
    for (size_t k = 0; k < engine_.parameters().size(); ++k) {
      const Shape& s = engine_.parameters()[k];
      const bool whole = s.is_array() && is_int(s.dtype);
      ASSIGN(Literal l, make_input(s, whole ? made.integers : "random:0", static_cast<int64_t>(k)));
      if (made.scale != 1) scale_floats(l, made.scale);
      args_.push_back(std::move(l));
    }
    const Result<Literal> want = reference(module_);
    refused_ = absl::IsInvalidArgument(want.status());
    TRY(want.status());
    ASSIGN(const Literal got, engine_.run(args_));
    std::string why;
    if (close_by_type(got, *want, &why)) return absl::OkStatus();
    // Far apart. Is that more than the program itself makes of a few last bits? Few runs show whether noise
    // moves values out of the range of numbers.
    overflows_ = difference(got, *want).nonfinite_mismatch > 0;
    const uint64_t most = overflows_ ? kNoisyRuns / 4 : kNoisyRuns;
    std::vector<Literal> noisy;
    std::string beyond;
    for (uint64_t seed = 1; seed <= most; ++seed) {
      ASSIGN(Literal v, reference(*with_noise(module_, seed)));
      noisy.push_back(std::move(v));
      if (seed % 4 == 0 && agree_within_noise(got, *want, noisy, &beyond)) break;
      if (seed == most) return internal("disagree: ", why, "; beyond noise: ", beyond);
    }
    *unsteady = std::move(why);
    return absl::OkStatus();
  }

  const Module& module_;
  Executable& engine_;
  const CorpusOptions& options_;
  std::vector<Literal> args_;
  bool refused_ = false, overflows_ = false;
};

// The call of `m` that only the process which made the program can answer, or "".
std::string call_of_host(const Module& m) {
  for (const auto& c : m.computations())
    for (const auto& i : c->instrs())
      if (i->is(Op::kCustomCall) && needs_host_process(i->as<CustomCallAttrs>().target))
        return i->as<CustomCallAttrs>().target;
  return "";
}

Status agree(const std::string& file, const CorpusOptions& o, std::string* unsteady, std::string* host) {
  ASSIGN(std::string bytes, read_file(file));
  ReadOptions read;
  read.file = file;
  ASSIGN(std::unique_ptr<Module> m, read_module(bytes, read));
  *host = call_of_host(*m);
  const Status one_device = spmd::to_one_device(*m);
  if (one_device.ok()) *host = call_of_host(*m);
  if (!host->empty()) return absl::OkStatus();
  TRY(one_device);
  const std::unique_ptr<Module> original = m->clone();
  CompileOptions options;
  options.backend = o.backend;
  ASSIGN(std::unique_ptr<Executable> engine, compile(std::move(m), options));
  return Comparison(*original, *engine, o).run(unsteady);
}

Outcome outcome(const std::string& file, const CorpusOptions& o) {
  std::string unsteady, host;
  const Status s = agree(file, o, &unsteady, &host);
  if (!host.empty()) return {Outcome::kNeedsHost, std::move(host)};
  if (is_too_long(s)) return {Outcome::kTooLong, std::string(s.message())};
  if (!s.ok()) return {Outcome::kFail, std::string(s.message())};
  if (!unsteady.empty()) return {Outcome::kUnsteady, std::move(unsteady)};
  return {};
}

}  // namespace

int corpus(const CorpusOptions& o) {
  found.clear();
  nftw(o.dir.c_str(), visit, 16, FTW_PHYS);
  std::sort(found.begin(), found.end());
  if (found.empty()) return nothing_to_run("programs", o.dir, CorpusOptions().dir);
  int passed = 0, failed = 0, skipped = 0, unsteady = 0, too_long = 0, need_host = 0;
  auto start = std::chrono::steady_clock::now();
  for (size_t i = static_cast<size_t>(std::max(o.first, 0)); i < found.size(); i += static_cast<size_t>(std::max(o.every, 1))) {
    double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (o.budget_s > 0 && elapsed > o.budget_s) {
      ++skipped;
      continue;
    }
    const Outcome r = outcome(found[i], o);
    const char *head = "FAIL", *kind = "";
    switch (r.what) {
      case Outcome::kAgree: ++passed; continue;
      case Outcome::kUnsteady: ++passed, ++unsteady, head = "note", kind = "chaotic: "; break;
      case Outcome::kTooLong: ++too_long, head = "skip", kind = "too long to evaluate: "; break;
      case Outcome::kNeedsHost: ++need_host, head = "skip", kind = "calls the process that made it: "; break;
      case Outcome::kFail: ++failed; break;
    }
    std::printf("%s %s: %s%s\n", head, found[i].c_str(), kind, r.text.c_str());
    std::fflush(stdout);
  }
  if (unsteady > 0)
    std::printf("%d of the passed hang on last bits: the engines differ, by no more than noise makes\n", unsteady);
  if (too_long > 0)
    std::printf("%d of the skipped take the reference too long: the engines were not compared\n", too_long);
  if (need_host > 0)
    std::printf("%d of the skipped call Python or a partitioner of the process that made them\n", need_host);
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped + too_long + need_host);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
