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
#include "test/frontend/mlir_compare.h"

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

// The path with another ending, or "" if there is no such file.
std::string sibling(const fs::path& p, std::string_view from, std::string_view to) {
  std::string s = p.string();
  s = s.substr(0, s.size() - from.size()) + std::string(to);
  if (fs::exists(s)) return s;
  return fs::exists(s + ".gz") ? s + ".gz" : "";
}

// Reads both and compares them; true if they are the same.
bool same(const std::string& a, const std::string& b, bool attrs,
          bool (*may_be_missing)(const Op&, std::string_view, const Attr&)) {
  std::string x = read_file(a), y = read_file(b);
  auto m = read_mlir(x), n = read_mlir(y);
  if (!m.ok() || !n.ok()) return false;
  Compare c(*m, *n, attrs);
  c.may_be_missing = may_be_missing;
  std::string d = c.run();
  if (!d.empty()) std::cout << fs::path(b).filename().string() << ": " << d << "\n";
  return d.empty();
}

// Old VHLO cannot express batching dimensions of gather and scatter: they become more ops.
bool has_batching(const Module& m) {
  std::string s = print_mlir(m);
  return s.find("operand_batching_dims = [0") != s.npos ||
         s.find("input_batching_dims = [0") != s.npos;
}

// VHLO states defaults which text leaves out.
bool is_default(const Op&, std::string_view name, const Attr& a) {
  if (name == "sym_visibility" || name == "sym_name") return true;
  if (a.kind == AttrKind::kBool) return a.i == 0;
  if (name == "api_version" || name == "version" || name == "dimension") return true;
  auto v = int_list(a);
  if (!v.ok()) return false;
  int64_t usual = name == "padding" || name == "window_reversal" ? 0 : 1;
  return std::all_of(v->begin(), v->end(), [&](int64_t x) { return x == usual; });
}

TEST(MlirCorpus, StablehloBytecodeIsTheText) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files("models")) {
    if (!p.string().ends_with(".shlo.mlirbc")) continue;
    if (p.filename().string().starts_with("tf_")) continue;  // of another stage than the text
    std::string text = sibling(p, ".shlo.mlirbc", ".mlir");
    if (text.empty()) continue;
    ++(same(text, p, true, nullptr) ? good : bad);
  }
  std::cout << good << " same, " << bad << " differ\n";
  EXPECT_EQ(bad, 0);
}

TEST(MlirCorpus, OldAndNewArtifactsAgree) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files("models")) {
    if (!p.string().ends_with(".vmin.mlirbc")) continue;
    std::string newer = sibling(p, ".vmin.mlirbc", ".mlirbc"), bytes = read_file(newer);
    auto m = read_mlir(bytes);
    ASSERT_TRUE(m.ok());
    if (has_batching(*m)) continue;
    ++(same(newer, p, true, nullptr) ? good : bad);
  }
  std::cout << good << " same, " << bad << " differ\n";
  EXPECT_EQ(bad, 0);
}

// Ops that the conversion to VHLO legalises away.
bool has_chlo(const std::string& text) {
  for (const char* s : {"chlo.", "mhlo.copy", "mhlo.erf"}) {
    if (text.find(s) != text.npos) return true;
  }
  return false;
}

void count_ops(std::span<const Region> regions, std::map<std::string_view, int>* n) {
  for (const Region& r : regions) {
    for (const Block& b : r.blocks) {
      for (const Op* o : b.ops) {
        if (o->name != "stablehlo.constant") ++(*n)[o->name];
        count_ops(o->regions, n);
      }
    }
  }
}

// The artifacts went through a canonicalisation, which moves constants and, in some, merges ops.
TEST(MlirCorpus, ArtifactHasTheOpsOfTheText) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files("models")) {
    std::string name = p.filename().string();
    if (!name.ends_with(".mlirbc") || name.find(".vmin.") != name.npos ||
        name.find(".shlo.") != name.npos) {
      continue;
    }
    std::string text = sibling(p, ".mlirbc", ".mlir"), x = read_file(p), y = read_file(text);
    if (text.empty() || has_chlo(y)) continue;
    auto m = read_mlir(x), n = read_mlir(y);
    ASSERT_TRUE(m.ok() && n.ok());
    std::map<std::string_view, int> a, b;
    count_ops(m->op->regions, &a);
    count_ops(n->op->regions, &b);
    a == b ? ++good : ++bad;
  }
  std::cout << good << " same, " << bad << " differ\n";
  EXPECT_GE(good, 130);
}

TEST(MlirCorpus, VhloIsItsText) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files("conformance/stablehlo/vhlo")) {
    if (!p.string().ends_with(".mlir.bc") || is_invalid_on_purpose(p)) continue;
    ++(same(sibling(p, ".mlir.bc", ".mlir"), p, true, is_default) ? good : bad);
  }
  std::cout << good << " same, " << bad << " differ\n";
  EXPECT_EQ(bad, 0);
}

// What the printer writes reads back as the same tree.
void round_trip(const std::string& folder) {
  if (!fs::exists(shared())) GTEST_SKIP() << "no " << shared();
  int good = 0, bad = 0;
  for (const fs::path& p : files(folder)) {
    std::string bytes = read_file(p);
    std::vector<std::string_view> parts = {bytes};
    if (!is_bytecode(bytes)) parts = split_mlir(bytes);
    for (std::string_view part : parts) {
      auto m = read_mlir(part);
      if (!m.ok()) continue;
      std::string text = print_mlir(*m);
      auto n = read_mlir(text);
      std::string d = n.ok() ? Compare(*m, *n, true).run() : std::string(n.status().message());
      d.empty() ? ++good : ++bad;
      if (!d.empty() && bad <= 20) std::cout << p.string() << ": " << d << "\n";
    }
  }
  std::cout << folder << ": " << good << " modules round-trip, " << bad << " do not\n";
  EXPECT_EQ(bad, 0);
}

TEST(MlirCorpus, ModelsRoundTrip) { round_trip("models"); }
TEST(MlirCorpus, ConformanceRoundTrip) { round_trip("conformance"); }
TEST(MlirCorpus, JaxRoundTrip) { round_trip("corpus"); }

}  // namespace
}  // namespace braze::mlir
