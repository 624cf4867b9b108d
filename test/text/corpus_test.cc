// SPDX-License-Identifier: Apache-2.0
// Real programs: every HLO text of the corpus reads, prints and reads back unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus(bool tiny_only) {
  std::vector<fs::path> files;
  fs::path root = fs::path(BRAZE_ROOT) / "../shared/models";
  if (!fs::exists(root)) root = fs::path(BRAZE_ROOT) / "../../shared/models";
  if (!fs::exists(root)) return files;
  for (auto& dir : fs::directory_iterator(root)) {
    if (!dir.is_directory()) continue;
    std::string name = dir.path().filename().string();
    if (tiny_only && name.find("_tiny") == std::string::npos) continue;
    fs::path f = dir.path() / (name + ".hlo.txt");
    if (fs::exists(f)) files.push_back(f);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string slurp(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

TEST(CorpusText, PrintAfterParseIsAFixedPoint) {
  std::vector<fs::path> files = corpus(false);
  if (files.empty()) GTEST_SKIP() << "no ../shared/models here";
  int64_t same_text = 0;
  for (const fs::path& f : files) {
    std::string text = slurp(f);
    ParseOptions options;
    options.file = f.filename().string();
    Result<std::unique_ptr<Module>> m = parse_hlo(text, options);
    ASSERT_TRUE(m.ok()) << m.status();
    for (const PrintOptions& style : {PrintOptions::short_form(), PrintOptions::long_form()}) {
      std::string once = print_hlo(**m, style);
      same_text += once == text;
      Result<std::unique_ptr<Module>> again = parse_hlo(once, options);
      ASSERT_TRUE(again.ok()) << again.status();
      ASSERT_EQ(print_hlo(**again, style), once) << f;
      ASSERT_EQ((*again)->instruction_count(), (*m)->instruction_count());
    }
  }
  // Most of the corpus is reproduced to the byte.
  RecordProperty("same_text", static_cast<int>(same_text));
  std::cout << same_text << " of " << files.size() << " texts are reproduced to the byte\n";
}

TEST(CorpusText, CanonicalFormIgnoresNames) {
  std::vector<fs::path> files = corpus(true);
  if (files.empty()) GTEST_SKIP() << "no ../shared/models here";
  for (const fs::path& f : files) {
    Result<std::unique_ptr<Module>> m = parse_hlo(slurp(f));
    ASSERT_TRUE(m.ok()) << m.status();
    std::string canonical = print_hlo(**m, PrintOptions::canonical());
    Result<std::unique_ptr<Module>> again = parse_hlo(canonical);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(print_hlo(**again, PrintOptions::canonical()), canonical) << f;
    EXPECT_EQ(print_hlo(*(*m)->clone(), PrintOptions::canonical()), canonical) << f;
  }
}

}  // namespace
}  // namespace braze
