// SPDX-License-Identifier: Apache-2.0
// The visitors of hlo_proto_fields.h: Reader, Writer and Resetter over protozero.
//
// protozero reports malformed input by exceptions: the files that include this are compiled with
// them, and each public function catches them at its boundary (guarded()). Wire types are checked
// here.
#pragma once

#include <exception>
#include <initializer_list>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "frontend/hlo_proto_fields.h"

namespace braze::proto {

// Runs `f`, which returns a Status or Result, and makes an error of protozero's exceptions.
template <typename F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& e) {
    return invalid("malformed protobuf: ", e.what());
  }
}

inline protozero::pbf_reader message_of(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

// How many values an enum has; larger wire values are refused.
template <typename E>
size_t enum_count() {
  return spellings<E>().size();
}
template <>
inline size_t enum_count<HloSharding::Kind>() {
  return HloSharding::kUnreduced + 1;
}

// Looks at one field of a message: the call whose number is the field's takes it.
class Reader {
 public:
  Reader(protozero::pbf_reader& m, Status& status) : m_(m), status_(status) {}

  // Calls f(reader) for every field of `m`.
  template <typename F>
  static void all(protozero::pbf_reader m, Status& status, F f) {
    while (status.ok() && m.next()) {
      Reader r(m, status);
      f(r);
      if (!r.done_) m.skip();
    }
  }

  uint32_t tag() const { return m_.tag(); }
  bool done() const { return done_; }
  Status& status() { return status_; }

  void operator()(uint32_t n, int64_t& v) {
    if (take(n)) v = varint();
  }
  void operator()(uint32_t n, bool& v) {
    if (take(n)) v = varint() != 0;
  }
  void operator()(uint32_t n, std::string& v) {
    if (take(n)) v = std::string(view());
  }
  void operator()(uint32_t n, std::string_view& v) {
    if (take(n)) v = view();
  }
  template <typename E>
  requires std::is_enum_v<E>
  void operator()(uint32_t n, E& v) { offset(n, v, 0); }
  void operator()(uint32_t n, Dims& v) {
    repeated(n, [&](int64_t x) { v.push_back(x); });
  }
  void operator()(uint32_t n, std::vector<int64_t>& v) {
    repeated(n, [&](int64_t x) { v.push_back(x); });
  }
  template <typename E>
  requires std::is_enum_v<E>
  void operator()(uint32_t n, std::vector<E>& v) {
    repeated(n, [&](int64_t x) { v.push_back(checked<E>(x)); });
  }
  void operator()(uint32_t n, std::vector<std::string_view>& v) {
    if (take(n)) v.push_back(view());
  }

  template <typename E>
  void names(uint32_t n, E& v, absl::Span<const std::string_view>) {
    if (!take(n)) return;
    std::string_view s = view();
    std::optional<E> e = unspell<E>(s);
    if (e)
      v = *e;
    else if (!s.empty())
      fail(str_cat("unknown value '", s.substr(0, 40), "'"));
  }
  template <typename E>
  void offset(uint32_t n, E& v, int64_t k) {
    if (!take(n)) return;
    int64_t x = varint();
    v = x < k ? E{} : checked<E>(x - k);
  }
  void single(uint32_t n, int64_t& v) {
    repeated(n, [&](int64_t x) { v = x; });
  }
  void f32(uint32_t n, double& v) {
    if (!take(n)) return;
    if (m_.wire_type() == protozero::pbf_wire_type::fixed32)
      v = m_.get_float();
    else
      wrong_type();
  }
  template <typename F>
  void message(uint32_t n, F f) {
    if (take(n)) all(message_of(view()), status_, f);
  }
  template <typename T, typename F>
  void each(uint32_t n, std::vector<T>& v, F f) {
    if (!take(n)) return;
    T element{};
    // The one repeated message whose struct has defaults other than zero.
    if constexpr (std::is_same_v<T, WindowDim>)
      element = {.size = 0, .stride = 0, .window_dilation = 0, .base_dilation = 0};
    all(message_of(view()), status_, [&](Reader& r) { f(r, element); });
    v.push_back(std::move(element));
  }
  void columns(uint32_t n, std::initializer_list<Dims*> to,
               std::initializer_list<uint32_t> numbers) {
    if (!take(n)) return;
    for (Dims* d : to) d->push_back(0);
    all(message_of(view()), status_, [&](Reader& r) {
      auto number = numbers.begin();
      for (Dims* d : to) r(*number++, d->back());
    });
  }
  // The packed or single values of a repeated varint field.
  template <typename F>
  void repeated(uint32_t n, F f) {
    if (!take(n)) return;
    if (m_.wire_type() == protozero::pbf_wire_type::varint) return f(varint());
    std::string_view packed = view();
    const char* p = packed.data();
    const char* end = p + packed.size();
    while (p != end) f(static_cast<int64_t>(protozero::decode_varint(&p, end)));
  }
  // The raw bytes of a repeated fixed-width field or of a bytes field are appended to `out`.
  void append_bytes(uint32_t n, std::string* out) {
    if (!take(n)) return;
    if (m_.wire_type() == protozero::pbf_wire_type::fixed32)
      append(out, m_.get_fixed32());
    else if (m_.wire_type() == protozero::pbf_wire_type::fixed64)
      append(out, m_.get_fixed64());
    else
      out->append(view());
  }
  void fail(std::string_view message) {
    if (status_.ok()) status_ = invalid("malformed HLO proto: ", message);
  }
  bool take(uint32_t n) { return done_ || m_.tag() != n ? false : (done_ = true); }
  std::string_view view() {
    if (m_.wire_type() != protozero::pbf_wire_type::length_delimited)
      return wrong_type(), std::string_view();
    protozero::data_view v = m_.get_view();
    return {v.data(), v.size()};
  }
  int64_t varint() {
    if (m_.wire_type() != protozero::pbf_wire_type::varint) return wrong_type(), 0;
    return m_.get_int64();
  }

 private:
  template <typename T>
  static void append(std::string* out, T v) {
    out->append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  template <typename E>
  E checked(int64_t x) {
    if (x >= 0 && x < static_cast<int64_t>(enum_count<E>())) return static_cast<E>(x);
    fail(str_cat("field ", m_.tag(), " has the unknown value ", x));
    return E{};
  }
  void wrong_type() {
    fail(str_cat("field ", m_.tag(), " has another type than its number says"));
    m_.skip();
  }

  protozero::pbf_reader& m_;
  Status& status_;
  bool done_ = false;
};

// Appends every field that is not zero, as proto3 does.
class Writer {
 public:
  explicit Writer(std::string* out) : w_(*out) {}

  void operator()(uint32_t n, int64_t v) {
    if (v) w_.add_int64(n, v);
  }
  void operator()(uint32_t n, bool v) {
    if (v) w_.add_bool(n, v);
  }
  void operator()(uint32_t n, std::string_view v) {
    if (!v.empty()) w_.add_bytes(n, v.data(), v.size());
  }
  void operator()(uint32_t n, const std::string& v) { (*this)(n, std::string_view(v)); }
  void operator()(uint32_t n, const char* v) { (*this)(n, std::string_view(v)); }
  template <typename E>
  requires std::is_enum_v<E>
  void operator()(uint32_t n, E v) { (*this)(n, static_cast<int64_t>(v)); }
  void operator()(uint32_t n, DimSpan v) { w_.add_packed_int64(n, v.begin(), v.end()); }
  void operator()(uint32_t n, const Dims& v) { (*this)(n, DimSpan(v)); }
  void operator()(uint32_t n, const std::vector<int64_t>& v) { (*this)(n, DimSpan(v)); }
  template <typename E>
  requires std::is_enum_v<E>
  void operator()(uint32_t n, const std::vector<E>& v) {
    std::vector<int32_t> wire;
    for (E e : v) wire.push_back(static_cast<int32_t>(e));
    w_.add_packed_enum(n, wire.begin(), wire.end());
  }
  template <typename E>
  void names(uint32_t n, E v, absl::Span<const std::string_view> words) {
    std::string_view word = words[static_cast<size_t>(v)];
    if (word != "DEFAULT") (*this)(n, word);
  }
  template <typename E>
  void offset(uint32_t n, E v, int64_t k) {
    (*this)(n, static_cast<int64_t>(v) + k);
  }
  void single(uint32_t n, int64_t v) { w_.add_packed_int64(n, &v, &v + 1); }
  void f32(uint32_t n, double v) {
    if (v != 0) w_.add_float(n, static_cast<float>(v));
  }
  template <typename F>
  void message(uint32_t n, F f) {
    std::string body;
    Writer sub(&body);
    f(sub);
    w_.add_message(n, body);
  }
  template <typename T, typename F>
  void each(uint32_t n, const std::vector<T>& v, F f) {
    for (const T& t : v) {
      T copy = t;
      message(n, [&](Writer& sub) { f(sub, copy); });
    }
  }
  void columns(uint32_t n, std::initializer_list<Dims*> from,
               std::initializer_list<uint32_t> numbers) {
    for (size_t i = 0; i < (*from.begin())->size(); ++i)
      message(n, [&](Writer& sub) {
        auto number = numbers.begin();
        for (Dims* d : from) sub(*number++, i < d->size() ? (*d)[i] : 0);
      });
  }
  protozero::pbf_writer& raw() { return w_; }

 private:
  protozero::pbf_writer w_;
};

// Gives every field proto3's zero.
struct Resetter {
  template <typename T>
  void operator()(uint32_t, T& v) {
    v = T{};
  }
  template <typename E>
  void names(uint32_t, E& v, absl::Span<const std::string_view>) {
    v = E{};
  }
  template <typename E>
  void offset(uint32_t, E& v, int64_t) {
    v = E{};
  }
  void single(uint32_t, int64_t& v) { v = 0; }
  void f32(uint32_t, double& v) { v = 0; }
  template <typename F>
  void message(uint32_t, F f) {
    f(*this);
  }
  template <typename T, typename F>
  void each(uint32_t, std::vector<T>& v, F) {
    v.clear();
  }
  void columns(uint32_t, std::initializer_list<Dims*> to, std::initializer_list<uint32_t>) {
    for (Dims* d : to) d->clear();
  }
};

// hlo_proto_types.cc; depth bounds nesting.
Result<Shape> read_shape(std::string_view bytes, int depth = 0);
void write_shape(Writer& w, const Shape& s);
Result<Literal> read_literal(std::string_view bytes, int depth = 0);
Status write_literal(Writer& w, const Literal& l);

}  // namespace braze::proto
