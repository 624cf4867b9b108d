// SPDX-License-Identifier: Apache-2.0
// Custom calls "lapack_<type><routine>_ffi", as JAX emits them for the CPU: batches of matrices in the
// last two dimensions, options as character codes in the backend_config dictionary, LAPACK's info (and
// one-based pivots) among the results.
//
// Interface: lapack_calls(). Each routine is a function over T; the check compares all result shapes
// with those its operands imply.
#include <cmath>
#include <string>

#include "ops/custom_call.h"
#include "ops/dim_rules.h"
#include "ops/lapack.h"

namespace braze {
namespace {

using lapack::ColumnStack;
using lapack::Complex;
using lapack::Int;
using lapack::Real;

// Option characters of a call, each one of `allowed`.
Result<char> option(const CustomCallAttrs& a, std::string_view key, std::string_view allowed) {
  ASSIGN(const int64_t v, dictionary_int(a.backend_config, key, allowed[0]));
  if (v > 0 && v < 128 && allowed.find(static_cast<char>(v)) != std::string_view::npos)
    return static_cast<char>(v);
  return invalid("attribute ", key, " must be the code of one of '", allowed, "', got ", v);
}

// Dimensions of a stack of matrices, and shapes beside it.
struct Sizes {
  Dims batch;
  int64_t m = 0, n = 0, k = 0;  // rows, columns, the less of both
  Dtype type, real;
  explicit Sizes(const Shape& s)
      : batch(s.dims.begin(), s.dims.end() - 2),
        m(s.dims[s.dims.size() - 2]),
        n(s.dims.back()),
        k(std::min(m, n)),
        type(s.dtype),
        real(real_of(s.dtype)) {}
  int64_t count() const { return product(batch); }
  Shape shape(Dtype t, std::initializer_list<int64_t> more) const {
    Dims d = batch;
    d.insert(d.end(), more.begin(), more.end());
    return Shape::array(t, d);
  }
  Shape info() const { return shape(Dtype::kS32, {}); }
};

// Where a call's results are written.
struct Results {
  explicit Results(const EvalContext& ctx) {
    const Shape& s = ctx.instr.shape;
    single = !s.is_tuple();
    if (single) parts.emplace_back(s);
    else
      for (const Shape& t : s.tuple) parts.emplace_back(t);
  }
  template <typename U>
  U* data(size_t i) {
    return parts[i].mutable_data<U>().data();
  }
  Literal& operator[](size_t i) { return parts[i]; }
  Literal take() { return single ? std::move(parts[0]) : Literal::tuple(std::move(parts)); }
  bool single = false;
  std::vector<Literal> parts;
};

// ---- evaluation of each routine ----

template <typename T>
Result<Literal> potrf(const EvalContext& ctx) {
  ASSIGN(const char uplo, option(ctx.as<CustomCallAttrs>(), "uplo", "LU"));
  ColumnStack<T> a(ctx.operand(0));
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    out.data<Int>(1)[b] = lapack::potrf(uplo, static_cast<Int>(a.rows), a.at(b));
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> getrf(const EvalContext& ctx) {
  ColumnStack<T> a(ctx.operand(0));
  const int64_t k = std::min(a.rows, a.columns);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    out.data<Int>(2)[b] = lapack::getrf(static_cast<Int>(a.rows), static_cast<Int>(a.columns),
                                        a.at(b), out.data<Int>(1) + b * k);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> geqrf(const EvalContext& ctx) {
  ColumnStack<T> a(ctx.operand(0));
  const int64_t k = std::min(a.rows, a.columns);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    lapack::geqrf(static_cast<Int>(a.rows), static_cast<Int>(a.columns), a.at(b),
                  out.data<T>(1) + b * k);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> geqp3(const EvalContext& ctx) {
  ColumnStack<T> a(ctx.operand(0));
  const int64_t k = std::min(a.rows, a.columns);
  Results out(ctx);
  out[1] = ctx.operand(1);
  for (int64_t b = 0; b < a.batch; ++b)
    lapack::geqp3(static_cast<Int>(a.rows), static_cast<Int>(a.columns), a.at(b),
                  out.data<Int>(1) + b * a.columns, out.data<T>(2) + b * k);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> orgqr(const EvalContext& ctx) {
  ColumnStack<T> a(ctx.operand(0));
  const Literal& tau = ctx.operand(1);
  const int64_t k = tau.shape().dims.back();
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    lapack::orgqr(static_cast<Int>(a.rows), static_cast<Int>(a.columns), static_cast<Int>(k),
                  a.at(b), tau.data<T>().data() + b * k);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> ormqr(const EvalContext& ctx) {
  const auto& attrs = ctx.as<CustomCallAttrs>();
  ASSIGN(const int64_t left, dictionary_int(attrs.backend_config, "left", 1));
  ASSIGN(const int64_t adjoint, dictionary_int(attrs.backend_config, "transpose", 0));
  ColumnStack<T> a(ctx.operand(0)), c(ctx.operand(2));
  const Literal& tau = ctx.operand(1);
  const int64_t k = tau.shape().dims.back();
  Results out(ctx);
  for (int64_t b = 0; b < c.batch; ++b)
    lapack::ormqr(left != 0, adjoint != 0, static_cast<Int>(c.rows), static_cast<Int>(c.columns),
                  static_cast<Int>(k), a.at(b), static_cast<Int>(a.rows),
                  tau.data<T>().data() + b * k, c.at(b));
  c.store(out[0]);
  return out.take();
}

template <typename T, bool divide>
Result<Literal> svd(const EvalContext& ctx) {
  ASSIGN(const char mode, option(ctx.as<CustomCallAttrs>(), "mode", "SAN"));
  ColumnStack<T> a(ctx.operand(0));
  const int64_t m = a.rows, n = a.columns, k = std::min(m, n);
  ColumnStack<T> u(a.batch, m, mode == 'A' ? m : k), vt(a.batch, mode == 'A' ? n : k, n);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b) {
    Int& info = out.data<Int>(4)[b];
    const auto routine = divide ? lapack::gesdd<T> : lapack::gesvd<T>;
    if (m > 0 && n > 0)
      info = routine(mode, static_cast<Int>(m), static_cast<Int>(n), a.at(b),
                     out.data<Real<T>>(1) + b * k, u.at(b), vt.at(b));
    for (ColumnStack<T>* s : {&u, &vt})  // no columns to reduce: an identity completes the basis
      for (int64_t i = 0; k == 0 && mode == 'A' && i < s->rows; ++i) s->at(b)[i * s->rows + i] = T(1);
  }
  a.store(out[0]);
  if (mode != 'N') {
    u.store(out[2]);
    vt.store(out[3]);
  }
  return out.take();
}

template <typename T>
Result<Literal> gesdd(const EvalContext& ctx) { return svd<T, true>(ctx); }
template <typename T>
Result<Literal> gesvd(const EvalContext& ctx) { return svd<T, false>(ctx); }

template <typename T>
Result<Literal> syevd(const EvalContext& ctx) {
  ASSIGN(const char mode, option(ctx.as<CustomCallAttrs>(), "mode", "VN"));
  ASSIGN(const char uplo, option(ctx.as<CustomCallAttrs>(), "uplo", "LU"));
  ColumnStack<T> a(ctx.operand(0));
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    out.data<Int>(2)[b] = lapack::syevd(mode, uplo, static_cast<Int>(a.rows), a.at(b),
                                        out.data<Real<T>>(1) + b * a.rows);
  a.store(out[0]);
  return out.take();
}

template <typename T>
bool all_finite(const T* p, int64_t n) {
  return std::all_of(p, p + n, [](const T& v) {
    return std::isfinite(std::real(v)) && std::isfinite(std::imag(v));
  });
}

// Eigenvalues as LAPACK returns them: one complex list, or real and imaginary parts apart.
template <typename T>
void store_values(Results& out, size_t first, int64_t b, const std::vector<Complex<T>>& w) {
  const auto n = static_cast<int64_t>(w.size());
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (lapack::is_complex_number<T>) {
      out.data<T>(first)[b * n + i] = w[i];
    } else {
      out.data<T>(first)[b * n + i] = w[i].real();
      out.data<T>(first + 1)[b * n + i] = w[i].imag();
    }
  }
}

template <typename T>
Result<Literal> geev(const EvalContext& ctx) {
  ASSIGN(const char left, option(ctx.as<CustomCallAttrs>(), "compute_left", "VN"));
  ASSIGN(const char right, option(ctx.as<CustomCallAttrs>(), "compute_right", "VN"));
  constexpr size_t vectors = lapack::is_complex_number<T> ? 1 : 2;
  ColumnStack<T> a(ctx.operand(0));
  const int64_t n = a.rows;
  ColumnStack<Complex<T>> vl(a.batch, n, n), vr(a.batch, n, n);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b) {
    Int& info = out.data<Int>(vectors + 2)[b];
    std::vector<Complex<T>> w(n);
    if (all_finite(a.at(b), n * n)) {
      info = lapack::geev(left, right, static_cast<Int>(n), a.at(b), w.data(), vl.at(b), vr.at(b));
    } else {
      info = -4;  // LAPACK would not end; this is what jaxlib reports
    }
    store_values<T>(out, 0, b, w);
  }
  vl.store(out[vectors]);
  vr.store(out[vectors + 1]);
  return out.take();
}

template <typename T>
Result<Literal> gees(const EvalContext& ctx) {
  ASSIGN(const char mode, option(ctx.as<CustomCallAttrs>(), "mode", "VN"));
  TRY(option(ctx.as<CustomCallAttrs>(), "sort", "N").status());
  constexpr size_t after_values = lapack::is_complex_number<T> ? 3 : 4;
  ColumnStack<T> a(ctx.operand(0));
  const int64_t n = a.rows;
  ColumnStack<T> vs(a.batch, n, n);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b) {
    std::vector<Complex<T>> w(n);
    Int& info = out.data<Int>(after_values + 1)[b];
    if (all_finite(a.at(b), n * n))
      info = lapack::gees(mode, static_cast<Int>(n), a.at(b), vs.at(b), w.data(),
                          out.data<Int>(after_values) + b);
    else
      info = -6;
    store_values<T>(out, 2, b, w);
  }
  a.store(out[0]);
  vs.store(out[1]);
  return out.take();
}

template <typename T>
Result<Literal> gehrd(const EvalContext& ctx) {
  const std::string& config = ctx.as<CustomCallAttrs>().backend_config;
  ColumnStack<T> a(ctx.operand(0));
  const int64_t n = a.rows;
  ASSIGN(const int64_t low, dictionary_int(config, "low", 1));
  ASSIGN(const int64_t high, dictionary_int(config, "high", n));
  if (n > 0 && (low < 1 || low > high || high > n))
    return invalid("1 <= low <= high <= ", n, ", got ", low, " and ", high);
  const int64_t length = std::max<int64_t>(n - 1, 0);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch && n > 0; ++b)
    out.data<Int>(2)[b] =
        lapack::gehrd(static_cast<Int>(n), static_cast<Int>(low), static_cast<Int>(high), a.at(b),
                      out.data<T>(1) + b * length);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> sytrd(const EvalContext& ctx) {
  ASSIGN(const char uplo, option(ctx.as<CustomCallAttrs>(), "uplo", "LU"));
  ColumnStack<T> a(ctx.operand(0));
  const int64_t n = a.rows, e = std::max<int64_t>(n - 1, 0);
  Results out(ctx);
  for (int64_t b = 0; b < a.batch; ++b)
    out.data<Int>(4)[b] = lapack::sytrd(uplo, static_cast<Int>(n), a.at(b),
                                        out.data<Real<T>>(1) + b * n, out.data<Real<T>>(2) + b * e,
                                        out.data<T>(3) + b * e);
  a.store(out[0]);
  return out.take();
}

template <typename T>
Result<Literal> gtsv(const EvalContext& ctx) {
  ColumnStack<T> rhs(ctx.operand(3));
  const int64_t n = rhs.rows;
  Results out(ctx);
  std::vector<T> bands[3];
  for (int k = 0; k < 3; ++k) {
    const auto v = ctx.operand(k).data<T>();
    bands[k].assign(v.begin(), v.end());
  }
  for (int64_t b = 0; b < rhs.batch && n > 0; ++b) {
    // JAX stores the lower band from its second element on; LAPACK from its first.
    T *dl = bands[0].data() + b * n, *d = bands[1].data() + b * n, *du = bands[2].data() + b * n;
    out.data<Int>(4)[b] =
        lapack::gtsv(static_cast<Int>(n), static_cast<Int>(rhs.columns), dl + 1, d, du, rhs.at(b));
  }
  for (int k = 0; k < 3; ++k) std::copy(bands[k].begin(), bands[k].end(), out.data<T>(k));
  rhs.store(out[3]);
  return out.take();
}

template <typename T>
Result<Literal> trsm(const EvalContext& ctx) {
  const auto& attrs = ctx.as<CustomCallAttrs>();
  ASSIGN(const char side, option(attrs, "side", "LR"));
  ASSIGN(const char uplo, option(attrs, "uplo", "LU"));
  ASSIGN(const char trans, option(attrs, "trans_x", "NTC"));
  ASSIGN(const char diag, option(attrs, "diag", "NU"));
  ColumnStack<T> a(ctx.operand(0)), x(ctx.operand(1));
  Results out(ctx);
  for (int64_t b = 0; b < x.batch; ++b)
    lapack::trsm(side, uplo, trans, diag, static_cast<Int>(x.rows), static_cast<Int>(x.columns),
                 a.at(b), x.at(b));
  x.store(out[0]);
  return out.take();
}

// ---- checks: the results that the operands imply ----

using Shapes = std::vector<Shape>;
using Operands = absl::Span<const Shape* const>;

Status check_square(const Sizes& s) {
  if (s.m == s.n) return absl::OkStatus();
  return invalid("takes square matrices, got ", s.m, " by ", s.n);
}

Status check_operand(const Shape& got, const Shape& want, int i) {
  if (shapes_agree(got, want)) return absl::OkStatus();
  return invalid("operand ", i, " must be ", to_string(want, false), ", got ",
                 to_string(got, false));
}

Result<Shapes> potrf_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  return Shapes{*in[0], s.info()};
}
Result<Shapes> getrf_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  return Shapes{*in[0], s.shape(Dtype::kS32, {s.k}), s.info()};
}
Result<Shapes> geqrf_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  return Shapes{*in[0], s.shape(s.type, {s.k})};
}
Result<Shapes> geqp3_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  const Shape pivots = s.shape(Dtype::kS32, {s.n});
  TRY(check_operand(*in[1], pivots, 1));
  return Shapes{*in[0], pivots, s.shape(s.type, {s.k})};
}
Result<Shapes> orgqr_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  const int64_t k = in[1]->rank() > 0 ? in[1]->dims.back() : 0;
  TRY(check_operand(*in[1], s.shape(s.type, {k}), 1));
  if (s.n > s.m || k > s.n)
    return invalid("needs rows >= columns >= reflectors, got ", s.m, ", ", s.n, " and ", k);
  return Shapes{*in[0]};
}
Result<Shapes> ormqr_results(const CustomCallAttrs& a, Operands in) {
  ASSIGN(const int64_t left, dictionary_int(a.backend_config, "left", 1));
  const Sizes s(*in[0]);
  if (in[2]->rank() != in[0]->rank())
    return invalid("operands 0 and 2 must have one rank, got ", to_string(*in[0], false), " and ",
                   to_string(*in[2], false));
  const Sizes c(*in[2]);
  const int64_t k = in[1]->rank() > 0 ? in[1]->dims.back() : 0;
  TRY(check_operand(*in[1], s.shape(s.type, {k}), 1));
  TRY(check_operand(*in[2], s.shape(s.type, {c.m, c.n}), 2));
  if (s.m != (left ? c.m : c.n) || k > s.m || k > s.n)
    return invalid("the reflectors ", to_string(*in[0], false), " don't fit ",
                   to_string(*in[2], false));
  return Shapes{*in[2]};
}
Result<Shapes> svd_results(const CustomCallAttrs& a, Operands in) {
  ASSIGN(const char mode, option(a, "mode", "SAN"));
  const Sizes s(*in[0]);
  return Shapes{*in[0], s.shape(s.real, {s.k}), s.shape(s.type, {s.m, mode == 'A' ? s.m : s.k}),
                s.shape(s.type, {mode == 'A' ? s.n : s.k, s.n}), s.info()};
}
Result<Shapes> syevd_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  return Shapes{*in[0], s.shape(s.real, {s.n}), s.info()};
}
Result<Shapes> geev_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  const Shape vectors = s.shape(complex_of(s.real), {s.n, s.n});
  Shapes out(is_complex(s.type) ? 1 : 2, s.shape(s.type, {s.n}));
  out.insert(out.end(), {vectors, vectors, s.info()});
  return out;
}
Result<Shapes> gees_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  Shapes out = {*in[0], *in[0]};
  out.insert(out.end(), is_complex(s.type) ? 1 : 2, s.shape(s.type, {s.n}));
  out.insert(out.end(), {s.info(), s.info()});
  return out;
}
Result<Shapes> gehrd_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  return Shapes{*in[0], s.shape(s.type, {std::max<int64_t>(s.n - 1, 0)}), s.info()};
}
Result<Shapes> sytrd_results(const CustomCallAttrs&, Operands in) {
  const Sizes s(*in[0]);
  TRY(check_square(s));
  const int64_t e = std::max<int64_t>(s.n - 1, 0);
  return Shapes{*in[0], s.shape(s.real, {s.n}), s.shape(s.real, {e}), s.shape(s.type, {e}),
                s.info()};
}
Result<Shapes> gtsv_results(const CustomCallAttrs&, Operands in) {
  if (in[3]->rank() < 2) return invalid("operand 3 must be matrices, got ", to_string(*in[3], false));
  const Sizes s(*in[3]);
  const Shape band = s.shape(s.type, {s.m});
  for (int k = 0; k < 3; ++k) TRY(check_operand(*in[k], band, k));
  return Shapes{band, band, band, *in[3], s.info()};
}
Result<Shapes> trsm_results(const CustomCallAttrs& a, Operands in) {
  ASSIGN(const char side, option(a, "side", "LR"));
  if (in[1]->rank() < 2) return invalid("operand 1 must be matrices, got ", to_string(*in[1], false));
  const Sizes s(*in[1]);
  const int64_t n = side == 'L' ? s.m : s.n;
  TRY(check_operand(*in[0], s.shape(s.type, {n, n}), 0));
  return Shapes{*in[1]};
}

