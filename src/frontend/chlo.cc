// SPDX-License-Identifier: Apache-2.0
#include "frontend/chlo.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "frontend/chlo_math.h"
#include "frontend/chlo_scan.h"
#include "ops/dim_rules.h"

namespace braze {
namespace {

using chlo::Num;

// What one op is built from.
struct Call {
  Builder& b;
  std::string_view op;  // without "chlo."
  absl::Span<Instr* const> operands;
  const ChloAttrs& attrs;
  absl::Span<const Shape> results;

  Instr* in(size_t i) const { return operands[i]; }
  Num num(size_t i) const { return {&b, operands[i]}; }
};

using Values = std::vector<Instr*>;

// ---- plain instructions ----

// The type to compute a special function in: f32 for narrower floats, f64 for f32 where `wide`.
Dtype compute_type(Dtype t, bool wide) {
  if (t == Dtype::kF64 || (wide && t == Dtype::kF32)) return Dtype::kF64;
  return Dtype::kF32;
}

Status check_float(const Call& c, Dtype t) {
  if (is_float(t)) return absl::OkStatus();
  return invalid("chlo.", c.op, ": operands must hold floats, got ", name(t));
}

using UnarySpecial = Num (*)(Num);
using BinarySpecial = Num (*)(Num, Num);

Result<Values> special(const Call& c, UnarySpecial f, bool wide) {
  const Dtype t = c.in(0)->shape.dtype;
  TRY(check_float(c, t));
  const Num x = {&c.b, c.b.convert(compute_type(t, wide), c.in(0))};
  return Values{c.b.convert(t, f(x).i)};
}

Result<Values> special(const Call& c, BinarySpecial f, Instr* x, Instr* y) {
  const Dtype t = x->shape.dtype;
  TRY(check_float(c, t));
  if (y->shape.dtype != t)
    return invalid("chlo.", c.op, ": operands must have one element type, got ", name(t), " and ",
                   name(y->shape.dtype));
  const Dtype wide = compute_type(t, true);
  const Num a = {&c.b, c.b.convert(wide, x)}, b = {&c.b, c.b.convert(wide, y)};
  return Values{c.b.convert(t, f(a, b).i)};
}

// The next value of x's type from x towards y: one step of its bits, which grow with its magnitude.
Result<Values> next_after(const Call& c, Instr* x, Instr* y) {
  const Dtype t = x->shape.dtype;
  Dtype bits = Dtype::kU64;
  switch (t) {
    case Dtype::kF64: break;
    case Dtype::kF32: bits = Dtype::kU32; break;
    case Dtype::kF16:
    case Dtype::kBF16: bits = Dtype::kU16; break;
    default: return unimplemented("chlo.", c.op, " of ", name(t));
  }
  const Num a = {&c.b, x}, b = {&c.b, y};
  const Shape as_bits = x->shape.with_dtype(bits);
  auto to_bits = [&](Num v) { return Num{&c.b, c.b.op_shaped(Op::kBitcastConvert, as_bits, {v.i})}; };
  const Num raw = to_bits(a);
  Literal sign_bit(Shape::scalar(bits));
  sign_bit.set_int(0, static_cast<int64_t>(uint64_t{1} << (bit_size(bits) - 1)));
  Instr* sign = c.b.constant(sign_bit);
  const Num sign_mask = {&c.b, as_bits.dims.empty() ? sign : c.b.broadcast(sign, as_bits.dims, {})};
  // From zero: the smallest number of y's sign.
  const Num first = binary(Op::kOr, binary(Op::kAnd, to_bits(b), sign_mask), raw.like(1));
  const Num grows = (a > 0) == (b > a);
  const Num stepped = select(grows, raw + raw.like(1), raw - raw.like(1));
  const Num moved = select(a == 0, first, stepped);
  const Num value = {&c.b, c.b.op_shaped(Op::kBitcastConvert, x->shape, {moved.i})};
  const Num result = select(a == b, b, value);
  return Values{select(either(a != a, b != b), a + b, result).i};
}

Result<Values> is_infinite(const Call& c, bool positive, bool negative) {
  TRY(check_float(c, c.in(0)->shape.dtype));
  const double infinity = std::numeric_limits<double>::infinity();
  const Num x = c.num(0);
  if (positive && negative) return Values{(abs(x) == infinity).i};
  return Values{(x == (positive ? infinity : -infinity)).i};
}

Result<Values> conjugate(const Call& c) {
  Instr* x = c.in(0);
  if (!is_complex(x->shape.dtype)) return Values{x};
  Instr* im = c.b.unary(Op::kNegate, c.b.unary(Op::kImag, x));
  return Values{c.b.binary(Op::kComplex, c.b.unary(Op::kReal, x), im)};
}

Result<Values> constant_like(const Call& c) {
  const Shape& shape = c.in(0)->shape;
  Literal v = c.attrs.value;
  if (v.elements() != 1) return invalid("chlo.constant_like: its value must be one number");
  if (!shape.is_static())
    return unimplemented("chlo.constant_like of unknown shape ", to_string(shape, false));
  Instr* scalar = c.b.constant(v.reshaped(Shape::scalar(v.dtype())));
  return Values{shape.dims.empty() ? scalar : c.b.broadcast(scalar, shape.dims, {})};
}

// w with asin(z) = atan2(z.re, w.re) + i·sign(z.im)·w.im, and its like for acos.
Result<Values> asin_acos_kernel(const Call& c) {
  Instr* z = c.in(0);
  if (!is_complex(z->shape.dtype))
    return invalid("chlo._asin_acos_kernel: takes complex numbers, got ", name(z->shape.dtype));
  Literal unit(Shape::scalar(z->shape.dtype));
  unit.set_complex(0, 1);
  Instr* one = c.b.constant(unit);
  if (!z->shape.dims.empty()) one = c.b.broadcast(one, z->shape.dims, {});
  Instr* below = c.b.unary(Op::kSqrt, c.b.sub(one, z));
  Instr* above = c.b.unary(Op::kSqrt, c.b.add(one, z));
  Instr* re = c.b.unary(Op::kReal, c.b.mul(below, above));
  Instr* im = c.b.unary(Op::kAbs, c.b.unary(Op::kImag, c.b.unary(Op::kAsin, z)));
  return Values{c.b.binary(Op::kComplex, re, im)};
}

Result<Values> top_k(const Call& c) {
  Instr* r = c.b.op(Op::kTopK, {c.in(0)}, c.attrs.top_k);
  TRY(c.b.status());
  return Values{c.b.element(r, 0), c.b.element(r, 1)};
}

// ---- implicit broadcasting ----

// x spread to `out` with its dimensions at `dims` of it, size 1 repeated.
Result<Instr*> spread(const Call& c, Instr* x, const Shape& out, DimSpan dims) {
  if (same_dims(x->shape, out)) return x;
  if (!x->shape.is_static() || !out.is_static())
    return unimplemented("chlo.", c.op, ": broadcasting ", to_string(x->shape, false), " to ",
                         to_string(out, false), " needs known shapes");
  Dims kept, sizes;
  for (int64_t d = 0; d < x->shape.rank(); ++d) {
    if (dims[d] < 0 || dims[d] >= out.rank() ||
        (x->shape.dims[d] != 1 && x->shape.dims[d] != out.dims[dims[d]]))
      return invalid("chlo.", c.op, ": ", to_string(x->shape, false), " cannot be broadcast to ",
                     to_string(out, false), " along {", join(dims), "}");
    if (x->shape.dims[d] == 1 && out.dims[dims[d]] != 1) continue;
    kept.push_back(dims[d]);
    sizes.push_back(x->shape.dims[d]);
  }
  if (static_cast<int64_t>(kept.size()) != x->shape.rank()) x = c.b.reshape(x, sizes);
  return c.b.broadcast(x, out.dims, kept);
}

// All operands in the shape of the result. `broadcast_dimensions` belong to those of lower rank.
Result<Values> spread_all(const Call& c) {
  const Shape& out = c.results[0];
  Values in;
  for (Instr* x : c.operands) {
    const int64_t rank = x->shape.rank();
    Dims dims;
    for (int64_t d = 0; d < rank; ++d) dims.push_back(out.rank() - rank + d);
    if (c.attrs.has_broadcast_dimensions && rank < out.rank()) dims = c.attrs.broadcast_dimensions;
    if (static_cast<int64_t>(dims.size()) != rank)
      return invalid("chlo.", c.op, ": broadcast_dimensions must list ", rank, " dimensions, got {",
                     join(dims), "}");
    ASSIGN(Instr* s, spread(c, x, out, dims));
    in.push_back(s);
  }
  return in;
}

struct Named {
  std::string_view name;
  Op op;
};

constexpr Named kBroadcasting[] = {
    {"add", Op::kAdd},         {"and", Op::kAnd},
    {"atan2", Op::kAtan2},     {"complex", Op::kComplex},
    {"divide", Op::kDivide},   {"maximum", Op::kMaximum},
    {"minimum", Op::kMinimum}, {"multiply", Op::kMultiply},
    {"or", Op::kOr},           {"power", Op::kPower},
    {"remainder", Op::kRemainder},
    {"select", Op::kSelect},   {"shift_left", Op::kShiftLeft},
    {"shift_right_arithmetic", Op::kShiftRightA},
    {"shift_right_logical", Op::kShiftRightL},
    {"subtract", Op::kSubtract},
    {"xor", Op::kXor},
};

Result<Values> broadcasting(const Call& c) {
  const std::string_view base = c.op.substr(std::string_view("broadcast_").size());
  ASSIGN(const Values in, spread_all(c));
  if (base == "compare") return Values{c.b.op(Op::kCompare, in, c.attrs.compare)};
  if (base == "next_after") return next_after(c, in[0], in[1]);
  if (base == "polygamma") return special(c, chlo::polygamma, in[0], in[1]);
  if (base == "zeta") return special(c, chlo::zeta, in[0], in[1]);
  for (const Named& n : kBroadcasting)
    if (n.name == base) return Values{c.b.op(n.op, in)};
  return unimplemented("chlo.", c.op);
}

// ---- the table ----

struct Entry {
  std::string_view name;
  int operands;  // -1: any
  Result<Values> (*build)(const Call&);
};

template <Op op>
Result<Values> native(const Call& c) {
  if (c.results[0].quant) return Values{c.b.op_shaped(op, c.results[0], c.operands)};
  return Values{c.b.op(op, c.operands)};
}

template <Op op, UnarySpecial f>
Result<Values> hyperbolic(const Call& c) {
  return is_float(c.in(0)->shape.dtype) && !c.results[0].quant ? special(c, f, false)
                                                               : native<op>(c);
}

const Entry kEntries[] = {
    {"_asin_acos_kernel", 1, asin_acos_kernel},
    {"acos", 1, native<Op::kAcos>},
    {"acosh", 1, native<Op::kAcosh>},
    {"asin", 1, native<Op::kAsin>},
    {"asinh", 1, native<Op::kAsinh>},
    {"atan", 1, native<Op::kAtan>},
    {"atanh", 1, native<Op::kAtanh>},
    {"bessel_i1e", 1, [](const Call& c) { return special(c, chlo::bessel_i1e, false); }},
    {"conj", 1, conjugate},
    {"constant", 0, [](const Call& c) -> Result<Values> { return Values{c.b.constant(c.attrs.value)}; }},
    {"constant_like", 1, constant_like},
    {"cosh", 1, hyperbolic<Op::kCosh, chlo::cosh>},
    {"digamma", 1, [](const Call& c) { return special(c, chlo::digamma, false); }},
    {"erf", 1, native<Op::kErf>},
    {"erf_inv", 1, [](const Call& c) { return special(c, chlo::erf_inv, false); }},
    {"erfc", 1, [](const Call& c) { return special(c, chlo::erfc, false); }},
    {"is_inf", 1, [](const Call& c) { return is_infinite(c, true, true); }},
    {"is_neg_inf", 1, [](const Call& c) { return is_infinite(c, false, true); }},
    {"is_pos_inf", 1, [](const Call& c) { return is_infinite(c, true, false); }},
    {"lgamma", 1, [](const Call& c) { return special(c, chlo::lgamma, false); }},
    {"mulhi", 2, native<Op::kMulhi>},
    {"next_after", 2, [](const Call& c) { return next_after(c, c.in(0), c.in(1)); }},
    {"polygamma", 2, [](const Call& c) { return special(c, chlo::polygamma, c.in(0), c.in(1)); }},
    {"ragged_dot", 3,
     [](const Call& c) -> Result<Values> {
       return Values{c.b.op_shaped(Op::kRaggedDot, c.results[0], c.operands, c.attrs.ragged)};
     }},
    {"scan", -1, [](const Call& c) { return chlo::build_scan(c.b, c.operands, c.attrs, c.results); }},
    {"sinh", 1, hyperbolic<Op::kSinh, chlo::sinh>},
    {"square", 1, [](const Call& c) -> Result<Values> { return Values{c.b.mul(c.in(0), c.in(0))}; }},
    {"tan", 1, native<Op::kTan>},
    {"top_k", 1, top_k},
    {"zeta", 2, [](const Call& c) { return special(c, chlo::zeta, c.in(0), c.in(1)); }},
};

constexpr std::string_view kPrefix = "chlo.", kBroadcast = "broadcast_";
constexpr std::string_view kBroadcastSpecial[] = {"compare", "next_after", "polygamma", "zeta"};

const Entry* find(std::string_view op) {
  static constexpr Entry kBroadcastOp = {"broadcast_*", -1, broadcasting};
  if (op.substr(0, kPrefix.size()) != kPrefix) return nullptr;
  op.remove_prefix(kPrefix.size());
  for (const Entry& e : kEntries)
    if (e.name == op) return &e;
  if (op.substr(0, kBroadcast.size()) != kBroadcast) return nullptr;
  op.remove_prefix(kBroadcast.size());
  for (const Named& n : kBroadcasting)
    if (n.name == op) return &kBroadcastOp;
  for (std::string_view n : kBroadcastSpecial)
    if (n == op) return &kBroadcastOp;
  return nullptr;
}

}  // namespace

bool is_chlo_op(std::string_view op) { return find(op) != nullptr; }

Result<std::vector<Instr*>> build_chlo(Builder& b, std::string_view op,
                                       absl::Span<Instr* const> operands, const ChloAttrs& attrs,
                                       absl::Span<const Shape> results) {
  const Entry* e = find(op);
  if (!e) return unimplemented(op, ": this op is not known");
  const auto count = static_cast<int>(operands.size());
  if (e->operands >= 0 && count != e->operands)
    return invalid(op, ": takes ", e->operands, " operands, got ", count);
  if (results.empty() || (e->operands < 0 && operands.empty()))
    return invalid(op, ": takes operands and gives results, got ", count, " and ", results.size());
  const bool select = op == "chlo.broadcast_select";
  if (e->build == broadcasting && count != (select ? 3 : 2))
    return invalid(op, ": takes ", select ? 3 : 2, " operands, got ", count);
  ASSIGN(std::vector<Instr*> made,
         e->build({b, op.substr(kPrefix.size()), operands, attrs, results}));
  TRY(b.status());
  if (made.size() != results.size())
    return invalid(op, ": gives ", made.size(), " results, ", results.size(), " are declared");
  for (size_t k = 0; k < made.size(); ++k)
    if (!shapes_agree(made[k]->shape, results[k]))
      return invalid(op, ": result ", k, " is ", to_string(made[k]->shape, false), ", declared as ",
                     to_string(results[k], false));
  return made;
}

}  // namespace braze
