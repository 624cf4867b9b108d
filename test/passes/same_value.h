// SPDX-License-Identifier: Apache-2.0
// A pass on a program, whose value must not change by a bit.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "analysis/verify.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {

// The module of an HLO text after `pass`; arguments are numbers up to 32 times `step`. Null, and a failure: it does not parse.
template <typename Pass>
std::unique_ptr<Module> same_value_after(const std::string& text, double step, Pass pass) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status() << text;
  if (!m.ok()) return nullptr;
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) {
    Literal l(p->shape);
    for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, ((i * 37 + 11) % 64 - 31) * step);
    args.push_back(std::move(l));
  }
  auto want = evaluate(**m, args);
  EXPECT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE(pass(**m).ok());
  EXPECT_TRUE(verify(**m).ok()) << verify(**m);
  auto got = evaluate(**m, args);
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << text;
  return *std::move(m);
}

}  // namespace braze
