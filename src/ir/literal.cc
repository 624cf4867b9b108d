// SPDX-License-Identifier: Apache-2.0
#include "ir/literal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/floats.h"
#include "ir/float_format.h"

namespace braze {
namespace {

template <typename T>
T load(const char* p, int64_t i) {
  T v;
  std::memcpy(&v, p + i * sizeof(T), sizeof(T));
  return v;
}

template <typename T>
void store(char* p, int64_t i, T v) {
  std::memcpy(p + i * sizeof(T), &v, sizeof(T));
}

double load_float(Dtype t, const char* p, int64_t i) {
  switch (t) {
    case Dtype::kF64:
      return load<double>(p, i);
    case Dtype::kF32:
      return load<float>(p, i);
    case Dtype::kF16:
      return decode(kF16Format, load<uint16_t>(p, i));
    case Dtype::kBF16:
      return bf16_to_float(load<uint16_t>(p, i));
    default:
      return decode(format_of(t), load<uint8_t>(p, i));
  }
}

void store_float(Dtype t, char* p, int64_t i, double v) {
  switch (t) {
    case Dtype::kF64:
      return store<double>(p, i, v);
    case Dtype::kF32:
      return store<float>(p, i, static_cast<float>(v));
    case Dtype::kF16:
    case Dtype::kBF16:
      return store<uint16_t>(p, i, static_cast<uint16_t>(encode(format_of(t), v)));
    default:
      return store<uint8_t>(p, i, static_cast<uint8_t>(encode(format_of(t), v)));
  }
}

int64_t load_int(Dtype t, const char* p, int64_t i) {
  const bool negative_too = is_signed_int(t);
  switch (byte_size(t)) {
    case 1:
      return negative_too ? int64_t{load<int8_t>(p, i)} : int64_t{load<uint8_t>(p, i)};
    case 2:
      return negative_too ? int64_t{load<int16_t>(p, i)} : int64_t{load<uint16_t>(p, i)};
    case 4:
      return negative_too ? int64_t{load<int32_t>(p, i)} : int64_t{load<uint32_t>(p, i)};
    default:
      return load<int64_t>(p, i);
  }
}

// v wrapped to the width of t and extended by its signedness; pred: v ≠ 0.
int64_t wrap(Dtype t, int64_t v) {
  if (is_pred(t)) return v != 0;
  const int unused = 64 - bit_size(t);
  if (is_signed_int(t)) return static_cast<int64_t>(static_cast<uint64_t>(v) << unused) >> unused;
  return static_cast<int64_t>(static_cast<uint64_t>(v) << unused >> unused);
}

void store_int(Dtype t, char* p, int64_t i, int64_t v) {
  v = wrap(t, v);
  switch (byte_size(t)) {
    case 1:
      return store<int8_t>(p, i, static_cast<int8_t>(v));
    case 2:
      return store<int16_t>(p, i, static_cast<int16_t>(v));
    case 4:
      return store<int32_t>(p, i, static_cast<int32_t>(v));
    default:
      return store<int64_t>(p, i, v);
  }
}

// v truncated towards zero and clamped to t's range, as bits; NaN gives 0.
int64_t saturate(Dtype t, double v) {
  if (std::isnan(v)) return 0;
  if (is_pred(t)) return v != 0;
  const int bits = bit_size(t);
  if (is_unsigned_int(t)) {
    if (v <= 0) return 0;
    if (v >= std::ldexp(1.0, bits)) return static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
    return static_cast<int64_t>(static_cast<uint64_t>(v));
  }
  const double limit = std::ldexp(1.0, bits - 1);
  if (v >= limit) return static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  if (v <= -limit) return std::numeric_limits<int64_t>::min() >> (64 - bits);
  return static_cast<int64_t>(v);
}

// Elements of one dtype: which of the accessors below apply.
bool holds_ints(Dtype t) { return is_int(t) || is_pred(t); }

}  // namespace

Literal::Literal(const Shape& shape) : Literal(for_overwrite(shape)) { fill_zero(); }

Literal Literal::for_overwrite(const Shape& shape) {
  Literal out;
  out.shape_ = shape;
  if (shape.is_tuple()) {
    for (const Shape& s : shape.tuple) out.parts_.push_back(for_overwrite(s));
  } else if (shape.is_array()) {
    const int64_t bytes = shape.is_static() ? shape.bytes() : 0;
    out.data_ = std::make_shared<Block>(std::max<int64_t>(bytes, 0));
  }
  return out;
}

void Literal::fill_zero() {
  for (Literal& p : parts_) p.fill_zero();
  if (data_ && data_->size() > 0) std::memset(data_->data(), 0, data_->size());
}

Literal Literal::tuple(std::vector<Literal> elements) {
  std::vector<Shape> shapes;
  for (const Literal& l : elements) shapes.push_back(l.shape());
  Literal out;
  out.shape_ = Shape::tuple_of(std::move(shapes));
  out.parts_ = std::move(elements);
  return out;
}

Literal Literal::from_bytes(const Shape& shape, absl::Span<const char> bytes) {
  Literal out = for_overwrite(shape);
  const size_t size = out.data_ ? static_cast<size_t>(out.data_->size()) : 0;
  const size_t n = std::min(bytes.size(), size);
  if (n > 0) std::memcpy(out.data_->data(), bytes.data(), n);
  if (n < size) std::memset(out.data_->data() + n, 0, size - n);
  return out;
}

Literal Literal::scalar(Dtype t, double value) {
  Literal out(Shape::scalar(t));
  out.set_float(0, value);
  return out;
}

Literal Literal::scalar_int(Dtype t, int64_t value) {
  Literal out(Shape::scalar(t));
  out.set_int(0, value);
  return out;
}

char* Literal::mutable_bytes() {
  if (!data_) return nullptr;
  if (data_.use_count() > 1) {
    auto own = std::make_shared<Block>(data_->size());
    if (data_->size() > 0) std::memcpy(own->data(), data_->data(), data_->size());
    data_ = std::move(own);
  }
  return data_->data();
}

double Literal::get_float(int64_t i) const {
  const Dtype t = dtype();
  if (is_float(t)) return load_float(t, bytes(), i);
  if (is_complex(t)) return load_float(real_of(t), bytes(), 2 * i);
  const int64_t v = load_int(t, bytes(), i);
  return t == Dtype::kU64 ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v);
}