// ---- the table ----

using ResultsOf = Result<Shapes> (*)(const CustomCallAttrs&, Operands);

struct Routine {
  std::string_view real, complex;  // names; empty: none
  size_t operands;
  bool untyped_second;             // operand 1 holds integers
  ResultsOf results;
};

constexpr Routine kPotrf = {"potrf", "potrf", 1, false, potrf_results};
constexpr Routine kGetrf = {"getrf", "getrf", 1, false, getrf_results};
constexpr Routine kGeqrf = {"geqrf", "geqrf", 1, false, geqrf_results};
constexpr Routine kGeqp3 = {"geqp3", "geqp3", 2, true, geqp3_results};
constexpr Routine kOrgqr = {"orgqr", "ungqr", 2, false, orgqr_results};
constexpr Routine kOrmqr = {"ormqr", "unmqr", 3, false, ormqr_results};
constexpr Routine kGesdd = {"gesdd", "gesdd", 1, false, svd_results};
constexpr Routine kGesvd = {"gesvd", "gesvd", 1, false, svd_results};
constexpr Routine kSyevd = {"syevd", "heevd", 1, false, syevd_results};
constexpr Routine kGeev = {"geev", "geev", 1, false, geev_results};
constexpr Routine kGees = {"gees", "gees", 1, false, gees_results};
constexpr Routine kGehrd = {"gehrd", "gehrd", 1, false, gehrd_results};
constexpr Routine kSytrd = {"sytrd", "hetrd", 1, false, sytrd_results};
constexpr Routine kGtsv = {"gtsv", "gtsv", 4, false, gtsv_results};
constexpr Routine kTrsm = {"trsm", "trsm", 2, false, trsm_results};

