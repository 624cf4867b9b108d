// SPDX-License-Identifier: Apache-2.0
// Ranges that live together share no byte, and the arena is as small as it can be where that is known.
#include "plan/offsets.h"

#include <gtest/gtest.h>

#include <random>

namespace braze {
namespace {

// Begins and ends of ranges in random order; some live to the end.
std::vector<Lifetime> random_ranges(int seed, int count) {
  std::mt19937 rng(seed);
  std::vector<Lifetime> out;
  std::vector<size_t> open;
  int64_t now = 1;
  while (static_cast<int>(out.size()) < count || !open.empty()) {
    const bool begin = static_cast<int>(out.size()) < count && (open.empty() || rng() % 2);
    if (begin) {
      open.push_back(out.size());
      out.push_back({static_cast<int64_t>(rng() % 4 ? rng() % 5000 : rng() % 200000), now++, 0});
    } else {
      const size_t k = rng() % open.size();
      out[open[k]].to = now++;
      open.erase(open.begin() + static_cast<int64_t>(k));
    }
  }
  return out;
}

void expect_apart(const std::vector<Lifetime>& r, const Offsets& o) {
  ASSERT_EQ(o.at.size(), r.size());
  for (size_t i = 0; i < r.size(); ++i) {
    EXPECT_GE(o.at[i], 0);
    EXPECT_EQ(o.at[i] % 64, 0);
    EXPECT_LE(o.at[i] + r[i].bytes, o.bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool together = r[i].from < r[j].to && r[j].from < r[i].to;
      const bool apart = o.at[i] + r[i].bytes <= o.at[j] || o.at[j] + r[j].bytes <= o.at[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

int64_t most_alive(const std::vector<Lifetime>& r) {
  int64_t most = 0;
  for (const Lifetime& at : r) {
    int64_t now = 0;
    for (const Lifetime& x : r)
      if (x.from <= at.from && at.from < x.to) now += std::max<int64_t>((x.bytes + 63) / 64 * 64, 64);
    most = std::max(most, now);
  }
  return most;
}

TEST(Offsets, RandomLifetimes) {
  double sum = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const std::vector<Lifetime> r = random_ranges(seed, 5 + seed * 3);
    const Offsets o = assign_offsets(r);
    expect_apart(r, o);
    EXPECT_GE(o.bytes, most_alive(r));
    sum += static_cast<double>(o.bytes) / static_cast<double>(most_alive(r));
  }
  EXPECT_LT(sum / 60, 1.1);
}

TEST(Offsets, NoRanges) {
  EXPECT_EQ(assign_offsets({}).bytes, 0);
}

TEST(Offsets, EmptyRangesHaveAPlace) {
  const std::vector<Lifetime> r = {{0, 1, 4}, {0, 2, 3}};
  const Offsets o = assign_offsets(r);
  EXPECT_NE(o.at[0], o.at[1]);
}

// In the order of time a small range splits the place that the next large one needs.
TEST(Offsets, LargeRangesFirst) {
  const std::vector<Lifetime> r = {{1024, 1, 3}, {64, 2, 8}, {1088, 4, 5}, {1024, 6, 7}};
  const Offsets o = assign_offsets(r);
  expect_apart(r, o);
  EXPECT_EQ(o.bytes, 1088 + 64);
}

TEST(Offsets, ManyRangesTakeOneWay) {
  const std::vector<Lifetime> r = random_ranges(7, 4000);
  EXPECT_GE(assign_offsets(r).bytes, most_alive(r));
}

}  // namespace
}  // namespace braze
