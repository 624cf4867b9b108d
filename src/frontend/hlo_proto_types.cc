// SPDX-License-Identifier: Apache-2.0
// ShapeProto and LiteralProto.
#include <algorithm>
#include <cstring>

#include "frontend/hlo_proto.h"
#include "frontend/hlo_proto_io.h"
#include "ops/laws.h"

namespace braze::proto {

namespace {

constexpr int kMaxDepth = 64;

// How a literal's elements stand in LiteralProto.
enum class Packing : uint8_t { kVarint, kBytes };

struct TypeRow {
  Dtype dtype;
  int64_t primitive;  // PrimitiveType
  uint32_t field;     // of LiteralProto; 0: none
  Packing packing;    // kBytes: little-endian elements, also of float and double fields
};

constexpr TypeRow kTypes[] = {
    {Dtype::kPred, 1, 2, Packing::kVarint},
    {Dtype::kS2, 26, 26, Packing::kBytes},
    {Dtype::kS4, 21, 21, Packing::kBytes},
    {Dtype::kS8, 2, 15, Packing::kBytes},
    {Dtype::kS16, 3, 17, Packing::kBytes},
    {Dtype::kS32, 4, 4, Packing::kVarint},
    {Dtype::kS64, 5, 5, Packing::kVarint},
    {Dtype::kU2, 27, 27, Packing::kBytes},
    {Dtype::kU4, 22, 22, Packing::kBytes},
    {Dtype::kU8, 6, 3, Packing::kBytes},
    {Dtype::kU16, 7, 16, Packing::kBytes},
    {Dtype::kU32, 8, 6, Packing::kVarint},
    {Dtype::kU64, 9, 7, Packing::kVarint},
    {Dtype::kF4E2M1FN, 32, 32, Packing::kBytes},
    {Dtype::kF8E3M4, 29, 29, Packing::kBytes},
    {Dtype::kF8E4M3, 28, 28, Packing::kBytes},
    {Dtype::kF8E4M3B11FNUZ, 23, 23, Packing::kBytes},
    {Dtype::kF8E4M3FN, 20, 20, Packing::kBytes},
    {Dtype::kF8E4M3FNUZ, 25, 25, Packing::kBytes},
    {Dtype::kF8E5M2, 19, 19, Packing::kBytes},
    {Dtype::kF8E5M2FNUZ, 24, 24, Packing::kBytes},
    {Dtype::kF8E8M0FNU, 33, 33, Packing::kBytes},
    {Dtype::kF16, 10, 11, Packing::kBytes},
    {Dtype::kBF16, 16, 13, Packing::kBytes},
    {Dtype::kF32, 11, 8, Packing::kBytes},
    {Dtype::kF64, 12, 9, Packing::kBytes},
    {Dtype::kC64, 15, 12, Packing::kBytes},
    {Dtype::kC128, 18, 18, Packing::kBytes},
    {Dtype::kTuple, 13, 0, Packing::kBytes},
    {Dtype::kToken, 17, 0, Packing::kBytes},
    {Dtype::kOpaque, 14, 0, Packing::kBytes},
};

const TypeRow* row_of(Dtype t) {
  for (const TypeRow& r : kTypes)
    if (r.dtype == t) return &r;
  return nullptr;
}

// Elements of `s` in `bytes` as they lie in the order of its layout → row-major.
Literal reorder(const Shape& s, std::string_view bytes) {
  Shape plain = Shape::array(s.dtype, s.dims);
  Literal out = Literal::from_bytes(plain, {bytes.data(), bytes.size()});
  if (is_row_major(s) || out.elements() == 0) return out;
  const int64_t size = byte_size(s.dtype);
  // Walk the physical order: the last of `order` turns fastest.
  Dims order(s.layout.rbegin(), s.layout.rend()), dims, by, steps = strides(s.dims);
  for (int64_t d : order) dims.push_back(s.dims[d]), by.push_back(steps[d]);
  Dims index(dims.size(), 0);
  char* to = out.mutable_bytes();
  int64_t k = 0;
  do {
    int64_t at = 0;
    for (size_t i = 0; i < dims.size(); ++i) at += index[i] * by[i];
    std::memcpy(to + at * size, bytes.data() + k++ * size, size);
  } while (next_index(absl::MakeSpan(index), dims));
  return out;
}

// Some writers pack elements of less than a byte.
std::string unpack(Dtype t, std::string_view packed, int64_t count) {
  const int bits = bit_size(t), per = 8 / bits;
  std::string out(count, '\0');
  for (int64_t i = 0; i < count; ++i) {
    int v = (static_cast<uint8_t>(packed[i / per]) >> (i % per * bits)) & ((1 << bits) - 1);
    if (is_signed_int(t) && v >> (bits - 1)) v -= 1 << bits;
    out[i] = static_cast<char>(v);
  }
  return out;
}

}  // namespace

Result<Shape> read_shape(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) return invalid("malformed HLO proto: shapes are nested too deep");
  Shape s;
  Status status;
  int64_t type = 0;
  Dims dynamic;
  std::vector<std::string_view> parts;
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    io(2, type), io(3, s.dims), io(4, parts), io(6, dynamic);
    io.message(5, [&](Reader& sub) { sub(1, s.layout); });
  });
  TRY(status);
  auto row = std::find_if(std::begin(kTypes), std::end(kTypes),
                          [&](auto& r) { return r.primitive == type; });
  if (row == std::end(kTypes)) return unimplemented("HLO proto: element type number ", type);
  s.dtype = row->dtype;
  for (std::string_view p : parts) {
    ASSIGN(Shape part, read_shape(p, depth + 1));
    s.tuple.push_back(std::move(part));
  }
  if (!s.is_tuple() && !s.tuple.empty())
    return invalid("malformed HLO proto: an array with tuple elements");
  if (!s.is_array()) s.dims.clear(), s.layout.clear(), dynamic.clear();
  if (!dynamic.empty() && dynamic.size() != s.dims.size())
    return invalid("malformed HLO proto: dynamic flags do not fit the rank");
  for (size_t i = 0; i < dynamic.size(); ++i)
    s.dynamic.push_back(dynamic[i] != 0 && s.dims[i] != kUnknownDim);
  if (std::find(s.dynamic.begin(), s.dynamic.end(), true) == s.dynamic.end()) s.dynamic.clear();
  TRY(check_size(s));
  Dims sorted = s.layout;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != s.dims.size() || sorted[i] != static_cast<int64_t>(i))
      return invalid("malformed HLO proto: the layout of ", to_string(s, false),
                     " is no permutation");
  if (is_row_major(s)) s.layout.clear();
  return s;
}

