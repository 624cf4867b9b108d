// SPDX-License-Identifier: Apache-2.0
// Rows of the random ops: rng, rng-bit-generator, rng-get-and-update-state.
//
// Interface: rng_rows(). rng-bit-generator gives XLA's bits (rng_bits.h). rng draws Philox bits whose
// key is a hash of the instruction's number and whose counter is the program's rng state, so that the
// same program gives the same numbers; pred is a fair coin. rng-get-and-update-state gives (low, high) of
// a 128-bit counter that the World holds.
#include <cmath>
#include <cstring>
#include <numbers>

#include "absl/strings/numbers.h"
#include "ir/float_format.h"
#include "ops/builder.h"
#include "ops/dim_rules.h"
#include "ops/op_def.h"
#include "ops/rng_bits.h"
#include "ops/rng_expand.h"
#include "ops/sampling.h"

namespace braze {
namespace {

Result<Shape> infer_bits(const InferContext& ctx) {
  TRY(check_form<RngBitsAttrs>(ctx, 1));
  const Shape& state = ctx.operand(0);
  if (state.dtype != Dtype::kU64 || state.rank() != 1)
    return invalid("stablehlo.rng_bit_generator: initial_state must be a list of ui64, got ",
                   to_string(state, false));
  const auto algorithm = ctx.as<RngBitsAttrs>().algorithm;
  const int64_t most = algorithm == RngAlgorithm::kThreeFry ? 2 : 3;
  if (state.dims[0] != kUnknownDim && (state.dims[0] < 2 || state.dims[0] > most))
    return law("stablehlo.rng_bit_generator (C2)", "size(initial_state) must be 2",
               most == 3 ? " or 3" : "", ", got ", state.dims[0]);
  if (!ctx.proposed) return invalid("stablehlo.rng_bit_generator: its result shape must be given");
  const Shape& out = *ctx.proposed;
  if (!out.is_tuple() || out.tuple.size() != 2 || !shapes_agree(out.tuple[0], state))
    return law("stablehlo.rng_bit_generator (C1)", "the result must be (", to_string(state, false),
               ", bits), got ", to_string(out, false));
  const Dtype t = out.tuple[1].dtype;
  if (!is_int(t) && !is_float(t))
    return invalid("stablehlo.rng_bit_generator: output must be integers or floats, got ",
                   to_string(out.tuple[1], false));
  return out;
}

Result<Literal> eval_bits(const EvalContext& ctx) {
  const Shape& shape = ctx.instr.shape.tuple[1];
  if (!shape.is_static())
    return unimplemented("rng_bit_generator '", ctx.instr.name, "': unknown dimensions");
  std::vector<uint64_t> state;
  for (int64_t i = 0; i < ctx.operand(0).elements(); ++i)
    state.push_back(static_cast<uint64_t>(ctx.operand(0).get_int(i)));
  const int width = bit_size(shape.dtype);
  const RandomBits bits =
      random_bits(ctx.as<RngBitsAttrs>().algorithm, state, shape.dims, width);
  Literal next(ctx.operand(0).shape()), out(shape);
  for (size_t i = 0; i < bits.state.size(); ++i)
    next.set_int(i, static_cast<int64_t>(bits.state[i]));
  const int bytes = byte_size(shape.dtype);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (size_t i = 0; i < bits.values.size(); ++i) {
    const uint64_t v = bits.values[i] & mask;
    if (is_int(shape.dtype)) out.set_int(i, static_cast<int64_t>(v));
    else std::memcpy(out.mutable_bytes() + i * bytes, &v, bytes);
  }
  return Literal::tuple({std::move(next), std::move(out)});
}

Result<Shape> infer_state(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 0));
  return Shape::array(Dtype::kU64, {2});
}

Result<Literal> eval_state(const EvalContext& ctx) {
  uint64_t delta = 1;
  if (ctx.instr.extras) {
    const auto& other = ctx.instr.extras->other;
    const auto at = other.find("delta");
    if (at != other.end() && !absl::SimpleAtoi(at->second, &delta))
      return invalid("rng-get-and-update-state: delta is not a number: ", at->second);
  }
  std::pair<uint64_t, uint64_t> state = {0, 0};
  if (ctx.world) state = ctx.world->advance_rng(delta);
  Literal out(Shape::array(Dtype::kU64, {2}));
  out.set_int(0, static_cast<int64_t>(state.first));
  out.set_int(1, static_cast<int64_t>(state.second));
  return out;
}

