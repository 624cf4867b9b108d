// SPDX-License-Identifier: Apache-2.0
#include "ops/rng_expand.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ops/rng_bits.h"

namespace braze {
namespace {

// Elementwise arithmetic on unsigned arrays of one shape, with constants spread to it.
struct Words {
  Builder& b;

  Instr* number(const Shape& like, uint64_t v) {
    Instr* c = b.constant(Literal::scalar_int(like.dtype, static_cast<int64_t>(v)));
    return like.dims.empty() ? c : b.broadcast(c, like.dims, {});
  }
  Instr* add(Instr* x, uint64_t v) { return b.add(x, number(x->shape, v)); }
  Instr* shift_right(Instr* x, int by) {
    return b.binary(Op::kShiftRightL, x, number(x->shape, by));
  }
  Instr* rotate_left(Instr* x, int by) {
    Instr* high = b.binary(Op::kShiftLeft, x, number(x->shape, by));
    return b.binary(Op::kOr, high, shift_right(x, 32 - by));
  }
  Instr* spread(Instr* scalar, const Shape& like) {
    return like.dims.empty() ? scalar : b.broadcast(scalar, like.dims, {});
  }
  std::array<Instr*, 2> split(Instr* x) {
    return {b.convert(Dtype::kU32, x), b.convert(Dtype::kU32, shift_right(x, 32))};
  }
  Instr* join(Instr* low, Instr* high) {
    Instr* h = b.convert(Dtype::kU64, high);
    return b.binary(Op::kOr, b.convert(Dtype::kU64, low),
                    b.binary(Op::kShiftLeft, h, number(h->shape, 32)));
  }
  // Word i of the state, a scalar.
  Instr* state_word(Instr* state, int64_t i) { return b.reshape(b.slice(state, {i}, {i + 1}), {}); }
};

std::array<Instr*, 2> threefry(Words w, std::array<Instr*, 2> key, std::array<Instr*, 2> x) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Shape& shape = x[0]->shape;
  Instr* parity = w.b.binary(Op::kXor, key[0], key[1]);
  parity = w.b.binary(Op::kXor, parity, w.number(parity->shape, 0x1BD11BDAu));
  Instr* ks[3] = {w.spread(key[0], shape), w.spread(key[1], shape), w.spread(parity, shape)};
  Instr *p = w.b.add(x[0], ks[0]), *q = w.b.add(x[1], ks[1]);
  for (int group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      p = w.b.add(p, q);
      q = w.b.binary(Op::kXor, w.rotate_left(q, r), p);
    }
    p = w.b.add(p, ks[(group + 1) % 3]);
    q = w.add(w.b.add(q, ks[(group + 2) % 3]), group + 1);
  }
  return {p, q};
}

// Low and high word of x·k.
std::array<Instr*, 2> wide_multiply(Words w, Instr* x, uint32_t k) {
  Instr* wide = w.b.convert(Dtype::kU64, x);
  return w.split(w.b.mul(wide, w.number(wide->shape, k)));
}

std::array<Instr*, 4> philox(Words w, std::array<Instr*, 2> key, std::array<Instr*, 4> x) {
  const Shape& shape = x[0]->shape;
  for (int round = 0; round < 10; ++round) {
    const auto p = wide_multiply(w, x[0], 0xD2511F53u), q = wide_multiply(w, x[2], 0xCD9E8D57u);
    auto mix = [&](Instr* a, Instr* c, Instr* k) {
      return w.b.binary(Op::kXor, w.b.binary(Op::kXor, a, c), w.spread(k, shape));
    };
    x = {mix(q[1], x[1], key[0]), q[0], mix(p[1], x[3], key[1]), p[0]};
    key = {w.add(key[0], 0x9E3779B9u), w.add(key[1], 0xBB67AE85u)};
  }
  return x;
}

// Lists side by side: element k of part p at k·parts + p.
Instr* interleaved(Builder& b, absl::Span<Instr* const> parts, int64_t outer, int64_t half,
                   int64_t inner) {
  std::vector<Instr*> columns;
  for (Instr* p : parts) columns.push_back(b.reshape(p, {outer, half, 1, inner}));
  Instr* all = b.op(Op::kConcatenate, columns, DimsAttrs{{2}});
  return b.reshape(all, {outer, half * static_cast<int64_t>(parts.size()), inner});
}

