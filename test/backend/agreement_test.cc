// SPDX-License-Identifier: Apache-2.0
// Random instances of ops with intricate kernels give the evaluator's bits, at any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backend/compile.h"
#include "eval/evaluator.h"
#include "ops/op_def.h"
#include "text/print.h"

namespace braze {
namespace {

// Few distinct values, so that comparisons tie; small integers, so that indices hit; some NaNs.
Literal values(const Shape& s, std::mt19937_64& rng) {
  Literal l(s);
  for (int64_t i = 0; i < l.elements(); ++i) {
    const double v = static_cast<double>(static_cast<int64_t>(rng() % 9) - 3);
    if (is_complex(s.dtype)) l.set_complex(i, {v, static_cast<double>(rng() % 3)});
    else if (is_float(s.dtype)) l.set_float(i, rng() % 16 == 0 ? std::nan("") : v / 2);
    else l.set_int(i, static_cast<int64_t>(v));
  }
  return l;
}

void expect_agree(Op op, int rounds, uint64_t seed) {
  std::mt19937_64 rng(seed);
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<Module> m = def(op).sample(rng);
    const std::string text = print_hlo(*m);
    std::vector<Literal> args;
    for (const Instr* p : m->entry()->params()) args.push_back(values(p->shape, rng));
    auto want = evaluate(*m, args);
    ASSERT_TRUE(want.ok()) << want.status() << text;
    for (int threads : {1, 2}) {
      CompileOptions options;
      options.threads = threads;
      auto exe = compile(m->clone(), options);
      ASSERT_TRUE(exe.ok()) << exe.status() << text;
      auto got = (*exe)->run(args);
      ASSERT_TRUE(got.ok()) << got.status() << text;
      EXPECT_EQ(to_string(*got), to_string(*want)) << text;
    }
  }
}

TEST(Agreement, SelectAndScatter) { expect_agree(Op::kSelectAndScatter, 40, 1); }

}  // namespace
}  // namespace braze