Result<Shape> infer_rng(const InferContext& ctx) {
  TRY(check_form<RngAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const Shape &a = ctx.operand(0), &b = ctx.operand(1);
  if (a.rank() != 0 || b.rank() != 0)
    return invalid("stablehlo.rng: a and b must be scalars, got ", to_string(a, false), " and ",
                   to_string(b, false));
  if (!ctx.proposed) return invalid("stablehlo.rng (C3): its result shape must be given");
  if (a.dtype != b.dtype || a.dtype != ctx.proposed->dtype)
    return law("stablehlo.rng (C1)", "a, b and the result must have one element type, got ",
               to_string(a, false), ", ", to_string(b, false), " and ",
               to_string(*ctx.proposed, false));
  if (is_complex(a.dtype)) return invalid("stablehlo.rng: complex numbers are not supported");
  if (ctx.as<RngAttrs>().distribution == RngDistribution::kNormal && !is_float(a.dtype))
    return law("stablehlo.rng (C2)", "NORMAL needs floats, got ", name(a.dtype));
  return *ctx.proposed;
}

// A fraction in [0, 1) from the high bits of v: as many as the type's mantissa holds exactly.
double fraction(uint64_t v, const RngPlan& p) {
  return std::ldexp(static_cast<double>(v >> (p.width - p.mantissa)), -p.mantissa);
}

Result<Literal> eval_rng(const EvalContext& ctx) {
  const Shape& shape = ctx.instr.shape;
  if (!shape.is_static()) return unimplemented("rng '", ctx.instr.name, "': unknown dimensions");
  const RngPlan p = rng_plan(ctx.instr);
  const int64_t n = shape.elements();
  std::pair<uint64_t, uint64_t> state = {0, 0};
  if (ctx.world) state = ctx.world->advance_rng(p.draws);
  const std::vector<uint64_t> bits =
      random_bits(RngAlgorithm::kPhilox, {p.key, state.first, state.second}, {p.draws}, p.width)
          .values;
  Literal out(shape);
  const Literal &a = ctx.operand(0), &b = ctx.operand(1);
  for (int64_t i = 0; i < n; ++i) {
    if (is_pred(shape.dtype)) {
      out.set_int(i, static_cast<int64_t>(bits[i] & 1));
    } else if (is_int(shape.dtype)) {
      const uint64_t range = static_cast<uint64_t>(b.get_int(0)) - static_cast<uint64_t>(a.get_int(0));
      const uint64_t offset = range == 0 ? 0 : bits[i] % range;
      out.set_int(i, static_cast<int64_t>(static_cast<uint64_t>(a.get_int(0)) + offset));
    } else if (p.normal) {
      const double u = 1 - fraction(bits[i], p), v = fraction(bits[n + i], p);
      const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
      out.set_float(i, a.get_float(0) + b.get_float(0) * z);
    } else {
      const double low = a.get_float(0), high = b.get_float(0);
      out.set_float(i, low + fraction(bits[i], p) * (high - low));
    }
  }
  return out;
}

std::unique_ptr<Module> sample_bits(std::mt19937_64& rng) {
  Sampler s(rng, "rng_bit_generator");
  const auto algorithm =
      s.pick({RngAlgorithm::kDefault, RngAlgorithm::kThreeFry, RngAlgorithm::kPhilox});
  const int64_t words = algorithm == RngAlgorithm::kThreeFry ? 2 : s.uniform(2, 3);
  const Shape state = Shape::array(Dtype::kU64, {words});
  const Shape bits = Shape::array(
      s.pick({Dtype::kU8, Dtype::kU16, Dtype::kU32, Dtype::kU64, Dtype::kS32}), s.dims(0, 3, 5));
  s.root_shaped(Op::kRngBitGenerator, Shape::tuple_of({state, bits}), {s.parameter(state)},
                RngBitsAttrs{algorithm});
  return s.finish();
}

std::unique_ptr<Module> sample_rng(std::mt19937_64& rng) {
  Sampler s(rng, "rng");
  const Dtype t = s.pick({Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kS32, Dtype::kU8});
  const bool normal = is_float(t) && s.chance(0.5);
  Instr* a = s.parameter(Shape::scalar(t));
  Instr* b = s.parameter(Shape::scalar(t));
  s.root_shaped(Op::kRng, Shape::array(t, s.dims(0, 3, 5)), {a, b},
                RngAttrs{normal ? RngDistribution::kNormal : RngDistribution::kUniform});
  return s.finish();
}

std::unique_ptr<Module> sample_state(std::mt19937_64& rng) {
  Sampler s(rng, "rng_state");
  s.root(Op::kRngState, {}, NoAttrs{});
  return s.finish();
}

uint64_t mixed(uint64_t x) {  // splitmix64's finisher
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

RngPlan rng_plan(const Instr& instr) {
  RngPlan p;
  const Dtype t = instr.shape.dtype;
  p.key = mixed(static_cast<uint64_t>(instr.id));
  p.normal = instr.as<RngAttrs>().distribution == RngDistribution::kNormal;
  p.width = is_int(t) || t == Dtype::kF64 ? 64 : 32;
  p.compute = t == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
  const Dtype exact = p.normal ? p.compute : t;
  p.mantissa = is_float(t) ? format_of(exact).mantissa_bits : 0;
  p.draws = instr.shape.elements() * (p.normal ? 2 : 1);
  return p;
}

absl::Span<const OpDef> rng_rows() {
  static const OpDef rows[] = {
      {.op = Op::kRng,
       .stablehlo = "rng",
       .arity = 2,
       .traits = kEffect,
       .attrs = attrs_index<RngAttrs>(),
       .infer = infer_rng,
       .eval = eval_rng,
       .expand = expand_rng,
       .cost = 60,
       .sample = sample_rng,
       .doc = "Random numbers: uniform in [a, b), or normal with mean a and deviation b."},
      {.op = Op::kRngBitGenerator,
       .stablehlo = "rng_bit_generator",
       .arity = 1,
       .attrs = attrs_index<RngBitsAttrs>(),
       .infer = infer_bits,
       .eval = eval_bits,
       .expand = expand_rng_bits,
       .cost = 60,
       .sample = sample_bits,
       .doc = "Random bits from a state: (next state, bits), by Threefry or Philox (the default)."},
      {.op = Op::kRngState,
       .arity = 0,
       .traits = kEffect,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_state,
       .eval = eval_state,
       .step = Step::kLibrary,
       .sample = sample_state,
       .doc = "The program's 128-bit random counter as (low, high), before it grows by delta."},
  };
  return rows;
}

}  // namespace braze
