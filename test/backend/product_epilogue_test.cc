// SPDX-License-Identifier: Apache-2.0
// What follows a product: scales that are computed once for a block of columns, arrays read where the results go,
// panels finished one by one, whole and ragged, after one block of the sum or several.
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string shape(int m, int n) { return "f32[" + std::to_string(m) + "," + std::to_string(n) + "]"; }

// max((a b - mean) * (scale / sqrt(variance + 0.1)) + shift + residual, 0)
std::string normalized(int m, int n, int k) {
  const std::string mn = shape(m, n), column = "f32[" + std::to_string(n) + "]";
  std::string t = "HloModule m\nENTRY e { a = " + shape(m, k) + " parameter(0)\n b = " + shape(k, n) +
                  " parameter(1)\n mean = " + column + " parameter(2)\n scale = " + column +
                  " parameter(3)\n x = " + column + " parameter(4)\n variance = " + column +
                  " multiply(x, x)\n shift = " + column + " parameter(5)\n residual = " + mn +
                  " parameter(6)\n p = " + mn +
                  " dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n c = f32[] constant(0.1)\n ce = " +
                  column + " broadcast(c), dimensions={}\n v = " + column + " add(variance, ce)\n r = " + column +
                  " sqrt(v)\n f = " + column + " divide(scale, r)\n";
  for (const char* name : {"mean", "f", "shift"})
    t += " " + std::string(name) + "b = " + mn + " broadcast(" + name + "), dimensions={1}\n";
  return t + " q = " + mn + " subtract(p, meanb)\n s = " + mn + " multiply(q, fb)\n u = " + mn +
         " add(s, shiftb)\n w = " + mn + " add(u, residual)\n z = f32[] constant(0)\n zb = " + mn +
         " broadcast(z), dimensions={}\n ROOT y = " + mn + " maximum(w, zb) }";
}

TEST(ProductEpilogue, NormalizedWithResidual) {
  for (int m : {2, 37, 130})
    for (int n : {5, 64, 100, 257})
      for (int k : {7, 64, 900}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        agree(normalized(m, n, k), 2e-5);
      }
}

// Many columns to few rows: blocks of columns, each for all rows.
TEST(ProductEpilogue, WideWithResidual) { agree(normalized(50, 1100, 700), 2e-5); }

// The scale depends on the row, too: nothing is computed once for the columns.
TEST(ProductEpilogue, ScaleOfRowAndColumn) {
  agree(
      "HloModule m\nENTRY e { a = f32[40,50] parameter(0)\n b = f32[50,70] parameter(1)\n r = f32[40] parameter(2)\n"
      " c = f32[70] parameter(3)\n p = f32[40,70] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      " rb = f32[40,70] broadcast(r), dimensions={0}\n cb = f32[40,70] broadcast(c), dimensions={1}\n"
      " s = f32[40,70] add(rb, cb)\n one = f32[] constant(9)\n ones = f32[40,70] broadcast(one), dimensions={}\n"
      " t = f32[40,70] add(s, ones)\n ROOT y = f32[40,70] divide(p, t) }",
      2e-5);
}

}  // namespace
}  // namespace braze
