// SPDX-License-Identifier: Apache-2.0
// braze run: compiles a program, runs it, prints or saves results, times, compares, traces.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "backend/compare.h"
#include "backend/compile.h"
#include "backend/inputs.h"
#include "loop/kernel.h"
#include "runtime/pool.h"
#include "spmd/expand.h"
#include "tools/program.h"
#include "tools/steps.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

Result<NpyArray> read_array(const std::string& path) {
  ASSIGN(std::string bytes, read_file(path));
  auto a = read_npy(bytes);
  return a.ok() ? a : note(path, a.status());
}

Result<Literal> input_for(const RunOptions& o, int64_t k, const Shape& shape) {
  std::string kind = "random:0";
  for (const std::string& i : o.input) {
    size_t eq = i.find('=');
    if (eq == std::string::npos)
      kind = i;
    else if (i.substr(0, eq) == std::to_string(k))
      kind = i.substr(eq + 1);
  }
  if (kind.size() > 4 && kind.substr(kind.size() - 4) == ".npy") {
    ASSIGN(NpyArray a, read_array(kind));
    auto l = from_npy(a, shape);
    return l.ok() ? l : note(str_cat("input ", k, " (", kind, ")"), l.status());
  }
  return make_input(shape, kind, k);
}

// Every "k=" of --input names an argument.
Status check_input_numbers(const RunOptions& o, size_t arguments) {
  for (const std::string& i : o.input) {
    const size_t eq = i.find('=');
    uint64_t k = 0;
    if (eq != std::string::npos && (!absl::SimpleAtoi(i.substr(0, eq), &k) || k >= arguments))
      return invalid("--input ", i, ": the program has ", arguments, " arguments, numbered from 0");
  }
  return absl::OkStatus();
}

// Reads the program; sizes it leaves unknown come from the arrays given as k=FILE.npy.
Result<std::unique_ptr<Module>> read_with_inputs(const RunOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read_program(o.source));
  SourceFlags source = o.source;
  for (const Instr* p : m->entry()->params()) {
    if (p->shape.is_static()) continue;
    const std::string head = str_cat(p->parameter_number(), "=");
    for (const std::string& i : o.input) {
      if (i.substr(0, head.size()) != head || i.size() < 5 || i.substr(i.size() - 4) != ".npy")
        continue;
      ASSIGN(NpyArray a, read_array(i.substr(head.size())));
      source.shape.push_back(head + join(Dims(a.dims.begin(), a.dims.end())));
    }
  }
  if (source.shape.size() == o.source.shape.size()) return m;
  return read_program(source);
}

// "k=KIND" or "KIND".
Status check_input_flag(const std::string& flag) {
  const size_t eq = flag.find('=');
  const std::string k = eq == std::string::npos ? "0" : flag.substr(0, eq);
  const std::string kind = flag.substr(eq == std::string::npos ? 0 : eq + 1);
  if (k.empty() || k.find_first_not_of("0123456789") != std::string::npos)
    return invalid("run --input ", flag,
                   ": before '=' comes the number of an argument, as in 0=zeros");
  const bool npy = kind.size() > 4 && kind.substr(kind.size() - 4) == ".npy";
  uint64_t number = 0;
  const bool seed = kind.substr(0, 7) == "random:" && absl::SimpleAtoi(kind.substr(7), &number);
  if (npy || seed || kind == "random" || kind == "zeros" || kind == "iota") return absl::OkStatus();
  return invalid("run --input ", flag, ": '", kind,
                 "' is none of FILE.npy, random:SEED, zeros, iota");
}

// The first elements of a large array, for a glance.
std::string beginning(const Literal& l) {
  std::string out = "{";
  Literal one(Shape::scalar(l.dtype()));
  for (int64_t i = 0; i < std::min<int64_t>(l.elements(), 6); ++i) {
    one.copy_element(0, l, i);
    out += str_cat(i ? ", " : "", to_string(one));
  }
  return out + ", ...}";
}

// Leaves are numbered in order, `number` counts them.
Status write_results(const RunOptions& o, const Literal& value, int* number) {
  if (value.shape().is_tuple()) {
    for (const Literal& part : value.parts()) TRY(write_results(o, part, number));
    return absl::OkStatus();
  }
  const int n = (*number)++;
  if (!o.output.empty() && o.output != "-")
    return write_file(str_cat(o.output, "/result_", n, ".npy"), write_npy(to_npy(value, "")));
  const bool whole = o.output == "-" || value.elements() <= 64 || !value.shape().is_array();
  std::printf("result %d: %s %s%s\n", n, to_string(value.shape(), false).c_str(),
              whole ? to_string(value).c_str() : beginning(value).c_str(),
              whole ? "" : "  (--output - prints all)");
  return absl::OkStatus();
}

