// SPDX-License-Identifier: Apache-2.0
#include "backend/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_format.h"
#include "base/floats.h"
#include "base/status.h"

namespace braze {
namespace {

bool is_finite(std::complex<double> c) {
  return std::isfinite(c.real()) && std::isfinite(c.imag());
}
bool same_nonfinite(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

// Parts of a pair that agree though they are not finite count as zero: the others are compared.
void drop_equal_nonfinite(std::complex<double>* a, std::complex<double>* b) {
  if (!std::isfinite(a->real()) && same_nonfinite(a->real(), b->real())) a->real(0), b->real(0);
  if (!std::isfinite(a->imag()) && same_nonfinite(a->imag(), b->imag())) a->imag(0), b->imag(0);
}

std::string index_text(int64_t i, const Shape& s) {
  Dims at(s.dims.size());
  for (int64_t d = s.rank() - 1; d >= 0; --d) {
    at[d] = i % std::max<int64_t>(s.dims[d], 1);
    i /= std::max<int64_t>(s.dims[d], 1);
  }
  return str_cat("[", join(at), "]");
}

std::string value_text(const Literal& l, int64_t i) {
  if (is_complex(l.dtype())) {
    auto c = l.get_complex(i);
    return absl::StrFormat("(%.9g, %.9g)", c.real(), c.imag());
  }
  if (is_float(l.dtype())) return absl::StrFormat("%.9g", l.get_float(i));
  return str_cat(l.get_int(i));
}

// A real float as an integer such that neighbours differ by one.
int64_t ordered_bits(const Literal& l, int64_t i) {
  const int bytes = byte_size(l.dtype()), bits = bit_size(l.dtype());
  uint64_t u = 0;
  std::memcpy(&u, l.bytes() + i * bytes, static_cast<size_t>(bytes));
  if (l.dtype() == Dtype::kF8E8M0FNU) return static_cast<int64_t>(u);  // has no sign
  const uint64_t sign = uint64_t{1} << (bits - 1);
  const auto magnitude = static_cast<int64_t>(u & (sign - 1));
  return u & sign ? -magnitude : magnitude;
}

// Saturated: opposite ends of f64 are farther apart than an int64 holds.
int64_t ulps_apart(const Literal& a, const Literal& b, int64_t i) {
  int64_t d = 0;
  if (__builtin_sub_overflow(ordered_bits(a, i), ordered_bits(b, i), &d) ||
      d == std::numeric_limits<int64_t>::min())
    return std::numeric_limits<int64_t>::max();
  return std::abs(d);
}

void differ(const Literal& got, const Literal& want, Difference* d) {
  if (got.shape().is_tuple()) {
    for (size_t i = 0; i < got.parts().size(); ++i) differ(got.parts()[i], want.parts()[i], d);
    return;
  }
  if (!got.shape().is_array()) return;
  double scale = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    double m = std::abs(want.get_complex(i));
    if (std::isfinite(m)) scale = std::max(scale, m);
  }
  for (int64_t i = 0; i < got.elements(); ++i) {
    ++d->elements;
    auto a = got.get_complex(i), b = want.get_complex(i);
    bool equal =
        a == b || (same_nonfinite(a.real(), b.real()) && same_nonfinite(a.imag(), b.imag()));
    if (equal) continue;
    ++d->differing;
    if (d->first.empty())
      d->first = str_cat("at ", index_text(i, got.shape()), ": ", value_text(got, i),
                         " instead of ", value_text(want, i));
    drop_equal_nonfinite(&a, &b);
    if (!is_finite(a) || !is_finite(b)) {
      ++d->nonfinite_mismatch;
      continue;
    }
    if (is_float(got.dtype())) d->max_ulp = std::max(d->max_ulp, ulps_apart(got, want, i));
    double e = std::abs(a - b);
    d->max_abs = std::max(d->max_abs, e);
    if (scale > 0) d->max_rel = std::max(d->max_rel, e / scale);
  }
}

}  // namespace

Difference difference(const Literal& got, const Literal& expected) {
  Difference d;
  if (!compatible(got.shape(), expected.shape())) {
    d.first = str_cat("shape ", to_string(got.shape(), false), " instead of ",
                      to_string(expected.shape(), false));
    d.differing = d.elements = 1;
    return d;
  }
  differ(got, expected, &d);
  return d;
}

std::string to_string(const Difference& d) {
  if (d.differing == 0) return absl::StrFormat("equal (%d elements)", d.elements);
  std::string ulps = d.max_ulp > 0 ? absl::StrFormat("max %d ulp, ", d.max_ulp) : "";
  return absl::StrFormat("%d of %d elements differ, %sabs %.3g, rel %.3g, %d non-finite; first %s",
                         d.differing, d.elements, ulps, d.max_abs, d.max_rel, d.nonfinite_mismatch,
                         d.first);
}

Tolerance default_tolerance(Dtype t) {
  switch (real_of(t)) {
    case Dtype::kF64: return {1e-10, 1e-11, 0};
    case Dtype::kF32: return {2e-4, 2e-5, 0};
    case Dtype::kF16: return {1e-2, 4e-3, 0};
    case Dtype::kBF16: return {4e-2, 2e-2, 0};
    default: return {is_float(t) ? 0.3 : 0, is_float(t) ? 0.15 : 0, 0};
  }
}

bool close(const Literal& got, const Literal& want, const Tolerance& t, std::string* why) {
  if (!compatible(got.shape(), want.shape())) {
    *why = to_string(difference(got, want));
    return false;
  }
  if (got.shape().is_tuple()) {
    for (size_t i = 0; i < got.parts().size(); ++i)
      if (!close(got.parts()[i], want.parts()[i], t, why)) return false;
    return true;
  }
  if (!got.shape().is_array()) return true;
  double scale = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    double m = std::abs(want.get_complex(i));
    if (std::isfinite(m)) scale = std::max(scale, m);
  }
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < got.elements(); ++i) {
    auto a = got.get_complex(i), b = want.get_complex(i);
    if (a == b || (same_nonfinite(a.real(), b.real()) && same_nonfinite(a.imag(), b.imag())))
      continue;
    drop_equal_nonfinite(&a, &b);
    bool real = is_float(got.dtype()) || is_complex(got.dtype());
    if (real && is_finite(a) && is_finite(b) &&
        std::abs(a - b) <= t.rtol * std::abs(b) + t.atol_rel * scale)
      continue;
    if (first < 0) first = i;
    ++wrong;
  }
  if (static_cast<double>(wrong) <= t.mismatch_ok * static_cast<double>(got.elements()))
    return true;
  *why = str_cat(wrong, " of ", got.elements(), " elements of ", to_string(got.shape(), false),
                 " differ, first at ", index_text(first, got.shape()), ": ", value_text(got, first),
                 " instead of ", value_text(want, first));
  return false;
}

bool close_by_type(const Literal& got, const Literal& want, std::string* why) {
  if (!got.shape().is_tuple() || got.parts().size() != want.parts().size())
    return close(got, want, default_tolerance(got.shape().is_array() ? got.dtype() : Dtype::kF32),
                 why);
  for (size_t i = 0; i < got.parts().size(); ++i)
    if (!close_by_type(got.parts()[i], want.parts()[i], why)) return false;
  return true;
}

}  // namespace braze
