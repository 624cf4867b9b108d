// SPDX-License-Identifier: Apache-2.0
// Builder: adds instructions to a computation with inferred shapes; the one road for importers,
// expansions and tests. A failed inference is remembered: the builder then returns a harmless
// placeholder and `status()` tells the first error, so that building code stays straight.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "ops/op_def.h"

namespace braze {

class Builder {
 public:
  explicit Builder(Computation* c) : comp_(c) {}
  Computation* computation() const { return comp_; }
  const Status& status() const { return status_; }

  // Any op; the shape comes from its row's infer.
  Instr* op(Op op, absl::Span<Instr* const> operands, Attrs attrs = NoAttrs{},
            absl::Span<Computation* const> calls = {}, std::string_view name = {});
  // For ops whose result shape is not a function of operands and attributes (reshape, convert,
  // bitcast-convert, custom-call, iota, rng, constant, parameter …): `shape` is checked by infer's
  // rules where there are any.
  Instr* op_shaped(Op op, const Shape& shape, absl::Span<Instr* const> operands,
                   Attrs attrs = NoAttrs{}, absl::Span<Computation* const> calls = {},
                   std::string_view name = {});

  // Short forms used by expansions.
  Instr* parameter(int64_t number, const Shape& shape, std::string_view name = {});
  Instr* constant(Literal value);
  Instr* scalar(Dtype t, double v);                    // rank 0
  Instr* splat(const Shape& like, double v);           // scalar broadcast to like's dims and dtype
  Instr* unary(Op o, Instr* a) { return op(o, {a}); }
  Instr* binary(Op o, Instr* a, Instr* b) { return op(o, {a, b}); }
  Instr* add(Instr* a, Instr* b) { return binary(Op::kAdd, a, b); }
  Instr* sub(Instr* a, Instr* b) { return binary(Op::kSubtract, a, b); }
  Instr* mul(Instr* a, Instr* b) { return binary(Op::kMultiply, a, b); }
  Instr* div(Instr* a, Instr* b) { return binary(Op::kDivide, a, b); }
  Instr* compare(CompareDirection d, Instr* a, Instr* b);
  Instr* select(Instr* p, Instr* t, Instr* f) { return op(Op::kSelect, {p, t, f}); }
  Instr* convert(Dtype t, Instr* a);
  Instr* broadcast(Instr* a, DimSpan out_dims, DimSpan dimensions);  // broadcast_in_dim, no size-1 expansion
  Instr* reshape(Instr* a, DimSpan dims);
  Instr* transpose(Instr* a, DimSpan permutation);
  Instr* slice(Instr* a, DimSpan start, DimSpan limit, DimSpan stride = {});
  Instr* iota(const Shape& shape, int64_t dimension);
  Instr* reduce(Op combiner, Instr* a, Instr* init, DimSpan dimensions);
  Instr* tuple(absl::Span<Instr* const> parts);
  Instr* element(Instr* tuple, int64_t i);             // get-tuple-element (folds tuple(...))
  // A computation "lhs op rhs" over scalars of t, shared per module.
  Computation* combiner(Op o, Dtype t);

 private:
  Instr* add_inferred(Op op, const Shape* shape, absl::Span<Instr* const> operands, Attrs attrs,
                      absl::Span<Computation* const> calls, std::string_view name);
  Instr* fail(Status s, const Shape& shape);
  Computation* comp_;
  Status status_;
};

}  // namespace braze
