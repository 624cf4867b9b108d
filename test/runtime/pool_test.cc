// SPDX-License-Identifier: Apache-2.0
// Pool: every item runs once, whatever the sizes, and runs from several callers don't mix.
#include "runtime/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace braze {
namespace {

void expect_each_item_once(Pool& pool, int64_t items, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(items));
  std::atomic<int64_t> shortest{items};
  pool.run(items, grain, [&](int64_t begin, int64_t end, int thread) {
    ASSERT_GE(thread, 0);
    ASSERT_LT(thread, pool.threads());
    ASSERT_LT(begin, end);
    int64_t s = shortest.load();
    while (end - begin < s && !shortest.compare_exchange_weak(s, end - begin)) {
    }
    for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)].fetch_add(1);
  });
  for (int64_t i = 0; i < items; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], 1) << i << " of " << items;
  if (items >= grain) EXPECT_GE(shortest.load(), std::max<int64_t>(1, grain / 4));
}

TEST(Pool, RunsEachItemOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    for (int64_t items : {0, 1, 2, 3, 7, 8, 9, 31, 64, 1000})
      for (int64_t grain : {1, 2, 5, 100}) expect_each_item_once(pool, items, grain);
  }
}

TEST(Pool, ManyShortRuns) {
  Pool pool(3);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 5000; ++round)
    pool.run(16, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  EXPECT_EQ(sum.load(), 5000 * 16);
}

// Runs too small to wake a worker for use one that is awake, and many of them wake one.
TEST(Pool, ManySmallRunsWakeAWorker) {
  Pool pool(2);
  std::atomic<int64_t> sum{0};
  std::atomic<bool> helped{false};
  int64_t rounds = 0;
  while (!helped && rounds < 10'000'000) {
    ++rounds;
    pool.run(7, 4, [&](int64_t begin, int64_t end, int thread) {
      sum += end - begin;
      if (thread == 1) helped = true;
    });
  }
  EXPECT_TRUE(helped);
  EXPECT_EQ(sum.load(), rounds * 7);
}

TEST(Pool, CallersTakeTurns) {
  Pool pool(3);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4, 0);
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<int64_t> sum{0};
        pool.run(9 + c, 1, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
        sums[c] += sum;
      }
    });
  for (std::thread& t : callers) t.join();
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(sums[c], 300 * (9 + c) * (8 + c) / 2);
}

}  // namespace
}  // namespace braze
