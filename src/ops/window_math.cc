// SPDX-License-Identifier: Apache-2.0
#include "ops/window_math.h"

#include <algorithm>
#include <numeric>

namespace braze {
namespace {

// (n - 1)·dilation + 1, or 0 for n = 0; false on overflow.
bool dilated(int64_t n, int64_t dilation, int64_t* out) {
  if (n == 0) return *out = 0, true;
  return !__builtin_mul_overflow(n - 1, dilation, out) && !__builtin_add_overflow(*out, 1, out);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// The x in [0, m) with a·x ≡ 1 (mod m), for coprime a and m.
int64_t inverse(int64_t a, int64_t m) {
  int64_t r0 = m, r1 = a % m, x0 = 0, x1 = 1;
  while (r1 != 0) {
    const int64_t q = r0 / r1;
    r0 -= q * r1;
    std::swap(r0, r1);
    x0 -= q * x1;
    std::swap(x0, x1);
  }
  return x0 < 0 ? x0 + m : x0;
}

}  // namespace

Result<int64_t> window_positions(std::string_view rule, int64_t in, const WindowDim& w,
                                 int64_t size) {
  if (w.stride <= 0 || w.base_dilation <= 0 || w.window_dilation <= 0)
    return invalid(rule, ": window strides and dilations must be positive, got stride ", w.stride,
                   ", base dilation ", w.base_dilation, ", window dilation ", w.window_dilation);
  constexpr int64_t kLimit = int64_t{1} << 61;
  if (w.base_dilation > kLimit || w.window_dilation > kLimit)
    return invalid(rule, ": window dilation is too large");
  if (in == kUnknownDim || size == kUnknownDim) return kUnknownDim;
  int64_t base = 0, window = 0, padded = 0;
  if (!dilated(in, w.base_dilation, &base) || !dilated(size, w.window_dilation, &window) ||
      __builtin_add_overflow(base, w.pad_low, &padded) ||
      __builtin_add_overflow(padded, w.pad_high, &padded) ||
      std::max({base, window, padded}) > kLimit ||
      std::min({w.pad_low, w.pad_high, padded}) < -kLimit)
    return invalid(rule, ": window over a dimension of size ", in, " is too large");
  if (padded <= 0 || window > padded) return 0;
  return (padded - window) / w.stride + 1;
}

Taps taps_at(int64_t position, int64_t in, const WindowDim& w, int64_t size) {
  // Window element k lies at start + k·wd of the dilated input, input element j at j·bd.
  const int64_t start = position * w.stride - w.pad_low;
  const int64_t bd = w.base_dilation, wd = w.window_dilation;
  Taps t;
  if (in == 0 || size == 0) return t;
  const int64_t last = (in - 1) * bd;
  const int64_t g = std::gcd(wd, bd);
  if (start % g != 0) return t;
  t.dk = bd / g;
  t.dj = wd / g;
  // The least k ≥ 0 with start + k·wd ≡ 0 (mod bd) …
  int64_t k = 0;
  if (t.dk > 1) {
    const int64_t want = (((-(start / g)) % t.dk) + t.dk) % t.dk;
    k = static_cast<int64_t>(static_cast<__int128>(want) * inverse(t.dj % t.dk, t.dk) % t.dk);
  }
  // … that is not before the input's begin,
  if (start < 0) {
    const int64_t first = -floor_div(start, wd);  // ceil(-start / wd)
    if (k < first) k += (first - k + t.dk - 1) / t.dk * t.dk;
  }
  // and the greatest one inside both window and input.
  if (start > last || k >= size || start + k * wd > last) return t;
  const int64_t end = std::min(size - 1, (last - start) / wd);
  t.count = (end - k) / t.dk + 1;
  t.k0 = k;
  t.j0 = (start + k * wd) / bd;
  return t;
}

Scan find_scan(const Window& w, DimSpan in) {
  constexpr int64_t kShort = 8;
  Scan s;
  for (size_t d = 0; d < w.size(); ++d) {
    const int64_t n = in[d];
    if (w[d].stride != 1 || w[d].window_dilation != 1 || w[d].base_dilation != 1) return {};
    if (w[d].size == 1 && w[d].pad_low == 0 && w[d].pad_high == 0) continue;
    if (s.dim >= 0 || w[d].size != n) return {};
    const bool forward = w[d].pad_low == n - 1 && w[d].pad_high == 0;
    const bool backward = w[d].pad_low == 0 && w[d].pad_high == n - 1;
    const bool after = w[d].pad_low == n && w[d].pad_high == 0;
    const bool before = w[d].pad_low == 0 && w[d].pad_high == n;
    if (!forward && !backward && !after && !before) return {};
    s.dim = static_cast<int64_t>(d);
    s.reverse = backward || before;
    s.exclusive = after || before;
    if (n + s.exclusive <= kShort) return {};
  }
  return s;
}

bool sums_wide(Op op, Dtype t) {
  if (op == Op::kAdd && is_complex(t)) return real_of(t) == Dtype::kF32;
  return (op == Op::kAdd || op == Op::kMultiply) && is_float(t) && byte_size(t) < 8;
}

}  // namespace braze
