// SPDX-License-Identifier: Apache-2.0
// Random instances of ops with intricate kernels give the evaluator's bits, at any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>
#include <string>

#include "backend/compile.h"
#include "eval/evaluator.h"
#include "ops/op_def.h"
#include "text/parse.h"
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

// NaNs are one value: which bits a combination of two has is nobody's promise.
std::string text_of(const Literal& l) {
  static const std::regex* nan = new std::regex("-?nan(\\(0x[0-9a-f]+\\))?");
  return std::regex_replace(to_string(l), *nan, "nan");
}

void expect_agree(const Module& m, std::mt19937_64& rng) {
  const std::string text = print_hlo(m);
  std::vector<Literal> args;
  for (const Instr* p : m.entry()->params()) args.push_back(values(p->shape, rng));
  auto want = evaluate(m, args);
  ASSERT_TRUE(want.ok()) << want.status() << text;
  for (int threads : {1, 2}) {
    CompileOptions options;
    options.threads = threads;
    auto exe = compile(m.clone(), options);
    ASSERT_TRUE(exe.ok()) << exe.status() << text;
    auto got = (*exe)->run(args);
    ASSERT_TRUE(got.ok()) << got.status() << text;
    EXPECT_EQ(text_of(*got), text_of(*want)) << text;
  }
}

void expect_samples_agree(Op op, int rounds, uint64_t seed) {
  std::mt19937_64 rng(seed);
  for (int round = 0; round < rounds; ++round) expect_agree(*def(op).sample(rng), rng);
}

void expect_text_agrees(const std::string& text) {
  auto m = parse_hlo("HloModule a\n"
                     "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
                     "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n" + text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  std::mt19937_64 rng(7);
  expect_agree(**m, rng);
}

TEST(Agreement, SelectAndScatter) { expect_samples_agree(Op::kSelectAndScatter, 40, 1); }
TEST(Agreement, Scatter) { expect_samples_agree(Op::kScatter, 40, 2); }
TEST(Agreement, TopK) { expect_samples_agree(Op::kTopK, 20, 3); }

TEST(Agreement, WideWindowsOfScatters) {
  for (std::string n : {"32", "64", "96", "100", "128", "192", "1024"})
    for (std::string f : {"add", "max"}) {
      expect_text_agrees("ENTRY e { x = f32[5," + n + "] parameter(0)\n i = s32[9,1] parameter(1)\n u = f32[9," + n +
                         "] parameter(2)\n ROOT r = f32[5," + n + "] scatter(x, i, u), update_window_dims={1}, "
                         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" + f + " }");
      expect_text_agrees("ENTRY e { x = f32[5,3," + n + "] parameter(0)\n i = s32[9] parameter(1)\n u = f32[3,9," + n +
                         "] parameter(2)\n ROOT r = f32[5,3," + n + "] scatter(x, i, u), update_window_dims={0,2}, "
                         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" + f + " }");
    }
}

TEST(Agreement, Scans) {
  for (std::string pad : {"pad=39_0x0_0", "pad=0_39x0_0", "pad=40_0x0_0", "pad=0_40x0_0"})
    for (std::string f : {"add", "max"}) {
      const std::string rows = pad.find("40") != std::string::npos ? "41" : "40";
      expect_text_agrees("ENTRY e { x = f32[40,7] parameter(0)\n z = f32[] constant(0.5)\n ROOT r = f32[" + rows +
                         ",7] reduce-window(x, z), window={size=40x1 " + pad + "}, to_apply=" + f + " }");
    }
  for (std::string pad : {"pad=0_0x12_0", "pad=0_0x0_12"})
    expect_text_agrees("ENTRY e { x = f32[5,12] parameter(0)\n z = f32[] constant(0.5)\n ROOT r = f32[5,13] "
                       "reduce-window(x, z), window={size=1x12 " + pad + "}, to_apply=add }");
}

}  // namespace
}  // namespace braze
