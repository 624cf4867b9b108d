// SPDX-License-Identifier: Apache-2.0
// Rows of cholesky and triangular-solve, and the list of all rows of linear algebra.
//
// Interface: linalg_rows(). Both read one triangle only. cholesky gives zeros in the other triangle, and
// NaN everywhere for a matrix that isn't positive definite.
#include "ops/linalg.h"

#include <cmath>
#include <limits>

#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/wide.h"

namespace braze {
namespace {

bool has_field(Dtype t) { return is_float(t) || is_complex(t); }

// Elements of a stack of matrices; batch b begins at b·rows·columns.
struct Stack {
  int64_t batch, rows, columns;
  explicit Stack(const Shape& s)
      : batch(product(DimSpan(s.dims).first(s.dims.size() - 2))),
        rows(s.dims[s.dims.size() - 2]),
        columns(s.dims[s.dims.size() - 1]) {}
};

template <typename T>
auto real_part(const T& v) {
  if constexpr (is_complex_v<T>) return v.real();
  else return v;
}
template <typename T>
T conjugate(const T& v) {
  if constexpr (is_complex_v<T>) return std::conj(v);
  else return v;
}

// f(T()) with T the wide type of a float or complex element type.
template <typename F>
void with_field(Dtype t, F&& f) {
  with_wide(t, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (is_complex_v<T> || std::is_floating_point_v<T>) f(zero);
  });
}

Result<Shape> infer_cholesky(const InferContext& ctx) {
  TRY(check_form<CholeskyAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  const Shape& a = ctx.operand(0);
  if (!has_field(a.dtype))
    return invalid("stablehlo.cholesky: a must hold floats or complex numbers, got ",
                   to_string(a, false));
  if (a.rank() < 2) return law("stablehlo.cholesky (C2)", "2 <= rank(a), got ", to_string(a, false));
  if (!dims_agree(a, a.rank() - 2, a, a.rank() - 1))
    return law("stablehlo.cholesky (C3)", "dim(a, -2) = dim(a, -1), got ", to_string(a, false));
  Shape out = a;
  out.layout.clear();
  return out;
}

// L of a = L·Lᴴ for one n×n matrix given by its lower triangle; false if it isn't positive definite.
template <typename T>
bool factor(std::vector<T>& l, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    auto d = real_part(l[j * n + j]);
    for (int64_t k = 0; k < j; ++k) d -= real_part(l[j * n + k] * conjugate(l[j * n + k]));
    if (!(d > 0)) return false;
    d = std::sqrt(d);
    l[j * n + j] = T(d);
    for (int64_t i = j + 1; i < n; ++i) {
      T v = l[i * n + j];
      for (int64_t k = 0; k < j; ++k) v -= l[i * n + k] * conjugate(l[j * n + k]);
      l[i * n + j] = v / T(d);
    }
  }
  return true;
}

Result<Literal> eval_cholesky(const EvalContext& ctx) {
  const Literal& a = ctx.operand(0);
  const bool lower = ctx.as<CholeskyAttrs>().lower;
  const Stack m(a.shape());
  const int64_t n = m.rows;
  Literal out(a.shape());
  with_field(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < m.batch; ++b) {
      std::vector<T> l(n * n, T(0));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j)
          l[i * n + j] = lower ? wide_at<T>(a, (b * n + i) * n + j)
                               : conjugate(wide_at<T>(a, (b * n + j) * n + i));
      const bool definite = factor(l, n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T v = lower ? l[i * n + j] : conjugate(l[j * n + i]);
          if (!definite) v = T(std::numeric_limits<double>::quiet_NaN());
          store_wide<T>(out, (b * n + i) * n + j, v);
        }
    }
  });
  return out;
}

Result<Shape> infer_solve(const InferContext& ctx) {
  TRY(check_form<TriangularSolveAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const Shape &a = ctx.operand(0), &b = ctx.operand(1);
  if (!has_field(a.dtype) || a.dtype != b.dtype)
    return law("stablehlo.triangular_solve (C1)",
               "a and b must hold floats or complex numbers of one type, got ", to_string(a, false),
               " and ", to_string(b, false));
  if (a.rank() < 2 || a.rank() != b.rank())
    return law("stablehlo.triangular_solve (C2)", "2 <= rank(a) = rank(b), got ",
               to_string(a, false), " and ", to_string(b, false));
  const int64_t r = a.rank(), side = ctx.as<TriangularSolveAttrs>().left_side ? r - 2 : r - 1;
  bool fits = dims_agree(a, r - 2, a, r - 1) && dims_agree(a, r - 1, b, side);
  for (int64_t d = 0; d < r - 2; ++d) fits &= dims_agree(a, d, b, d);
  if (!fits)
    return law("stablehlo.triangular_solve (C3)", "a must be square, of b's batch and of dim(b, ",
               side - r, "), got ", to_string(a, false), " and ", to_string(b, false));
  Shape out = b;
  out.layout.clear();
  return out;
}

// Solves t·x = y in place for one triangular n×n matrix; t(i, j) gives its elements.
template <typename T, typename At>
void substitute(const At& t, bool lower, bool unit, int64_t n, std::vector<T>& y) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    T v = y[i];
    for (int64_t k = 0; k < step; ++k) {
      const int64_t j = lower ? k : n - 1 - k;
      v -= t(i, j) * y[j];
    }
    y[i] = unit ? v : v / t(i, i);
  }
}

