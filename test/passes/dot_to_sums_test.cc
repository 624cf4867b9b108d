// SPDX-License-Identifier: Apache-2.0
// Products of a vector with few computed columns become sums; other products stay, and values agree.
#include "passes/dot_to_sums.h"

#include <gtest/gtest.h>

#include <string>

#include "test/backend/agree.h"

namespace braze {
namespace {

int64_t dots_after(std::string_view text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok()) return -1;
  EXPECT_TRUE(dot_to_sums(**m).ok());
  int64_t n = 0;
  for (const auto& i : (*m)->entry()->instrs()) n += i->is(Op::kDot);
  return n;
}

// Accelerations of bodies: distances, their inverse cubes, and a product over the other bodies.
std::string bodies(const std::string& n) {
  const std::string pairs = "f32[" + n + "," + n + "]", vectors = "f32[" + n + "," + n + ",3]";
  return "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
         "ENTRY e { x = f32[" + n + ",3] parameter(0)\n m = f32[" + n + "] parameter(1)\n"
         " xi = " + vectors + " broadcast(x), dimensions={1,2}\n xj = " + vectors + " broadcast(x), dimensions={0,2}\n"
         " d = " + vectors + " subtract(xi, xj)\n q = " + vectors + " multiply(d, d)\n z = f32[] constant(0)\n"
         " s = " + pairs + " reduce(q, z), dimensions={2}, to_apply=add\n h = f32[] constant(0.01)\n"
         " hb = " + pairs + " broadcast(h), dimensions={}\n r = " + pairs + " add(s, hb)\n"
         " w = " + pairs + " rsqrt(r)\n mb = " + pairs + " broadcast(m), dimensions={1}\n f = " + pairs +
         " multiply(mb, w)\n"
         " ROOT a = f32[" + n + ",3] dot(f, d), lhs_batch_dims={0}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={1}, rhs_contracting_dims={1} }";
}

TEST(DotToSums, Bodies) {
  EXPECT_EQ(dots_after(bodies("130")), 0);
  auto exe = agree(bodies("130"), 2e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_LE(exe->stats().kernels, 2);
  EXPECT_LE(exe->stats().arena_bytes, 1 << 14);  // no array of pairs
}

// The matrix on the left, two columns of two, a contracting dimension before the batch.
TEST(DotToSums, OtherOrders) {
  const std::string text =
      "HloModule m\nENTRY e { v = f32[60,7] parameter(0)\n x = f32[60,2,7,2] parameter(1)\n"
      " y = f32[60,2,7,2] sine(x)\n z = f32[60,2,7,2] add(y, x)\n b = f32[60,7,400] broadcast(v), dimensions={0,1}\n"
      " p = f32[60,2,7,2,400] broadcast(z), dimensions={0,1,2,3}\n m = f32[60,2,7,2,400] cosine(p)\n"
      " ROOT d = f32[7,2,2] dot(m, b), lhs_batch_dims={2}, rhs_batch_dims={1}, lhs_contracting_dims={0,4}, "
      "rhs_contracting_dims={0,2} }";
  EXPECT_EQ(dots_after(text), 0);
  agree(text, 5e-5);
}

// Sums of one term, whatever the order of dimensions, and none contracted at all; 0 · -1 is summed to 0.
TEST(DotToSums, OneTerm) {
  const std::string head = "HloModule m\nENTRY e { x = f32[";
  for (const char* rest : {"6,1,5] parameter(0)\n y = f32[7,6,1] parameter(1)\n ROOT d = f32[6,5,7] dot(x, y), lhs_batch_dims={0}, "
                           "rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={2} }",
                           "1,40] parameter(0)\n y = f32[30,1] parameter(1)\n ROOT d = f32[40,30] dot(x, y), lhs_contracting_dims={0}, "
                           "rhs_contracting_dims={1} }",
                           "40] parameter(0)\n y = f32[3,30] parameter(1)\n ROOT d = f32[40,3,30] dot(x, y), lhs_contracting_dims={}, "
                           "rhs_contracting_dims={} }"}) {
    EXPECT_EQ(dots_after(head + rest), 0);
    agree(head + rest, 0);
  }
}

// Many products of two vectors, one of them with the batch last.
TEST(DotToSums, ProductsOfVectors) {
  const auto text = [](const char* n) {
    return std::string("HloModule m\nENTRY e { x = f32[") + n + ",70] parameter(0)\n y = f32[70," + n + "] parameter(1)\n ROOT d = f32[" + n +
           "] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
  };
  EXPECT_EQ(dots_after(text("100")), 0);
  EXPECT_EQ(dots_after(text("3")), 1);
  agree(text("100"), 2e-5);
}

// An image's resizing: weights of three by three taps for each pixel, whose windows are gathered with the pixels last.
TEST(DotToSums, AlongTheBatch) {
  const auto resize = [](const std::string& taps, const std::string& width) {
    const std::string image = "f32[2," + taps + ",3,5,6," + width + "]";
    return "HloModule m\nENTRY e { w = f32[6," + taps + "," + width + ",3] parameter(0)\n x = " + image + " parameter(1)\n"
           " ROOT d = f32[" + width + ",6,2,5] dot(w, x), lhs_batch_dims={2,0}, lhs_contracting_dims={3,1},"
           " rhs_batch_dims={5,4}, rhs_contracting_dims={2,1} }";
  };
  EXPECT_EQ(dots_after(resize("3", "20")), 0);
  EXPECT_EQ(dots_after(resize("3", "7")), 1);    // a short batch
  EXPECT_EQ(dots_after(resize("11", "20")), 1);  // 33 terms
  agree(resize("3", "20"), 2e-5);
  agree(resize("10", "9"), 2e-5);
  // The vector on the right, no free dimension on either side, one of size 1.
  const std::string swapped =
      "HloModule m\nENTRY e { x = f64[4,3,17] parameter(0)\n w = f64[17,1,4,3] parameter(1)\n"
      " ROOT d = f64[17,4,1] dot(x, w), lhs_batch_dims={2,0}, rhs_batch_dims={0,2}, lhs_contracting_dims={1},"
      " rhs_contracting_dims={3} }";
  EXPECT_EQ(dots_after(swapped), 0);
  agree(swapped, 1e-12);
}

TEST(DotToSums, ProductsThatStay) {
  const auto product = [](const std::string& matrix, const std::string& columns, const std::string& type) {
    return "HloModule m\nENTRY e { v = " + type + "[50,600] parameter(0)\n x = " + type + "[50,600," + columns +
           "] parameter(1)\n y = " + type + "[50,600," + columns + "] negate(x)\n ROOT d = " + type + "[50," +
           columns + "] dot(v, " + matrix + "), lhs_batch_dims={0}, rhs_batch_dims={0}, "
           "lhs_contracting_dims={1}, rhs_contracting_dims={1} }";
  };
  EXPECT_EQ(dots_after(product("y", "4", "f32")), 0);
  EXPECT_EQ(dots_after(product("x", "4", "f32")), 1);   // in memory already
  EXPECT_EQ(dots_after(product("y", "5", "f32")), 1);   // more columns
  EXPECT_EQ(dots_after(product("y", "4", "bf16")), 1);  // products would be rounded
}

}  // namespace
}  // namespace braze