struct Expansion {
  Instr* bits;   // u32 or u64, of the result's dims
  Instr* state;  // the next one
};

Instr* appended(Builder& b, absl::Span<Instr* const> scalars) {
  std::vector<Instr*> lists;
  for (Instr* s : scalars) lists.push_back(b.reshape(s, {1}));
  return b.op(Op::kConcatenate, lists, DimsAttrs{{0}});
}

Instr* counters(Words w, Instr* start, int64_t n) {
  Instr* iota = w.b.iota(Shape::array(Dtype::kU64, {n}), 0);
  return w.b.add(w.spread(start, iota->shape), iota);
}

Expansion expand_threefry(Words w, Instr* state, DimSpan dims, bool wide) {
  Builder& b = w.b;
  Instr *key = w.state_word(state, 0), *start = w.state_word(state, 1);
  int64_t outer = 1, size = dims.empty() ? 1 : 0, inner = 1;
  const int64_t d = wide ? -1 : threefry_split_dim(dims);
  if (d >= 0) {
    size = dims[d];
    outer = product(dims.first(d));
    inner = product(dims.subspan(d + 1));
  }
  const int64_t half = wide ? product(dims) : (size + 1) / 2;
  const int64_t n = wide ? half : outer * half * inner;
  const auto x = threefry(w, w.split(key), w.split(counters(w, start, n)));
  Instr* bits = nullptr;
  if (wide) {
    bits = b.reshape(w.join(x[0], x[1]), dims);
  } else {
    bits = interleaved(b, {x[0], x[1]}, outer, half, inner);
    if (2 * half != size) bits = b.slice(bits, {0, 0, 0}, {outer, size, inner});
    bits = b.reshape(bits, dims);
  }
  return {bits, appended(b, {key, w.add(start, n)})};
}

Expansion expand_philox(Words w, Instr* state, DimSpan dims, bool wide) {
  Builder& b = w.b;
  const bool long_state = state->shape.dims[0] >= 3;
  Instr *key = w.state_word(state, 0), *low = w.state_word(state, 1);
  Instr* high = long_state ? w.state_word(state, 2) : key;
  const int64_t n = product(dims), per_block = wide ? 2 : 4;
  const int64_t blocks = (n + per_block - 1) / per_block;
  auto carried = [&](Instr* l) {  // the high word beside low word l
    Instr* carry = b.convert(Dtype::kU64,
                             b.compare(CompareDirection::kLt, l, w.spread(low, l->shape)));
    return b.add(w.spread(high, l->shape), carry);
  };
  Instr* at = counters(w, low, blocks);
  const auto lo = w.split(at), hi = w.split(carried(at));
  const auto x = philox(w, w.split(key), {lo[0], lo[1], hi[0], hi[1]});
  Instr* bits = wide ? interleaved(b, {w.join(x[0], x[1]), w.join(x[2], x[3])}, 1, blocks, 1)
                     : interleaved(b, x, 1, blocks, 1);
  bits = b.slice(b.reshape(bits, {blocks * per_block}), {0}, {n});
  Instr* next = w.add(low, blocks);
  std::vector<Instr*> words = {key, next};
  if (long_state) words.push_back(carried(next));
  return {b.reshape(bits, dims), appended(b, words)};
}

Dtype unsigned_of_width(int width) {
  switch (width) {
    case 2: return Dtype::kU2;
    case 4: return Dtype::kU4;
    case 16: return Dtype::kU16;
    case 32: return Dtype::kU32;
    case 64: return Dtype::kU64;
    default: return Dtype::kU8;
  }
}

}  // namespace

Result<Instr*> expand_rng_bits(Builder& b, const Instr& instr) {
  const Shape& shape = instr.shape.tuple[1];
  if (!shape.is_static() || !instr.operand(0)->shape.is_static())
    return unimplemented("rng_bit_generator '", instr.name, "': unknown dimensions");
  const int width = bit_size(shape.dtype);
  const bool threefry_bits = instr.as<RngBitsAttrs>().algorithm == RngAlgorithm::kThreeFry;
  Words w{b};
  const Expansion e = threefry_bits ? expand_threefry(w, instr.operands[0], shape.dims, width > 32)
                                    : expand_philox(w, instr.operands[0], shape.dims, width > 32);
  Instr* bits = e.bits;
  if (is_int(shape.dtype)) {
    bits = b.convert(shape.dtype, bits);
  } else {
    if (width == 6) bits = b.binary(Op::kAnd, bits, w.number(bits->shape, 63));
    bits = b.convert(unsigned_of_width(width), bits);
    bits = b.op_shaped(Op::kBitcastConvert, shape.with_dtype(shape.dtype), {bits});
  }
  Instr* out = b.tuple({e.state, bits});
  TRY(b.status());
  return out;
}

