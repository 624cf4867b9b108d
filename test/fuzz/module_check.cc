// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/module_check.h"

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

// StableHLO text and back, where there is such text.
Finding check_stablehlo(const Case& c, const Literal& want, const std::vector<Literal>& noisy) {
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
  std::vector<Literal> a = leaves(*got), b = leaves(want);
  if (a.size() != b.size()) return {Verdict::kText, "StableHLO text: results"};
  for (size_t k = 0; k < a.size(); ++k) {
    std::vector<Literal> near;
    for (const Literal& n : noisy) near.push_back(leaves(n)[k]);
    std::string why;
    if (!same(a[k], b[k]) && !agree_within_noise(a[k], b[k], near, &why))
      return {Verdict::kText, str_cat("StableHLO text: result ", k, ": ", why)};
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

std::vector<Literal> noisy_values(const Case& c, const EvalOptions& limits) {
  std::vector<Literal> out;
  for (uint64_t k = 1; k <= 6; ++k) {
    auto v = evaluate(*with_noise(*c.module, k), c.args, limits);
    if (v.ok()) out.push_back(*std::move(v));
  }
  return out;
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
  std::vector<Literal> noisy;
  if (!same(*got, *want)) {
    noisy = noisy_values(c, limits);
    std::string why;
    if (!agree_within_noise(*got, *want, noisy, &why))
      return {Verdict::kDisagree, str_cat(target, ": ", why)};
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
    if (!same(*v, *want)) {
      if (noisy.empty()) noisy = noisy_values(c, limits);
      std::string why;
      if (!agree_within_noise(*v, *want, noisy, &why)) return {Verdict::kDisagree, str_cat("passes: ", why)};
    }
  }
  if (die / 16 % 8 == 0) {
    auto one = compiled(c, target, 1);
    if (!one.ok()) return finding(Verdict::kRefused, "compile for one thread", one.status());
    auto again = (*one)->run(c.args);
    if (!again.ok()) return finding(Verdict::kRefused, "run on one thread", again.status());
    if (!same(*again, *got))
      return {Verdict::kDisagree, str_cat("threads: ", to_string(difference(*again, *got)))};
  }
  if (noisy.empty() && die / 128 % 2 == 0) noisy = noisy_values(c, limits);
  if (noisy.empty()) return f;
  if (Finding t = check_stablehlo(c, *want, noisy); is_bad(t.verdict)) return t;
  return f;
}

Finding check_in_child(const Case& c, uint64_t seed, int seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {Verdict::kUnknown, "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    alarm(static_cast<unsigned>(seconds));
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
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return {Verdict::kHang, ""};
  if (WIFSIGNALED(status)) return {Verdict::kCrash, str_cat("signal ", WTERMSIG(status))};
  if (out.empty()) return {Verdict::kCrash, str_cat("exit ", WEXITSTATUS(status))};
  return {static_cast<Verdict>(out[0] - '0'), out.substr(1)};
}

}  // namespace braze::fuzz
