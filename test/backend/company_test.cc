// SPDX-License-Identifier: Apache-2.0
// What a kernel computes does not depend on the kernels it is compiled with: products share the code of their tiles
// only where it rounds alike. Products of few terms round each, as elementwise code does; others do not.
#include <gtest/gtest.h>

#include "test/backend/agree.h"

namespace braze {
namespace {

// How many different tiles the code of two products of `k` and `l` terms has.
int tiles(int k, int l) {
  const std::string first = std::to_string(k), second = std::to_string(l);
  auto m = parse_hlo("HloModule m\nENTRY e { a = f32[4," + first + "] parameter(0)\n b = f32[" + first +
                     ",10] parameter(1)\n c = f32[4," + second + "] parameter(2)\n d = f32[" + second +
                     ",10] parameter(3)\n"
                     " x = f32[4,10] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                     " y = f32[4,10] dot(c, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                     " ROOT t = (f32[4,10], f32[4,10]) tuple(x, y) }");
  EXPECT_TRUE(m.ok()) << m.status();
  CompileOptions o;
  o.target = "avx512";
  auto exe = compile(std::move(*m), o);
  EXPECT_TRUE(exe.ok()) << exe.status();
  auto text = code_text(*(*exe)->plan(), o, false);
  EXPECT_TRUE(text.ok()) << text.status();
  const std::string definition = "define internal void @tile.";
  int n = 0;
  for (size_t at = text->find(definition); at != std::string::npos; at = text->find(definition, at + 1)) ++n;
  return n;
}

TEST(Company, ProductsShareTilesThatRoundAlike) {
  EXPECT_EQ(tiles(16, 40), 1);
  EXPECT_EQ(tiles(3, 2), 1);
  EXPECT_EQ(tiles(3, 16), 2);
  EXPECT_EQ(tiles(16, 3), 2);
}

}  // namespace
}  // namespace braze
