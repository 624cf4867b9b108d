// SPDX-License-Identifier: Apache-2.0
// A fixed budget of random modules. More: ./dev fuzz modules.
#include <gtest/gtest.h>

#include "test/fuzz/module_check.h"
#include "text/print.h"

namespace braze::fuzz {
namespace {

TEST(RandomModules, EnginesAgree) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const Case c = random_case(seed);
    if (!c.module) continue;
    const Finding f = check(c, seed);
    EXPECT_FALSE(is_bad(f.verdict)) << "seed " << seed << ": " << std::string(name(f.verdict)) << " "
                                    << f.text;
    ++checked;
  }
  EXPECT_GE(checked, 240);
}

}  // namespace
}  // namespace braze::fuzz
