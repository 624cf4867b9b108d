// SPDX-License-Identifier: Apache-2.0
// The custom calls: decompositions multiply back to their matrices, options and info are LAPACK's,
// markers hand values on, errors name the target.
#include "ops/custom_call.h"

#include "ops/dim_rules.h"
#include "test/ops/one_op.h"

namespace braze {
namespace {

constexpr Dtype kTypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kC64, Dtype::kC128};

double tolerance(Dtype t) { return real_of(t) == Dtype::kF64 ? 1e-12 : 2e-5; }
std::string lapack(Dtype t, std::string_view real, std::string_view complex) {
  const char letter = t == Dtype::kF32 ? 's' : t == Dtype::kF64 ? 'd' : t == Dtype::kC64 ? 'c' : 'z';
  return str_cat("lapack_", std::string(1, letter), is_complex(t) ? complex : real, "_ffi");
}

using Number = std::complex<double>;

// Matrix k of a stack, as numbers.
struct Matrix {
  int64_t rows, columns;
  std::vector<Number> v;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), v(r * c) {}
  explicit Matrix(const Literal& l, int64_t k = 0)
      : Matrix(l.shape().dims[l.shape().rank() - 2], l.shape().dims.back()) {
    for (int64_t i = 0; i < rows * columns; ++i)
      v[i] = is_complex(l.dtype()) ? l.get_complex(k * rows * columns + i)
                                   : Number(l.get_float(k * rows * columns + i));
  }
  Number& operator()(int64_t i, int64_t j) { return v[i * columns + j]; }
  Number operator()(int64_t i, int64_t j) const { return v[i * columns + j]; }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
  return c;
}
Matrix adjoint(const Matrix& a) {
  Matrix c(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) c(j, i) = std::conj(a(i, j));
  return c;
}
Matrix triangle(const Matrix& a, bool lower, bool unit = false) {
  Matrix c = a;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) {
      if (lower ? j > i : j < i) c(i, j) = 0;
      if (unit && i == j) c(i, j) = 1;
    }
  return c;
}
Matrix rows_of(const Matrix& a, int64_t n) {
  Matrix c(n, a.columns);
  for (int64_t i = 0; i < n * a.columns; ++i) c.v[i] = a.v[i];
  return c;
}
Matrix columns_of(const Matrix& a, int64_t n) { return adjoint(rows_of(adjoint(a), n)); }
Matrix diagonal(const Literal& d, int64_t k = 0) {
  const int64_t n = d.shape().dims.back();
  Matrix c(n, n);
  for (int64_t i = 0; i < n; ++i)
    c(i, i) = is_complex(d.dtype()) ? d.get_complex(k * n + i) : Number(d.get_float(k * n + i));
  return c;
}
void expect_same(const Matrix& a, const Matrix& b, double tolerance) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.columns, b.columns);
  for (size_t i = 0; i < a.v.size(); ++i)
    ASSERT_LE(std::abs(a.v[i] - b.v[i]), tolerance) << "at " << i << ": " << a.v[i] << " " << b.v[i];
}
void expect_orthonormal_columns(const Matrix& q, double tolerance) {
  Matrix one(q.columns, q.columns);
  for (int64_t i = 0; i < q.columns; ++i) one(i, i) = 1;
  expect_same(adjoint(q) * q, one, tolerance);
}

Literal random_stack(Dtype t, DimSpan dims, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> u(-1, 1);
  Literal l(Shape::array(t, dims));
  for (int64_t i = 0; i < l.elements(); ++i) {
    const double re = u(rng), im = u(rng);
    if (is_complex(t)) l.set_complex(i, {re, im});
    else l.set_float(i, re);
  }
  return l;
}
Literal as_literal(Dtype t, const Matrix& m) {
  Literal l(Shape::array(t, {m.rows, m.columns}));
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (is_complex(t)) l.set_complex(i, m.v[i]);
    else l.set_float(i, m.v[i].real());
  }
  return l;
}

