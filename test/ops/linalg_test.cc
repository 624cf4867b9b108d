// SPDX-License-Identifier: Apache-2.0
// Known answers and laws of cholesky, triangular-solve, fft and batch normalisation.
#include "test/ops/one_op.h"

namespace braze {
namespace {

Literal matrix(Dtype t, DimSpan dims, const ComplexNumbers& v) {
  Literal l(Shape::array(t, dims));
  for (size_t i = 0; i < v.size(); ++i) {
    if (is_complex(t)) l.set_complex(i, v[i]);
    else l.set_float(i, v[i].real());
  }
  return l;
}

void expect_close(const Literal& l, const ComplexNumbers& want, double tolerance = 1e-12) {
  ASSERT_EQ(l.elements(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    const std::complex<double> got =
        is_complex(l.dtype()) ? l.get_complex(i) : std::complex<double>(l.get_float(i));
    EXPECT_LE(std::abs(got - want[i]), tolerance * std::max(1.0, std::abs(want[i])))
        << "at " << i << ": " << got << " for " << want[i];
  }
}

constexpr std::complex<double> I(0, 1);

TEST(Cholesky, ReadsOneTriangleOfABatch) {
  const Literal a = matrix(Dtype::kF64, {2, 2, 2}, {4, 99, 2, 5, 9, 99, 3, 2});
  expect_close(value(Op::kCholesky, {a}, CholeskyAttrs{true}), {2, 0, 1, 2, 3, 0, 1, 1});
  const Literal u = matrix(Dtype::kF64, {2, 2}, {4, 2, 99, 5});
  expect_close(value(Op::kCholesky, {u}, CholeskyAttrs{false}), {2, 1, 0, 2});
}

TEST(Cholesky, Complex) {
  // l = [[2, 0], [1 + i, 3]]
  const Literal a = matrix(Dtype::kC128, {2, 2}, {4.0, 99, 2.0 + 2.0 * I, 11});
  expect_close(value(Op::kCholesky, {a}, CholeskyAttrs{true}), {2, 0, 1.0 + I, 3});
}

TEST(Cholesky, NanWhereNotPositiveDefinite) {
  const Literal r = value(Op::kCholesky, {matrix(Dtype::kF32, {2, 2}, {1, 2, 2, 1})}, CholeskyAttrs{true});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(r.get_float(i)));
}

TEST(Cholesky, Laws) {
  expect_error(run(Op::kCholesky, {floats(Dtype::kF32, {1, 2})}, CholeskyAttrs{}),
               "stablehlo.cholesky (C2): 2 <= rank(a), got f32[2]");
  expect_error(run(Op::kCholesky, {Literal(Shape::array(Dtype::kF32, {2, 3}))}, CholeskyAttrs{}),
               "stablehlo.cholesky (C3): dim(a, -2) = dim(a, -1), got f32[2,3]");
  expect_error(run(Op::kCholesky, {Literal(Shape::array(Dtype::kS32, {2, 2}))}, CholeskyAttrs{}),
               "floats or complex");
}

// a·x or x·a for every combination of flags gives b back.
TEST(TriangularSolve, EveryFlag) {
  const ComplexNumbers a = {2.0, 1.0 - I, 3.0 * I, 1.0 + I, 4.0, -1.0, 0.5, 2.0, 3.0 - I};
  const ComplexNumbers b = {1.0, 2.0 * I, -1.0, 3.0, 1.0 + I, 0.5, 2.0, -2.0, I};
  for (int flags = 0; flags < 24; ++flags) {
    TriangularSolveAttrs t;
    t.left_side = flags & 1;
    t.lower = flags & 2;
    t.unit_diagonal = flags & 4;
    t.transpose_a = static_cast<TransposeA>(flags / 8);
    const Literal x = value(Op::kTriangularSolve, {matrix(Dtype::kC128, {3, 3}, a),
                                                   matrix(Dtype::kC128, {3, 3}, b)}, t);
    auto at = [&](int i, int j) -> std::complex<double> {  // op(triangle of a)
      if (t.transpose_a != TransposeA::kNo) std::swap(i, j);
      if (i == j && t.unit_diagonal) return 1;
      if (i != j && (i > j) != t.lower) return 0;
      return t.transpose_a == TransposeA::kAdjoint ? std::conj(a[i * 3 + j]) : a[i * 3 + j];
    };
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        std::complex<double> sum = 0;
        for (int k = 0; k < 3; ++k)
          sum += t.left_side ? at(i, k) * x.get_complex(k * 3 + j)
                             : x.get_complex(i * 3 + k) * at(k, j);
        EXPECT_LE(std::abs(sum - b[i * 3 + j]), 1e-12) << "flags " << flags;
      }
  }
}

TEST(TriangularSolve, Laws) {
  const Literal a = Literal(Shape::array(Dtype::kF32, {2, 3, 3}));
  auto solve = [&](Dtype t, DimSpan dims, bool left) {
    return run(Op::kTriangularSolve, {a, Literal(Shape::array(t, dims))},
               TriangularSolveAttrs{.left_side = left});
  };
  expect_error(solve(Dtype::kF64, {2, 3, 1}, true), "stablehlo.triangular_solve (C1)");
  expect_error(solve(Dtype::kF32, {3, 1}, true), "stablehlo.triangular_solve (C2)");
  expect_error(solve(Dtype::kF32, {2, 1, 3}, true), "stablehlo.triangular_solve (C3)");
  expect_error(solve(Dtype::kF32, {1, 3, 3}, true), "stablehlo.triangular_solve (C3)");
  EXPECT_TRUE(solve(Dtype::kF32, {2, 1, 3}, false).ok());
}

TEST(Fft, PrimeLength) {
  const Literal x = matrix(Dtype::kC128, {7}, {1, -4, 9, 4, 2.5, -6, 14});
  expect_close(value(Op::kFft, {x}, FftAttrs{FftType::kFft, {7}}), {{20.5, 0.0}, {0.711037575352667,
                -1.2017776069791548}, {0.12456776881136644, 25.229705729738242},
                {-7.585605344164035, 18.074987672863756}, {-7.585605344164035,
                -18.074987672863756}, {0.12456776881136644, -25.229705729738242},
                {0.711037575352667, 1.2017776069791548}});
}

TEST(Fft, RealTransformsInvertEachOther) {
  for (int64_t n : {1, 2, 3, 4, 7, 8, 12, 97, 100, 360}) {
    Literal x(Shape::array(Dtype::kF64, {2, n}));
    ComplexNumbers want;
    for (int64_t i = 0; i < 2 * n; ++i) {
      x.set_float(i, std::cos(static_cast<double>(i * i)));
      want.push_back(x.get_float(i));
    }
    const Literal y = value(Op::kFft, {x}, FftAttrs{FftType::kRfft, {n}});
    EXPECT_EQ(y.shape(), Shape::array(Dtype::kC128, {2, n / 2 + 1}));
    expect_close(value(Op::kFft, {y}, FftAttrs{FftType::kIrfft, {n}}), want, 1e-14);
  }
}

TEST(Fft, TwoDimensions) {
  Literal x(Shape::array(Dtype::kF64, {3, 4}));
  for (int i = 0; i < 12; ++i) x.set_float(i, i);
  expect_close(value(Op::kFft, {x}, FftAttrs{FftType::kRfft, {3, 4}}), {{66.0, 0.0}, {-6.0, 6.0},
                {-6.0, 0.0}, {-24.0, 13.856406460551018}, {0.0, 0.0}, {0.0, 0.0}, {-24.0,
                -13.856406460551018}, {0.0, 0.0}, {0.0, 0.0}});
}

TEST(Fft, Laws) {
  const Literal c(Shape::array(Dtype::kC64, {4, 5})), f(Shape::array(Dtype::kF32, {4, 5}));
  expect_error(run(Op::kFft, {c}, FftAttrs{FftType::kFft, {3, 4, 5}}), "stablehlo.fft (C1)");
  expect_error(run(Op::kFft, {f}, FftAttrs{FftType::kFft, {5}}), "stablehlo.fft (C2)");
  expect_error(run(Op::kFft, {c}, FftAttrs{FftType::kRfft, {5}}), "stablehlo.fft (C2)");
  expect_error(run(Op::kFft, {c}, FftAttrs{FftType::kFft, {}}), "stablehlo.fft (C3)");
  expect_error(run(Op::kFft, {f}, FftAttrs{FftType::kRfft, {4}}), "stablehlo.fft (C4)");
  expect_error(run(Op::kFft, {c}, FftAttrs{FftType::kIrfft, {10}}),
               "stablehlo.fft (C5): dim(operand, 1) must be 6 for fft_length 10, got c64[4,5]");
}

TEST(BatchNorm, TheSpecificationsExamples) {
  Literal x(Shape::array(Dtype::kF64, {2, 2, 2}));
  const double values[] = {1, 2, 3, 4, 3, 4, 1, 2};
  for (int i = 0; i < 8; ++i) x.set_float(i, values[i]);
  const Literal one = floats(Dtype::kF64, {1, 1});
  const BatchNormAttrs a{0.0, 2};
  const Literal t = value(Op::kBatchNormTraining, {x, one, one}, a);
  expect_close(t.parts()[0], {0, 0, 2, 2, 2, 2, 0, 0});
  expect_close(t.parts()[1], {2, 3});
  expect_close(t.parts()[2], {1, 1});
  const Literal mean = floats(Dtype::kF64, {2, 3});
  expect_close(value(Op::kBatchNormInference, {x, one, one, mean, one}, a), {0, 0, 2, 2, 2, 2, 0, 0});
  Literal grad(x.shape());
  for (int i = 0; i < 8; ++i) grad.set_float(i, 0.1);
  const Literal g = value(Op::kBatchNormGrad, {x, one, mean, one, grad}, a);
  expect_close(g.parts()[0], ComplexNumbers(8, 0));
  expect_close(g.parts()[1], {0, 0});
  expect_close(g.parts()[2], {0.4, 0.4});
}

TEST(BatchNorm, Laws) {
  const Literal x(Shape::array(Dtype::kF32, {2, 3})), three = floats(Dtype::kF32, {1, 1, 1});
  expect_error(run(Op::kBatchNormTraining, {x, three, three}, BatchNormAttrs{0, 2}),
               "stablehlo.batch_norm_training (C1)");
  expect_error(run(Op::kBatchNormTraining, {x, three, three}, BatchNormAttrs{0, 0}),
               "stablehlo.batch_norm_training (C3): size(scale) = dim(operand, 0) = 2, got f32[3]");
  const Literal doubles = floats(Dtype::kF64, {1, 1, 1});
  expect_error(run(Op::kBatchNormInference, {x, three, three, three, doubles}, BatchNormAttrs{0, 1}),
               "stablehlo.batch_norm_inference (C2)");
  const Literal y(Shape::array(Dtype::kF32, {3, 3}));
  expect_error(run(Op::kBatchNormGrad, {x, three, three, three, y}, BatchNormAttrs{0, 1}),
               "stablehlo.batch_norm_grad (C3)");
}

}  // namespace
}  // namespace braze
