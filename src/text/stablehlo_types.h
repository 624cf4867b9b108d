// SPDX-License-Identifier: Apache-2.0
// Types, literals and attributes of MLIR text, for the StableHLO printer.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze::text {

// "tensor<2x?xf32>", "!stablehlo.token"; not of tuples.
std::string mlir_type(const Shape& s);
// The non-tuple leaves of a shape, in order.
void append_leaves(const Shape& s, std::vector<Shape>* out);
// "dense<[1, 2]> : tensor<2xi32>"; large ones as hex.
std::string mlir_dense(const Literal& l);
std::string mlir_array(DimSpan v);                       // "array<i64: 1, 2>"
std::string mlir_matrix(const std::vector<Dims>& rows);  // "dense<[[1, 2]]> : tensor<1x2xi64>"
std::string mlir_string(std::string_view s);             // quoted with MLIR's escapes

std::string mlir_symbol(std::string_view s);  // @name or @"any name"

// The attributes of the op's StableHLO form: (name, value).
using NamedAttrs = std::vector<std::pair<std::string, std::string>>;
Result<NamedAttrs> stablehlo_attrs(const Instr& i);

}  // namespace braze::text