Result<Literal> call(std::string_view target, const std::vector<Literal>& args,
                     std::vector<Shape> results, std::string_view config = "") {
  CustomCallAttrs a;
  a.target = std::string(target);
  a.backend_config = std::string(config);
  const Shape shape = one_or_tuple(std::move(results));
  return run(Op::kCustomCall, args, a, &shape);
}
Literal must(const Result<Literal>& r) {
  EXPECT_TRUE(r.ok()) << r.status();
  return r.ok() ? *r : Literal();
}
Shape of(Dtype t, std::initializer_list<int64_t> dims) { return Shape::array(t, dims); }

TEST(Lapack, Potrf) {
  for (Dtype t : kTypes) {
    const Matrix b(random_stack(t, {4, 4}, 1));
    Matrix a = b * adjoint(b);
    for (int i = 0; i < 4; ++i) a(i, i) += 1;
    const Literal r = must(call(lapack(t, "potrf", "potrf"), {as_literal(t, a)},
                                {of(t, {4, 4}), of(Dtype::kS32, {})}, "{uplo = 76 : ui8}"));
    const Matrix l = triangle(Matrix(r.parts()[0]), true);
    expect_same(l * adjoint(l), a, tolerance(t));
    EXPECT_EQ(r.parts()[1].get_int(0), 0);
  }
  Literal indefinite = Literal::of(Dtype::kF64, {2, 2}, {1.0, 2.0, 2.0, 1.0});
  const Literal r = must(call("lapack_dpotrf_ffi", {indefinite},
                              {of(Dtype::kF64, {2, 2}), of(Dtype::kS32, {})}, "{uplo = 85 : ui8}"));
  EXPECT_EQ(r.parts()[1].get_int(0), 2);
  // A NaN is not positive, whatever version of LAPACK is there.
  const Literal nan = Literal::of(Dtype::kF32, {2, 2}, {std::numeric_limits<float>::quiet_NaN(), 1.0f, 1.0f, 3.0f});
  const Literal n = must(call("lapack_spotrf_ffi", {nan},
                              {of(Dtype::kF32, {2, 2}), of(Dtype::kS32, {})}, "{uplo = 76 : ui8}"));
  EXPECT_EQ(n.parts()[1].get_int(0), 1);
}

TEST(Lapack, GetrfHasPivotsFromOne) {
  for (Dtype t : kTypes) {
    const Literal a = random_stack(t, {2, 4, 3}, 2);
    const Literal r = must(call(lapack(t, "getrf", "getrf"), {a},
                                {of(t, {2, 4, 3}), of(Dtype::kS32, {2, 3}), of(Dtype::kS32, {2})}));
    for (int64_t k = 0; k < 2; ++k) {
      const Matrix lu(r.parts()[0], k);
      Matrix product = columns_of(triangle(lu, true, true), 3) * rows_of(triangle(lu, false), 3);
      for (int64_t i = 2; i >= 0; --i) {
        const int64_t p = r.parts()[1].get_int(k * 3 + i) - 1;
        ASSERT_GE(p, i);
        for (int64_t j = 0; j < 3; ++j) std::swap(product(i, j), product(p, j));
      }
      expect_same(product, Matrix(a, k), tolerance(t));
    }
  }
}

TEST(Lapack, QrByReflectors) {
  for (Dtype t : kTypes) {
    const Literal a = random_stack(t, {5, 3}, 3);
    const Literal f = must(call(lapack(t, "geqrf", "geqrf"), {a}, {of(t, {5, 3}), of(t, {3})}));
    const Literal q =
        must(call(lapack(t, "orgqr", "ungqr"), {f.parts()[0], f.parts()[1]}, {of(t, {5, 3})}));
    const Matrix r = rows_of(triangle(Matrix(f.parts()[0]), false), 3);
    expect_orthonormal_columns(Matrix(q), tolerance(t));
    expect_same(Matrix(q) * r, Matrix(a), tolerance(t));
    // Qᴴ·a = r above zeros
    const Literal m = must(call(lapack(t, "ormqr", "unmqr"), {f.parts()[0], f.parts()[1], a},
                                {of(t, {5, 3})}, "{left = true, transpose = true}"));
    expect_same(rows_of(Matrix(m), 3), r, tolerance(t));
    EXPECT_EQ(must(call("Qr", {a}, {of(t, {5, 3}), of(t, {3})})), f);
    EXPECT_EQ(must(call("ProductOfElementaryHouseholderReflectors", {f.parts()[0], f.parts()[1]},
                        {of(t, {5, 3})})),
              q);
  }
}