void write_shape(Writer& w, const Shape& s) {
  const TypeRow* row = row_of(s.dtype);
  w(2, row ? row->primitive : int64_t{0});
  if (!s.dims.empty()) w(3, s.dims);
  for (const Shape& t : s.tuple) w.message(4, [&](Writer& sub) { write_shape(sub, t); });
  if (!s.is_array()) return;
  Dims layout = s.layout, dynamic;
  if (layout.empty())
    for (int64_t i = s.rank() - 1; i >= 0; --i) layout.push_back(i);
  w.message(5, [&](Writer& sub) {
    if (!layout.empty()) sub(1, layout);
  });
  for (int64_t i = 0; i < s.rank(); ++i)
    dynamic.push_back(s.is_dynamic(i) || s.dims[i] == kUnknownDim);
  if (!dynamic.empty()) w(6, dynamic);
}

Result<Literal> read_literal(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) return invalid("malformed HLO proto: literals are nested too deep");
  Status status;
  std::string_view shape_bytes;
  std::vector<std::string_view> parts;
  Reader::all(message_of(bytes), status, [&](Reader& io) { io(1, shape_bytes), io(10, parts); });
  TRY(status);
  ASSIGN(Shape s, read_shape(shape_bytes, depth));
  if (s.is_tuple()) {
    if (parts.size() != s.tuple.size())
      return invalid("malformed HLO proto: a tuple literal lacks elements");
    std::vector<Literal> elements;
    for (std::string_view p : parts) {
      ASSIGN(Literal e, read_literal(p, depth + 1));
      elements.push_back(std::move(e));
    }
    return Literal::tuple(std::move(elements));
  }
  if (!s.is_array()) return Literal(s);
  if (!s.is_static()) return invalid("malformed HLO proto: a literal of unknown size");
  const TypeRow& row = *row_of(s.dtype);
  const size_t size = byte_size(s.dtype);
  std::string data;
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    if (row.packing == Packing::kBytes) return io.append_bytes(row.field, &data);
    io.repeated(row.field, [&](int64_t v) {
      if (is_pred(s.dtype)) v = v != 0;
      data.append(reinterpret_cast<const char*>(&v), size);
    });
  });
  TRY(status);
  const int64_t n = s.elements();
  if (bit_size(s.dtype) < 8 && !is_pred(s.dtype) && bit_size(s.dtype) != 6 && n > 1 &&
      static_cast<int64_t>(data.size()) == (n * bit_size(s.dtype) + 7) / 8)
    data = unpack(s.dtype, data, n);
  if (data.size() != static_cast<size_t>(n) * size)
    return invalid("malformed HLO proto: a literal ", to_string(s, false), " with ", data.size(),
                   " bytes of data");
  return reorder(s, data);
}

Status write_literal(Writer& w, const Literal& l) {
  Shape plain = l.shape();
  plain.layout.clear();
  w.message(1, [&](Writer& sub) { write_shape(sub, plain); });
  for (const Literal& p : l.parts()) {
    Status status;
    w.message(10, [&](Writer& sub) { status = write_literal(sub, p); });
    TRY(status);
  }
  if (!l.shape().is_array() || l.elements() == 0) return {};
  const TypeRow* row = row_of(l.dtype());
  if (!row) return unimplemented("HLO protos have no element type ", name(l.dtype()));
  if (row->packing == Packing::kBytes) {
    w.raw().add_bytes(row->field, l.bytes(), l.size_bytes());
    return {};
  }
  std::vector<uint64_t> wire(l.elements());
  for (int64_t i = 0; i < l.elements(); ++i) wire[i] = static_cast<uint64_t>(l.get_int(i));
  w.raw().add_packed_uint64(row->field, wire.begin(), wire.end());
  return {};
}

}  // namespace braze::proto

namespace braze {

Result<Shape> read_shape_proto(std::string_view bytes) {
  return proto::guarded([&] { return proto::read_shape(bytes); });
}

Result<Literal> read_literal_proto(std::string_view bytes) {
  return proto::guarded([&] { return proto::read_literal(bytes); });
}

Result<std::string> write_shape_proto(const Shape& s) {
  std::string out;
  proto::Writer w(&out);
  proto::write_shape(w, s);
  return out;
}

Result<std::string> write_literal_proto(const Literal& l) {
  std::string out;
  proto::Writer w(&out);
  TRY(proto::write_literal(w, l));
  return out;
}

}  // namespace braze
