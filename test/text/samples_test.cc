// SPDX-License-Identifier: Apache-2.0
// Random legal instances of every op survive text, proto and StableHLO.
#include <gtest/gtest.h>

#include <fstream>

#include "analysis/verify.h"
#include "frontend/hlo_proto.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "ops/op_def.h"
#include "text/dot.h"
#include "text/parse.h"
#include "text/print.h"
#include "text/stablehlo_print.h"

namespace braze {
namespace {

// f(module, op, seed) for a few instances of each op.
template <typename F>
void for_samples(F f) {
  for (int k = 0; k < kOpCount; ++k) {
    const OpDef& row = def(static_cast<Op>(k));
    if (!row.sample) continue;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      std::mt19937_64 rng(seed * 1000003 + k);
      std::unique_ptr<Module> m = row.sample(rng);
      ASSERT_TRUE(m) << name(row.op);
      f(*m, row.op);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Samples, ObeyTheLaws) {
  for_samples([](const Module& m, Op op) {
    ASSERT_TRUE(verify(m).ok()) << name(op) << ": " << verify(m) << print_hlo(m);
  });
}

TEST(Samples, SurviveText) {
  for_samples([](const Module& m, Op op) {
    for (const PrintOptions& style : {PrintOptions::short_form(), PrintOptions::long_form()}) {
      std::string text = print_hlo(m, style);
      Result<std::unique_ptr<Module>> back = parse_hlo(text);
      ASSERT_TRUE(back.ok()) << name(op) << ": " << back.status() << "\n" << text;
      ASSERT_EQ(print_hlo(**back, style), text) << name(op);
    }
  });
}

TEST(Samples, SurviveProtos) {
  for_samples([](const Module& m, Op op) {
    Result<std::string> bytes = write_hlo_module_proto(m);
    if (bytes.status().code() == absl::StatusCode::kUnimplemented)
      return;  // f6 and quantized types, split ≠ concat
    ASSERT_TRUE(bytes.ok()) << name(op) << ": " << bytes.status();
    Result<std::unique_ptr<Module>> back = read_hlo_module_proto(*bytes);
    ASSERT_TRUE(back.ok()) << name(op) << ": " << back.status() << "\n" << print_hlo(m);
    ASSERT_EQ(print_hlo(**back), print_hlo(m)) << name(op);
  });
}

TEST(Samples, StableHloReadsBack) {
  int64_t written = 0, all = 0;
  for_samples([&](const Module& m, Op op) {
    ++all;
    Result<std::string> text = print_stablehlo(m);
    if (text.status().code() == absl::StatusCode::kUnimplemented) return;
    ASSERT_TRUE(text.ok()) << name(op) << ": " << text.status();
    ++written;
    if (const char* dir = std::getenv("BRAZE_SAMPLES_OUT"))
      std::ofstream(str_cat(dir, "/", name(op), written, ".mlir")) << *text;
    Result<mlir::Module> tree = mlir::read_mlir_text(*text, "sample");
    ASSERT_TRUE(tree.ok()) << name(op) << ": " << tree.status() << "\n" << *text;
    Result<std::unique_ptr<Module>> back = import_stablehlo(*tree);
    if (back.status().code() == absl::StatusCode::kUnimplemented &&
        text->find("chlo.") != std::string::npos)
      return;
    ASSERT_TRUE(back.ok()) << name(op) << ": " << back.status() << "\n" << *text;
    Result<std::string> again = print_stablehlo(**back);
    ASSERT_TRUE(again.ok()) << name(op) << ": " << again.status() << "\n" << *text;
  });
  EXPECT_GT(written, all * 3 / 4);
}

TEST(Samples, Pictures) {
  for_samples([](const Module& m, Op) {
    EXPECT_EQ(print_dot(m).substr(0, 7), "digraph");
    EXPECT_NE(print_html(m).find("</html>"), std::string::npos);
  });
}

}  // namespace
}  // namespace braze
