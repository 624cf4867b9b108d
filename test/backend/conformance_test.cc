// SPDX-License-Identifier: Apache-2.0
// StableHLO's own tests on the evaluator.
#include "backend/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace braze {
namespace {

namespace fs = std::filesystem;

void run_folder(const std::string& folder, int at_least) {
  const std::string root = std::string(BRAZE_ROOT) + "/../shared/conformance/stablehlo/" + folder;
  if (!fs::exists(root)) GTEST_SKIP() << "no " << root;
  std::vector<std::string> paths;
  for (const auto& e : fs::directory_iterator(root))
    if (e.path().extension() == ".mlir") paths.push_back(e.path().string());
  std::sort(paths.begin(), paths.end());
  int passed = 0, loosely = 0, disabled = 0, read_only = 0, failed = 0;
  for (const std::string& p : paths)
    for (const ConformanceResult& r : run_conformance_file(p, evaluator_engine())) {
      if (r.kind == ConformanceResult::kPassed) ++passed;
      else if (r.kind == ConformanceResult::kReadOnly) ++read_only;
      else if (r.kind == ConformanceResult::kLoosely) ++loosely;
      else if (r.kind == ConformanceResult::kDisabled) ++disabled;
      else if (++failed <= 500)
        ADD_FAILURE() << r.program << ": " << r.error;
    }
  std::printf("%s: %d passed, %d loosely, %d disabled, %d failed, %d read only\n", folder.c_str(),
              passed, loosely, disabled, failed, read_only);
  EXPECT_EQ(loosely, 0);
  EXPECT_LE(disabled, 6);
  EXPECT_EQ(failed, 0);
  EXPECT_GE(passed + read_only, at_least);
}

TEST(Conformance, Testdata) { run_folder("testdata", 1500); }
TEST(Conformance, Dynamic) { run_folder("testdata/dynamic", 200); }
TEST(Conformance, Quantized) { run_folder("testdata/quantized", 80); }
TEST(Conformance, Interpret) { run_folder("interpret", 200); }
TEST(Conformance, Chlo) { run_folder("interpret/chlo", 5); }

// The checks must be able to fail.
TEST(Conformance, WrongValuesFail) {
  const std::string path = testing::TempDir() + "/wrong.mlir";
  FILE* f = std::fopen(path.c_str(), "w");
  ASSERT_TRUE(f);
  std::fputs("func.func @main() {\n"
             "  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>\n"
             "  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi64>\n"
             "  func.return\n}\n", f);
  std::fclose(f);
  auto results = run_conformance_file(path, evaluator_engine());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, ConformanceResult::kFailed);
  EXPECT_NE(results[0].error.find("[1]: got 2, expected 3"), std::string::npos) << results[0].error;
}

}  // namespace
}  // namespace braze