Result<Literal> eval_solve(const EvalContext& ctx) {
  const auto& attrs = ctx.as<TriangularSolveAttrs>();
  const Literal &a = ctx.operand(0), &b = ctx.operand(1);
  const Stack m(a.shape()), rhs(b.shape());
  const int64_t n = m.rows, count = attrs.left_side ? rhs.columns : rhs.rows;
  Literal out(b.shape());
  // x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ: rows of b are then the right-hand sides.
  const bool transposed = attrs.transpose_a != TransposeA::kNo;
  const bool swap = transposed == attrs.left_side;  // read element (j, i) for (i, j)
  const bool conjugated = attrs.transpose_a == TransposeA::kAdjoint;
  const bool lower = attrs.lower != swap;
  with_field(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t k = 0; k < m.batch; ++k) {
      auto t = [&](int64_t i, int64_t j) {
        const T v = wide_at<T>(a, (k * n + (swap ? j : i)) * n + (swap ? i : j));
        return conjugated ? conjugate(v) : v;
      };
      for (int64_t c = 0; c < count; ++c) {
        std::vector<T> y(n);
        auto at = [&](int64_t i) {
          return k * rhs.rows * rhs.columns + (attrs.left_side ? i * count + c : c * n + i);
        };
        for (int64_t i = 0; i < n; ++i) y[i] = wide_at<T>(b, at(i));
        substitute(t, lower, attrs.unit_diagonal, n, y);
        for (int64_t i = 0; i < n; ++i) store_wide<T>(out, at(i), y[i]);
      }
    }
  });
  return out;
}

Dims square(Sampler& s) {
  Dims dims = s.dims(0, 2, 3);
  const int64_t n = s.uniform(1, 5);
  dims.push_back(n);
  dims.push_back(n);
  return dims;
}

Dtype field_type(Sampler& s) {
  return s.pick({Dtype::kF32, Dtype::kF64, Dtype::kC64, Dtype::kC128, Dtype::kF16});
}

std::unique_ptr<Module> sample_cholesky(std::mt19937_64& rng) {
  Sampler s(rng, "cholesky");
  s.root(Op::kCholesky, {s.parameter(Shape::array(field_type(s), square(s)))},
         CholeskyAttrs{s.chance(0.5)});
  return s.finish();
}

std::unique_ptr<Module> sample_solve(std::mt19937_64& rng) {
  Sampler s(rng, "triangular_solve");
  const Dtype t = field_type(s);
  const Dims a = square(s);
  Dims b = a;
  TriangularSolveAttrs attrs;
  attrs.left_side = s.chance(0.5);
  attrs.lower = s.chance(0.5);
  attrs.unit_diagonal = s.chance(0.5);
  attrs.transpose_a = s.pick({TransposeA::kNo, TransposeA::kTranspose, TransposeA::kAdjoint});
  b[b.size() - (attrs.left_side ? 1 : 2)] = s.uniform(1, 4);
  Instr* x = s.parameter(Shape::array(t, a));
  s.root(Op::kTriangularSolve, {x, s.parameter(Shape::array(t, b))}, attrs);
  return s.finish();
}

}  // namespace

OpDef cholesky_row() {
  return {.op = Op::kCholesky,
          .stablehlo = "cholesky",
          .arity = 1,
          .attrs = attrs_index<CholeskyAttrs>(),
          .infer = infer_cholesky,
          .eval = eval_cholesky,
          .step = Step::kLibrary,
          .cost = 100,
          .sample = sample_cholesky,
          .doc = "Cholesky factor of a batch of matrices: a = l·lᴴ, or uᴴ·u if not lower."};
}

OpDef triangular_solve_row() {
  return {.op = Op::kTriangularSolve,
          .stablehlo = "triangular_solve",
          .arity = 2,
          .attrs = attrs_index<TriangularSolveAttrs>(),
          .infer = infer_solve,
          .eval = eval_solve,
          .step = Step::kLibrary,
          .cost = 100,
          .sample = sample_solve,
          .doc = "Solves op(a)·x = b, or x·op(a) = b, for triangular matrices a."};
}

absl::Span<const OpDef> linalg_rows() {
  static const OpDef rows[] = {cholesky_row(),
                               triangular_solve_row(),
                               fft_row(),
                               batch_norm_training_row(),
                               batch_norm_inference_row(),
                               batch_norm_grad_row()};
  return rows;
}

}  // namespace braze
