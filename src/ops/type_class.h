// SPDX-License-Identifier: Apache-2.0
// Sets of element type classes, as the rows state which operands they take.
#pragma once

#include <cstdint>
#include <string>

#include "ir/shape.h"

namespace braze {

enum TypeClass : uint32_t {
  kPredT = 1 << static_cast<int>(DtypeClass::kBool),
  kSignedT = 1 << static_cast<int>(DtypeClass::kSigned),
  kUnsignedT = 1 << static_cast<int>(DtypeClass::kUnsigned),
  kFloatT = 1 << static_cast<int>(DtypeClass::kFloat),
  kComplexT = 1 << static_cast<int>(DtypeClass::kComplex),
};
constexpr uint32_t kIntT = kSignedT | kUnsignedT;
constexpr uint32_t kBitsT = kPredT | kIntT;
constexpr uint32_t kRealT = kIntT | kFloatT;
constexpr uint32_t kNumberT = kRealT | kComplexT;
constexpr uint32_t kAnyT = kNumberT | kPredT;

inline bool in_class(Dtype t, uint32_t classes) {
  return classes & (1u << static_cast<int>(info(t).cls));
}
// Quantized elements count as what they express: floats.
inline bool in_class(const Shape& s, uint32_t classes) {
  return s.is_array() && in_class(s.quant ? s.quant->expressed : s.dtype, classes);
}

// "boolean, integer or complex", for messages.
std::string class_names(uint32_t classes);

}  // namespace braze
