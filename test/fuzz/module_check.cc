// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/module_check.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "analysis/verify.h"
#include "backend/compare.h"
#include "backend/compile.h"
#include "backend/noise.h"
#include "backend/read_module.h"
#include "eval/evaluator.h"
#include "text/parse.h"
#include "text/print.h"
#include "text/stablehlo_print.h"

namespace braze::fuzz {
namespace {

Finding finding(Verdict v, std::string_view what, const Status& s) {
  return {v, str_cat(what, ": ", std::string(s.message()))};
}

// Equal bits but for NaNs.
bool same(const Literal& a, const Literal& b) {
  return compatible(a.shape(), b.shape()) && difference(a, b).differing == 0;
}

std::vector<Literal> leaves(const Literal& l) {
  if (!l.shape().is_tuple()) return {l};
  std::vector<Literal> out;
  for (const Literal& p : l.parts())
    for (Literal& leaf : leaves(p)) out.push_back(std::move(leaf));
  return out;
}

// The leaves from *at on as a value built like `like`.
Literal shaped_as(const Literal& like, const std::vector<Literal>& leaves, size_t* at) {
  if (!like.shape().is_tuple()) return leaves[(*at)++];
  std::vector<Literal> parts;
  for (const Literal& p : like.parts()) parts.push_back(shaped_as(p, leaves, at));
  return Literal::tuple(std::move(parts));
}

Finding check_text(const Module& m) {
  if (Status s = verify(m); !s.ok()) return finding(Verdict::kText, "verify", s);
  for (const PrintOptions& o : {PrintOptions::short_form(), PrintOptions::long_form()}) {
    const std::string text = print_hlo(m, o);
    auto back = parse_hlo(text);
    if (!back.ok()) return finding(Verdict::kText, "parse", back.status());
    if (print_hlo(**back, o) != text) return {Verdict::kText, "HLO text changes when read back"};
  }
  return {};
}

Result<std::unique_ptr<Executable>> compiled(const Case& c, std::string_view target, int threads) {
  CompileOptions o;
  o.target = std::string(target);
  o.threads = threads;
  o.check = true;
  return compile(c.module->clone(), o);
}

// The reference's own values under noise, made when first asked for.
class NoisyValues {
 public:
  NoisyValues(const Case& c, const EvalOptions& limits) : case_(c), limits_(limits) {}

  const std::vector<Literal>& at_least(uint64_t runs) {
    for (; runs_ < runs; ++runs_) {
      auto v = evaluate(*with_noise(*case_.module, runs_ + 1), case_.args, limits_);
      if (v.ok()) values_.push_back(*std::move(v));
    }
    return values_;
  }

  // Few runs show what noise does to most values, but not on which side of a border they fall: whether a
  // nearly singular matrix has a factor, or the argument of a logarithm is a zero. More are made before
  // a difference is called a disagreement.
  bool explain(const Literal& got, const Literal& want, std::string* why) {
    for (const uint64_t runs : {kFew, 4 * kFew, 16 * kFew})
      if (agree_within_noise(got, want, at_least(runs), why)) return true;
    return false;
  }

  static constexpr uint64_t kFew = 6;