namespace {

// A fraction in [0, 1) of type p.compute.
Instr* fraction(Words w, Instr* bits, const RngPlan& p) {
  Instr* high = w.b.convert(p.compute, w.shift_right(bits, p.width - p.mantissa));
  return w.b.mul(high, w.b.splat(high->shape, std::ldexp(1.0, -p.mantissa)));
}

Instr* normal(Words w, Instr* bits, DimSpan dims, const RngPlan& p) {
  Builder& b = w.b;
  const int64_t n = product(dims);
  Instr* u = fraction(w, b.reshape(b.slice(bits, {0}, {n}), dims), p);
  Instr* v = fraction(w, b.reshape(b.slice(bits, {n}, {2 * n}), dims), p);
  Instr* log = b.unary(Op::kLog, b.sub(b.splat(u->shape, 1), u));
  Instr* radius = b.unary(Op::kSqrt, b.mul(b.splat(u->shape, -2), log));
  Instr* angle = b.mul(v, b.splat(v->shape, 2 * std::numbers::pi));
  return b.mul(radius, b.unary(Op::kCos, angle));
}

}  // namespace

Result<Instr*> expand_rng(Builder& b, const Instr& instr) {
  const Shape& shape = instr.shape;
  if (!shape.is_static()) return unimplemented("rng '", instr.name, "': unknown dimensions");
  const RngPlan p = rng_plan(instr);
  Words w{b};
  Instr* counter = b.op(Op::kRngState, {}, NoAttrs{});
  counter->extra().other["delta"] = std::to_string(p.draws);
  Literal key(Shape::array(Dtype::kU64, {1}));
  key.set_int(0, static_cast<int64_t>(p.key));
  Instr* state = b.op(Op::kConcatenate, {b.constant(key), counter}, DimsAttrs{{0}});
  const Dtype word = p.width == 64 ? Dtype::kU64 : Dtype::kU32;
  Instr* drawn = b.op_shaped(Op::kRngBitGenerator,
                             Shape::tuple_of({state->shape, Shape::array(word, {p.draws})}), {state},
                             RngBitsAttrs{RngAlgorithm::kPhilox});
  TRY(b.status());
  ASSIGN(Instr* expanded, expand_rng_bits(b, *drawn));
  Instr* bits = b.element(expanded, 1);
  auto operand = [&](int i, Dtype t) {
    return w.spread(b.convert(t, instr.operands[i]), shape);
  };
  Instr* out = nullptr;
  if (is_pred(shape.dtype)) {
    Instr* one = b.binary(Op::kAnd, bits, w.number(bits->shape, 1));
    out = b.reshape(b.compare(CompareDirection::kNe, one, w.number(one->shape, 0)), shape.dims);
  } else if (is_int(shape.dtype)) {
    Instr *low = operand(0, Dtype::kS64), *high = operand(1, Dtype::kS64);
    low = b.convert(Dtype::kU64, low);
    Instr* range = b.sub(b.convert(Dtype::kU64, high), low);
    Instr* empty = b.compare(CompareDirection::kEq, range, w.number(range->shape, 0));
    Instr* safe = b.select(empty, w.number(range->shape, 1), range);
    Instr* offset = b.binary(Op::kRemainder, b.reshape(bits, shape.dims), safe);
    out = b.convert(shape.dtype, b.add(low, offset));
  } else if (p.normal) {
    Instr* z = normal(w, bits, shape.dims, p);
    out = b.add(operand(0, p.compute), b.mul(operand(1, p.compute), z));
    out = b.convert(shape.dtype, out);
  } else {
    Instr *low = operand(0, p.compute), *high = operand(1, p.compute);
    Instr* f = fraction(w, b.reshape(bits, shape.dims), p);
    out = b.convert(shape.dtype, b.add(low, b.mul(f, b.sub(high, low))));
  }
  TRY(b.status());
  return out;
}

}  // namespace braze
