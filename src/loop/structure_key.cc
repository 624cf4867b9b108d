// SPDX-License-Identifier: Apache-2.0
#include "loop/structure_key.h"

#include <type_traits>

#include "absl/container/flat_hash_map.h"

namespace braze::loop {
namespace {

constexpr int kMaxDepth = 16;  // of calls within calls; what lies deeper equals itself alone

void write(KeyWriter& w, const Shape& s) {
  w.number(static_cast<int64_t>(s.dtype));
  w.numbers(s.dims);
  w.numbers(s.layout);
  w.numbers(s.dynamic);
  w.number(static_cast<int64_t>(s.tuple.size()));
  for (const Shape& t : s.tuple) write(w, t);
  w.number(s.quant != nullptr);
  if (!s.quant) return;
  w.number(static_cast<int64_t>(s.quant->expressed));
  w.number(static_cast<int64_t>(s.quant->scales.size()));
  for (double v : s.quant->scales) w.real(v);
  w.numbers(s.quant->zero_points);
  w.number(s.quant->axis);
  w.number(s.quant->storage_min);
  w.number(s.quant->storage_max);
}

void write(KeyWriter& w, const Literal& l) {
  write(w, l.shape());
  w.text({l.bytes(), static_cast<size_t>(l.size_bytes())});
  w.number(static_cast<int64_t>(l.parts().size()));
  for (const Literal& p : l.parts()) write(w, p);
}

// The visitor of attributes' fields.
struct AttrWriter {
  KeyWriter& w;

  template <typename T>
  void value(const T& v) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) w.number(static_cast<int64_t>(v));
    else if constexpr (std::is_floating_point_v<T>) w.real(v);
    else list(v);
  }
  void value(const std::string& v) { w.text(v); }
  void value(const WindowDim& d) {
    w.numbers(std::initializer_list<int64_t>{d.size, d.stride, d.pad_low, d.pad_high, d.window_dilation,
                                             d.base_dilation, d.reversal});
  }
  void value(const ConvDims& d) {
    w.numbers(std::initializer_list<int64_t>{d.input_batch, d.input_feature, d.kernel_input, d.kernel_output,
                                             d.output_batch, d.output_feature});
    for (const Dims* spatial : {&d.input_spatial, &d.kernel_spatial, &d.output_spatial}) w.numbers(*spatial);
  }
  void value(const OperandAlias& a) {
    w.numbers(a.output_index);
    w.number(a.operand);
    w.numbers(a.operand_index);
  }
  void value(const std::pair<int64_t, int64_t>& p) { w.number(p.first), w.number(p.second); }
  template <typename List>
  void list(const List& l) {
    w.number(static_cast<int64_t>(l.size()));
    for (const auto& v : l) value(v);
  }

  template <typename T>
  void operator()(const char*, const T& v) { value(v); }
  void slice(const char*, const Dims& a, const Dims& b, const Dims& c) { value(a), value(b), value(c); }
  void padding(const char*, const Dims& a, const Dims& b, const Dims& c) { value(a), value(b), value(c); }
  void one_dim(const char*, int64_t v) { value(v); }
  void number(int64_t v) { value(v); }
  void literal(const Literal& l) { write(w, l); }
};

void write(KeyWriter& w, const Computation& c, int depth);

void write(KeyWriter& w, const Instr& i, int depth) {
  w.number(static_cast<int64_t>(i.op));
  write(w, i.shape);
  w.number(static_cast<int64_t>(i.attrs.index()));
  std::visit([&](const auto& a) { a.fields(AttrWriter{w}); }, i.attrs);
  w.number(static_cast<int64_t>(i.calls.size()));
  for (const Computation* c : i.calls) write(w, *c, depth + 1);
}

void write(KeyWriter& w, const Computation& c, int depth) {
  if (depth > kMaxDepth) return w.number(reinterpret_cast<intptr_t>(&c));
  absl::flat_hash_map<const Instr*, int64_t> number;
  for (const auto& i : c.instrs()) number.try_emplace(i.get(), static_cast<int64_t>(number.size()));
  w.number(c.size());
  for (const auto& i : c.instrs()) {
    write(w, *i, depth);
    w.number(static_cast<int64_t>(i->operands.size()));
    for (const Instr* o : i->operands) w.number(number.at(o));
  }
  w.number(c.root() ? number.at(c.root()) : -1);
}

}  // namespace

Hash128 shape_key(const Shape& s) {
  KeyWriter w;
  write(w, s);
  return w.finish();
}

Hash128 instr_key(const Instr& i) {
  KeyWriter w;
  write(w, i, 0);
  return w.finish();
}

Hash128 computation_key(const Computation& c) {
  KeyWriter w;
  write(w, c, 0);
  return w.finish();
}

}  // namespace braze::loop
