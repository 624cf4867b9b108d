// SPDX-License-Identifier: Apache-2.0
// Shape: element type and dimensions of an array, or a tuple of shapes, or a token.
//
// A dimension is a size ≥ 0, or kUnknownDim (unrefined "?"), or a bounded one: dims[i] is the bound
// and dynamic[i] is true. `layout` is minor-to-major as HLO prints it; empty means row-major. Only
// the program's entry may hold a layout other than row-major: passes/layout removes all others.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/dtype.h"

namespace braze {

using Dims = absl::InlinedVector<int64_t, 6>;
using DimSpan = absl::Span<const int64_t>;

constexpr int64_t kUnknownDim = std::numeric_limits<int64_t>::min();

// Parameters of a StableHLO quantized element type: real = (stored − zero_point) · scale.
struct Quantization {
  Dtype expressed = Dtype::kF32;
  std::vector<double> scales;        // one, or one per slice along `axis`
  std::vector<int64_t> zero_points;  // as many
  int64_t axis = -1;                 // -1: per tensor
  int64_t storage_min = 0, storage_max = 0;
  bool operator==(const Quantization&) const = default;
};

struct Shape {
  Dtype dtype = Dtype::kF32;
  Dims dims;
  Dims layout;                                // minor to major; empty: row-major
  absl::InlinedVector<bool, 6> dynamic;       // empty, or one flag per dim: dims[i] is a bound
  std::vector<Shape> tuple;                   // elements, for kTuple
  std::shared_ptr<const Quantization> quant;  // element type is quantized, stored as dtype

  static Shape array(Dtype t, DimSpan dims);
  static Shape scalar(Dtype t) { return array(t, {}); }
  static Shape tuple_of(std::vector<Shape> elements);
  static Shape token();

  bool is_tuple() const { return dtype == Dtype::kTuple; }
  bool is_token() const { return dtype == Dtype::kToken; }
  bool is_array() const { return braze::is_array(dtype); }
  bool is_scalar() const { return is_array() && dims.empty(); }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool is_dynamic(int64_t i) const { return !dynamic.empty() && dynamic[i]; }
  bool has_bounded_dim() const;
  bool is_static() const;            // no unknown dimension anywhere (bounded ones count as static)
  int64_t elements() const;          // product of dims
  int64_t bytes() const;             // of the array, or the sum over tuple elements
  Shape with_dtype(Dtype t) const;   // same dims and dynamic flags, default layout
  Shape with_dims(DimSpan d) const;  // same dtype and quantization, default layout, static

  bool operator==(const Shape&) const;  // layouts and quantization count
};

// Equal but for layout and quantization (and dynamic flags if `dynamic_too` is false).
bool compatible(const Shape& a, const Shape& b, bool dynamic_too = false);
bool same_dims(const Shape& a, const Shape& b);
bool is_row_major(const Shape& s);

// Row-major strides in elements.
Dims strides(DimSpan dims);
int64_t product(DimSpan dims);

// "f32[2,3]{1,0}"; tuples "(f32[2], token[])". `layouts` false leaves {…} out.
std::string to_string(const Shape& s, bool layouts = true);
// "1,2,3"
std::string join(DimSpan dims);

}  // namespace braze
