// SPDX-License-Identifier: Apache-2.0
// Reads every MLIR file under ../shared: models, conformance programs, corpus, benchmark programs.
// BRAZE_CORPUS=glob restricts the paths; files that do not read are listed.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "frontend/mlir_read.h"

namespace braze::mlir {
namespace {

namespace fs = std::filesystem;

std::string shared() { return std::string(BRAZE_ROOT) + "/../shared"; }

std::string read_file(const fs::path& p) {
  std::string out;
  gzFile f = gzopen(p.c_str(), "rb");  // reads plain files as they are
  if (!f) return out;
  char buffer[1 << 16];
  for (int n; (n = gzread(f, buffer, sizeof buffer)) > 0;) out.append(buffer, n);
  gzclose(f);
  return out;
}

bool is_mlir(const fs::path& p) {
  std::string s = p.filename().string();
  for (const char* e : {".mlir", ".mlir.gz", ".mlirbc", ".mlir.bc"}) {
    if (s.ends_with(e)) return true;
  }
  return false;
}

std::vector<fs::path> files(const std::string& folder) {
  std::vector<fs::path> r;
  const char* only = std::getenv("BRAZE_CORPUS");
  for (const auto& e : fs::recursive_directory_iterator(shared() + "/" + folder)) {
    std::string s = e.path().string();
    if (e.is_regular_file() && is_mlir(e.path()) && (!only || s.find(only) != std::string::npos)) {
      r.push_back(e.path());
    }
  }
  std::sort(r.begin(), r.end());
  return r;
}

// A test input that MLIR itself rejects.
bool is_invalid_on_purpose(const fs::path& p) {
  std::string s = p.filename().string();
  return s.starts_with("invalid_vhlo_future") || s.starts_with("vhlo_attributes_invalid");
}

void read_all(const std::string& folder) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files(folder)) {
    std::string bytes = read_file(p);
    std::vector<std::string_view> parts = {bytes};
    if (!is_bytecode(bytes)) parts = split_mlir(bytes);
    for (std::string_view part : parts) {
      auto m = read_mlir(part);
      if (m.ok()) {
        ++good;
        continue;
      }
      if (is_invalid_on_purpose(p)) continue;
      if (++bad <= 20) std::cout << p.string() << ": " << m.status().message() << "\n";
    }
  }
  std::cout << folder << ": " << good << " modules read, " << bad << " failed\n";
  EXPECT_EQ(bad, 0);
}

TEST(MlirCorpus, Models) { read_all("models"); }
TEST(MlirCorpus, Conformance) { read_all("conformance"); }
TEST(MlirCorpus, Jax) { read_all("corpus"); }
TEST(MlirCorpus, Bench) { read_all("bench/progs"); }

}  // namespace
}  // namespace braze::mlir
