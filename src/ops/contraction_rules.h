// SPDX-License-Identifier: Apache-2.0
// What dot, ragged-dot and convolution share: the element type of a contraction's result, and the
// reference product of two packed operands.
#pragma once

#include <string_view>
#include <vector>

#include "ops/op_def.h"
#include "ops/wide.h"

namespace braze {

// Element type and quantization of the result, without dimensions. Operands of one kind (integer,
// float, complex, pred) may differ in width; the program may state another result type of the same
// kind (or a float one for integers). `rule` names the constraint on equal element types.
Result<Shape> contraction_element(std::string_view rule, const Shape& lhs, const Shape& rhs,
                                  const Shape* proposed);

// Elements of l with its dimensions in the given order, row-major.
template <typename T>
std::vector<T> packed(const Literal& l, DimSpan order) {
  const Dims step = strides(l.shape().dims);
  Dims sizes, steps;
  for (int64_t d : order) {
    sizes.push_back(l.shape().dims[d]);
    steps.push_back(step[d]);
  }
  std::vector<T> out;
  out.reserve(l.elements());
  for (int64_t at : offsets_of(sizes, steps)) out.push_back(wide_at<T>(l, at));
  return out;
}

// Sum of a[i]·b[i] for i in [0, n): in order if short, else four partial sums, added pairwise.
template <typename T>
T dot_product(const T* a, const T* b, int64_t n) {
  T sum[4] = {};
  int64_t i = 0;
  if (n <= kShortSum) {
    for (; i < n; ++i) sum[0] = wide_add<T>(sum[0], wide_mul<T>(a[i], b[i]));
    return sum[0];
  }
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sum[k] = wide_add<T>(sum[k], wide_mul<T>(a[i + k], b[i + k]));
  for (; i < n; ++i) sum[0] = wide_add<T>(sum[0], wide_mul<T>(a[i], b[i]));
  return wide_add<T>(wide_add<T>(sum[0], sum[1]), wide_add<T>(sum[2], sum[3]));
}

// Product of the sizes of some dimensions.
int64_t size_of(const Shape& s, DimSpan dims);

OpDef ragged_dot_row();
// The dimension laws of dot (batch and contracting dimensions), for dot and ragged-dot.
Status check_dot_dims(const DotAttrs& a, const Shape& lhs, const Shape& rhs);
// Free (result) dimensions of each side.
Dims lhs_free_dims(const DotAttrs& a, const Shape& lhs);
Dims rhs_free_dims(const DotAttrs& a, const Shape& rhs);

}  // namespace braze
