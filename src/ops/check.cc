// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "ops/custom_call.h"

namespace braze {
namespace {

// Element i's bits as a number that grows with the value, so that neighbours differ by one. For
// types of up to 64 bits with a sign bit on top.
int64_t ordered_bits(const Literal& l, int64_t i, int part, int bytes, int bits) {
  uint64_t raw = 0;
  std::memcpy(&raw, l.bytes() + i * byte_size(l.dtype()) + part * bytes, bytes);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return raw & sign ? -static_cast<int64_t>(raw & (sign - 1)) : static_cast<int64_t>(raw);
}

uint64_t distance(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

bool close(const Literal& a, const Literal& b, int64_t i, const CheckRule& rule) {
  const Dtype real = real_of(a.dtype());
  const int parts = is_complex(a.dtype()) ? 2 : 1;
  for (int p = 0; p < parts; ++p) {
    const auto ca = a.get_complex(i), cb = b.get_complex(i);
    const double x = p ? ca.imag() : ca.real(), y = p ? cb.imag() : cb.real();
    uint64_t d = 0;
    if (std::isnan(x) || std::isnan(y)) d = std::isnan(x) && std::isnan(y) ? 0 : UINT64_MAX;
    else if (std::isinf(x) || std::isinf(y)) d = x == y ? 0 : UINT64_MAX;
    else d = distance(ordered_bits(a, i, p, byte_size(real), bit_size(real)),
                      ordered_bits(b, i, p, byte_size(real), bit_size(real)));
    if (d < static_cast<uint64_t>(rule.min_ulp) || d > static_cast<uint64_t>(rule.max_ulp))
      return false;
  }
  return true;
}

bool near(double x, double y, double tolerance) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return std::fabs(x - y) <= tolerance;
}

// Expected values come from float32 programs that are a few steps off the truth themselves.
constexpr double kLooseSteps = 8;

// A step between neighbouring values of the type at the largest finite value.
double largest_step(const Literal& l) {
  const Dtype t = real_of(l.dtype());
  double most = 0;
  for (int64_t i = 0; i < l.elements(); ++i) {
    const auto v = l.get_complex(i);
    if (std::isfinite(v.real())) most = std::max(most, std::fabs(v.real()));
    if (std::isfinite(v.imag())) most = std::max(most, std::fabs(v.imag()));
  }
  const double eps = t == Dtype::kF64    ? 0x1p-52
                     : t == Dtype::kF32  ? 0x1p-23
                     : t == Dtype::kF16  ? 0x1p-10
                     : t == Dtype::kBF16 ? 0x1p-7
                                         : 0x1p-2;
  return most > 0 ? std::exp2(std::floor(std::log2(most))) * eps : 0;
}

bool matches(const Literal& a, const Literal& b, int64_t i, const CheckRule& rule, double step) {
  const Dtype t = a.dtype();
  if (!is_float(t) && !is_complex(t)) return a.get_int(i) == b.get_int(i);
  if (rule.kind == CheckKind::kClose && close(a, b, i, rule)) return true;
  if (rule.kind == CheckKind::kClose && !rule.loose) return false;
  double tolerance = rule.kind == CheckKind::kAlmost ? rule.tolerance : 0;
  if (rule.loose) tolerance = std::max(tolerance, kLooseSteps * step);
  const auto x = a.get_complex(i), y = b.get_complex(i);
  return near(x.real(), y.real(), tolerance) && near(x.imag(), y.imag(), tolerance);
}

std::string element_text(const Literal& l, int64_t i) {
  Literal one(Shape::scalar(l.dtype()));
  one.copy_element(0, l, i);
  return to_string(one);
}

std::string index_text(int64_t at, DimSpan dims) {
  Dims index(dims.size(), 0);
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = at % dims[k];
    at /= dims[k];
  }
  return str_cat("[", join(index), "]");
}

}  // namespace

