// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "backend/compare.h"
#include "backend/inputs.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

Result<Literal> input_for(const RunOptions& o, int64_t k, const Shape& shape) {
  std::string kind = "random:0";
  for (const std::string& i : o.input) {
    size_t eq = i.find('=');
    if (eq == std::string::npos) kind = i;
    else if (i.substr(0, eq) == std::to_string(k)) kind = i.substr(eq + 1);
  }
  if (kind.size() > 4 && kind.substr(kind.size() - 4) == ".npy") {
    ASSIGN(std::string bytes, read_file(kind));
    ASSIGN(NpyArray a, read_npy(bytes));
    auto l = from_npy(a, shape);
    return l.ok() ? l : note(str_cat("input ", k, " (", kind, ")"), l.status());
  }
  return make_input(shape, kind, k);
}

Status write_results(const RunOptions& o, const Literal& value, int64_t number) {
  if (value.shape().is_tuple()) {
    for (size_t i = 0; i < value.parts().size(); ++i)
      TRY(write_results(o, value.parts()[i], static_cast<int64_t>(i)));
    return absl::OkStatus();
  }
  if (o.output.empty() || o.output == "-") {
    if (value.elements() <= 64 || o.output == "-")
      std::printf("result %d: %s %s\n", static_cast<int>(number), to_string(value.shape(), false).c_str(),
                  to_string(value).c_str());
    else
      std::printf("result %d: %s (use --output - to print, --output DIR to save)\n",
                  static_cast<int>(number), to_string(value.shape(), false).c_str());
    return absl::OkStatus();
  }
  return write_file(str_cat(o.output, "/result_", number, ".npy"), write_npy(to_npy(value, "")));
}

struct Times {
  double median = 0, p10 = 0, p90 = 0;
};
Times summary(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  auto at = [&](double q) { return ms[static_cast<size_t>(q * static_cast<double>(ms.size() - 1))]; };
  return {at(0.5), at(0.1), at(0.9)};
}

Status run_program(const RunOptions& o) {
  ASSIGN(std::string bytes, read_file(o.file));
  ReadOptions read;
  read.file = o.file;
  ASSIGN(std::unique_ptr<Module> module, read_module(bytes, read));
  std::unique_ptr<Module> copy = o.compare.empty() ? nullptr : module->clone();
  CompileOptions options;
  options.backend = o.backend;
  options.target = o.target;
  options.threads = o.threads;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(module), options));
  std::vector<Literal> args;
  for (size_t k = 0; k < exe->parameters().size(); ++k) {
    ASSIGN(Literal l, input_for(o, static_cast<int64_t>(k), exe->parameters()[k]));
    args.push_back(std::move(l));
  }
  std::vector<double> ms;
  Literal value;
  for (int i = 0; i < std::max(o.repeat, 1); ++i) {
    auto t0 = std::chrono::steady_clock::now();
    ASSIGN(value, exe->run(args));
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count());
  }
  TRY(write_results(o, value, 0));
  Times t = summary(ms);
  const CompileStats& s = exe->stats();
  if (o.repeat > 1)
    std::printf("compile %.1f ms, run %.4f ms (p10 %.4f, p90 %.4f), %d kernels in %d launches, %d library "
                "calls\n", s.total_ms, t.median, t.p10, t.p90, static_cast<int>(s.kernels),
                static_cast<int>(s.launches), static_cast<int>(s.library_calls));
  if (!o.stats.empty()) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    nlohmann::json j = {{"kernels", s.kernels}, {"launches", s.launches},
                        {"library_calls", s.library_calls}, {"compile_ms", s.total_ms},
                        {"run_ms", {{"median", t.median}, {"p10", t.p10}, {"p90", t.p90}}},
                        {"arena_bytes", s.arena_bytes}, {"code_bytes", s.code_bytes},
                        {"peak_bytes", usage.ru_maxrss * 1024}, {"flops", s.flops}, {"bytes", s.bytes}};
    for (auto& [phase, time] : s.phases) j["phases"].push_back({{"name", phase}, {"ms", time}});
    TRY(write_file(o.stats, j.dump(1) + "\n"));
  }
  if (o.compare.empty()) return absl::OkStatus();
  options.backend = o.compare;
  ASSIGN(std::unique_ptr<Executable> other, compile(std::move(copy), options));
  ASSIGN(Literal expected, other->run(args));
  std::printf("%s against %s: %s\n", o.backend.c_str(), o.compare.c_str(),
              to_string(difference(value, expected)).c_str());
  std::string why;
  Shape first = value.shape();
  while (first.is_tuple() && !first.tuple.empty()) first = Shape(first.tuple[0]);
  if (!close(value, expected, default_tolerance(first.is_array() ? first.dtype : Dtype::kF32), &why))
    return internal("the backends disagree: ", why);
  return absl::OkStatus();
}

}  // namespace

int run(const RunOptions& o) {
  Status s = run_program(o);
  if (s.ok()) return 0;
  std::fprintf(stderr, "braze: %s\n", std::string(s.message()).c_str());
  return 1;
}

}  // namespace braze::tools
