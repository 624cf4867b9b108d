// SPDX-License-Identifier: Apache-2.0
// Literal: a typed host array in row-major order, or a tuple of literals.
//
// Elements lie as in memory: byte_size(dtype) bytes each, sub-byte types one per byte (sign-extended
// for signed ones, zero-extended bits for unsigned and float ones), pred one byte 0/1.
// Copies share storage; writing through mutable_* unshares first.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/blocks.h"
#include "base/status.h"
#include "ir/shape.h"

namespace braze {

class Literal {
 public:
  Literal() = default;                     // f32[0]
  explicit Literal(const Shape& shape);    // zero-filled; tuples get zero-filled elements
  static Literal for_overwrite(const Shape& shape);  // of any content: the caller writes every element
  static Literal tuple(std::vector<Literal> elements);
  static Literal from_bytes(const Shape& shape, absl::Span<const char> bytes);  // bytes.size() == shape.bytes()
  static Literal scalar(Dtype t, double value);            // rounded / saturated as set_float, set_int
  static Literal scalar_int(Dtype t, int64_t value);
  template <typename T>
  static Literal of(Dtype t, DimSpan dims, std::initializer_list<T> values) {
    Literal l(Shape::array(t, dims));
    int64_t i = 0;
    for (T v : values) {
      if constexpr (std::is_same_v<T, std::complex<double>>) l.set_complex(i++, v);
      else if constexpr (std::is_floating_point_v<T>) l.set_float(i++, v);
      else l.set_int(i++, static_cast<int64_t>(v));
    }
    return l;
  }

  const Shape& shape() const { return shape_; }
  Dtype dtype() const { return shape_.dtype; }
  int64_t elements() const { return shape_.elements(); }
  const std::vector<Literal>& parts() const { return parts_; }   // of a tuple
  std::vector<Literal>& mutable_parts() { return parts_; }

  const char* bytes() const { return data_ ? data_->data() : nullptr; }
  char* mutable_bytes();
  int64_t size_bytes() const { return data_ ? static_cast<int64_t>(data_->size()) : 0; }
  template <typename T>
  absl::Span<const T> data() const {
    return {reinterpret_cast<const T*>(bytes()), static_cast<size_t>(size_bytes() / sizeof(T))};
  }
  template <typename T>
  absl::Span<T> mutable_data() {
    char* p = mutable_bytes();
    return {reinterpret_cast<T*>(p), static_cast<size_t>(size_bytes() / sizeof(T))};
  }

  // One element at row-major position i, in the widest type of its class.
  // get_float: float types (exact), integers, pred; complex gives the real part.
  double get_float(int64_t i) const;
  // get_int: integers (u64 as its bits), pred as 0/1; floats are truncated and saturated, NaN → 0.
  int64_t get_int(int64_t i) const;
  bool get_bool(int64_t i) const { return get_int(i) != 0; }
  std::complex<double> get_complex(int64_t i) const;
  // Stores round to nearest even in the element type (f16, bf16, f8 from double in ONE rounding);
  // set_int wraps to the width of an integer type.
  void set_float(int64_t i, double v);
  void set_int(int64_t i, int64_t v);
  void set_complex(int64_t i, std::complex<double> v);
  // Copies one element between literals of one dtype, bits unchanged.
  void copy_element(int64_t to, const Literal& from, int64_t at);

  Literal reshaped(const Shape& shape) const;  // same bytes under another shape of equal size
  bool operator==(const Literal& o) const;     // same shape and bits

 private:
  Shape shape_ = Shape::array(Dtype::kF32, {0});
  void fill_zero();
  std::shared_ptr<Block> data_;
  std::vector<Literal> parts_;
};

// Row-major multi-index iteration: advances `index` in place, false after the last one.
bool next_index(absl::Span<int64_t> index, DimSpan dims);
// Row-major position of an index.
int64_t linear_index(DimSpan index, DimSpan dims);

// HLO text of the value: "{ {1, 2}, {3, 4} }", "-inf", "(1, 2)" for complex, nested tuples.
std::string to_string(const Literal& l);

}  // namespace braze
