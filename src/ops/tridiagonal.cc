// SPDX-License-Identifier: Apache-2.0
#include "ops/tridiagonal.h"

#include <cmath>
#include <limits>

#include "ops/dim_rules.h"
#include "ops/lapack.h"

namespace braze {
namespace {

// One system in T, factored as it is read: row i of u holds the diagonal and two bands above it.
template <typename T>
class Elimination {
 public:
  using R = lapack::Real<T>;

  Elimination(const T* lower, const T* diagonal, const T* upper, int64_t n, std::vector<T>& x,
              int64_t width)
      : lower_(lower), diagonal_(diagonal), upper_(upper), n_(n), width_(width), x_(x), u_(n) {}

  // x holds the right-hand sides, row-major n×width, and then the solution.
  void solve() {
    if (n_ == 0) return;
    u_[0] = {diagonal_[0], n_ > 1 ? upper_[0] : T(0), T(0)};
    scale_ = std::abs(u_[0].a) + std::abs(u_[0].b);
    for (int64_t k = 0; k + 1 < n_; ++k) eliminate(k);
    R greatest = 0;
    for (const Row& r : u_)
      greatest = std::max({greatest, std::abs(r.a), std::abs(r.b), std::abs(r.c)});
    const R perturbation = std::numeric_limits<R>::epsilon() * greatest;
    for (int64_t k = n_ - 1; k >= 0; --k) substitute(k, perturbation);
  }

 private:
  struct Row {
    T a, b, c;
  };

  // Removes the element of row k+1 below the pivot of row k, exchanging them if that is more stable.
  void eliminate(int64_t k) {
    const T below = lower_[k + 1], diagonal = diagonal_[k + 1];
    const T above = k + 2 < n_ ? upper_[k + 1] : T(0);
    const R next_scale = std::abs(below) + std::abs(diagonal) + std::abs(above);
    Row& row = u_[k];
    Row& next = u_[k + 1];
    next = {diagonal, above, T(0)};
    if (below == T(0)) {
      scale_ = next_scale;
      return;
    }
    const R here = row.a == T(0) ? R(0) : std::abs(row.a) / scale_;
    if (std::abs(below) / next_scale <= here) {
      const T factor = below / row.a;
      next.a -= factor * row.b;
      for (int64_t j = 0; j < width_; ++j) at(k + 1, j) -= factor * at(k, j);
      scale_ = next_scale;
      return;
    }
    const T factor = row.a / below, old = row.b;
    row = {below, diagonal, above};
    next.a = old - factor * diagonal;
    next.b = -factor * above;
    for (int64_t j = 0; j < width_; ++j) {
      const T first = at(k, j);
      at(k, j) = at(k + 1, j);
      at(k + 1, j) = first - factor * at(k, j);
    }
    scale_ = std::abs(next.a) + std::abs(next.b);
  }

  void substitute(int64_t k, R perturbation) {
    T pivot = u_[k].a;
    for (int64_t j = 0; j < width_; ++j) {
      if (k + 1 < n_) at(k, j) -= u_[k].b * at(k + 1, j);
      if (k + 2 < n_) at(k, j) -= u_[k].c * at(k + 2, j);
    }
    grow(pivot, perturbation, k);
    for (int64_t j = 0; j < width_; ++j) at(k, j) *= T(1) / pivot;
  }

  // Grows the pivot, or scales the row, until the division cannot overflow.
  void grow(T& pivot, R perturbation, int64_t k) {
    const R least = std::numeric_limits<R>::min(), great = 1 / least;
    R most = 0;
    for (int64_t j = 0; j < width_; ++j) most = std::max(most, std::abs(at(k, j)));
    R step = std::copysign(std::max(std::abs(perturbation), least), std::real(pivot));
    // Doubling leaves the range of the type after this many steps.
    for (int round = 0; round < 2200; ++round) {
      const R size = std::abs(pivot);
      if (!(size < 1)) return;
      if (size < least && size != 0 && !(most * least > size)) {
        pivot *= great;
        for (int64_t j = 0; j < width_; ++j) at(k, j) *= great;
        return;
      }
      if (size >= least && !(most > size * great)) return;
      pivot += step;
      step *= 2;
    }
  }

  T& at(int64_t i, int64_t j) { return x_[i * width_ + j]; }

  const T *lower_, *diagonal_, *upper_;
  int64_t n_, width_;
  std::vector<T>& x_;
  std::vector<Row> u_;
  R scale_ = 0;
};

template <typename T>
Literal solve(const EvalContext& ctx) {
  const Literal& rhs = ctx.operand(3);
  const Shape& s = rhs.shape();
  const int64_t n = s.dims[s.rank() - 2], width = s.dims.back();
  Literal out(s);
  auto to = out.mutable_data<T>();
  const int64_t batch = product(DimSpan(s.dims).first(s.dims.size() - 2));
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<T> x(rhs.data<T>().begin() + b * n * width, rhs.data<T>().begin() + (b + 1) * n * width);
    const T* bands[3];
    for (int k = 0; k < 3; ++k) bands[k] = ctx.operand(k).data<T>().data() + b * n;
    Elimination<T>(bands[0], bands[1], bands[2], n, x, width).solve();
    std::copy(x.begin(), x.end(), to.begin() + b * n * width);
  }
  return out;
}

}  // namespace

Status check_tridiagonal(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                         const Shape& result) {
  if (operands.size() != 4) return invalid("takes 4 operands, got ", operands.size());
  const Shape& rhs = *operands[3];
  const bool field = rhs.dtype == Dtype::kF32 || rhs.dtype == Dtype::kF64 || is_complex(rhs.dtype);
  if (!field || rhs.rank() < 2)
    return invalid("operand 3 must be matrices of f32, f64, c64 or c128, got ",
                   to_string(rhs, false));
  const Shape band = Shape::array(rhs.dtype, DimSpan(rhs.dims).first(rhs.dims.size() - 1));
  for (int k = 0; k < 3; ++k)
    if (!shapes_agree(*operands[k], band))
      return invalid("operand ", k, " must be ", to_string(band, false), ", got ",
                     to_string(*operands[k], false));
  if (shapes_agree(rhs, result)) return absl::OkStatus();
  return invalid("its result must be ", to_string(rhs, false), ", got ", to_string(result, false));
}

Result<Literal> eval_tridiagonal(const EvalContext& ctx) {
  switch (ctx.operand(3).dtype()) {
    case Dtype::kF32: return solve<float>(ctx);
    case Dtype::kF64: return solve<double>(ctx);
    case Dtype::kC64: return solve<std::complex<float>>(ctx);
    default: return solve<std::complex<double>>(ctx);
  }
}

}  // namespace braze