int64_t Literal::get_int(int64_t i) const {
  const Dtype t = dtype();
  return holds_ints(t) ? load_int(t, bytes(), i) : saturate(Dtype::kS64, get_float(i));
}

std::complex<double> Literal::get_complex(int64_t i) const {
  const Dtype t = dtype();
  if (!is_complex(t)) return get_float(i);
  return {load_float(real_of(t), bytes(), 2 * i), load_float(real_of(t), bytes(), 2 * i + 1)};
}

void Literal::set_float(int64_t i, double v) {
  const Dtype t = dtype();
  char* p = mutable_bytes();
  if (is_float(t)) return store_float(t, p, i, v);
  if (is_complex(t)) return set_complex(i, v);
  store_int(t, p, i, saturate(t, v));
}

void Literal::set_int(int64_t i, int64_t v) {
  const Dtype t = dtype();
  if (holds_ints(t)) return store_int(t, mutable_bytes(), i, v);
  set_float(i, static_cast<double>(v));
}

void Literal::set_complex(int64_t i, std::complex<double> v) {
  const Dtype t = dtype();
  if (!is_complex(t)) return set_float(i, v.real());
  char* p = mutable_bytes();
  store_float(real_of(t), p, 2 * i, v.real());
  store_float(real_of(t), p, 2 * i + 1, v.imag());
}

void Literal::copy_element(int64_t to, const Literal& from, int64_t at) {
  const int64_t size = byte_size(dtype());
  char* p = mutable_bytes();
  std::memcpy(p + to * size, from.bytes() + at * size, size);
}

Literal Literal::reshaped(const Shape& shape) const {
  Literal out = *this;
  out.shape_ = shape;
  return out;
}

bool Literal::operator==(const Literal& o) const {
  if (!(shape_ == o.shape_) || parts_ != o.parts_) return false;
  if (size_bytes() != o.size_bytes()) return false;
  return size_bytes() == 0 || bytes() == o.bytes() ||
         std::memcmp(bytes(), o.bytes(), size_bytes()) == 0;
}

bool next_index(absl::Span<int64_t> index, DimSpan dims) {
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t linear_index(DimSpan index, DimSpan dims) {
  int64_t n = 0;
  for (size_t i = 0; i < dims.size(); ++i) n = n * dims[i] + index[i];
  return n;
}

namespace {

// The bits of float number `i`, counting the parts of complex elements singly.
uint64_t float_bits(const Literal& l, int64_t i) {
  switch (byte_size(real_of(l.dtype()))) {
    case 1:
      return load<uint8_t>(l.bytes(), i);
    case 2:
      return load<uint16_t>(l.bytes(), i);
    case 4:
      return load<uint32_t>(l.bytes(), i);
    default:
      return load<uint64_t>(l.bytes(), i);
  }
}

void append_element(std::string* out, const Literal& l, int64_t i) {
  const Dtype t = l.dtype();
  const FloatFormat& f = format_of(t);
  if (is_pred(t)) {
    *out += l.get_bool(i) ? "true" : "false";
  } else if (is_complex(t)) {
    absl::StrAppend(out, "(", float_text(f, float_bits(l, 2 * i)), ", ",
                    float_text(f, float_bits(l, 2 * i + 1)), ")");
  } else if (is_float(t)) {
    *out += float_text(f, float_bits(l, i));
  } else if (t == Dtype::kU64) {
    absl::StrAppend(out, static_cast<uint64_t>(l.get_int(i)));
  } else {
    absl::StrAppend(out, l.get_int(i));
  }
}

// Elements from position `at` on of the sub-array over dims[depth…]; returns the position after it.
// A matrix or more is written with a space inside its outer braces, as XLA does.
int64_t append_array(std::string* out, const Literal& l, int64_t depth, int64_t at) {
  const Shape& s = l.shape();
  if (depth == s.rank()) {
    append_element(out, l, at);
    return at + 1;
  }
  const bool inner = depth + 1 == s.rank();
  *out += inner ? "{" : "{ ";
  for (int64_t i = 0; i < s.dims[depth]; ++i) {
    if (i) *out += ", ";
    at = append_array(out, l, depth + 1, at);
  }
  *out += inner ? "}" : " }";
  return at;
}

}  // namespace

std::string to_string(const Literal& l) {
  std::string out;
  if (l.shape().is_tuple()) {
    out = "(";
    for (size_t i = 0; i < l.parts().size(); ++i)
      absl::StrAppend(&out, i ? ", " : "", to_string(l.parts()[i]));
    return out + ")";
  }
  if (!l.shape().is_array()) return "token";
  append_array(&out, l, 0, 0);
  return out;
}

}  // namespace braze