TEST(Lapack, Geqp3PivotsColumns) {
  for (Dtype t : kTypes) {
    const Literal a = random_stack(t, {4, 3}, 4);
    const Literal free(of(Dtype::kS32, {3}));
    const Literal f = must(call(lapack(t, "geqp3", "geqp3"), {a, free},
                                {of(t, {4, 3}), of(Dtype::kS32, {3}), of(t, {3})}));
    const Literal q = must(
        call(lapack(t, "orgqr", "ungqr"), {f.parts()[0], f.parts()[2]}, {of(t, {4, 3})}));
    const Matrix r = rows_of(triangle(Matrix(f.parts()[0]), false), 3), product = Matrix(q) * r;
    Matrix want(4, 3);
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t i = 0; i < 4; ++i) want(i, j) = Matrix(a)(i, f.parts()[1].get_int(j) - 1);
    expect_same(product, want, tolerance(t));
    EXPECT_GE(std::abs(r(0, 0)), std::abs(r(1, 1)));
  }
}

TEST(Lapack, SingularValues) {
  for (std::string_view routine : {"gesdd", "gesvd"})
    for (Dtype t : kTypes)
      for (bool full : {false, true}) {
        const Literal a = random_stack(t, {2, 3, 5}, 5);
        const int64_t n = full ? 5 : 3;
        const Literal r = must(call(lapack(t, routine, routine), {a},
                                    {of(t, {2, 3, 5}), of(real_of(t), {2, 3}), of(t, {2, 3, 3}),
                                     of(t, {2, n, 5}), of(Dtype::kS32, {2})},
                                    full ? "{mode = 65 : ui8}" : "{mode = 83 : ui8}"));
        for (int64_t k = 0; k < 2; ++k) {
          const Matrix u(r.parts()[2], k), vt(r.parts()[3], k);
          expect_orthonormal_columns(u, tolerance(t));
          expect_orthonormal_columns(adjoint(vt), tolerance(t));
          expect_same(u * diagonal(r.parts()[1], k) * rows_of(vt, 3), Matrix(a, k), tolerance(t));
          EXPECT_GE(r.parts()[1].get_float(3 * k), r.parts()[1].get_float(3 * k + 1));
        }
      }
}

TEST(Lapack, HermitianEigenvalues) {
  for (Dtype t : kTypes)
    for (char uplo : {'L', 'U'}) {
      const Matrix b(random_stack(t, {4, 4}, 6));
      Matrix a = b;
      for (size_t i = 0; i < a.v.size(); ++i) a.v[i] += adjoint(b).v[i];
      const Literal r = must(call(lapack(t, "syevd", "heevd"), {as_literal(t, triangle(a, uplo == 'L'))},
                                  {of(t, {4, 4}), of(real_of(t), {4}), of(Dtype::kS32, {})},
                                  str_cat("{mode = 86 : ui8, uplo = ", +uplo, " : ui8}")));
      const Matrix v(r.parts()[0]);
      expect_orthonormal_columns(v, tolerance(t));
      expect_same(v * diagonal(r.parts()[1]) * adjoint(v), a, 2 * tolerance(t));
      for (int i = 0; i < 3; ++i)
        EXPECT_LE(r.parts()[1].get_float(i), r.parts()[1].get_float(i + 1));
    }
}