Status check_routine(const Routine& r, Dtype t, const CustomCallAttrs& a, Operands in,
                     const Shape& result) {
  if (in.size() != r.operands)
    return invalid("takes ", r.operands, " operands, got ", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const bool integers = i == 1 && r.untyped_second;
    if (!in[i]->is_array() || in[i]->dtype != (integers ? Dtype::kS32 : t))
      return invalid("operand ", i, " must hold ", integers ? "s32" : name(t), " numbers, got ",
                     to_string(*in[i], false));
    for (int64_t d : in[i]->dims)
      if (!lapack::fits(d)) return invalid("dimensions must be below 2^31, got ", d);
  }
  if (in[0]->rank() < (r.results == gtsv_results ? 1 : 2))
    return invalid("operand 0 must be matrices, got ", to_string(*in[0], false));
  ASSIGN(Shapes want, r.results(a, in));
  if (r.results == svd_results && result.is_tuple() && result.tuple.size() == 5) {
    ASSIGN(const char mode, option(a, "mode", "SAN"));
    if (mode == 'N') want[2] = result.tuple[2], want[3] = result.tuple[3];  // not computed
  }
  const Shape expected = one_or_tuple(std::move(want));
  if (shapes_agree(expected, result)) return absl::OkStatus();
  if (result.is_tuple() && result.tuple.size() == 1 && shapes_agree(expected, result.tuple[0]))
    return absl::OkStatus();
  return invalid("its result must be ", to_string(expected, false), ", got ",
                 to_string(result, false));
}

