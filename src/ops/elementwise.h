// SPDX-License-Identifier: Apache-2.0
// What the elementwise families share: verification of operand types and shapes, the loops of eval,
// and `lift`, the road from a row to its function in scalar/math.h.
//
// eval loops call F on the widest type of the operand's class: integers and pred as
// F(Dtype, int64_t…), floats as F(double…), complex numbers as F(std::complex<double>…). Elements
// of 64-bit floats go to generic F as long double, so that what libm rounds twice stays below half
// an ulp and a bit. F of exact operations take double itself, to be rounded once.
#pragma once

#include <complex>
#include <type_traits>

#include "ops/op_def.h"
#include "ops/sample.h"
#include "ops/type_class.h"
#include "scalar/math.h"

namespace braze {

// "tanh_c1" from the op and "c1".
std::string constraint(const InferContext& c, std::string_view label);

// Operand k is an array of one of the classes (constraint i<k+1>).
Status expect_class(const InferContext& c, size_t k, uint32_t classes);
// Operands a and b have one element type.
Status expect_same_dtype(const InferContext& c, size_t a, size_t b, std::string_view label);
// The common shape of operands a and b: equal sizes, where an unknown one gives way to a known one
// and a bounded dimension makes the result's bounded. Element type and quantization are a's.
Result<Shape> common_shape(const InferContext& c, const Shape& a, const Shape& b,
                           std::string_view label);

// The shape eval gives its result: the element type of the instruction over the actual dims.
Shape eval_shape(const EvalContext& c, DimSpan dims);
// All operands (but scalars, if allowed) hold as many elements as `out`.
Status expect_elements(const EvalContext& c, int64_t n, bool scalars = false);

template <auto F>
scalar::Value lift(scalar::Graph& g, const Instr& i, absl::Span<const scalar::Value> args) {
  return F(g, i.operand(0)->shape.dtype, args);
}

// The greater or lesser of two elements; complex ones in lexicographic order, where NaN wins too.
scalar::Value emit_extreme(scalar::Graph& g, Dtype t, scalar::math::Args args, bool greater);

namespace elementwise {

template <auto F>
constexpr bool kGiven = !std::is_same_v<decltype(F), std::nullptr_t>;

using Complex = std::complex<double>;
using WideComplex = std::complex<long double>;

inline WideComplex widen(Complex z) { return {z.real(), z.imag()}; }

inline void store(Literal& out, int64_t i, double v) { out.set_float(i, v); }
inline void store(Literal& out, int64_t i, Complex v) { out.set_complex(i, v); }
inline void store(Literal& out, int64_t i, long double v) {
  out.set_float(i, static_cast<double>(v));
}
inline void store(Literal& out, int64_t i, WideComplex v) {
  out.set_complex(i, {static_cast<double>(v.real()), static_cast<double>(v.imag())});
}

inline Status no_eval(const EvalContext& c) {
  return unimplemented(message_name(c.instr.op), ": not defined on ", name(c.operand(0).dtype()));
}

// F over all elements of n operands; Get reads one element of one operand.
template <auto F, typename Wide, typename Get>
void loop(Literal& out, absl::Span<const Literal> x, Get get) {
  const int64_t n = out.elements();
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_invocable_v<decltype(F), Wide>)
      store(out, i, F(Wide(get(x[0], i))));
    else
      store(out, i, F(Wide(get(x[0], i)), Wide(get(x[1], i))));
  }
}

}  // namespace elementwise

// eval of a unary or binary elementwise op. A class whose function is nullptr isn't supported.
template <auto Real, auto Cplx, auto Int>
Result<Literal> eval_elementwise(const EvalContext& c) {
  namespace e = elementwise;
  const Literal& x = c.operand(0);
  const Dtype t = x.dtype();
  Literal out(eval_shape(c, x.shape().dims));
  TRY(expect_elements(c, out.elements()));
  const int64_t n = out.elements();
  if (is_complex(t)) {
    if constexpr (e::kGiven<Cplx>) {
      auto narrow = [](const Literal& l, int64_t i) { return l.get_complex(i); };
      auto wide = [](const Literal& l, int64_t i) { return e::widen(l.get_complex(i)); };
      constexpr bool kWide = std::is_invocable_v<decltype(Cplx), e::WideComplex> ||
                             std::is_invocable_v<decltype(Cplx), e::WideComplex, e::WideComplex>;
      if constexpr (kWide) {
        if (t == Dtype::kC128) {
          e::loop<Cplx, e::WideComplex>(out, c.operands, wide);
          return out;
        }
      }
      e::loop<Cplx, e::Complex>(out, c.operands, narrow);
      return out;
    }
  } else if (is_float(t)) {
    if constexpr (e::kGiven<Real>) {
      auto get = [](const Literal& l, int64_t i) { return l.get_float(i); };
      if (t == Dtype::kF64)
        e::loop<Real, long double>(out, c.operands, get);
      else
        e::loop<Real, double>(out, c.operands, get);
      return out;
    }
  } else {
    if constexpr (e::kGiven<Int>) {
      for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_invocable_v<decltype(Int), Dtype, int64_t>)
          out.set_int(i, Int(t, x.get_int(i)));
        else
          out.set_int(i, Int(t, x.get_int(i), c.operand(1).get_int(i)));
      }
      return out;
    }
  }
  return e::no_eval(c);
}

}  // namespace braze