TEST(Lapack, GeneralEigenvalues) {
  for (Dtype t : kTypes) {
    const Dtype c = complex_of(real_of(t));
    const Literal a = random_stack(t, {4, 4}, 7);
    std::vector<Shape> shapes(is_complex(t) ? 1 : 2, of(t, {4}));
    shapes.insert(shapes.end(), {of(c, {4, 4}), of(c, {4, 4}), of(Dtype::kS32, {})});
    const Literal r = must(call(lapack(t, "geev", "geev"), {a}, shapes,
                                "{compute_left = 86 : ui8, compute_right = 86 : ui8}"));
    const size_t at = shapes.size() - 3;
    Matrix w(4, 4);
    for (int i = 0; i < 4; ++i)
      w(i, i) = is_complex(t) ? r.parts()[0].get_complex(i)
                              : Number(r.parts()[0].get_float(i), r.parts()[1].get_float(i));
    const Matrix l(r.parts()[at]), v(r.parts()[at + 1]);
    expect_same(Matrix(a) * v, v * w, 3 * tolerance(t));
    expect_same(adjoint(l) * Matrix(a), w * adjoint(l), 3 * tolerance(t));
    EXPECT_EQ(r.parts()[at + 2].get_int(0), 0);
    Literal bad = a;
    if (is_complex(t)) bad.set_complex(0, {kNan, 0});
    else bad.set_float(0, kNan);
    const Literal failed = must(call(lapack(t, "geev", "geev"), {bad}, shapes));
    EXPECT_NE(failed.parts()[at + 2].get_int(0), 0);
  }
}

TEST(Lapack, SchurForm) {
  for (Dtype t : kTypes) {
    const Literal a = random_stack(t, {4, 4}, 8);
    std::vector<Shape> shapes = {of(t, {4, 4}), of(t, {4, 4})};
    shapes.insert(shapes.end(), is_complex(t) ? 1 : 2, of(t, {4}));
    shapes.insert(shapes.end(), {of(Dtype::kS32, {}), of(Dtype::kS32, {})});
    const Literal r = must(call(lapack(t, "gees", "gees"), {a}, shapes,
                                "{mode = 86 : ui8, sort = 78 : ui8}"));
    const Matrix s(r.parts()[0]), v(r.parts()[1]);
    expect_orthonormal_columns(v, tolerance(t));
    expect_same(v * s * adjoint(v), Matrix(a), 2 * tolerance(t));
    for (int64_t i = 2; i < 4; ++i)
      for (int64_t j = 0; j < i - 1; ++j) EXPECT_EQ(s(i, j), Number(0));
  }
}

TEST(Lapack, HessenbergAndTridiagonalReductions) {
  for (Dtype t : kTypes) {
    const Literal a = random_stack(t, {4, 4}, 9);
    const Literal h = must(call(lapack(t, "gehrd", "gehrd"), {a},
                                {of(t, {4, 4}), of(t, {3}), of(Dtype::kS32, {})},
                                "{low = 1 : i32, high = 4 : i32}"));
    // Traces are kept by similarity.
    const Matrix ha(h.parts()[0]), aa(a);
    Number trace_h = 0, trace_a = 0;
    for (int i = 0; i < 4; ++i) trace_h += ha(i, i), trace_a += aa(i, i);
    EXPECT_LE(std::abs(trace_h - trace_a), 4 * tolerance(t));
    Matrix s(4, 4);
    for (size_t i = 0; i < s.v.size(); ++i) s.v[i] = aa.v[i] + adjoint(aa).v[i];
    const Dtype r = real_of(t);
    const Literal d = must(call(lapack(t, "sytrd", "hetrd"), {as_literal(t, s)},
                                {of(t, {4, 4}), of(r, {4}), of(r, {3}), of(t, {3}),
                                 of(Dtype::kS32, {})}, "{uplo = 76 : ui8}"));
    // So are the sums of squares.
    double want = 0, got = 0;
    for (const Number& v : s.v) want += std::norm(v);
    for (int i = 0; i < 4; ++i) got += std::pow(d.parts()[1].get_float(i), 2);
    for (int i = 0; i < 3; ++i) got += 2 * std::pow(d.parts()[2].get_float(i), 2);
    EXPECT_NEAR(got, want, 20 * tolerance(t));
  }
  expect_error(call("lapack_sgehrd_ffi", {random_stack(Dtype::kF32, {4, 4}, 9)},
                    {of(Dtype::kF32, {4, 4}), of(Dtype::kF32, {3}), of(Dtype::kS32, {})},
                    "{low = 0 : i32, high = 9 : i32}"),
               "1 <= low <= high <= 4");
}

