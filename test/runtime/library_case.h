// SPDX-License-Identifier: Apache-2.0
// For tests of native library calls: runs the root of a module natively and by the evaluator.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "plan/plan.h"
#include "runtime/library.h"
#include "text/parse.h"

namespace braze {

inline Literal random_literal(const Shape& s, std::mt19937_64& rng) {
  Literal l(s);
  std::normal_distribution<double> d;
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (is_complex(s.dtype)) l.set_complex(i, {d(rng), d(rng)});
    else if (is_float(s.dtype)) l.set_float(i, d(rng));
    else l.set_int(i, static_cast<int64_t>(rng() % 19) - 9);
  }
  return l;
}

// The root's value, computed natively; the operands of the root are parameters. Called twice, so
// that what is kept from call to call is used.
inline Literal run_native(const Module& m, const std::vector<Literal>& args, int threads) {
  const Instr& root = *m.entry()->root();
  auto call = prepare_library(root);
  EXPECT_TRUE(call != nullptr);
  if (!call) return Literal();
  std::vector<Literal> copies = args, results;
  std::vector<char*> from, to;
  for (const Shape& s : leaves(root.shape)) results.emplace_back(s);
  for (const Instr* o : root.operands) from.push_back(copies[o->parameter_number()].mutable_bytes());
  Pool pool(threads);
  for (int round = 0; round < 2; ++round) {
    to.clear();
    for (Literal& l : results) {
      for (int64_t i = 0; i < l.size_bytes(); ++i) l.mutable_bytes()[i] = static_cast<char>(0x5a);
      to.push_back(l.mutable_bytes());
    }
    EXPECT_TRUE(call->run(from, to, pool));
  }
  for (size_t i = 0; i < args.size(); ++i) EXPECT_TRUE(copies[i] == args[i]);
  return root.shape.is_tuple() ? Literal::tuple(std::move(results)) : results[0];
}

// Largest difference of elements over the largest magnitude wanted; infinite where one is NaN and
// the other is not.
inline double distance(const Literal& got, const Literal& want) {
  double worst = 0, largest = 1e-300;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const bool complex = is_complex(want.dtype());
    const std::complex<double> g = complex ? got.get_complex(i) : got.get_float(i);
    const std::complex<double> w = complex ? want.get_complex(i) : want.get_float(i);
    const bool nan = std::isnan(std::abs(w));
    if (nan != std::isnan(std::abs(g))) return std::numeric_limits<double>::infinity();
    if (nan) continue;
    worst = std::max(worst, std::abs(g - w));
    largest = std::max(largest, std::abs(w));
  }
  return worst / largest;
}

// Native at one and several threads: the same bits, and within `tolerance` of the evaluator.
inline void expect_native(const Module& m, const std::vector<Literal>& args, double tolerance,
                          const std::string& what) {
  auto want = evaluate(m, args);
  ASSERT_TRUE(want.ok()) << want.status() << what;
  const Literal got = run_native(m, args, 1);
  for (int threads : {2, 3}) EXPECT_TRUE(run_native(m, args, threads) == got) << what;
  if (tolerance == 0) EXPECT_TRUE(got == *want) << what;
  else EXPECT_LE(distance(got, *want), tolerance) << what;
}

inline void expect_native(const std::string& text, double tolerance, uint64_t seed) {
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  std::mt19937_64 rng(seed);
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) args.push_back(random_literal(p->shape, rng));
  expect_native(**m, args, tolerance, text);
}

}  // namespace braze
