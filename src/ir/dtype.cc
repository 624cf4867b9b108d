// SPDX-License-Identifier: Apache-2.0
#include "ir/dtype.h"

#include <iterator>

namespace braze {
namespace {

constexpr DtypeInfo kInfo[] = {
#define DTYPE(e, hlo, mlir, bits, bytes, cls) {hlo, mlir, bits, bytes, DtypeClass::cls},
#include "ir/dtypes.def"
#undef DTYPE
};

template <typename F>
std::optional<Dtype> find(F matches) {
  for (size_t i = 0; i < std::size(kInfo); ++i)
    if (matches(kInfo[i])) return static_cast<Dtype>(i);
  return std::nullopt;
}

}  // namespace

const DtypeInfo& info(Dtype t) { return kInfo[static_cast<int>(t)]; }

Dtype real_of(Dtype t) {
  return t == Dtype::kC64 ? Dtype::kF32 : t == Dtype::kC128 ? Dtype::kF64 : t;
}

Dtype complex_of(Dtype t) { return t == Dtype::kF64 ? Dtype::kC128 : Dtype::kC64; }

std::optional<Dtype> dtype_from_hlo(std::string_view name) {
  return find([&](const DtypeInfo& i) { return i.hlo == name; });
}

std::optional<Dtype> dtype_from_mlir(std::string_view name) {
  return find([&](const DtypeInfo& i) { return i.mlir == name; });
}

}  // namespace braze
