// SPDX-License-Identifier: Apache-2.0
// Made-up arguments: the same on every call, and an error where there is no memory for them.
#include "backend/inputs.h"

#include <gtest/gtest.h>

namespace braze {
namespace {

TEST(Inputs, AreTheSameOnEveryCall) {
  const Shape s = Shape::array(Dtype::kF32, {3, 4});
  const auto a = make_input(s, "random:1", 0), b = make_input(s, "random:1", 0), c = make_input(s, "random:1", 1);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_TRUE(*a == *b);
  EXPECT_FALSE(*a == *c);
}

TEST(Inputs, NoMemoryIsAnError) {
  const Shape s = Shape::array(Dtype::kF32, {int64_t{1} << 58});
  for (const char* kind : {"random:0", "zeros", "iota"}) {
    EXPECT_EQ(make_input(s, kind, 0).status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_FALSE(make_input(Shape::tuple_of({s, s}), kind, 0).ok());
  }
}

}  // namespace
}  // namespace braze
