// SPDX-License-Identifier: Apache-2.0
// Row of fft: complex, inverse, real-input and real-output transforms over the last one to three
// dimensions, of any length.
//
// Evaluated in long double: powers of two by halving, other short lengths by the definition (sums of real
// numbers stay real), long ones as a convolution of chirps (Bluestein); the error is far below the result's
// precision. A transform with an infinity or NaN in its operand is NaN all over: what its sums of products
// would give hangs on their order.
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/dim_rules.h"
#include "ops/linalg.h"
#include "ops/sampling.h"

namespace braze {
namespace {

using Number = std::complex<long double>;
using Numbers = std::vector<Number>;

Number unit(long double turns) {
  const long double angle = 2 * std::numbers::pi_v<long double> * turns;
  return {std::cos(angle), std::sin(angle)};
}

// In place, length a power of two, e^(sign·2πi·jk/n).
void transform_power_of_two(Numbers& x, int sign) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {  // bit reversal
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    Numbers w(half);
    for (size_t k = 0; k < half; ++k)
      w[k] = unit(static_cast<long double>(sign) * static_cast<long double>(k) / (2 * half));
    for (size_t block = 0; block < n; block += 2 * half)
      for (size_t k = 0; k < half; ++k) {
        const Number a = x[block + k], b = x[block + half + k] * w[k];
        x[block + k] = a + b;
        x[block + half + k] = a - b;
      }
  }
}

void transform_by_definition(Numbers& x, int sign) {
  const size_t n = x.size();
  Numbers w(n), out(n);
  for (size_t k = 0; k < n; ++k)
    w[k] = unit(static_cast<long double>(sign) * static_cast<long double>(k) / static_cast<long double>(n));
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j) out[k] += x[j] * w[j * k % n];
  x = std::move(out);
}

// In place, any length, not normalised.
void transform(Numbers& x, int sign) {
  const uint64_t n = x.size();
  if (n <= 1) return;
  if ((n & (n - 1)) == 0) return transform_power_of_two(x, sign);
  if (n <= 100) return transform_by_definition(x, sign);
  uint64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  Numbers chirp(n), a(m), b(m);
  for (uint64_t k = 0; k < n; ++k) {
    const auto square = static_cast<long double>(k * k % (2 * n));  // lengths are far below 2^31
    chirp[k] = unit(sign * square / (2 * static_cast<long double>(n)));
    a[k] = x[k] * chirp[k];
    b[k] = std::conj(chirp[k]);
    if (k) b[m - k] = b[k];
  }
  transform_power_of_two(a, 1);
  transform_power_of_two(b, 1);
  for (uint64_t k = 0; k < m; ++k) a[k] *= b[k];
  transform_power_of_two(a, -1);
  for (uint64_t k = 0; k < n; ++k) x[k] = a[k] * chirp[k] / static_cast<long double>(m);
}

// Transforms dimension d of the array x of `dims`.
void transform_dimension(Numbers& x, DimSpan dims, int64_t d, int sign) {
  int64_t inner = 1;
  for (size_t k = d + 1; k < dims.size(); ++k) inner *= dims[k];
  const int64_t n = dims[d], outer = product(dims.first(d));
  Numbers line(n);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < n; ++k) line[k] = x[(o * n + k) * inner + i];
      transform(line, sign);
      for (int64_t k = 0; k < n; ++k) x[(o * n + k) * inner + i] = line[k];
    }
}

bool is_inverse(FftType t) { return t == FftType::kIfft || t == FftType::kIrfft; }

// Length of the stored half of a real signal's spectrum.
int64_t half_length(int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

Result<Dtype> result_type(const FftAttrs& a, const Shape& in) {
  const bool real_in = a.type == FftType::kRfft;
  const bool fits = real_in ? in.dtype == Dtype::kF32 || in.dtype == Dtype::kF64
                            : is_complex(in.dtype);
  if (!fits)
    return law("stablehlo.fft (C2)", "the operand must hold ",
               real_in ? "f32 or f64 numbers" : "complex numbers", ", got ", to_string(in, false));
  if (real_in) return complex_of(in.dtype);
  return a.type == FftType::kIrfft ? real_of(in.dtype) : in.dtype;
}

Result<Shape> infer_fft(const InferContext& ctx) {
  TRY(check_form<FftAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  const auto& a = ctx.as<FftAttrs>();
  const Shape& in = ctx.operand(0);
  const auto count = static_cast<int64_t>(a.length.size());
  if (count < 1 || count > 3)
    return law("stablehlo.fft (C3)", "1 <= size(fft_length) <= 3, got ", count);
  if (count > in.rank())
    return law("stablehlo.fft (C1)", "size(fft_length) <= rank(operand), got ", count, " for ",
               to_string(in, false));
  ASSIGN(const Dtype t, result_type(a, in));
  Shape out = in.with_dtype(t);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t d = in.rank() - count + k, n = a.length[k];
    if (n < 0) return law("stablehlo.fft (C4)", "fft_length must not be negative, got ", n);
    const bool last = k == count - 1;
    const int64_t want = last && a.type == FftType::kIrfft ? half_length(n) : n;
    if (!sizes_agree(in.dims[d], want) && !in.is_dynamic(d))
      return law(last && a.type == FftType::kIrfft ? "stablehlo.fft (C5)" : "stablehlo.fft (C4)",
                 "dim(operand, ", d, ") must be ", want, " for fft_length ", n, ", got ",
                 to_string(in, false));
    if (last && a.type == FftType::kRfft) out.dims[d] = half_length(n);
    if (last && a.type == FftType::kIrfft) out.dims[d] = n;
  }
  return out;
}

// The spectrum of a real signal from its stored half along the last dimension: the other half mirrors it.
Numbers mirrored(const Numbers& half, DimSpan half_dims, int64_t n) {
  const int64_t h = half_dims.back(), rows = product(half_dims.first(half_dims.size() - 1));
  Numbers out(rows * n);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < n; ++k)
      out[r * n + k] = k < h ? half[r * h + k] : std::conj(half[r * h + n - k]);
  return out;
}

