// SPDX-License-Identifier: Apache-2.0
// Decompositions under the names that do not depend on a platform: Qr, Eigh, LuDecomposition and
// ProductOfElementaryHouseholderReflectors, all by way of the LAPACK calls.
#include <limits>

#include "absl/strings/match.h"
#include "ops/custom_call.h"
#include "ops/dim_rules.h"

namespace braze {
namespace {

// "lapack_dgeqrf_ffi" for f64; empty for types LAPACK does not know.
std::string target_for(Dtype t, std::string_view real, std::string_view complex) {
  switch (t) {
    case Dtype::kF32: return str_cat("lapack_s", real, "_ffi");
    case Dtype::kF64: return str_cat("lapack_d", real, "_ffi");
    case Dtype::kC64: return str_cat("lapack_c", complex, "_ffi");
    case Dtype::kC128: return str_cat("lapack_z", complex, "_ffi");
    default: return "";
  }
}

Result<const CustomCallDef*> lapack_def(Dtype t, std::string_view real, std::string_view complex) {
  const std::string target = target_for(t, real, complex);
  const CustomCallDef* d = target.empty() ? nullptr : find_custom_call(target);
  if (d) return d;
  return invalid("must hold f32, f64, c64 or c128 numbers, got ", name(t));
}

Status check_matrices(absl::Span<const Shape* const> operands, size_t count) {
  if (operands.size() != count) return invalid("takes ", count, " operands, got ", operands.size());
  if (operands[0]->is_array() && operands[0]->rank() >= 2) return absl::OkStatus();
  return invalid("operand 0 must be matrices, got ", to_string(*operands[0], false));
}

// Qr and the product of reflectors have LAPACK's own operands and results.
template <bool product>
Result<const CustomCallDef*> same_def(Dtype t) {
  return product ? lapack_def(t, "orgqr", "ungqr") : lapack_def(t, "geqrf", "geqrf");
}
template <bool product>
Status check_same(const CustomCallAttrs& a, absl::Span<const Shape* const> operands,
                  const Shape& result) {
  TRY(check_matrices(operands, product ? 2 : 1));
  ASSIGN(const CustomCallDef* d, same_def<product>(operands[0]->dtype));
  return d->check(a, operands, result);
}
template <bool product>
Result<Literal> eval_same(const EvalContext& ctx) {
  ASSIGN(const CustomCallDef* d, same_def<product>(ctx.operand(0).dtype()));
  return d->eval(ctx);
}

Dims batch_of(const Shape& s) { return Dims(s.dims.begin(), s.dims.end() - 2); }

Dims with(Dims d, int64_t n) {
  d.push_back(n);
  return d;
}

Status check_result(const Shape& want, const Shape& got) {
  if (shapes_agree(want, got)) return absl::OkStatus();
  return invalid("its result must be ", to_string(want, false), ", got ", to_string(got, false));
}

Shape lu_result(const Shape& a) {
  const Dims batch = batch_of(a);
  const int64_t m = a.dims[a.rank() - 2], n = a.dims[a.rank() - 1];
  return Shape::tuple_of({a, Shape::array(Dtype::kS32, with(batch, std::min(m, n))),
                          Shape::array(Dtype::kS32, with(batch, m))});
}

Status check_lu(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                const Shape& result) {
  TRY(check_matrices(operands, 1));
  TRY(lapack_def(operands[0]->dtype, "getrf", "getrf").status());
  return check_result(lu_result(*operands[0]), result);
}

// (lu, pivots from zero, the permutation of rows they make).
Result<Literal> eval_lu(const EvalContext& ctx) {
  const Literal& a = ctx.operand(0);
  const Dims batch = batch_of(a.shape());
  const Shape want = lu_result(a.shape());
  CustomCallAttrs attrs;
  attrs.target = target_for(a.dtype(), "getrf", "getrf");
  const Shape raw = Shape::tuple_of({want.tuple[0], want.tuple[1], Shape::array(Dtype::kS32, batch)});
  ASSIGN(Literal out, eval_scratch(ctx, Op::kCustomCall, ctx.operands, attrs, &raw));
  Literal pivots = out.parts()[1], permutation(want.tuple[2]);
  const int64_t k = want.tuple[1].dims.back(), m = want.tuple[2].dims.back();
  for (int64_t b = 0; b < product(batch); ++b) {
    for (int64_t i = 0; i < m; ++i) permutation.set_int(b * m + i, i);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t p = pivots.get_int(b * k + i) - 1;
      pivots.set_int(b * k + i, p);
      const int64_t here = permutation.get_int(b * m + i);
      permutation.set_int(b * m + i, permutation.get_int(b * m + p));
      permutation.set_int(b * m + p, here);
    }
  }
  return Literal::tuple({out.parts()[0], pivots, permutation});
}

Shape eigh_result(const Shape& a) {
  const Dims values(a.dims.begin(), a.dims.end() - 1);
  return Shape::tuple_of({a, Shape::array(real_of(a.dtype), values)});
}

Status check_eigh(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                  const Shape& result) {
  TRY(check_matrices(operands, 1));
  TRY(lapack_def(operands[0]->dtype, "syevd", "heevd").status());
  return check_result(eigh_result(*operands[0]), result);
}

// (eigenvectors, eigenvalues ascending); NaN where the iteration fails. The config is
// "lower,sort,iterations,tolerance".
Result<Literal> eval_eigh(const EvalContext& ctx) {
  const Literal& a = ctx.operand(0);
  const std::string& config = ctx.as<CustomCallAttrs>().backend_config;
  CustomCallAttrs attrs;
  attrs.target = target_for(a.dtype(), "syevd", "heevd");
  attrs.backend_config = str_cat("{mode = 86 : ui8, uplo = ",
                                 absl::StartsWith(config, "0") ? 'U' + 0 : 'L' + 0, " : ui8}");
  Shape raw = eigh_result(a.shape());
  raw.tuple.push_back(Shape::array(Dtype::kS32, batch_of(a.shape())));
  ASSIGN(Literal out, eval_scratch(ctx, Op::kCustomCall, ctx.operands, attrs, &raw));
  Literal vectors = out.parts()[0], values = out.parts()[1];
  const int64_t n = a.shape().dims.back();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int64_t b = 0; b < out.parts()[2].elements(); ++b) {
    if (out.parts()[2].get_int(b) == 0) continue;
    for (int64_t i = 0; i < n; ++i) values.set_float(b * n + i, nan);
    for (int64_t i = 0; i < n * n; ++i) {
      if (is_complex(a.dtype())) vectors.set_complex(b * n * n + i, {nan, nan});
      else vectors.set_float(b * n * n + i, nan);
    }
  }
  return Literal::tuple({vectors, values});
}

}  // namespace

absl::Span<const CustomCallDef> decomposition_calls() {
  static const CustomCallDef calls[] = {
      {"Qr", check_same<false>, eval_same<false>},
      {"ProductOfElementaryHouseholderReflectors", check_same<true>, eval_same<true>},
      {"LuDecomposition", check_lu, eval_lu},
      {"Eigh", check_eigh, eval_eigh},
  };
  return calls;
}

}  // namespace braze