 private:
  const Case& case_;
  const EvalOptions& limits_;
  uint64_t runs_ = 0;
  std::vector<Literal> values_;
};

// StableHLO text and back, where there is such text.
Finding check_stablehlo(const Case& c, const Literal& want, NoisyValues& noise) {
  for (const auto& f : c.module->computations())
    for (const auto& i : f->instrs())
      if (i->op == Op::kCosh || i->op == Op::kSinh) return {};  // CHLO's are another formula
  auto text = print_stablehlo(*c.module);
  if (!text.ok()) return {};
  auto m = read_module(*text);
  if (!m.ok()) return finding(Verdict::kText, "StableHLO text", m.status());
  std::vector<Literal> args;  // tuples vanish
  for (const Literal& a : c.args)
    for (Literal& leaf : leaves(a)) args.push_back(std::move(leaf));
  if ((*m)->entry()->params().size() != args.size()) return {Verdict::kText, "StableHLO text: parameters"};
  auto got = evaluate(**m, args);
  if (!got.ok()) return finding(Verdict::kText, "StableHLO text", got.status());
  std::vector<Literal> parts = leaves(*got);
  if (parts.size() != leaves(want).size()) return {Verdict::kText, "StableHLO text: results"};
  size_t at = 0;
  const Literal folded = shaped_as(want, parts, &at);
  std::string why;
  if (same(folded, want) || noise.explain(folded, want, &why)) return {};
  return {Verdict::kText, str_cat("StableHLO text: ", why)};
}

}  // namespace

std::string_view name(Verdict v) {
  switch (v) {
    case Verdict::kOk: return "ok";
    case Verdict::kNoisy: return "noisy";
    case Verdict::kUnknown: return "unknown";
    case Verdict::kDisagree: return "DISAGREE";
    case Verdict::kRefused: return "REFUSED";
    case Verdict::kText: return "TEXT";
    case Verdict::kCrash: return "CRASH";
    case Verdict::kHang: return "HANG";
  }
  return "";
}

Finding check(const Case& c, uint64_t seed) {
  if (Finding f = check_text(*c.module); is_bad(f.verdict)) return f;
  EvalOptions limits;
  limits.max_steps = 200000;
  auto want = evaluate(*c.module, c.args, limits);
  if (!want.ok()) return finding(Verdict::kUnknown, "reference", want.status());
  const uint64_t die = seed * 0x9e3779b97f4a7c15 >> 32;
  const std::string_view target = die % 16 < 11 ? "host" : die % 16 < 14 ? "avx2" : "baseline";
  auto exe = compiled(c, target, 0);
  if (!exe.ok()) return finding(Verdict::kRefused, "compile", exe.status());
  auto got = (*exe)->run(c.args);
  if (!got.ok()) return finding(Verdict::kRefused, "run", got.status());
  Finding f;
  NoisyValues noise(c, limits);
  std::string why;
  if (!same(*got, *want)) {
    if (!noise.explain(*got, *want, &why)) return {Verdict::kDisagree, str_cat(target, ": ", why)};
    f = {Verdict::kNoisy, to_string(difference(*got, *want))};
  }
  if (die / 16 % 4 == 1) {
    // The passes alone: the optimised module on the reference.
    auto m = c.module->clone();
    CompileOptions o;
    o.target = std::string(target);
    if (Status s = optimize(*m, o); !s.ok()) return finding(Verdict::kRefused, "passes", s);
    auto v = evaluate(*m, c.args, limits);
    if (!v.ok()) return finding(Verdict::kRefused, "evaluating after the passes", v.status());
    if (!same(*v, *want) && !noise.explain(*v, *want, &why))
      return {Verdict::kDisagree, str_cat("passes: ", why)};
  }
  if (die / 16 % 8 == 0) {
    auto one = compiled(c, target, 1);
    if (!one.ok()) return finding(Verdict::kRefused, "compile for one thread", one.status());
    auto again = (*one)->run(c.args);
    if (!again.ok()) return finding(Verdict::kRefused, "run on one thread", again.status());
    if (!same(*again, *got))
      return {Verdict::kDisagree, str_cat("threads: ", to_string(difference(*again, *got)))};
  }
  if (die / 128 % 2 == 0 || f.verdict == Verdict::kNoisy)
    if (Finding t = check_stablehlo(c, *want, noise); is_bad(t.verdict)) return t;
  return f;
}

void limit_time(int cpu_seconds) {
  constexpr unsigned kClockPerCpu = 20;
  itimerval t{};
  t.it_value.tv_sec = cpu_seconds;
  setitimer(ITIMER_PROF, &t, nullptr);
  alarm(static_cast<unsigned>(cpu_seconds) * kClockPerCpu);
}

std::string_view time_limit_text(int signal) {
  if (signal == SIGPROF) return "the limit of processor time";
  if (signal == SIGALRM) return "the limit of the clock: a deadlock?";
  return {};
}

Finding check_in_child(const Case& c, uint64_t seed, int cpu_seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {Verdict::kUnknown, "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    limit_time(cpu_seconds);
    const Finding f = check(c, seed);
    const std::string out = static_cast<char>('0' + static_cast<int>(f.verdict)) + f.text.substr(0, 4000);
    const ssize_t n = write(ends[1], out.data(), out.size());
    _exit(n < 0);
  }
  ::close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const std::string_view limit = time_limit_text(WTERMSIG(status));
    if (!limit.empty()) return {Verdict::kHang, std::string(limit)};
    return {Verdict::kCrash, str_cat("signal ", WTERMSIG(status))};
  }
  if (out.empty()) return {Verdict::kCrash, str_cat("exit ", WEXITSTATUS(status))};
  return {static_cast<Verdict>(out[0] - '0'), out.substr(1)};
}

}  // namespace braze::fuzz
