// SPDX-License-Identifier: Apache-2.0
// Quantized element types: real = (stored − zero_point) · scale, per tensor or per slice of one axis.
//
// Interface: eval_quantized evaluates any instruction with quantized operands or results by StableHLO's
// rule (dequantize, compute in the expressed type, quantize); expand_quantized writes the same as
// instructions. Literals of quantized shapes hold the stored integers. Ops that only move elements work
// on the stored integers themselves, where operands and result share one type.
#pragma once

#include "base/status.h"
#include "ops/builder.h"
#include "ops/op_def.h"

namespace braze {

// The shape with every quantized element type replaced by its expressed type; tuples too.
Shape expressed_shape(const Shape& s);

// Stored integers → expressed floats, by the quantization `q`.
Literal dequantize(const Literal& stored, const Quantization& q);
// Floats (or integers of another scale, already dequantized) → stored integers of `shape`, which is
// quantized: divided by the scale, rounded to nearest even, clamped to the storage range.
Literal quantize(const Literal& real, const Shape& shape);

Result<Literal> eval_quantized(const EvalContext& ctx);
Result<Instr*> expand_quantized(Builder& b, const Instr& instr);

}  // namespace braze
