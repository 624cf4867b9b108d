// SPDX-License-Identifier: Apache-2.0
// Constants, comparison, choice, conversion, random numbers.
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {
namespace {

// A constant whose elements are all equal becomes one scalar and a broadcast.
void constant(OpImport& c) {
  const mlir::Attr* v = c.attr("value");
  if (!c.check(v != nullptr, "a constant needs a value")) return;
  Shape s = c.type();
  if (!s.is_static()) {  // `tensor<?xf32>` constants are as large as their value says
    if (!c.check(v->type != nullptr, "a constant needs a typed value")) return;
    s = c.take(import_type(*v->type), Shape());
  }
  s.dynamic.clear();
  if (v->kind == mlir::AttrKind::kInt || v->kind == mlir::AttrKind::kBool ||
      v->kind == mlir::AttrKind::kFloat) {  // arith.constant
    Literal l = v->kind == mlir::AttrKind::kFloat ? Literal::scalar(s.dtype, v->f)
                                                  : Literal::scalar_int(s.dtype, v->i);
    return c.bind(c.b.constant(std::move(l)));
  }
  if (s.elements() > 1 && !s.quant) {
    auto splat = c.take(import_splat(*v, s));
    if (!c.ok()) return;
    if (!splat.empty()) return c.bind(c.spread(c.b.constant(splat[0]), s));
  }
  Literal l = c.take(import_elements(*v, s));
  if (c.ok()) c.bind(c.b.constant(std::move(l)));
}

void compare(OpImport& c) { c.bind(c.emit(Op::kCompare, c.ins(), read_compare(c))); }

void select(OpImport& c) {
  Instr* p = c.spread(c.in(0), c.in(1)->shape);
  c.bind(c.emit(Op::kSelect, {p, c.in(1), c.in(2)}));
}

void clamp(OpImport& c) {
  const Shape& like = c.in(1)->shape;
  c.bind(c.emit(Op::kClamp, {c.spread(c.in(0), like), c.in(1), c.spread(c.in(2), like)}));
}

void convert(OpImport& c) {
  Instr* x = c.in(0);
  // Conversion to and from quantized types is quantization.
  const bool from = x->shape.quant != nullptr, to = c.type().quant != nullptr;
  if (to) return c.bind(c.emit_typed(Op::kUniformQuantize, {x}));
  if (from) return c.bind(c.emit_typed(Op::kUniformDequantize, {x}));
  c.bind(c.b.convert(c.type().dtype, x));
}

void bitcast_convert(OpImport& c) { c.bind(c.emit_typed(Op::kBitcastConvert, c.ins())); }
void quantize(OpImport& c) { c.bind(c.emit_typed(Op::kUniformQuantize, c.ins())); }
void dequantize(OpImport& c) { c.bind(c.emit_typed(Op::kUniformDequantize, c.ins())); }

void reduce_precision(OpImport& c) {
  c.bind(c.emit(Op::kReducePrecision, c.ins(),
                ReducePrecisionAttrs{c.integer("exponent_bits"), c.integer("mantissa_bits")}));
}

void iota(OpImport& c) {
  c.bind(c.emit_typed(Op::kIota, {}, IotaAttrs{c.integer("iota_dimension")}));
}

void rng(OpImport& c) {
  RngAttrs a;
  const std::string_view d = c.choice("rng_distribution");
  if (d == "NORMAL") a.distribution = RngDistribution::kNormal;
  else c.check(d == "UNIFORM", "rng_distribution must be UNIFORM or NORMAL");
  c.bind(c.emit_typed(Op::kRng, c.ins(0, 2), a));
}

void rng_bit_generator(OpImport& c) {
  RngBitsAttrs a;
  const std::string_view d = c.choice("rng_algorithm");
  if (d == "THREE_FRY") a.algorithm = RngAlgorithm::kThreeFry;
  else if (d == "PHILOX") a.algorithm = RngAlgorithm::kPhilox;
  else c.check(d == "DEFAULT", "unknown rng_algorithm");
  c.bind_all(c.emit_typed(Op::kRngBitGenerator, c.ins(), a));
}

void erf(OpImport& c) { c.bind(c.emit(Op::kErf, c.ins())); }
void identity(OpImport& c) { c.bind(c.emit(Op::kCopy, c.ins())); }
void stochastic_convert(OpImport& c) { c.bind(c.emit_typed(Op::kStochasticConvert, c.ins())); }

constexpr Handler kHandlers[] = {
    {"stablehlo.constant", constant, 0, 1, 0},
    {"arith.constant", constant, 0, 1, 0},
    {"sdy.constant", constant, 0, 1, 0},
    {"stablehlo.compare", compare, 2, 1, 0},
    {"stablehlo.select", select, 3, 1, 0},
    {"stablehlo.clamp", clamp, 3, 1, 0},
    {"stablehlo.convert", convert, 1, 1, 0},
    {"stablehlo.bitcast_convert", bitcast_convert, 1, 1, 0},
    {"stablehlo.uniform_quantize", quantize, 1, 1, 0},
    {"stablehlo.uniform_dequantize", dequantize, 1, 1, 0},
    {"stablehlo.reduce_precision", reduce_precision, 1, 1, 0},
    {"stablehlo.iota", iota, 0, 1, 0},
    {"stablehlo.rng", rng, at_least(2), 1, 0},
    {"stablehlo.rng_bit_generator", rng_bit_generator, 1, 2, 0},
    {"mhlo.erf", erf, 1, 1, 0},
    {"mhlo.copy", identity, 1, 1, 0},
    {"mhlo.stochastic_convert", stochastic_convert, 2, 1, 0},
    {"tensor.cast", identity, 1, 1, 0},
};

}  // namespace

absl::Span<const Handler> elementwise_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
