// SPDX-License-Identifier: Apache-2.0
// MLIR types and constants → shapes and literals.
//
// Interface: the functions below. Invariants: `?` becomes kUnknownDim, a `?` with a bound (the
// encoding #stablehlo.bounds) becomes that bound with its dynamic flag; quantized element types
// become their storage type with Shape::quant; `index` is s64.
#pragma once

#include <vector>

#include "base/status.h"
#include "frontend/mlir_ast.h"
#include "ir/literal.h"
#include "ir/shape.h"

namespace braze {

Result<Dtype> import_dtype(const mlir::Type& element);
Result<Shape> import_type(const mlir::Type& type);

// The value of a kElements attribute (a splat gives all its elements), in the given shape, whose
// storage type must be that of the attribute.
Result<Literal> import_elements(const mlir::Attr& value, const Shape& shape);
// The one element of a splat, or of a constant whose elements are all equal bits; empty otherwise.
Result<std::vector<Literal>> import_splat(const mlir::Attr& value, const Shape& shape);

// What two spellings of one value's shape agree on: `declared` with unknown dimensions filled in
// from `inferred`, bounds and quantization kept. An error if they contradict each other.
Result<Shape> merge_shapes(const Shape& declared, const Shape& inferred);

}  // namespace braze