TEST(Lapack, TridiagonalSystems) {
  for (Dtype t : kTypes)
    for (bool perturbed : {false, true}) {
      const Literal dl = random_stack(t, {2, 4}, 10), du = random_stack(t, {2, 4}, 11);
      Literal d = random_stack(t, {2, 4}, 12);
      const Literal b = random_stack(t, {2, 4, 2}, 13);
      Literal x;
      const Shape band = of(t, {2, 4});
      if (perturbed) {
        x = must(call("tridiagonal_solve_perturbed_ffi", {dl, d, du, b}, {of(t, {2, 4, 2})}));
      } else {
        x = must(call(lapack(t, "gtsv", "gtsv"), {dl, d, du, b},
                      {band, band, band, of(t, {2, 4, 2}), of(Dtype::kS32, {2})})).parts()[3];
      }
      for (int64_t k = 0; k < 2; ++k) {
        Matrix a(4, 4);
        auto at = [&](const Literal& l, int64_t i) {
          return is_complex(t) ? l.get_complex(k * 4 + i) : Number(l.get_float(k * 4 + i));
        };
        for (int64_t i = 0; i < 4; ++i) {
          a(i, i) = at(d, i);
          if (i > 0) a(i, i - 1) = at(dl, i);
          if (i < 3) a(i, i + 1) = at(du, i);
        }
        expect_same(a * Matrix(x, k), Matrix(b, k), 100 * tolerance(t));
      }
    }
}

