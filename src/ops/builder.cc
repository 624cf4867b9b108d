// SPDX-License-Identifier: Apache-2.0
#include "ops/builder.h"

#include <algorithm>

namespace braze {
namespace {

// Is `c` "p0 op p1" over scalars of t?
bool is_combiner(const Computation& c, Op o, Dtype t) {
  if (c.size() != 3 || c.params().size() != 2 || c.root() == nullptr) return false;
  const Instr& r = *c.root();
  return r.op == o && r.operands.size() == 2 && r.operand(0) == c.params()[0] &&
         r.operand(1) == c.params()[1] && r.shape.is_scalar() && r.shape.dtype == t &&
         c.params()[0]->shape == Shape::scalar(t) && c.params()[1]->shape == Shape::scalar(t);
}

}  // namespace

// The placeholder claims `shape` but holds no elements, so that it costs nothing whatever the
// shape.
Instr* Builder::fail(Status s, const Shape& shape) {
  if (status_.ok()) status_ = std::move(s);
  return comp_->add(Op::kConstant, shape, {}, ConstantAttrs{});
}

Instr* Builder::op(Op op, absl::Span<Instr* const> operands, Attrs attrs,
                   absl::Span<Computation* const> calls, std::string_view name) {
  return add_inferred(op, nullptr, operands, std::move(attrs), calls, name);
}

Instr* Builder::op_shaped(Op op, const Shape& shape, absl::Span<Instr* const> operands, Attrs attrs,
                          absl::Span<Computation* const> calls, std::string_view name) {
  return add_inferred(op, &shape, operands, std::move(attrs), calls, name);
}

Instr* Builder::add_inferred(Op op, const Shape* shape, absl::Span<Instr* const> operands,
                             Attrs attrs, absl::Span<Computation* const> calls,
                             std::string_view name) {
  absl::InlinedVector<const Shape*, 4> shapes;
  for (const Instr* i : operands) {
    if (i == nullptr) return fail(internal(message_name(op), ": null operand"), Shape());
    shapes.push_back(&i->shape);
  }
  Result<Shape> inferred = infer_shape(op, shapes, attrs, calls, shape);
  if (!inferred.ok())
    return fail(inferred.status(), shape ? *shape : operands.empty() ? Shape() : *shapes[0]);
  return comp_->add(op, *inferred, operands, std::move(attrs), calls, name);
}

Instr* Builder::parameter(int64_t number, const Shape& shape, std::string_view name) {
  return op_shaped(Op::kParameter, shape, {}, ParameterAttrs{number}, {}, name);
}

Instr* Builder::constant(Literal value) {
  return op(Op::kConstant, {}, ConstantAttrs{std::move(value)});
}

Instr* Builder::scalar(Dtype t, double v) { return constant(Literal::scalar(t, v)); }

Instr* Builder::splat(const Shape& like, double v) {
  Instr* s = scalar(like.dtype, v);
  if (like.dims.empty()) return s;
  Attrs no_dimensions(std::in_place_type<DimsAttrs>);
  return op_shaped(Op::kBroadcast, like.with_dtype(like.dtype), {s}, std::move(no_dimensions));
}

Instr* Builder::compare(CompareDirection d, Instr* a, Instr* b) {
  return op(Op::kCompare, {a, b}, CompareAttrs{d});
}

Instr* Builder::convert(Dtype t, Instr* a) {
  if (a->shape.dtype == t) return a;
  return op_shaped(Op::kConvert, a->shape.with_dtype(t), {a});
}

Instr* Builder::broadcast(Instr* a, DimSpan out_dims, DimSpan dimensions) {
  return op_shaped(Op::kBroadcast, a->shape.with_dims(out_dims), {a},
                   DimsAttrs{Dims(dimensions.begin(), dimensions.end())});
}

Instr* Builder::reshape(Instr* a, DimSpan dims) {
  return op_shaped(Op::kReshape, a->shape.with_dims(dims), {a});
}

Instr* Builder::transpose(Instr* a, DimSpan permutation) {
  return op(Op::kTranspose, {a}, DimsAttrs{Dims(permutation.begin(), permutation.end())});
}

Instr* Builder::slice(Instr* a, DimSpan start, DimSpan limit, DimSpan stride) {
  SliceAttrs attrs{Dims(start.begin(), start.end()), Dims(limit.begin(), limit.end()),
                   Dims(stride.begin(), stride.end())};
  if (stride.empty()) attrs.stride.assign(start.size(), 1);
  return op(Op::kSlice, {a}, std::move(attrs));
}

Instr* Builder::iota(const Shape& shape, int64_t dimension) {
  return op_shaped(Op::kIota, shape, {}, IotaAttrs{dimension});
}

Instr* Builder::reduce(Op combiner_op, Instr* a, Instr* init, DimSpan dimensions) {
  Computation* c = combiner(combiner_op, init->shape.dtype);
  return op(Op::kReduce, {a, init}, DimsAttrs{Dims(dimensions.begin(), dimensions.end())}, {c});
}

Instr* Builder::tuple(absl::Span<Instr* const> parts) { return op(Op::kTuple, parts); }

Instr* Builder::element(Instr* tuple, int64_t i) {
  if (tuple->is(Op::kTuple) && i >= 0 && i < static_cast<int64_t>(tuple->operands.size()))
    return tuple->operand(i);
  return op(Op::kGetTupleElement, {tuple}, IndexAttrs{i});
}

Computation* Builder::combiner(Op o, Dtype t) {
  Module* m = comp_->module();
  for (const auto& c : m->computations())
    if (is_combiner(*c, o, t)) return c.get();
  Computation* c = m->add_computation(str_cat(name(o), "_", name(t)));
  Builder b(c);
  Instr* lhs = b.parameter(0, Shape::scalar(t));
  Instr* rhs = b.parameter(1, Shape::scalar(t));
  c->set_root(b.binary(o, lhs, rhs));
  if (status_.ok() && !b.status().ok()) status_ = b.status();
  return c;
}

}  // namespace braze
