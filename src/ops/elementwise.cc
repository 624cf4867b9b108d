// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

namespace braze {

std::string constraint(const InferContext& c, std::string_view label) {
  return str_cat(" (", message_name(c.op), "_", label, ")");
}

Status expect_class(const InferContext& c, size_t k, uint32_t classes) {
  const Shape& s = c.operand(k);
  if (in_class(s, classes)) return absl::OkStatus();
  return invalid(message_name(c.op), ": operand ", k, " is ", to_string(s, false), ", expected ",
                 class_names(classes), " elements", constraint(c, str_cat("i", k + 1)));
}

Status expect_same_dtype(const InferContext& c, size_t a, size_t b, std::string_view label) {
  const Shape &x = c.operand(a), &y = c.operand(b);
  const bool one_quantized = (x.quant == nullptr) != (y.quant == nullptr);
  const bool expressed_differ = x.quant && y.quant && x.quant->expressed != y.quant->expressed;
  if (one_quantized || expressed_differ)
    return invalid(message_name(c.op), ": operands ", a, " and ", b,
                   one_quantized ? ": only one is quantized" : ": expressed types differ",
                   constraint(c, label));
  if (x.dtype == y.dtype) return absl::OkStatus();
  return invalid(message_name(c.op), ": operand element types ", name(x.dtype), " and ",
                 name(y.dtype), " differ", constraint(c, label));
}

Result<Shape> common_shape(const InferContext& c, const Shape& a, const Shape& b,
                           std::string_view label) {
  Shape out = a.with_dtype(a.dtype);
  out.quant = a.quant;
  bool equal = a.rank() == b.rank();
  for (int64_t i = 0; equal && i < a.rank(); ++i) {
    if (out.dims[i] == kUnknownDim)
      out.dims[i] = b.dims[i];
    else
      equal = out.dims[i] == b.dims[i] || b.dims[i] == kUnknownDim;
    if (b.is_dynamic(i) && !out.is_dynamic(i)) {
      out.dynamic.resize(out.dims.size(), false);
      out.dynamic[i] = true;
    }
  }
  if (equal) return out;
  return invalid(message_name(c.op), ": operand shapes ", to_string(a, false), " and ",
                 to_string(b, false), " differ", constraint(c, label));
}

Shape eval_shape(const EvalContext& c, DimSpan dims) {
  Shape s = c.instr.shape;
  s.layout.clear();
  s.dims.assign(dims.begin(), dims.end());
  return s;
}

Status expect_elements(const EvalContext& c, int64_t n, bool scalars) {
  for (const Literal& l : c.operands)
    if (l.elements() != n && !(scalars && l.shape().is_scalar()))
      return invalid(message_name(c.instr.op), ": values of ", l.elements(), " and ", n,
                     " elements given");
  return absl::OkStatus();
}

scalar::Value emit_extreme(scalar::Graph& g, Dtype t, scalar::math::Args args, bool greater) {
  using scalar::Scalar;
  if (!is_complex(t))
    return greater ? scalar::math::maximum(g, t, args) : scalar::math::minimum(g, t, args);
  const scalar::Value &a = args[0], &b = args[1];
  auto less = [&](const scalar::Value& x, const scalar::Value& y) {
    const Scalar by_imag = g.logical_and(g.eq(x.re, y.re), g.lt(x.im, y.im));
    return g.logical_or(g.lt(x.re, y.re), by_imag);
  };
  auto has_nan = [&](const scalar::Value& x) {
    return g.logical_or(g.ne(x.re, x.re), g.ne(x.im, x.im));
  };
  // Without NaN in a, b is taken if it has one or if it is further out.
  const Scalar further = greater ? less(a, b) : less(b, a);
  const Scalar take_b = g.logical_and(g.logical_not(has_nan(a)), g.logical_or(has_nan(b), further));
  return {g.select(take_b, b.re, a.re), g.select(take_b, b.im, a.im)};
}

}  // namespace braze
