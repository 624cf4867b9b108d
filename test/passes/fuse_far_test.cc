// SPDX-License-Identifier: Apache-2.0
// Sums that are needed late only are made where what they add up is read anyway, if nothing else keeps them.
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"
#include "passes/fuse.h"
#include "text/parse.h"

namespace braze {
namespace {

// Kernels of a program that makes y = tanh(x) + x, then a chain of many products of y, and sums columns of what
// `summed` names only for its second result.
int kernels(const std::string& summed) {
  std::string body =
      "  x = f32[512,256] parameter(0)\n  w = f32[256,256] parameter(1)\n  t = f32[512,256] tanh(x)\n"
      "  y0 = f32[512,256] add(t, x)\n";
  for (int k = 0; k < 60; ++k)
    body += str_cat("  y", k + 1, " = f32[512,256] dot(y", k, ", w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  auto m = parse_hlo(str_cat("HloModule t\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                             "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  z = f32[] constant(0)\n", body, summed,
                             "  s = f32[256] reduce(v, z), dimensions={0}, to_apply=add\n"
                             "  ROOT r = (f32[512,256], f32[256]) tuple(y60, s)\n}\n"));
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok() || !fuse(**m, FuseOptions()).ok()) return -1;
  int n = 0;
  for (auto& i : (*m)->entry()->instrs()) n += i->op == Op::kFusion;
  return n;
}

TEST(FuseFar, SumsOfWhatIsReadEarly) {
  EXPECT_EQ(kernels("  v = f32[512,256] multiply(x, x)\n"), 61);  // of the products, of y0 and the sums
}

TEST(FuseFar, ButNotOfWhatIsMadeLater) {
  EXPECT_EQ(kernels("  v = f32[512,256] multiply(x, y59)\n"), 62);
}

}  // namespace
}  // namespace braze