bool finite_at(const Literal& l, int64_t i) {
  if (!is_complex(l.dtype())) return std::isfinite(l.get_float(i));
  const std::complex<double> v = l.get_complex(i);
  return std::isfinite(v.real()) && std::isfinite(v.imag());
}

// Makes the transforms NaN whose operand isn't finite; there are `n` of them, one after the other.
void mark_lost(const Literal& in, Literal& out, int64_t n) {
  const int64_t from = in.elements() / n, to = out.elements() / n;
  for (int64_t t = 0; t < n; ++t) {
    bool lost = false;
    for (int64_t i = t * from; i < (t + 1) * from && !lost; ++i) lost = !finite_at(in, i);
    for (int64_t i = t * to; lost && i < (t + 1) * to; ++i) {
      if (is_complex(out.dtype())) out.set_complex(i, {NAN, NAN});
      else out.set_float(i, NAN);
    }
  }
}

Result<Literal> eval_fft(const EvalContext& ctx) {
  const auto& a = ctx.as<FftAttrs>();
  const Literal& in = ctx.operand(0);
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  if (shape.elements() == 0 || in.elements() == 0) return out;
  const int sign = is_inverse(a.type) ? 1 : -1;
  const int64_t rank = shape.rank(), count = static_cast<int64_t>(a.length.size());
  Dims dims = in.shape().dims;
  Numbers x(in.elements());
  for (int64_t i = 0; i < in.elements(); ++i) {
    const std::complex<double> v = in.get_complex(i);
    x[i] = is_complex(in.dtype()) ? Number(v.real(), v.imag()) : Number(in.get_float(i), 0);
  }
  for (int64_t d = rank - count; d < rank - 1; ++d) transform_dimension(x, dims, d, sign);
  if (a.type == FftType::kIrfft) {
    x = mirrored(x, dims, a.length.back());
    dims.back() = a.length.back();
  }
  transform_dimension(x, dims, rank - 1, sign);
  const long double scale = is_inverse(a.type) ? 1.0L / product(a.length) : 1.0L;
  const int64_t full = dims.back(), kept = shape.dims.back();
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const Number v = x[i / kept * full + i % kept] * scale;
    if (is_complex(shape.dtype))
      out.set_complex(i, {static_cast<double>(v.real()), static_cast<double>(v.imag())});
    else
      out.set_float(i, static_cast<double>(v.real()));
  }
  mark_lost(in, out, product(DimSpan(dims).first(rank - count)));
  return out;
}

std::unique_ptr<Module> sample_fft(std::mt19937_64& rng) {
  Sampler s(rng, "fft");
  FftAttrs a;
  a.type = s.pick({FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft});
  Dims dims = s.dims(1, 4, 9);
  const int64_t rank = static_cast<int64_t>(dims.size());
  const int64_t count = s.uniform(1, std::min<int64_t>(3, rank));
  for (int64_t d = rank - count; d < rank; ++d) a.length.push_back(dims[d]);
  if (a.type == FftType::kIrfft) dims.back() = half_length(dims.back());
  const Dtype t = a.type == FftType::kRfft ? s.pick({Dtype::kF32, Dtype::kF64})
                                           : s.pick({Dtype::kC64, Dtype::kC128});
  s.root(Op::kFft, {s.parameter(Shape::array(t, dims))}, a);
  return s.finish();
}

}  // namespace

OpDef fft_row() {
  return {.op = Op::kFft,
          .stablehlo = "fft",
          .arity = 1,
          .attrs = attrs_index<FftAttrs>(),
          .infer = infer_fft,
          .eval = eval_fft,
          .step = Step::kLibrary,
          .cost = 50,
          .sample = sample_fft,
          .doc = "Discrete Fourier transform over the last dimensions; inverses are scaled by 1/n."};
}

}  // namespace braze
