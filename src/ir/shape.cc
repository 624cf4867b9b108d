// SPDX-License-Identifier: Apache-2.0
#include "ir/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace braze {

Shape Shape::array(Dtype t, DimSpan dims) {
  Shape s;
  s.dtype = t;
  s.dims.assign(dims.begin(), dims.end());
  return s;
}

Shape Shape::tuple_of(std::vector<Shape> elements) {
  Shape s;
  s.dtype = Dtype::kTuple;
  s.tuple = std::move(elements);
  return s;
}

Shape Shape::token() {
  Shape s;
  s.dtype = Dtype::kToken;
  return s;
}

bool Shape::has_bounded_dim() const {
  if (is_tuple())
    return std::any_of(tuple.begin(), tuple.end(), [](auto& t) { return t.has_bounded_dim(); });
  return std::find(dynamic.begin(), dynamic.end(), true) != dynamic.end();
}

bool Shape::is_static() const {
  if (is_tuple())
    return std::all_of(tuple.begin(), tuple.end(), [](auto& t) { return t.is_static(); });
  return std::find(dims.begin(), dims.end(), kUnknownDim) == dims.end();
}

int64_t Shape::elements() const { return is_array() ? product(dims) : 0; }

int64_t Shape::bytes() const {
  if (!is_tuple()) return elements() * byte_size(dtype);
  int64_t n = 0;
  for (const Shape& t : tuple) n += t.bytes();
  return n;
}

Shape Shape::with_dtype(Dtype t) const {
  Shape s = array(t, dims);
  s.dynamic = dynamic;
  return s;
}

Shape Shape::with_dims(DimSpan d) const {
  Shape s = array(dtype, d);
  s.quant = quant;
  return s;
}

bool is_row_major(const Shape& s) {
  for (size_t i = 0; i < s.layout.size(); ++i)
    if (s.layout[i] != static_cast<int64_t>(s.layout.size() - 1 - i)) return false;
  return true;
}

namespace {

bool same_layout(const Shape& a, const Shape& b) {
  if (a.layout.empty()) return is_row_major(b);
  if (b.layout.empty()) return is_row_major(a);
  return a.layout == b.layout;
}

bool same_quant(const Shape& a, const Shape& b) {
  return a.quant == b.quant || (a.quant && b.quant && *a.quant == *b.quant);
}

bool same_dynamic(const Shape& a, const Shape& b) {
  for (int64_t i = 0; i < a.rank(); ++i)
    if (a.is_dynamic(i) != b.is_dynamic(i)) return false;
  return true;
}

}  // namespace

bool Shape::operator==(const Shape& o) const {
  return dtype == o.dtype && dims == o.dims && tuple == o.tuple && same_dynamic(*this, o) &&
         same_layout(*this, o) && same_quant(*this, o);
}

bool same_dims(const Shape& a, const Shape& b) { return a.dims == b.dims; }

bool compatible(const Shape& a, const Shape& b, bool dynamic_too) {
  if (a.dtype != b.dtype || a.dims != b.dims || a.tuple.size() != b.tuple.size()) return false;
  if (dynamic_too && !same_dynamic(a, b)) return false;
  for (size_t i = 0; i < a.tuple.size(); ++i)
    if (!compatible(a.tuple[i], b.tuple[i], dynamic_too)) return false;
  return true;
}

Dims strides(DimSpan dims) {
  Dims s(dims.size(), 1);
  for (int64_t i = static_cast<int64_t>(dims.size()) - 2; i >= 0; --i) s[i] = s[i + 1] * dims[i + 1];
  return s;
}

int64_t product(DimSpan dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

std::string join(DimSpan dims) { return absl::StrJoin(dims, ","); }

std::string to_string(const Shape& s, bool layouts) {
  if (s.is_tuple()) {
    std::string out = "(";
    for (size_t i = 0; i < s.tuple.size(); ++i)
      absl::StrAppend(&out, i ? ", " : "", to_string(s.tuple[i], layouts));
    return out + ")";
  }
  std::string out = str_cat(name(s.dtype), "[");
  for (int64_t i = 0; i < s.rank(); ++i) {
    absl::StrAppend(&out, i ? "," : "", s.is_dynamic(i) ? "<=" : "");
    if (s.dims[i] == kUnknownDim) out += "?";
    else absl::StrAppend(&out, s.dims[i]);
  }
  out += "]";
  if (!layouts || !s.is_array() || s.dims.empty()) return out;
  Dims layout = s.layout;
  if (layout.empty())
    for (int64_t i = s.rank() - 1; i >= 0; --i) layout.push_back(i);
  return absl::StrCat(out, "{", join(layout), "}");
}

}  // namespace braze
