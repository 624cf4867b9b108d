// SPDX-License-Identifier: Apache-2.0
// Damaged programs: the importer answers with a module that the verifier accepts, or an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "analysis/verify.h"
#include "base/npy.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

// Changes a number, a name or a type of the text, or drops or repeats a piece of it.
std::string mutate(std::string s, std::mt19937_64& rng) {
  auto below = [&](size_t n) { return n ? rng() % n : 0; };
  static const std::string kPieces[] = {"0", "1", "2", "7", "-1", "?", "f32", "i32", "i1", "f64", "ui8",
                                        "complex<f32>", "stablehlo.add", "stablehlo.reduce",
                                        "stablehlo.while", "tensor<f32>", "tensor<2x3xf32>", "tuple<>",
                                        "!stablehlo.token", "9223372036854775807", "true", "unit"};
  for (size_t n = 1 + below(3); n > 0 && !s.empty(); --n) {
    size_t at = below(s.size());
    // Start at a word.
    while (at > 0 && (isalnum(static_cast<unsigned char>(s[at - 1])) || s[at - 1] == '.')) --at;
    size_t end = at;
    while (end < s.size() && (isalnum(static_cast<unsigned char>(s[end])) || s[end] == '.')) ++end;
    switch (below(5)) {
      case 0:
      case 1: s.replace(at, end - at, kPieces[below(std::size(kPieces))]); break;
      case 2: s.erase(at, below(20)); break;
      case 3: s.insert(at, s.substr(below(s.size()), below(60))); break;
      default: {
        // Another word of the text.
        size_t from = below(s.size());
        while (from > 0 && isalnum(static_cast<unsigned char>(s[from - 1]))) --from;
        size_t to = from;
        while (to < s.size() && isalnum(static_cast<unsigned char>(s[to]))) ++to;
        s.replace(at, end - at, s.substr(from, to - from));
      }
    }
  }
  return s;
}

TEST(ImportMutations, NeverBreak) {
  const std::string root = std::string(BRAZE_ROOT) + "/../shared/conformance/stablehlo/";
  if (!fs::exists(root)) GTEST_SKIP() << "no " << root;
  std::vector<std::string> programs;
  for (const std::string folder : {"interpret", "interpret/chlo", "vhlo", "testdata/quantized"})
    for (const auto& e : fs::directory_iterator(root + folder)) {
      if (e.path().extension() != ".mlir" || fs::file_size(e.path()) > 300000) continue;
      auto bytes = read_file(e.path().string());
      if (!bytes.ok()) continue;
      for (std::string_view part : mlir::split_mlir(*bytes)) {
        // One function of many, so that a change has something to hit.
        if (part.size() < 6000) programs.emplace_back(part);
      }
    }
  std::sort(programs.begin(), programs.end());
  // The functions of the version test hold every op.
  auto every = read_file(root + "vhlo/stablehlo_legalize_to_vhlo.1_20_0.mlir");
  ASSERT_TRUE(every.ok());
  for (size_t at = 0; (at = every->find("\nfunc.func", at)) != std::string::npos;) {
    const size_t end = every->find("\n}", at);
    if (end == std::string::npos) break;
    programs.push_back(every->substr(at, end + 2 - at));
    at = end;
  }
  std::mt19937_64 rng(7);
  const char* rounds = std::getenv("BRAZE_MUTATIONS");
  const int n = rounds ? std::atoi(rounds) : 20000;
  int read = 0, imported = 0, wrong = 0;
  for (int i = 0; i < n; ++i) {
    const std::string text = mutate(programs[rng() % programs.size()], rng);
    auto tree = mlir::read_mlir_text(text, "mutation.mlir");
    if (!tree.ok()) continue;
    ++read;
    for (const mlir::Op* op : tree->body().ops) {
      const mlir::Attr* name = op->attr("sym_name");
      if (op->name != "func.func" || !name || !op->block(0)) continue;
      ImportOptions options;
      options.entry = std::string(name->text);
      auto m = import_stablehlo(*tree, options);
      if (!m.ok()) {
        EXPECT_FALSE(m.status().message().empty());
        continue;
      }
      ++imported;
      Status s = verify(**m);
      if (!s.ok() && ++wrong <= 10) ADD_FAILURE() << s << "\n" << text;
    }
  }
  std::printf("%d mutations: %d read, %d functions imported\n", n, read, imported);
}

}  // namespace
}  // namespace braze