TEST(Lapack, SingularTridiagonalSystemsStayFinite) {
  // The matrix minus an eigenvalue of its own: the solution is huge, along the eigenvector.
  const Literal off = Literal::of(Dtype::kF64, {3}, {1.0, 1.0, 1.0});
  const Literal d = Literal::of(Dtype::kF64, {3}, {0.0, 0.0, 0.0});
  const Literal b = Literal::of(Dtype::kF64, {3, 1}, {1.0, 0.5, -1.0});
  const Literal x = must(
      call("tridiagonal_solve_perturbed_ffi", {off, d, off, b}, {of(Dtype::kF64, {3, 1})}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(x.get_float(i)));
  EXPECT_NEAR(x.get_float(0) / x.get_float(2), -1, 1e-6);
  EXPECT_GT(std::abs(x.get_float(0)), 1e10);
}

TEST(Lapack, Trsm) {
  for (Dtype t : kTypes)
    for (char side : {'L', 'R'})
      for (char uplo : {'L', 'U'}) {
        Literal a = random_stack(t, {3, 3}, 14);
        for (int i = 0; i < 3; ++i) {
          if (is_complex(t)) a.set_complex(4 * i, {2, 1});
          else a.set_float(4 * i, 2);
        }
        const Literal b = random_stack(t, {3, 3}, 15);
        const std::string config = str_cat("{side = ", +side, " : ui8, uplo = ", +uplo,
                                           " : ui8, trans_x = 67 : ui8, diag = 78 : ui8}");
        const Literal x = must(call(lapack(t, "trsm", "trsm"), {a, b}, {of(t, {3, 3})}, config));
        const Matrix op = adjoint(triangle(Matrix(a), uplo == 'L'));
        expect_same(side == 'L' ? op * Matrix(x) : Matrix(x) * op, Matrix(b), 10 * tolerance(t));
      }
}

TEST(Lapack, LuAndEighOfAnyPlatform) {
  const Dtype t = Dtype::kF64;
  const Literal a = random_stack(t, {4, 4}, 16);
  const Literal lu = must(call("LuDecomposition", {a},
                               {of(t, {4, 4}), of(Dtype::kS32, {4}), of(Dtype::kS32, {4})}));
  const Matrix f(lu.parts()[0]), product = triangle(f, true, true) * triangle(f, false);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_NEAR(product(i, j).real(), Matrix(a)(lu.parts()[2].get_int(i), j).real(), 1e-12);
  const Literal s = Literal::of(t, {2, 2}, {2.0, 9.0, 1.0, 2.0});
  const Literal e = must(call("Eigh", {s}, {of(t, {2, 2}), of(t, {2})}, "1,1,100,1e-6"));
  EXPECT_NEAR(e.parts()[1].get_float(0), 1, 1e-12);
  EXPECT_NEAR(e.parts()[1].get_float(1), 3, 1e-12);
}

TEST(Lapack, EmptyMatrices) {
  const Dtype t = Dtype::kF32;
  EXPECT_TRUE(call("lapack_sgetrf_ffi", {Literal(of(t, {2, 0, 3}))},
                   {of(t, {2, 0, 3}), of(Dtype::kS32, {2, 0}), of(Dtype::kS32, {2})}).ok());
  EXPECT_TRUE(call("lapack_ssyevd_ffi", {Literal(of(t, {0, 0}))},
                   {of(t, {0, 0}), of(t, {0}), of(Dtype::kS32, {})}, "{uplo = 76 : ui8}").ok());
  EXPECT_TRUE(call("lapack_sgehrd_ffi", {Literal(of(t, {1, 1}))},
                   {of(t, {1, 1}), of(t, {0}), of(Dtype::kS32, {})}).ok());
}

TEST(Lapack, Laws) {
  const Literal a(of(Dtype::kF32, {3, 3})), tall(of(Dtype::kF32, {3, 2}));
  const Shape info = of(Dtype::kS32, {});
  expect_error(call("lapack_dpotrf_ffi", {a}, {a.shape(), info}),
               "custom_call 'lapack_dpotrf_ffi': operand 0 must hold f64 numbers, got f32[3,3]");
  expect_error(call("lapack_spotrf_ffi", {tall}, {tall.shape(), info}), "takes square matrices");
  expect_error(call("lapack_spotrf_ffi", {a, a}, {a.shape(), info}), "takes 1 operands, got 2");
  expect_error(call("lapack_sgetrf_ffi", {tall}, {tall.shape(), of(Dtype::kS32, {3}), info}),
               "its result must be (f32[3,2], s32[2], s32[]), got (f32[3,2], s32[3], s32[])");
  expect_error(call("lapack_sgesdd_ffi", {a}, {a.shape()}, "{mode = 79 : ui8}"),
               "attribute mode must be the code of one of 'SAN', got 79");
}

TEST(CustomCall, TopK) {
  const Literal x = Literal::of(Dtype::kF32, {2, 4}, {1.0, 4.0, 2.0, 4.0, 0.0, -1.0, 5.0, 3.0});
  const std::vector<Shape> shapes = {of(Dtype::kF32, {2, 2}), of(Dtype::kS32, {2, 2})};
  const Literal r = must(call("mhlo.topk", {x}, shapes, "{k = 2 : i64, largest = true}"));
  expect_floats(r.parts()[0], {4, 4, 5, 3});
  expect_ints(r.parts()[1], {1, 3, 2, 3});
  const Literal least = must(call("stablehlo.dynamic_top_k",
                                  {x, Literal::scalar_int(Dtype::kS32, 1)},
                                  {of(Dtype::kF32, {2, 1}), of(Dtype::kS32, {2, 1})},
                                  "{largest = false}"));
  expect_floats(least.parts()[0], {1, -1});
}

TEST(CustomCall, ApproxTopKRunsItsComparator) {
  Module m("m");
  Builder b(m.add_computation("main"));
  Builder c(m.add_computation("less"));
  for (int i = 0; i < 4; ++i)
    c.parameter(i, Shape::scalar(i < 2 ? Dtype::kF32 : Dtype::kS32));
  const Shape in = of(Dtype::kF32, {4, 1}), at = of(Dtype::kS32, {4, 1});
  CustomCallAttrs a;
  a.target = "ApproxTopK";
  a.backend_config = "{reduction_dim = 0 : i64, top_k = 2 : i64}";
  const Shape out = Shape::tuple_of({of(Dtype::kF32, {2, 1}), of(Dtype::kS32, {2, 1})});
  c.computation()->set_root(c.computation()->params()[0]);
  Instr* i = b.op_shaped(Op::kCustomCall, out,
                         {b.parameter(0, in), b.parameter(1, at), b.parameter(2, Shape::scalar(Dtype::kF32)),
                          b.parameter(3, Shape::scalar(Dtype::kS32))},
                         a, {c.computation()});
  ASSERT_TRUE(b.status().ok()) << b.status();
  const Literal args[] = {Literal::of(Dtype::kF32, {4, 1}, {3.0, 1.0, 2.0, 1.0}),
                          Literal::of(Dtype::kS32, {4, 1}, {0, 1, 2, 3}),
                          Literal::scalar(Dtype::kF32, kInf), Literal::scalar_int(Dtype::kS32, -1)};
  auto less = [](const Computation&, absl::Span<const Literal> v) -> Result<Literal> {
    return Literal::scalar_int(Dtype::kPred, v[0].get_float(0) < v[1].get_float(0));
  };
  auto r = eval_custom_call({*i, args, less});
  ASSERT_TRUE(r.ok()) << r.status();
  expect_floats(r->parts()[0], {1, 1});
  expect_ints(r->parts()[1], {1, 3});
}

TEST(CustomCall, SparseRowsTimesDense) {
  // [[0, 2], [3, 4], [0, 0]] · [[1, 2], [10, 20]]
  const Literal r = must(call("cpu_csr_sparse_dense_ffi",
                              {floats(Dtype::kF32, {2, 3, 4}), ints(Dtype::kS32, {0, 1, 3, 3}),
                               ints(Dtype::kS32, {1, 0, 1}),
                               Literal::of(Dtype::kF32, {2, 2}, {1.0, 2.0, 10.0, 20.0})},
                              {of(Dtype::kF32, {3, 2})}));
  expect_floats(r, {20, 40, 43, 86, 0, 0});
}

TEST(CustomCall, MarkersHandValuesOn) {
  const Literal x = floats(Dtype::kF32, {1, 2});
  for (std::string_view target : {"Sharding", "LayoutConstraint", "annotate_device_placement",
                                  "SPMDFullToShardShape", "SPMDShardToFullShape"})
    EXPECT_EQ(must(call(target, {x}, {x.shape()})), x) << target;
  expect_error(call("Sharding", {x}, {of(Dtype::kF32, {3})}), "custom_call 'Sharding'");
  expect_floats(must(call("mhlo.tan", {floats(Dtype::kF64, {0})}, {of(Dtype::kF64, {1})})), {0});
}

TEST(CustomCall, ShapeAssertions) {
  const Literal yes = Literal::scalar_int(Dtype::kPred, 1), no = Literal::scalar_int(Dtype::kPred, 0);
  EXPECT_TRUE(call("shape_assertion", {yes}, {Shape::tuple_of({})}).ok());
  expect_error(call("shape_assertion", {no}, {Shape::tuple_of({})}, "{error_message = \"a >= 1\"}"),
               "shape assertion failed: \"a >= 1\"");
}

TEST(CustomCall, UnknownTargetsNameThemselves) {
  const Literal x = floats(Dtype::kF32, {1});
  expect_error(call("my_kernel", {x}, {x.shape()}), "custom_call 'my_kernel'");
  expect_error(call("my_kernel", {x}, {x.shape()}), "braze::register_custom_call");
  expect_error(call("xla_ffi_python_cpu_callback", {x}, {x.shape()}), "Python");
  CustomCallDef d = {"my_other_kernel", nullptr,
                     [](const EvalContext& c) -> Result<Literal> { return c.operand(0); }};
  ASSERT_TRUE(register_custom_call(d).ok());
  EXPECT_EQ(must(call("my_other_kernel", {x}, {x.shape()})), x);
  EXPECT_FALSE(register_custom_call({"", nullptr, d.eval}).ok());
}

TEST(CustomCall, DictionaryText) {
  constexpr std::string_view kText =
      "{a = \"x, uplo = 1\", mhlo.backend_config = {uplo = 76 : ui8, \"left\" = true}, n = -3 : i64}";
  EXPECT_EQ(*dictionary_int(kText, "uplo", 0), 76);
  EXPECT_EQ(*dictionary_int(kText, "left", 0), 1);
  EXPECT_EQ(*dictionary_int(kText, "n", 0), -3);
  EXPECT_EQ(*dictionary_int(kText, "plo", 7), 7);
  EXPECT_EQ(dictionary_value(kText, "a"), "\"x, uplo = 1\"");
  EXPECT_FALSE(dictionary_int(kText, "a", 0).ok());
  EXPECT_EQ(dictionary_value("{broken = ", "broken"), "");
}

}  // namespace
}  // namespace braze
