// SPDX-License-Identifier: Apache-2.0
#include "backend/bisect.h"

#include <algorithm>

#include "backend/compare.h"
#include "backend/inputs.h"
#include "base/debug.h"
#include "eval/evaluator.h"

namespace braze {
namespace {

struct Trial {
  std::vector<Literal> args;
  Literal want;
};

Result<Trial> prepare(const Module& m) {
  Trial t;
  int64_t k = 0;
  for (const Instr* p : m.entry()->params()) {
    ASSIGN(Literal l, make_input(p->shape, "random:0", k++));
    t.args.push_back(std::move(l));
  }
  auto want = evaluate(m, t.args);
  if (!want.ok()) return note("the evaluator cannot run the program", want.status());
  t.want = std::move(*want);
  return t;
}

// Why the program's result on these inputs is wrong, or "". Errors count as wrong.
std::string fault(const Module& m, const Trial& t, const CompileOptions& options,
                  CompileStats* stats) {
  auto exe = compile(m.clone(), options);
  if (!exe.ok()) return std::string(exe.status().message());
  if (stats) *stats = (*exe)->stats();
  auto got = (*exe)->run(t.args);
  if (!got.ok()) return std::string(got.status().message());
  std::string why;
  return close_by_type(*got, t.want, &why) ? "" : why;
}

}  // namespace

Result<std::string> check_engines(const Module& m, const CompileOptions& options) {
  ASSIGN(Trial t, prepare(m));
  Debug d = options.debug ? *options.debug : Debug();
  d.dump_dir.clear();
  d.check = true;
  CompileOptions o = options;
  o.debug = &d;
  std::unique_ptr<Module> copy = m.clone();
  TRY(optimize(*copy, o));
  d.check = false;
  o.checked = nullptr;
  o.backend = "kernel";
  if (std::string why = fault(m, t, o, nullptr); !why.empty())
    return internal("lowering to kernels or the plan changed the result: ", why);
  o.backend = "cpu";
  if (std::string why = fault(m, t, o, nullptr); !why.empty())
    return internal(
        "code generation changed the result: interpreted kernels are right, compiled ones not: ",
        why);
  return std::string("check kernels: interpreted and compiled kernels agree with the evaluator");
}

Result<Bisection> bisect(const Module& m, const CompileOptions& options,
                         const std::function<void(int64_t fuel, bool right)>& tried) {
  ASSIGN(Trial t, prepare(m));
  Debug d;
  CompileOptions o = options;
  o.debug = &d;
  CompileStats stats;
  Bisection out;
  std::string why = fault(m, t, o, &stats);
  if (why.empty()) {
    out.verdict = str_cat("the result is right with all ", stats.fuel_used, " rewrites\n");
    return out;
  }
  auto wrong = [&](int64_t fuel) {
    d.fuel = fuel;
    std::string fault_now = fault(m, t, o, &stats);
    if (!fault_now.empty()) why = fault_now;
    if (tried) tried(fuel, fault_now.empty());
    return !fault_now.empty();
  };
  if (wrong(0)) {
    out.verdict = str_cat(
        "the result is wrong without any rewrite: ", why,
        "\nlook at the lowering of single ops and at code generation (braze opt --check)\n");
    return out;
  }
  int64_t right = 0, bad = std::max<int64_t>(stats.fuel_used, 1);
  // How many rewrites there are is known only from a run with enough fuel.
  while (!wrong(bad)) {
    if (bad > int64_t{1} << 40) return internal("the result is wrong at times only");
    right = bad, bad *= 2;
  }
  while (bad - right > 1) {
    const int64_t middle = right + (bad - right) / 2;
    (wrong(middle) ? bad : right) = middle;
  }
  wrong(bad);
  out.fuel = bad;
  out.verdict =
      str_cat("rewrite ", bad, " (", stats.last_rewrite, ") makes the result wrong: ", why,
              "\nlook at it with BRAZE_DEBUG=6,fuel=", bad, "\n");
  return out;
}

}  // namespace braze
