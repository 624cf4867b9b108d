// SPDX-License-Identifier: Apache-2.0
// Element types: the enum and its facts, from the rows of dtypes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace braze {

enum class Dtype : uint8_t {
#define DTYPE(e, hlo, mlir, bits, bytes, cls) e,
#include "ir/dtypes.def"
#undef DTYPE
};

enum class DtypeClass : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex, kStructural };

struct DtypeInfo {
  std::string_view hlo;   // as HLO text spells it: "f32"
  std::string_view mlir;  // as MLIR text spells it: "f32", "ui8", "complex<f32>"
  int bits;               // significant bits
  int bytes;              // bytes of one element in memory; 0 for tuple, token, opaque
  DtypeClass cls;
};

const DtypeInfo& info(Dtype t);

inline int byte_size(Dtype t) { return info(t).bytes; }
inline int bit_size(Dtype t) { return info(t).bits; }
inline std::string_view name(Dtype t) { return info(t).hlo; }
inline bool is_float(Dtype t) { return info(t).cls == DtypeClass::kFloat; }
inline bool is_complex(Dtype t) { return info(t).cls == DtypeClass::kComplex; }
inline bool is_signed_int(Dtype t) { return info(t).cls == DtypeClass::kSigned; }
inline bool is_unsigned_int(Dtype t) { return info(t).cls == DtypeClass::kUnsigned; }
inline bool is_int(Dtype t) { return is_signed_int(t) || is_unsigned_int(t); }
inline bool is_pred(Dtype t) { return t == Dtype::kPred; }
inline bool is_array(Dtype t) { return info(t).cls != DtypeClass::kStructural; }

// The real type of a complex type (c64 → f32); any other type is its own.
Dtype real_of(Dtype t);
// The complex type over f32 or f64.
Dtype complex_of(Dtype t);

std::optional<Dtype> dtype_from_hlo(std::string_view name);
std::optional<Dtype> dtype_from_mlir(std::string_view name);

}  // namespace braze
