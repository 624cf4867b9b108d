// SPDX-License-Identifier: Apache-2.0
// Shapes and attributes, value by value, into a sink of numbers and texts: a key or a buffer; and back.
// One list of what they hold, for structure keys (loop/structure_key.h) and module bytes (ir/module_bytes.h).
//
// A sink has number(int64_t), real(double), text(string_view) and literal(const Literal&); a source gives
// the same back: number(), real(), text(), count() for the length of a list, literal().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/attrs.h"
#include "ir/shape.h"

namespace braze {

template <typename T>
constexpr bool is_whole = std::is_integral_v<T> || std::is_enum_v<T>;

// The visitor of fields that writes them.
template <typename Sink>
struct FieldWriter {
  Sink& to;

  template <typename T>
  void value(const T& v) {
    if constexpr (is_whole<T>) to.number(static_cast<int64_t>(v));
    else if constexpr (std::is_floating_point_v<T>) to.real(v);
    else list(v);
  }
  void value(const std::string& v) { to.text(v); }
  void value(const WindowDim& d) {
    each(d.size, d.stride, d.pad_low, d.pad_high, d.window_dilation, d.base_dilation, d.reversal);
  }
  void value(const ConvDims& d) {
    each(d.input_batch, d.input_feature, d.kernel_input, d.kernel_output, d.output_batch, d.output_feature,
         d.input_spatial, d.kernel_spatial, d.output_spatial);
  }
  void value(const OperandAlias& a) { each(a.output_index, a.operand, a.operand_index); }
  void value(const Quantization& q) {
    each(q.expressed, q.scales, q.zero_points, q.axis, q.storage_min, q.storage_max);
  }
  void value(const Shape& s) {
    each(s.dtype, s.dims, s.layout, s.dynamic, s.tuple, s.quant != nullptr);
    if (s.quant) value(*s.quant);
  }
  template <typename A, typename B>
  void value(const std::pair<A, B>& p) { each(p.first, p.second); }
  template <typename List>
  void list(const List& l) {
    to.number(static_cast<int64_t>(l.size()));
    for (const auto& v : l) value(v);
  }
  template <typename... T>
  void each(const T&... v) { (value(v), ...); }

  template <typename T>
  void operator()(const char*, const T& v) { value(v); }
  void slice(const char*, const Dims& a, const Dims& b, const Dims& c) { each(a, b, c); }
  void padding(const char*, const Dims& a, const Dims& b, const Dims& c) { each(a, b, c); }
  void one_dim(const char*, int64_t v) { value(v); }
  void number(int64_t v) { value(v); }
  void literal(const Literal& l) { to.literal(l); }
};

// The visitor of fields that reads what FieldWriter wrote.
template <typename Source>
struct FieldReader {
  Source& from;

  template <typename T>
  void value(T& v) {
    if constexpr (is_whole<T>) v = static_cast<T>(from.number());
    else if constexpr (std::is_floating_point_v<T>) v = from.real();
    else list(v);
  }
  void value(std::string& v) { v = std::string(from.text()); }
  void value(WindowDim& d) {
    each(d.size, d.stride, d.pad_low, d.pad_high, d.window_dilation, d.base_dilation, d.reversal);
  }
  void value(ConvDims& d) {
    each(d.input_batch, d.input_feature, d.kernel_input, d.kernel_output, d.output_batch, d.output_feature,
         d.input_spatial, d.kernel_spatial, d.output_spatial);
  }
  void value(OperandAlias& a) { each(a.output_index, a.operand, a.operand_index); }
  void value(Quantization& q) {
    each(q.expressed, q.scales, q.zero_points, q.axis, q.storage_min, q.storage_max);
  }
  void value(Shape& s) {
    bool quantized = false;
    each(s.dtype, s.dims, s.layout, s.dynamic, s.tuple, quantized);
    if (!quantized) return;
    auto q = std::make_shared<Quantization>();
    value(*q);
    s.quant = std::move(q);
  }
  template <typename A, typename B>
  void value(std::pair<A, B>& p) { each(p.first, p.second); }
  // Of lists without a way to resize them: maps.
  template <typename K, typename V>
  void value(std::map<K, V>& m) {
    for (int64_t n = from.count(); n > 0; --n) {
      std::pair<K, V> p;
      value(p);
      m.insert(std::move(p));
    }
  }
  template <typename List>
  void list(List& l) {
    l.resize(static_cast<size_t>(from.count()));
    for (auto& v : l) value(v);
  }
  template <typename... T>
  void each(T&... v) { (value(v), ...); }

  template <typename T>
  void operator()(const char*, T& v) { value(v); }
  void slice(const char*, Dims& a, Dims& b, Dims& c) { each(a, b, c); }
  void padding(const char*, Dims& a, Dims& b, Dims& c) { each(a, b, c); }
  void one_dim(const char*, int64_t& v) { value(v); }
  void number(int64_t& v) { value(v); }
  void literal(Literal& l) { l = from.literal(); }
};

}  // namespace braze
