// SPDX-License-Identifier: Apache-2.0
// Keys of computations: names do not count, and all that lowering reads does.
#include "loop/structure_key.h"

#include <gtest/gtest.h>

#include <string>

#include "text/parse.h"

namespace braze::loop {
namespace {

Hash128 key(const std::string& entry, const std::string& combiner = "add") {
  auto m = parse_hlo("HloModule k\nc { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] " +
                     combiner + "(x, y) }\nENTRY e { " + entry + " }\n");
  EXPECT_TRUE(m.ok()) << m.status();
  return m.ok() ? computation_key(*(*m)->entry()) : Hash128{};
}

TEST(StructureKey, NamesDoNotCount) {
  EXPECT_EQ(key("a = f32[4]{0} parameter(0)\n ROOT r = f32[4]{0} negate(a)"),
            key("b = f32[4]{0} parameter(0)\n ROOT s = f32[4]{0} negate(b), metadata={op_name=\"n\"}"));
}

TEST(StructureKey, ContentsCount) {
  const std::string in = "a = f32[4,4]{1,0} parameter(0)\n b = f32[4,4]{1,0} parameter(1)\n ";
  const std::string programs[] = {
      in + "ROOT r = f32[4,4]{1,0} subtract(a, b)",
      in + "ROOT r = f32[4,4]{1,0} subtract(b, a)",
      in + "ROOT r = f32[4,4]{1,0} subtract(a, a)",
      in + "ROOT r = f32[4,4]{1,0} add(a, b)",
      in + "ROOT r = f32[4,4]{1,0} transpose(a), dimensions={1,0}",
      in + "ROOT r = f32[4,4]{1,0} transpose(a), dimensions={0,1}",
      in + "ROOT r = f32[2,4]{1,0} slice(a), slice={[0:2], [0:4]}",
      in + "ROOT r = f32[2,4]{1,0} slice(a), slice={[1:3], [0:4]}",
      in + "d = f32[4,4]{1,0} dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n ROOT r = f32[4,4]{1,0} tanh(d)",
      in + "d = f32[4,4]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = f32[4,4]{1,0} tanh(d)",
      in + "z = f32[] constant(0)\n ROOT r = f32[4]{0} reduce(a, z), dimensions={0}, to_apply=c",
      in + "z = f32[] constant(0)\n ROOT r = f32[4]{0} reduce(a, z), dimensions={1}, to_apply=c",
      in + "z = f32[] constant(-0)\n ROOT r = f32[4]{0} reduce(a, z), dimensions={1}, to_apply=c",
      "a = f32[4,5]{1,0} parameter(0)\n b = f32[4,5]{1,0} parameter(1)\n ROOT r = f32[4,5]{1,0} subtract(a, b)",
      "a = f64[4,4]{1,0} parameter(0)\n b = f64[4,4]{1,0} parameter(1)\n ROOT r = f64[4,4]{1,0} subtract(a, b)",
  };
  for (const std::string& p : programs)
    for (const std::string& q : programs) EXPECT_EQ(key(p) == key(q), &p == &q) << p << "\n" << q;
  EXPECT_FALSE(key(programs[10]) == key(programs[10], "maximum"));
}

TEST(StructureKey, OfInstructions) {
  auto m = parse_hlo("HloModule k\nENTRY e { a = f32[4]{0} parameter(0)\n n = f32[4]{0} negate(a)\n"
                     " o = f32[4]{0} negate(n)\n ROOT r = f32[4]{0} abs(o) }\n");
  ASSERT_TRUE(m.ok()) << m.status();
  const auto& list = (*m)->entry()->instrs();
  EXPECT_EQ(instr_key(*list[1]), instr_key(*list[2]));
  EXPECT_FALSE(instr_key(*list[2]) == instr_key(*list[3]));
  EXPECT_EQ(shape_key(list[0]->shape), shape_key(list[3]->shape));
}

}  // namespace
}  // namespace braze::loop
