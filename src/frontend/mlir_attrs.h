// SPDX-License-Identifier: Apache-2.0
// Tables of the dialect attributes that the readers understand: enums and structs.
//
// Interface: find_enum, find_struct, struct_by_code. One row per attribute serves the text form,
// the bytecode form (fields in encoded order) and the canonical form.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace braze::mlir {

struct EnumSpec {
  std::string_view name;                    // "stablehlo.precision"
  int stablehlo_code, vhlo_code;            // bytecode attribute code, -1 if none
  std::span<const std::string_view> cases;  // by value; "" where the value is unused
};

enum class FieldKind : uint8_t {
  kDims,    // [1, 2]                 list of signed varints
  kInt,     // 1                      signed varint
  kDouble,  // 1.0                    f64 as APFloat
  kBool,    // true                   one byte
  kType,    // f32                    type index
  kString,  // "x" or x               string index
  kAttr,    // any attribute          attribute index
  kList,    // [#a, #b]               list of attribute indices
  kCount,   // 1, or absent           flagged varint
};
struct FieldSpec {
  std::string_view name;
  FieldKind kind;
  bool optional = false;  // encoded with a flag; absent from the canonical form if not given
};
struct StructSpec {
  std::string_view name;  // "stablehlo.gather"
  int stablehlo_code, vhlo_code;
  std::span<const FieldSpec> fields;
};

const EnumSpec* find_enum(std::string_view name);
const StructSpec* find_struct(std::string_view name);

// By bytecode code; `vhlo` selects the dialect's numbering, "stablehlo" the other. Null if none.
const EnumSpec* enum_by_code(uint64_t code, bool vhlo);
const StructSpec* struct_by_code(uint64_t code, bool vhlo);
const StructSpec* sdy_struct_by_code(uint64_t code);

}  // namespace braze::mlir
