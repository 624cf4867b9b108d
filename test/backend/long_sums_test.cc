// SPDX-License-Identifier: Apache-2.0
// Sums of many terms keep their digits, whichever dimension is summed: no lane adds thousands of terms
// to one accumulator.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/compile.h"
#include "codegen/target.h"
#include "ops/builder.h"

namespace braze {
namespace {

// The largest relative error of the sums along `axis` of an f32 array of numbers near 0.1.
double error_of_sums(DimSpan dims, int64_t axis, bool square) {
  auto m = std::make_unique<Module>("sums");
  Computation* c = m->add_computation("main");
  m->set_entry(c);
  Builder b(c);
  const Shape shape = Shape::array(Dtype::kF32, dims);
  Instr* x = b.parameter(0, shape);
  c->set_root(b.reduce(Op::kAdd, square ? b.mul(x, x) : x, b.scalar(Dtype::kF32, 0), {axis}));
  EXPECT_TRUE(b.status().ok()) << b.status();
  Literal in(shape);
  for (int64_t i = 0; i < in.elements(); ++i)
    in.set_float(i, 0.1 + 0.01 * std::sin(static_cast<double>(i)));
  auto exe = compile(std::move(m));
  EXPECT_TRUE(exe.ok()) << exe.status();
  if (!exe.ok()) return 1;
  auto got = (*exe)->run({{in}});
  EXPECT_TRUE(got.ok()) << got.status();
  if (!got.ok()) return 1;
  const int64_t kept = dims[1 - axis], step = axis == 0 ? dims[1] : 1, row = axis == 0 ? 1 : dims[1];
  double most = 0;
  for (int64_t k = 0; k < kept; ++k) {
    long double sum = 0;
    for (int64_t i = 0; i < dims[axis]; ++i) {
      const float v = static_cast<float>(in.get_float(k * row + i * step));
      sum += square ? v * v : v;
    }
    most = std::max(most, static_cast<double>(std::fabs((got->get_float(k) - sum) / sum)));
  }
  return most;
}

TEST(LongSums, KeepTheirDigits) {
  for (int64_t n : {512, 4096, 50003})  // shorter columns have one accumulator
    for (int64_t kept : {3, 80})
      for (bool square : {false, true}) {
        EXPECT_LT(error_of_sums({n, kept}, 0, square), 4e-7) << n << " rows of " << kept;
        // Each lane of a few registers sums its share of a row: more terms where registers are narrow.
        const double most = codegen::host_target().avx512 ? 4e-7 : 5e-7;
        EXPECT_LT(error_of_sums({kept, n}, 1, square), most) << kept << " rows of " << n;
      }
}

// Where rows and columns are summed in one pass.
TEST(LongSums, OfBothDimensionsKeepTheirDigits) {
  for (int64_t n : {4096, 50003}) {
    auto m = std::make_unique<Module>("sums");
    Computation* c = m->add_computation("main");
    m->set_entry(c);
    Builder b(c);
    const Shape shape = Shape::array(Dtype::kF32, {n, 48});
    Instr* x = b.parameter(0, shape);
    Instr* zero = b.scalar(Dtype::kF32, 0);
    c->set_root(b.tuple({b.reduce(Op::kAdd, x, zero, {0}), b.reduce(Op::kAdd, x, zero, {1})}));
    ASSERT_TRUE(b.status().ok()) << b.status();
    Literal in(shape);
    for (int64_t i = 0; i < in.elements(); ++i) in.set_float(i, 0.1 + 0.01 * std::sin(static_cast<double>(i)));
    auto exe = compile(std::move(m));
    ASSERT_TRUE(exe.ok()) << exe.status();
    EXPECT_EQ((*exe)->stats().kernels, 1);
    auto got = (*exe)->run({{in}});
    ASSERT_TRUE(got.ok()) << got.status();
    for (int64_t k = 0; k < 48; ++k) {
      long double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += in.get_float(i * 48 + k);
      EXPECT_LT(std::fabs((got->parts()[0].get_float(k) - sum) / sum), 4e-7) << n << " rows, column " << k;
    }
  }
}

}  // namespace
}  // namespace braze
