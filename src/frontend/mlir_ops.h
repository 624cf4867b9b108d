// SPDX-License-Identifier: Apache-2.0
// Table of the ops that have a short text form or bytecode properties.
//
// Interface: find_op, vhlo_properties.
//
// `format` is read left to right, tokens separated by spaces:
//   %  %*  %*,        one operand; operands separated by commas; operands each followed by one
//   $name:kind        an attribute (kinds: mlir_text_format.cc)
//   {}  {w}           attribute dictionary; the same behind the word `attributes`
//   ^  ^*             a region `(args) {..}`; regions in parentheses, or nothing
//   ?( a .. ?)        the group may be absent; it is present if its first token is there
//   @rule             types: same func result operands return pair select complex tuple arrow
//   anything else     that punctuation or word
// A null format means that the op has no short form (or one of its own: mlir_text_op.cc).
#pragma once

#include <string_view>

namespace braze::mlir {

struct OpSpec {
  std::string_view name;  // "stablehlo.iota"
  std::string_view format;
  // The attributes of the bytecode properties, in encoded order; `?` marks optional ones and `+`
  // at the end operand and result segment sizes.
  std::string_view properties;
};

// The row of an op, or null. Rows with the same name follow each other and differ in the number
// of properties only (a newer version added some).
const OpSpec* find_op(std::string_view name);
const OpSpec* next_variant(const OpSpec* op);

// The attributes of a VHLO op ("gather_v2") in encoded order; data() is null if there is no such
// op.
std::string_view vhlo_properties(std::string_view name);

}  // namespace braze::mlir
