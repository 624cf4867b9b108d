// SPDX-License-Identifier: Apache-2.0
// Rows of the ops that create values: constant, iota, parameter.
#include "ops/elementwise.h"

namespace braze {
namespace {

constexpr int64_t kMaxParameters = 1 << 20;

// A literal's shape; `proposed` may add a layout, bounds and quantization.
Result<Shape> infer_constant(const InferContext& c) { return c.as<ConstantAttrs>().value.shape(); }

Result<Literal> eval_constant(const EvalContext& c) { return c.as<ConstantAttrs>().value; }

Result<Shape> infer_parameter(const InferContext& c) {
  const int64_t number = c.as<ParameterAttrs>().number;
  if (number < 0 || number >= kMaxParameters)
    return invalid("parameter: number ", number, " is not in [0, ", kMaxParameters, ")");
  if (c.proposed == nullptr) return invalid("parameter: the shape must be stated");
  return *c.proposed;
}

// Evaluators bind parameters themselves.
Result<Literal> eval_parameter(const EvalContext& c) {
  return invalid("parameter ", c.as<ParameterAttrs>().number, " has no value");
}

Result<Shape> infer_iota(const InferContext& c) {
  if (c.proposed == nullptr) return invalid("iota: the result shape must be stated");
  const Shape& out = *c.proposed;
  const int64_t d = c.as<IotaAttrs>().iota_dimension;
  if (!in_class(out, kNumberT))
    return invalid("iota: result is ", to_string(out, false), ", expected ", class_names(kNumberT),
                   " elements (iota_o1)");
  if (d < 0 || d >= out.rank())
    return invalid("iota: iota_dimension ", d, " is not in [0, ", out.rank(), ") (iota_c1)");
  return out;
}

Result<Literal> eval_iota(const EvalContext& c) {
  Literal out(eval_shape(c, c.instr.shape.dims));
  if (!out.shape().is_static()) return invalid("iota: the result shape is not known");
  if (out.elements() == 0) return out;
  const int64_t d = c.as<IotaAttrs>().iota_dimension;
  Dims index(out.shape().rank(), 0);
  int64_t i = 0;
  do out.set_int(i++, index[d]);
  while (next_index(absl::MakeSpan(index), out.shape().dims));
  return out;
}

scalar::Value index_iota(const IndexContext& c) {
  const scalar::Value position{c.index[c.instr.as<IotaAttrs>().iota_dimension]};
  return scalar::math::convert(c.g, c.index_type, c.instr.shape.dtype, {position});
}

std::unique_ptr<Module> sample_constant(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  return sample::module_of(Op::kConstant, {}, ConstantAttrs{sample::literal(rng, s, true)});
}

std::unique_ptr<Module> sample_iota(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kNumberT, 1);
  return sample::module_of(Op::kIota, {}, IotaAttrs{sample::pick(rng, 0, s.rank() - 1)}, &s);
}

std::unique_ptr<Module> sample_parameter(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  return sample::module_of(Op::kParameter, {}, ParameterAttrs{0}, &s);
}

constexpr OpDef constant_row() {
  OpDef row{Op::kConstant, "constant", 0, 0, attrs_index<ConstantAttrs>()};
  row.infer = infer_constant;
  row.eval = eval_constant;
  row.step = Step::kFree;
  row.cost = 0;
  row.sample = sample_constant;
  row.doc = "A value known when the program is compiled.";
  return row;
}

constexpr OpDef iota_row() {
  OpDef row{Op::kIota, "iota", 0, 0, attrs_index<IotaAttrs>()};
  row.infer = infer_iota;
  row.eval = eval_iota;
  row.index = index_iota;
  row.sample = sample_iota;
  row.doc = "Each element is its own index along one dimension; integers wrap.";
  return row;
}

constexpr OpDef parameter_row() {
  OpDef row{Op::kParameter, "", 0, 0, attrs_index<ParameterAttrs>()};
  row.infer = infer_parameter;
  row.eval = eval_parameter;
  row.step = Step::kFree;
  row.cost = 0;
  row.sample = sample_parameter;
  row.doc = "An argument of the computation.";
  return row;
}

constexpr OpDef kRows[] = {constant_row(), iota_row(), parameter_row()};

}  // namespace

absl::Span<const OpDef> create_rows() { return kRows; }

}  // namespace braze
