// SPDX-License-Identifier: Apache-2.0
// Checks that the `infer` functions of many rows share: the form of an instruction (operands,
// attributes, called computations), lists of axes, agreement of sizes, and the type of a combiner.
//
// Sizes agree when they are equal or one of them is unknown or bounded: the rest is decided at run
// time. Messages begin with the broken law: "stablehlo.reduce (C5): dimensions must be unique, got
// {0,0}".
#pragma once

#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ops/op_def.h"

namespace braze {

template <typename... A>
Status law(std::string_view rule, const A&... a) {
  return invalid(rule, ": ", a...);
}

// Right attribute struct, operand count (-1: any) and number of called computations (-1: any), each
// with a root.
Status check_form(const InferContext& ctx, int attrs, int64_t operands, int64_t calls);
template <typename A>
Status check_form(const InferContext& ctx, int64_t operands, int64_t calls = 0) {
  return check_form(ctx, attrs_index<A>(), operands, calls);
}
// Operands [from, to) are arrays.
Status check_arrays(const InferContext& ctx, size_t from, size_t to);

bool sizes_agree(int64_t a, int64_t b);
// Whether dimension i of a and dimension j of b may have the same size.
bool dims_agree(const Shape& a, int64_t i, const Shape& b, int64_t j);
bool dims_agree(const Shape& a, const Shape& b);
// Element types, ranks, sizes and tuple elements; layouts don't matter.
bool shapes_agree(const Shape& a, const Shape& b);

bool contains(DimSpan dims, int64_t d);
bool is_unique(DimSpan dims);
bool is_sorted(DimSpan dims);
int64_t position(DimSpan dims, int64_t d);  // -1 if absent
Dims joined(DimSpan a, DimSpan b);
// 0 … rank-1 without those in `without`, in order.
Dims axes_except(int64_t rank, DimSpan without);
// Every axis is in [0, limit).
Status check_range(std::string_view rule, std::string_view what, DimSpan axes, int64_t limit);
Status check_unique(std::string_view rule, std::string_view what, DimSpan axes);
Status check_sorted(std::string_view rule, std::string_view what, DimSpan axes);
Status check_equal(std::string_view rule, std::string_view what, int64_t got, int64_t want);

// Dimension `from_dim` of `from`, with its dynamic flag, appended to `to`.
void append_dim(Shape& to, const Shape& from, int64_t from_dim);
void append_dim(Shape& to, int64_t size);

// The element type may grow to that of `to` in a reduction (StableHLO is_promotable).
bool promotable(const Shape& from, const Shape& to);

// A combiner over scalars, (E0…EN-1, E0…EN-1) → E0…EN-1, where inputs' element types are promotable
// to Ei. Returns the scalar shapes Ei.
Result<std::vector<Shape>> check_combiner(std::string_view rule, const Computation& body,
                                          absl::Span<const Shape* const> inputs);
// `body` returns pred[] from parameters whose element types are those of `params`, all scalars.
Status check_predicate(std::string_view rule, const Computation& body,
                       absl::Span<const Shape* const> params);

// One shape as it is, several as a tuple.
Shape one_or_tuple(std::vector<Shape> shapes);
Literal one_or_tuple(std::vector<Literal> literals);

// The result shape of an instruction being evaluated: its own, or, where that has unknown or
// bounded dimensions, the one inferred from the operands at hand.
Result<Shape> actual_shape(const EvalContext& ctx);

}  // namespace braze