template <const Routine& r, Dtype t>
Status check(const CustomCallAttrs& a, Operands in, const Shape& result) {
  return check_routine(r, t, a, in, result);
}

// The four types of a routine.
template <const Routine& r, auto f_s, auto f_d, auto f_c, auto f_z>
void add(std::vector<CustomCallDef>& calls) {
  static const std::string names[] = {
      str_cat("lapack_s", r.real, "_ffi"), str_cat("lapack_d", r.real, "_ffi"),
      str_cat("lapack_c", r.complex, "_ffi"), str_cat("lapack_z", r.complex, "_ffi")};
  calls.push_back({names[0], check<r, Dtype::kF32>, f_s});
  calls.push_back({names[1], check<r, Dtype::kF64>, f_d});
  calls.push_back({names[2], check<r, Dtype::kC64>, f_c});
  calls.push_back({names[3], check<r, Dtype::kC128>, f_z});
}

#define FOUR(f) f<float>, f<double>, f<std::complex<float>>, f<std::complex<double>>

std::vector<CustomCallDef> build_calls() {
  std::vector<CustomCallDef> calls;
  add<kPotrf, FOUR(potrf)>(calls);
  add<kGetrf, FOUR(getrf)>(calls);
  add<kGeqrf, FOUR(geqrf)>(calls);
  add<kGeqp3, FOUR(geqp3)>(calls);
  add<kOrgqr, FOUR(orgqr)>(calls);
  add<kOrmqr, FOUR(ormqr)>(calls);
  add<kGesdd, FOUR(gesdd)>(calls);
  add<kGesvd, FOUR(gesvd)>(calls);
  add<kSyevd, FOUR(syevd)>(calls);
  add<kGeev, FOUR(geev)>(calls);
  add<kGees, FOUR(gees)>(calls);
  add<kGehrd, FOUR(gehrd)>(calls);
  add<kSytrd, FOUR(sytrd)>(calls);
  add<kGtsv, FOUR(gtsv)>(calls);
  add<kTrsm, FOUR(trsm)>(calls);
  return calls;
}

#undef FOUR

}  // namespace

absl::Span<const CustomCallDef> lapack_calls() {
  static const auto* calls = new std::vector<CustomCallDef>(build_calls());
  return *calls;
}

}  // namespace braze
