// SPDX-License-Identifier: Apache-2.0
#include "text/stablehlo_types.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace braze::text {

namespace {

constexpr int64_t kHexAbove = 64;  // elements

// Shortest text that reads back as v, with the point MLIR asks for.
std::string float_text(double v) {
  char buffer[64];
  char* end = std::to_chars(buffer, buffer + sizeof(buffer), v, std::chars_format::scientific).ptr;
  std::string s(buffer, end);
  if (s.find('.') == std::string::npos) s.insert(s.find('e'), ".0");
  return s;
}

uint64_t bits_at(const char* p, int64_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, p, bytes);
  return v;
}

// Element number `i` of a float array of type t at `bytes`.
std::string float_element(Dtype t, const Literal& l, int64_t i, bool imaginary) {
  double v = imaginary ? l.get_complex(i).imag() : l.get_float(i);
  if (std::isfinite(v)) return float_text(v);
  const int64_t size = byte_size(t);
  const char* at = l.bytes() + (is_complex(l.dtype()) ? 2 * i + imaginary : i) * size;
  return absl::StrFormat("0x%0*X", static_cast<int>(2 * size), bits_at(at, size));
}

std::string element(const Literal& l, int64_t i) {
  const Dtype t = l.dtype();
  if (is_pred(t)) return l.get_bool(i) ? "true" : "false";
  if (is_complex(t))
    return str_cat("(", float_element(real_of(t), l, i, false), ", ",
                   float_element(real_of(t), l, i, true), ")");
  if (is_float(t)) return float_element(t, l, i, false);
  if (t == Dtype::kU64) return str_cat(static_cast<uint64_t>(l.get_int(i)));
  return str_cat(l.get_int(i));
}

void elements(std::string* out, const Literal& l, size_t depth, int64_t* at) {
  if (depth == l.shape().dims.size()) {
    *out += element(l, (*at)++);
    return;
  }
  *out += "[";
  for (int64_t i = 0; i < l.shape().dims[depth]; ++i) {
    if (i) *out += ", ";
    elements(out, l, depth + 1, at);
  }
  *out += "]";
}

bool is_splat(const Literal& l) {
  const int64_t size = byte_size(l.dtype());
  const char* p = l.bytes();
  return std::memcmp(p, p + size, l.size_bytes() - size) == 0;
}

std::string quantized_type(const Shape& s) {
  const Quantization& q = *s.quant;
  std::string storage(info(s.dtype).mlir);
  if (storage.substr(0, 2) == "ui") storage = "u" + storage.substr(2);
  std::string out = str_cat("!quant.uniform<", storage, "<", q.storage_min, ":", q.storage_max,
                            ">:", info(q.expressed).mlir);
  if (q.axis >= 0) absl::StrAppend(&out, ":", q.axis);
  out += q.axis >= 0 ? ", {" : ", ";
  for (size_t i = 0; i < q.scales.size(); ++i) {
    absl::StrAppend(&out, i ? ", " : "", float_text(q.scales[i]));
    if (i < q.zero_points.size() && q.zero_points[i] != 0)
      absl::StrAppend(&out, ":", q.zero_points[i]);
  }
  return out + (q.axis >= 0 ? "}>" : ">");
}

}  // namespace

std::string mlir_type(const Shape& s) {
  if (!s.is_array()) return std::string(info(s.dtype).mlir);
  std::string out = "tensor<", bounds;
  bool bounded = false;
  for (int64_t i = 0; i < s.rank(); ++i) {
    bool unknown = s.dims[i] == kUnknownDim;
    if (unknown || s.is_dynamic(i))
      out += "?x";
    else
      absl::StrAppend(&out, s.dims[i], "x");
    bounded |= s.is_dynamic(i);
    absl::StrAppend(&bounds, i ? ", " : "", s.is_dynamic(i) ? str_cat(s.dims[i]) : "?");
  }
  out += s.quant ? quantized_type(s) : std::string(info(s.dtype).mlir);
  if (bounded) absl::StrAppend(&out, ", #stablehlo.bounds<", bounds, ">");
  return out + ">";
}

void append_leaves(const Shape& s, std::vector<Shape>* out) {
  if (!s.is_tuple()) out->push_back(s);
  for (const Shape& t : s.tuple) append_leaves(t, out);
}

std::string mlir_dense(const Literal& l) {
  std::string out = "dense<";
  const int64_t n = l.elements();
  if (n > 1 && is_splat(l)) {
    out += element(l, 0);
  } else if (n > kHexAbove && bit_size(l.dtype()) >= 8) {
    out += "\"0x";
    for (int64_t i = 0; i < l.size_bytes(); ++i)
      absl::StrAppendFormat(&out, "%02X", static_cast<unsigned char>(l.bytes()[i]));
    out += "\"";
  } else if (n > 0) {
    int64_t at = 0;
    elements(&out, l, 0, &at);
  }
  return str_cat(out, "> : ", mlir_type(l.shape()));
}

std::string mlir_array(DimSpan v) {
  std::string out = v.empty() ? "array<i64" : "array<i64: ";
  for (size_t i = 0; i < v.size(); ++i) absl::StrAppend(&out, i ? ", " : "", v[i]);
  return out + ">";
}

std::string mlir_matrix(const std::vector<Dims>& rows) {
  const size_t columns = rows.empty() ? 0 : rows[0].size();
  std::string out = "dense<";
  if (!rows.empty() && columns > 0) {
    out += "[";
    for (size_t i = 0; i < rows.size(); ++i) {
      out += i ? ", [" : "[";
      for (size_t j = 0; j < columns; ++j)
        absl::StrAppend(&out, j ? ", " : "", j < rows[i].size() ? rows[i][j] : -1);
      out += "]";
    }
    out += "]";
  }
  return str_cat(out, "> : tensor<", rows.size(), "x", columns, "xi64>");
}

std::string mlir_string(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      absl::StrAppendFormat(&out, "\\%c", c);
    else if (!absl::ascii_isprint(u))
      absl::StrAppendFormat(&out, "\\%02X", u);
    else
      out += c;
  }
  return out + "\"";
}

std::string mlir_symbol(std::string_view s) {
  auto bare = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
  };
  bool plain = !s.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(s[0])) &&
               s[0] != '$' && s[0] != '.' && std::all_of(s.begin(), s.end(), bare);
  return str_cat("@", plain ? std::string(s) : mlir_string(s));
}

}  // namespace braze::text