struct Times {
  double median = 0, p10 = 0, p90 = 0;
};
Times summary(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  auto at = [&](double q) {
    return ms[static_cast<size_t>(q * static_cast<double>(ms.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

double since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
}

// Whether compiled code came from BRAZE_CACHE_DIR.
std::string_view cache_verdict(const RunOptions& o, const CompileStats& s) {
  if (o.backend != "cpu" || !DiskCache::from_environment()) return "off";
  return s.code_compiled == 0 ? "hit" : s.code_loaded > 0 ? "partial" : "miss";
}

Status write_stats(const RunOptions& o, const CompileStats& s, double read_ms, const Times& t) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::json j = {{"program", o.source.file},
                      {"backend", o.backend},
                      {"target", o.target},
                      {"threads", o.threads > 0 ? o.threads : Pool::shared().threads()},
                      {"kernels", s.kernels},
                      {"launches", s.launches},
                      {"library_calls", s.library_calls},
                      {"read_ms", read_ms},
                      {"compile_ms", s.total_ms},
                      {"runs", std::max(o.repeat, 1)},
                      {"run_ms", {{"median", t.median}, {"p10", t.p10}, {"p90", t.p90}}},
                      {"arena_bytes", s.arena_bytes},
                      {"code_bytes", s.code_bytes},
                      {"code",
                       {{"compiled", s.code_compiled},
                        {"shared", s.code_shared},
                        {"loaded", s.code_loaded},
                        {"cache", cache_verdict(o, s)}}},
                      {"peak_bytes", usage.ru_maxrss * 1024},
                      {"flops", s.flops},
                      {"bytes", s.bytes}};
  j["phases"] = nlohmann::json::array();
  for (auto& [phase, time] : s.phases) j["phases"].push_back({{"name", phase}, {"ms", time}});
  return write_file(o.stats, j.dump(1) + "\n");
}

// One run as a trace that chrome://tracing and Perfetto show.
Status write_trace(const RunOptions& o, Executable& exe, const std::vector<Literal>& args) {
  nlohmann::json events = nlohmann::json::array();
  if (!exe.plan()) return invalid("--trace: the backend ", o.backend, " runs no plan");
  auto observer = [&](const PlanStep& s, double begin, double end) {
    nlohmann::json e = {
        {"name", step_title(s)}, {"cat", step_kind(s)},       {"ph", "X"}, {"pid", 1}, {"tid", 1},
        {"ts", begin * 1e6},     {"dur", (end - begin) * 1e6}};
    if (s.kind == PlanStep::Kind::kKernel) {
      const loop::Kernel& k = *exe.plan()->kernels[s.kernel];
      e["args"] = {{"flops", k.flops}, {"bytes", k.bytes}};
    }
    events.push_back(std::move(e));
  };
  TRY(exe.run_observed(args, observer).status());
  return write_file(o.trace, nlohmann::json{{"traceEvents", std::move(events)}}.dump(1) + "\n");
}

void compare_leaves(const RunOptions& o, const Literal& a, const Literal& b, int* number) {
  if (a.shape().is_tuple() && a.parts().size() == b.parts().size()) {
    for (size_t i = 0; i < a.parts().size(); ++i)
      compare_leaves(o, a.parts()[i], b.parts()[i], number);
    return;
  }
  std::printf("%s against %s, result %d: %s\n", o.backend.c_str(), o.compare.c_str(), (*number)++,
              to_string(difference(a, b)).c_str());
}

// Each result's distance, then the verdict.
Status compare(const RunOptions& o, const Literal& value, const Literal& expected) {
  int number = 0;
  compare_leaves(o, value, expected, &number);
  std::string why;
  if (!close_by_type(value, expected, &why)) return internal("the backends disagree: ", why);
  return absl::OkStatus();
}

Status run_program(const RunOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN(std::unique_ptr<Module> module, read_with_inputs(o));
  TRY(spmd::to_one_device(*module));
  const double read_ms = since(start);
  std::unique_ptr<Module> copy = o.compare.empty() ? nullptr : module->clone();
  CompileOptions options;
  options.backend = o.backend;
  options.target = o.target;
  options.threads = o.threads;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(module), options));
  TRY(check_input_numbers(o, exe->parameters().size()));
  std::vector<Literal> args;
  for (size_t k = 0; k < exe->parameters().size(); ++k) {
    ASSIGN(Literal l, input_for(o, static_cast<int64_t>(k), exe->parameters()[k]));
    args.push_back(std::move(l));
  }
  std::vector<double> ms;
  Literal value;
  for (int i = 0; i < std::max(o.repeat, 1); ++i) {
    auto from = std::chrono::steady_clock::now();
    ASSIGN(value, exe->run(args));
    ms.push_back(since(from));
  }
  if (!o.output.empty() && o.output != "-") {
    std::error_code error;
    std::filesystem::create_directories(o.output, error);
  }
  int number = 0;
  TRY(write_results(o, value, &number));
  Times t = summary(ms);
  const CompileStats& s = exe->stats();
  if (o.repeat > 1)
    std::printf(
        "compile %.1f ms, run %.4f ms (p10 %.4f, p90 %.4f), %d kernels in %d launches, %d library "
        "calls\n",
        s.total_ms, t.median, t.p10, t.p90, static_cast<int>(s.kernels),
        static_cast<int>(s.launches), static_cast<int>(s.library_calls));
  if (!o.stats.empty()) TRY(write_stats(o, s, read_ms, t));
  if (!o.trace.empty()) TRY(write_trace(o, *exe, args));
  if (o.compare.empty()) return absl::OkStatus();
  options.backend = o.compare;
  ASSIGN(std::unique_ptr<Executable> other, compile(std::move(copy), options));
  ASSIGN(Literal expected, other->run(args));
  return compare(o, value, expected);
}

}  // namespace

int run(const RunOptions& o) {
  for (const std::string& i : o.input)
    if (Status s = check_input_flag(i); !s.ok()) return usage_error(std::string(s.message()));
  return finish(run_program(o));
}

}  // namespace braze::tools
