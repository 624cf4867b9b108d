// SPDX-License-Identifier: Apache-2.0
#include "backend/pass_check.h"

#include "backend/compare.h"
#include "backend/inputs.h"
#include "eval/evaluator.h"

namespace braze {
namespace {

constexpr int64_t kMaxSteps = int64_t{1} << 24;

Result<Literal> value_of(const Module& m, absl::Span<const Literal> args) {
  EvalOptions o;
  o.max_steps = kMaxSteps;
  return evaluate(m, args, o);
}

}  // namespace

std::unique_ptr<PassChecker> PassChecker::create(const Module& m) {
  auto out = std::make_unique<PassChecker>();
  int64_t k = 0;
  for (const Instr* p : m.entry()->params()) {
    auto l = make_input(p->shape, "random:0", k++);
    if (!l.ok()) {
      out->value_ = l.status();
      return out;
    }
    out->arguments_.push_back(std::move(*l));
  }
  out->value_ = value_of(m, out->arguments_);
  return out;
}

Result<std::string> PassChecker::check(std::string_view pass, const Module& m) {
  if (!value_.ok()) return str_cat("check ", pass, ": not evaluated: ", value_.status().message());
  Result<Literal> now = value_of(m, arguments_);
  if (!now.ok())
    return internal("pass ", pass, " changed the program: it cannot be evaluated any more: ",
                    now.status().message());
  std::string why;
  if (!close_by_type(*now, *value_, &why))
    return internal("pass ", pass, " changed the result: ", why);
  Difference d = difference(*now, *value_);
  value_ = std::move(now);
  return str_cat("check ", pass, ": ", d.differing == 0 ? "same bits" : to_string(d));
}

}  // namespace braze
