// SPDX-License-Identifier: Apache-2.0
#include "pjrt/element_type.h"

namespace braze::pjrt {
namespace {

struct Row {
  Dtype dtype;
  PJRT_Buffer_Type buffer;
  int primitive;
};
#define ROW(name, primitive) {Dtype::k##name, PJRT_Buffer_Type_##name, primitive}
constexpr Row kRows[] = {
    {Dtype::kPred, PJRT_Buffer_Type_PRED, 1},
    ROW(S2, 26), ROW(S4, 21), ROW(S8, 2), ROW(S16, 3), ROW(S32, 4), ROW(S64, 5),
    ROW(U2, 27), ROW(U4, 22), ROW(U8, 6), ROW(U16, 7), ROW(U32, 8), ROW(U64, 9),
    ROW(F16, 10), ROW(F32, 11), ROW(F64, 12), ROW(BF16, 16), ROW(C64, 15), ROW(C128, 18),
    ROW(F8E5M2, 19), ROW(F8E4M3FN, 20), ROW(F8E4M3B11FNUZ, 23), ROW(F8E5M2FNUZ, 24),
    ROW(F8E4M3FNUZ, 25), ROW(F8E4M3, 28), ROW(F8E3M4, 29), ROW(F8E8M0FNU, 33), ROW(F4E2M1FN, 32),
    {Dtype::kToken, PJRT_Buffer_Type_TOKEN, 17},
};
#undef ROW

}  // namespace

Result<Dtype> to_dtype(PJRT_Buffer_Type t) {
  for (const Row& r : kRows)
    if (r.buffer == t) return r.dtype;
  return unimplemented("buffers of PJRT element type ", static_cast<int>(t));
}

PJRT_Buffer_Type to_buffer_type(Dtype t) {
  for (const Row& r : kRows)
    if (r.dtype == t) return r.buffer;
  return PJRT_Buffer_Type_INVALID;
}

int to_primitive_type(Dtype t) {
  for (const Row& r : kRows)
    if (r.dtype == t) return r.primitive;
  return 0;
}

}  // namespace braze::pjrt
