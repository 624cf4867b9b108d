// SPDX-License-Identifier: Apache-2.0
#include "base/blocks.h"

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/give_back_memory.h"

namespace braze {
namespace {

TEST(Blocks, AreAlignedAndWhole) {
  for (const int64_t bytes : {0, 1, 64, 4097, 32 << 10, (32 << 10) + 1, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1,
                              9'000'001}) {
    char* a = take_block(bytes);
    char* b = take_block(bytes);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
    std::memset(a, 1, bytes);
    std::memset(b, 2, bytes);
    for (int64_t i = 0; i < bytes; i += 4095) ASSERT_EQ(a[i], 1);
    if (bytes > 0) EXPECT_EQ(a[bytes - 1], 1);
    give_block(a, bytes);
    give_block(b, bytes);
  }
  give_block(nullptr, 10);
}

TEST(Blocks, LargeOnesComeBack) {
  constexpr int64_t kBytes = 5 << 20;
  char* a = take_block(kBytes);
  ASSERT_TRUE(a);
  give_block(a, kBytes);
  char* b = take_block(kBytes);
  EXPECT_EQ(a, b);
  give_block(b, kBytes);
  char* huge = take_block(int64_t{300} << 20);  // not kept
  ASSERT_TRUE(huge);
  huge[(int64_t{300} << 20) - 1] = 1;
  give_block(huge, int64_t{300} << 20);
}

TEST(Blocks, TooManyAreNone) { EXPECT_EQ(take_block(int64_t{1} << 46), nullptr); }

TEST(GiveBackMemory, WhileOthersAllocate) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const Compiling compiling;
        std::vector<std::vector<int>> pieces;
        for (int k = 1; k < 50; ++k) pieces.emplace_back(k * 20, k);
        for (int k = 1; k < 50; ++k) ASSERT_EQ(pieces[k - 1].back(), k);
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace braze
