// SPDX-License-Identifier: Apache-2.0
#include "base/fuel.h"

#include <gtest/gtest.h>

namespace braze {
namespace {

TEST(Fuel, WithoutAScopeThereIsNoLimit) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(take_fuel("p", "x"));
}

TEST(Fuel, LimitsAndNamesTheLast) {
  std::string fired;
  FuelScope outer(2, [&](int64_t n, std::string_view pass, std::string_view what) {
    fired += std::to_string(n) + std::string(pass) + std::string(what) + ";";
  });
  EXPECT_TRUE(take_fuel("p", "a"));
  {
    FuelScope inner(0);
    EXPECT_FALSE(take_fuel("q", "z"));
    EXPECT_EQ(inner.used(), 0);
  }
  EXPECT_TRUE(take_fuel("p", "b"));
  EXPECT_FALSE(take_fuel("p", "c"));
  EXPECT_EQ(outer.used(), 2);
  EXPECT_EQ(outer.last(), "p b");
  EXPECT_EQ(fired, "1pa;2pb;");
}

}  // namespace
}  // namespace braze
