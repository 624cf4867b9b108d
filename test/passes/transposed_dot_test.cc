// SPDX-License-Identifier: Apache-2.0
// Transposes of products become products the other way round, only where they exchange free dimensions.
#include "passes/transposed_dot.h"

#include <gtest/gtest.h>

#include "analysis/verify.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

// Whether no transpose is left; the program's value must not change by a bit.
bool rewrites(const std::string& body) {
  auto m = parse_hlo("HloModule t\nENTRY main {\n" + body + "}\n");
  EXPECT_TRUE(m.ok()) << m.status() << body;
  if (!m.ok()) return false;
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) {
    Literal l(p->shape);
    for (int64_t i = 0; i < l.elements(); ++i)
      l.set_float(i, ((i * 37 + 11) % 64 - 31) * 0.37 + static_cast<double>(args.size()));
    args.push_back(std::move(l));
  }
  auto want = evaluate(**m, args);
  EXPECT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE(transposed_dot(**m).ok());
  EXPECT_TRUE(verify(**m).ok()) << verify(**m);
  auto got = evaluate(**m, args);
  EXPECT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << body;
  for (auto& i : (*m)->entry()->instrs())
    if (i->is(Op::kTranspose)) return false;
  return true;
}

TEST(TransposedDot, Matrices) {
  EXPECT_TRUE(rewrites(
      "a = f32[5,7] parameter(0)\nb = f32[5,3] parameter(1)\n"
      "d = f32[7,3] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "ROOT t = f32[3,7] transpose(d), dimensions={1,0}\n"));
}

TEST(TransposedDot, BatchesAndSeveralFreeDimensions) {
  EXPECT_TRUE(rewrites(
      "a = f32[4,5,7,2] parameter(0)\nb = f32[5,4,3] parameter(1)\n"
      "d = f32[4,7,2,3] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}\n"
      "ROOT t = f32[4,3,7,2] transpose(d), dimensions={0,3,1,2}\n"));
}

TEST(TransposedDot, OtherOrdersStay) {
  EXPECT_FALSE(rewrites(
      "a = f32[5,7,2] parameter(0)\nb = f32[5,3] parameter(1)\n"
      "d = f32[7,2,3] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "ROOT t = f32[3,2,7] transpose(d), dimensions={2,1,0}\n"));
}

TEST(TransposedDot, ProductsThatAreReadTwiceStay) {
  EXPECT_FALSE(rewrites(
      "a = f32[5,7] parameter(0)\nb = f32[5,3] parameter(1)\n"
      "d = f32[7,3] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "t = f32[3,7] transpose(d), dimensions={1,0}\n"
      "ROOT r = (f32[7,3], f32[3,7]) tuple(d, t)\n"));
}

TEST(TransposedDot, SharedOperandsAreReadInPlace) {
  EXPECT_TRUE(rewrites(
      "a = f32[5,7] parameter(0)\nb = f32[3,7] parameter(1)\nt = f32[7,3] transpose(b), dimensions={1,0}\n"
      "d = f32[5,3] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "e = f32[5,7] dot(d, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
      "ROOT r = (f32[5,3], f32[5,7]) tuple(d, e)\n"));
  EXPECT_TRUE(rewrites(
      "a = f32[2,5,7] parameter(0)\nb = f32[3,2,7] parameter(1)\n"
      "t = f32[2,7,3] transpose(b), dimensions={1,2,0}\n"
      "d = f32[2,5,3] dot(a, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "e = f32[2,5,3] dot(a, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "ROOT r = f32[2,5,3] add(d, e)\n"));
}

TEST(TransposedDot, SharedOperandsOfAnotherOrderStay) {
  // The free dimensions would change places.
  EXPECT_FALSE(rewrites(
      "a = f32[5,7] parameter(0)\nb = f32[7,3,2] parameter(1)\n"
      "t = f32[7,2,3] transpose(b), dimensions={0,2,1}\n"
      "d = f32[5,2,3] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "e = f32[5,2,3] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "ROOT r = f32[5,2,3] add(d, e)\n"));
  // A batch dimension would be the innermost.
  EXPECT_FALSE(rewrites(
      "a = f32[2,5,7] parameter(0)\nb = f32[7,3,2] parameter(1)\n"
      "t = f32[2,7,3] transpose(b), dimensions={2,0,1}\n"
      "d = f32[2,5,3] dot(a, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "e = f32[2,5,3] dot(a, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "ROOT r = f32[2,5,3] add(d, e)\n"));
}

}  // namespace
}  // namespace braze