Status compare_literals(const Literal& got, const Literal& want, const CheckRule& rule) {
  if (got.shape().is_token() && want.shape().is_token()) return absl::OkStatus();
  if (got.shape().is_tuple() && want.shape().is_tuple() &&
      got.parts().size() == want.parts().size()) {
    for (size_t k = 0; k < got.parts().size(); ++k) {
      Status s = compare_literals(got.parts()[k], want.parts()[k], rule);
      if (!s.ok()) return note(str_cat("element ", k), s);
    }
    return absl::OkStatus();
  }
  if (!compatible(got.shape(), want.shape()))
    return invalid("the value has shape ", to_string(got.shape(), false), ", expected ",
                   to_string(want.shape(), false));
  const double step = rule.loose ? largest_step(want) : 0;
  int64_t bad = 0, first = -1;
  for (int64_t i = 0, n = got.elements(); i < n; ++i)
    if (!matches(got, want, i, rule, step) && bad++ == 0) first = i;
  if (bad == 0) return absl::OkStatus();
  return invalid(bad, " of ", got.elements(), " elements differ, first at ",
                 index_text(first, got.shape().dims), ": got ", element_text(got, first),
                 ", expected ", element_text(want, first), " (", to_string(got.shape(), false),
                 ")");
}

namespace {

double number_option(const EvalContext& ctx, std::string_view key, double absent) {
  std::string_view v = dictionary_value(ctx.as<CustomCallAttrs>().backend_config, key);
  v = v.substr(0, v.find(' '));  // "3 : i64"
  double out = absent;
  if (v.empty() || !absl::SimpleAtod(absl::string_view(v.data(), v.size()), &out)) return absent;
  return out;
}

std::atomic<bool> loose_checks{false};

Result<Literal> expect(const EvalContext& ctx, CheckRule rule) {
  rule.loose = rule.kind != CheckKind::kEqual && loose_checks;
  if (ctx.operands.size() != 2) return invalid(ctx.instr.name, ": expects two operands");
  Status s = compare_literals(ctx.operand(0), ctx.operand(1), rule);
  if (s.ok()) return Literal(ctx.instr.shape);
  const std::string where = ctx.instr.location();
  return note(str_cat(where, where.empty() ? "" : ": ", ctx.as<CustomCallAttrs>().target), s);
}

Result<Literal> eval_eq(const EvalContext& ctx) { return expect(ctx, {CheckKind::kEqual}); }

Result<Literal> eval_almost(const EvalContext& ctx) {
  CheckRule rule{CheckKind::kAlmost};
  rule.tolerance = number_option(ctx, "tolerance", rule.tolerance);
  return expect(ctx, rule);
}

Result<Literal> eval_close(const EvalContext& ctx) {
  CheckRule rule{CheckKind::kClose};
  rule.min_ulp = static_cast<int64_t>(number_option(ctx, "min_ulp_difference", 0));
  rule.max_ulp = static_cast<int64_t>(number_option(ctx, "max_ulp_difference", 3));
  return expect(ctx, rule);
}

// Its answer is a value; nothing looks at it in the suite, so a wrong one is an error.
Result<Literal> eval_is_eq(const EvalContext& ctx) {
  TRY(expect(ctx, {CheckKind::kEqual}).status());
  return Literal::scalar_int(Dtype::kPred, 1);
}

Result<Literal> eval_print(const EvalContext& ctx) { return Literal(ctx.instr.shape); }

}  // namespace

void set_loose_checks(bool loose) { loose_checks = loose; }

Status register_check_calls() {
  for (const CustomCallDef& d : {CustomCallDef{"check.expect_eq", nullptr, eval_eq},
                                 CustomCallDef{"check.expect_almost_eq", nullptr, eval_almost},
                                 CustomCallDef{"check.expect_close", nullptr, eval_close},
                                 CustomCallDef{"check.eq", nullptr, eval_is_eq},
                                 CustomCallDef{"interpreter.print", nullptr, eval_print}})
    TRY(register_custom_call(d));
  return absl::OkStatus();
}

}  // namespace braze
