// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode: damaged input. That good input reads is mlir_corpus_test.cc's matter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "frontend/mlir_bytecode.h"

namespace braze::mlir {
namespace {

std::string shared(const std::string& path) {
  std::ifstream f(std::string(BRAZE_ROOT) + "/../shared/" + path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(f), {});
}

const char kArtifact[] =
    "conformance/stablehlo/vhlo/stablehlo_legalize_to_vhlo.1_20_0.mlir.bc";

TEST(MlirBytecode, Varints) {
  struct {
    std::string bytes;
    uint64_t value;
  } cases[] = {{"\x03", 1},
               {"\xff", 127},
               {std::string("\x02\x02", 2), 128},
               {"\xfe\xff", 16383},
               {std::string("\x04\x00\x02", 3), 16384},
               {std::string("\0\xff\xff\xff\xff\xff\xff\xff\xff", 9), UINT64_MAX}};
  for (const auto& c : cases) {
    Cursor r{c.bytes.data(), c.bytes.data() + c.bytes.size()};
    EXPECT_EQ(r.varint(), c.value);
    EXPECT_TRUE(r.ok);
    EXPECT_EQ(r.left(), 0u);
    Cursor cut{c.bytes.data(), c.bytes.data() + c.bytes.size() - 1};
    cut.varint();
    EXPECT_FALSE(cut.ok);
  }
}

TEST(MlirBytecode, RejectsOtherBytes) {
  EXPECT_FALSE(read_mlir_bytecode("").ok());
  EXPECT_FALSE(read_mlir_bytecode("ML\xefR").ok());
  auto newer = read_mlir_bytecode(std::string("ML\xefR\x0fMLIR\0", 10));
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(is_bytecode("ML\xefR rest"));
  EXPECT_FALSE(is_bytecode("module {}"));
}

TEST(MlirBytecode, PrefixesAreErrors) {
  std::string good = shared(kArtifact);
  if (good.empty()) GTEST_SKIP() << "no shared files";
  ASSERT_TRUE(read_mlir_bytecode(good).ok());
  for (size_t n = 0; n < good.size(); n += n < 2000 ? 1 : 97) {
    EXPECT_FALSE(read_mlir_bytecode(std::string_view(good).substr(0, n)).ok()) << n;
  }
}

// A changed byte gives an error or another module, never a crash.
TEST(MlirBytecode, ChangedBytes) {
  std::string good = shared(kArtifact);
  if (good.empty()) GTEST_SKIP() << "no shared files";
  int still = 0;
  uint32_t seed = 1;
  for (int k = 0; k < 1500; ++k) {
    std::string bad = good;
    for (int j = 0; j < 1 + k % 3; ++j) {
      seed = seed * 1664525 + 1013904223;
      bad[seed % bad.size()] ^= static_cast<char>(1 << (seed >> 29));
    }
    auto m = read_mlir_bytecode(bad);
    if (m.ok()) still += !print_mlir(*m).empty();
  }
  EXPECT_GT(still, 0);
}

TEST(MlirBytecode, UnknownVhloOpIsNamed) {
  std::string bytes = shared("conformance/stablehlo/vhlo/invalid_vhlo_future.mlir.bc");
  if (bytes.empty()) GTEST_SKIP() << "no shared files";
  auto m = read_mlir_bytecode(bytes);
  ASSERT_FALSE(m.ok());
  absl::string_view text = m.status().message();
  EXPECT_NE(text.find("constant_v99"), absl::string_view::npos) << text;
}

}  // namespace
}  // namespace braze::mlir
