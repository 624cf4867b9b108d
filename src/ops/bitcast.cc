// SPDX-License-Identifier: Apache-2.0
#include "ops/bitcast.h"

#include <cmath>
#include <cstring>

#include "ops/builder.h"
#include "ops/elementwise.h"

namespace braze {

uint64_t element_bits(const Literal& l, int64_t i) {
  const Dtype t = l.dtype();
  uint64_t bits = 0;
  std::memcpy(&bits, l.bytes() + i * byte_size(t), byte_size(t));
  return bits << (64 - bit_size(t)) >> (64 - bit_size(t));
}

void set_element_bits(Literal& l, int64_t i, uint64_t bits) {
  const Dtype t = l.dtype();
  bits = bits << (64 - bit_size(t)) >> (64 - bit_size(t));
  if (!is_float(t)) return l.set_int(i, static_cast<int64_t>(bits));
  std::memcpy(l.mutable_bytes() + i * byte_size(t), &bits, byte_size(t));
}

void bitcast_elements(Literal& out, const Literal& x) {
  const int from = bit_size(x.dtype()), to = bit_size(out.dtype());
  if (from % 8 == 0 && to % 8 == 0) {
    if (out.size_bytes() > 0)
      std::memcpy(out.mutable_bytes(), x.bytes(), std::min(out.size_bytes(), x.size_bytes()));
    return;
  }
  if (to <= from) {
    const int parts = from / to;
    for (int64_t i = 0; i < out.elements(); ++i)
      set_element_bits(out, i, element_bits(x, i / parts) >> (to * (i % parts)));
    return;
  }
  const int parts = to / from;
  for (int64_t i = 0; i < out.elements(); ++i) {
    uint64_t bits = 0;
    for (int k = 0; k < parts; ++k) bits |= element_bits(x, i * parts + k) << (from * k);
    set_element_bits(out, i, bits);
  }
}

namespace bitcast {
namespace {

// The unsigned type of so many bits; pred for one.
Dtype unsigned_of(int bits) {
  switch (bits) {
    case 1:
      return Dtype::kPred;
    case 2:
      return Dtype::kU2;
    case 4:
      return Dtype::kU4;
    case 8:
      return Dtype::kU8;
    case 16:
      return Dtype::kU16;
    case 32:
      return Dtype::kU32;
    default:
      return Dtype::kU64;
  }
}

using scalar::Graph;
using scalar::Scalar;
using scalar::Value;

// The bits of a real value of type t, zero-extended in the wider unsigned type w.
Scalar to_bits(Graph& g, Dtype t, Dtype w, Scalar v) {
  const Dtype u = unsigned_of(bit_size(t));
  if (t != u) v = scalar::math::bitcast_convert(g, t, u, {Value{v}}).re;
  return g.cast(w, v);
}

// Value of type t from the low bits of an unsigned value.
Scalar from_bits(Graph& g, Dtype t, Scalar bits) {
  if (is_pred(t)) {
    const Dtype w = g.type(bits);
    const Scalar low = g.make(scalar::Op::kAnd, w, bits, g.constant_int(w, 1));
    return g.ne(low, g.constant_int(w, 0));
  }
  const Dtype u = unsigned_of(bit_size(t));
  const Scalar narrow = g.cast(u, bits);
  return t == u ? narrow : scalar::math::bitcast_convert(g, u, t, {Value{narrow}}).re;
}

// c128 → two c64: the halves of the real part, then those of the imaginary one.
Value complex_half(Graph& g, const Value& v, Scalar part) {
  const Scalar first = g.eq(part, g.constant_int(g.type(part), 0));
  const Scalar bits = to_bits(g, Dtype::kF64, Dtype::kU64, g.select(first, v.re, v.im));
  const Scalar high = g.make(scalar::Op::kShrL, Dtype::kU64, bits, g.constant_int(Dtype::kU64, 32));
  return {from_bits(g, Dtype::kF32, bits), from_bits(g, Dtype::kF32, high)};
}

// Two f32 → the f64 of their bits, low ones first.
Scalar join_halves(Graph& g, const Value& v) {
  const Scalar low = to_bits(g, Dtype::kF32, Dtype::kU64, v.re);
  const Scalar high = to_bits(g, Dtype::kF32, Dtype::kU64, v.im);
  const Scalar up = g.make(scalar::Op::kShl, Dtype::kU64, high, g.constant_int(Dtype::kU64, 32));
  return from_bits(g, Dtype::kF64, g.make(scalar::Op::kOr, Dtype::kU64, low, up));
}

Value index_narrower(const IndexContext& c, Dtype from, Dtype to) {
  Graph& g = c.g;
  const Scalar part = c.index.back();
  const Value v = c.operand(0, c.index.first(c.index.size() - 1), c.condition);
  if (is_complex(from)) return complex_half(g, v, part);
  const Dtype w = unsigned_of(std::max(8, bit_size(from)));
  const Scalar amount = g.mul(g.cast(w, part), g.constant_int(w, bit_size(to)));
  const Scalar bits = to_bits(g, from, w, v.re);
  return {from_bits(g, to, g.make(scalar::Op::kShrL, w, bits, amount))};
}

Value index_wider(const IndexContext& c, Dtype from, Dtype to) {
  Graph& g = c.g;
  absl::InlinedVector<Scalar, 6> index(c.index.begin(), c.index.end());
  index.push_back({});
  auto part = [&](int k) {
    index.back() = g.constant_int(c.index_type, k);
    return c.operand(0, index, c.condition);
  };
  if (is_complex(from)) return {join_halves(g, part(0)), join_halves(g, part(1))};
  const Dtype w = unsigned_of(std::max(8, bit_size(to)));
  Scalar bits = to_bits(g, from, w, part(0).re);
  for (int k = 1; k < bit_size(to) / bit_size(from); ++k) {
    const Scalar shift = g.constant_int(w, k * bit_size(from));
    const Scalar up = g.make(scalar::Op::kShl, w, to_bits(g, from, w, part(k).re), shift);
    bits = g.make(scalar::Op::kOr, w, bits, up);
  }
  return {from_bits(g, to, bits)};
}

}  // namespace

Result<Shape> infer_convert(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  if (c.proposed == nullptr) return invalid("bitcast_convert: the result shape must be stated");
  const Shape &x = c.operand(0), &y = *c.proposed;
  if (!y.is_array())
    return invalid("bitcast_convert: result is ", to_string(y, false), ", expected an array");
  if (is_complex(x.dtype) != is_complex(y.dtype))
    return invalid("bitcast_convert: ", to_string(x, false), " to ", to_string(y, false),
                   ": only one is complex (bitcast_convert_c2)");
  const int from = bit_size(x.dtype), to = bit_size(y.dtype);
  const int64_t change = from > to ? 1 : from < to ? -1 : 0;
  bool ok = y.rank() == x.rank() + change;
  for (int64_t i = 0; ok && i < std::min(x.rank(), y.rank()); ++i)
    ok = x.dims[i] == y.dims[i] || x.dims[i] == kUnknownDim || y.dims[i] == kUnknownDim;
  if (ok && change > 0) ok = y.dims.back() * to == from;
  if (ok && change < 0) ok = x.dims.back() * from == to;
  if (!ok)
    return invalid("bitcast_convert: ", to_string(x, false), " to ", to_string(y, false),
                   ": shapes do not fit the widths of ", from, " and ", to,
                   " bits (bitcast_convert_c1)");
  const bool six_bits = (from == 6 || to == 6) && change != 0;
  if (six_bits) return unimplemented("bitcast_convert: 6-bit floats to or from another width");
  return y;
}

Result<Literal> eval_convert(const EvalContext& c) {
  const Literal& x = c.operand(0);
  const int from = bit_size(x.dtype()), to = bit_size(c.instr.shape.dtype);
  Dims dims = x.shape().dims;
  if (from > to) dims.push_back(from / to);
  if (from < to) dims.pop_back();
  Literal out(eval_shape(c, dims));
  bitcast_elements(out, x);
  return out;
}

Value index_convert(const IndexContext& c) {
  const Dtype from = c.instr.operand(0)->shape.dtype, to = c.instr.shape.dtype;
  if (bit_size(from) > bit_size(to)) return index_narrower(c, from, to);
  if (bit_size(from) < bit_size(to)) return index_wider(c, from, to);
  return scalar::math::bitcast_convert(c.g, from, to, {c.operand(0, c.index, c.condition)});
}

std::unique_ptr<Module> sample_convert(std::mt19937_64& rng) {
  for (;;) {
    Shape x = sample::shape(rng, kAnyT);
    const Dtype t = sample::dtype(rng, kAnyT);
    const int from = bit_size(x.dtype), to = bit_size(t);
    if (is_complex(x.dtype) != is_complex(t) || ((from == 6 || to == 6) && from != to)) continue;
    if (from < to) x.dims.push_back(to / from);
    Shape y = Shape::array(t, x.dims);
    if (from < to) y.dims.pop_back();
    if (from > to) y.dims.push_back(from / to);
    return sample::module_of(Op::kBitcastConvert, {x}, NoAttrs{}, &y);
  }
}

// Stochastic conversion ---------------------------------------------------------------------------

Result<Shape> infer_stochastic(const InferContext& c) {
  TRY(expect_class(c, 0, kFloatT));
  const Shape &x = c.operand(0), &r = c.operand(1);
  if (!is_unsigned_int(r.dtype) || bit_size(r.dtype) != bit_size(x.dtype))
    return invalid("stochastic-convert: random bits are ", to_string(r, false),
                   ", expected unsigned integers as wide as ", name(x.dtype), constraint(c, "i2"));
  if (c.proposed == nullptr)
    return invalid("stochastic-convert: the result element type must be stated");
  if (!in_class(*c.proposed, kIntT))
    return unimplemented("stochastic-convert to ", to_string(*c.proposed, false),
                         ": only integer results are supported");
  ASSIGN(Shape s, common_shape(c, x, r, "c1"));
  return s.with_dtype(c.proposed->dtype);
}

namespace {

double least(Dtype t) { return is_signed_int(t) ? -std::ldexp(1.0, bit_size(t) - 1) : 0; }
double greatest(Dtype t) {
  const int bits = bit_size(t) - (is_signed_int(t) ? 1 : 0);
  return bits > 53 ? std::ldexp(1.0, bits) : std::ldexp(1.0, bits) - 1;
}

// Sets an element of an integer literal.
void convert_stochastically(Literal& out, int64_t i, double x, uint64_t random, int bits) {
  const Dtype t = out.dtype();
  // Beyond the range and NaN: as convert does.
  if (std::isnan(x) || x >= greatest(t) || x <= least(t)) return out.set_float(i, x);
  const double size = std::abs(x), whole = std::trunc(size);
  const auto threshold = static_cast<uint64_t>(std::ldexp(size - whole, bits));
  uint64_t value = static_cast<uint64_t>(whole) + (random < threshold);
  out.set_int(i, static_cast<int64_t>(x < 0 ? -value : value));
}

}  // namespace

Result<Literal> eval_stochastic(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Literal out(eval_shape(c, x.shape().dims));
  TRY(expect_elements(c, out.elements()));
  for (int64_t i = 0; i < out.elements(); ++i)
    convert_stochastically(out, i, x.get_float(i), element_bits(c.operand(1), i),
                           bit_size(x.dtype()));
  return out;
}

Result<Instr*> expand_stochastic(Builder& b, const Instr& i) {
  const Dtype t = i.shape.dtype, from = i.operand(0)->shape.dtype;
  const Dtype wide = from == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
  Instr* x = b.convert(wide, i.operand(0));
  const Shape& s = x->shape;
  Instr* size = b.unary(Op::kAbs, x);
  Instr* whole = b.convert(t, size);
  Instr* fraction = b.sub(size, b.convert(wide, whole));
  Instr* scaled = b.mul(fraction, b.splat(s, std::ldexp(1.0, bit_size(from))));
  Instr* threshold = b.convert(i.operand(1)->shape.dtype, scaled);
  Instr* up = b.compare(CompareDirection::kLt, i.operand(1), threshold);
  Instr* value = b.add(whole, b.convert(t, up));
  Instr* negative = b.compare(CompareDirection::kLt, x, b.splat(s, 0));
  value = b.select(negative, b.unary(Op::kNegate, value), value);
  // Beyond the range and NaN: as convert does.
  Instr* high = b.compare(CompareDirection::kGe, x, b.splat(s, greatest(t)));
  Instr* low = b.compare(CompareDirection::kLe, x, b.splat(s, least(t)));
  Instr* nan = b.compare(CompareDirection::kNe, x, x);
  Instr* out_of_range = b.binary(Op::kOr, b.binary(Op::kOr, high, low), nan);
  Instr* result = b.select(out_of_range, b.convert(t, x), value);
  TRY(b.status());
  return result;
}

std::unique_ptr<Module> sample_stochastic(std::mt19937_64& rng) {
  static constexpr Dtype kTypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16};
  const Shape x = Shape::array(kTypes[sample::pick(rng, 0, 3)], sample::dims(rng));
  const Shape r = x.with_dtype(unsigned_of(bit_size(x.dtype)));
  const Shape out = x.with_dtype(sample::dtype(rng, kIntT));
  return sample::module_of(Op::kStochasticConvert, {x, r}, NoAttrs{}, &out);
}

}  // namespace bitcast
}  // namespace braze
