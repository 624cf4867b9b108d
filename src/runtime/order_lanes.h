// SPDX-License-Identifier: Apache-2.0
// Implementation of OrderKernels for the instruction set BRAZE_ISA; included by isa_kernels.h only.
#pragma once

#include "runtime/order_kernels.h"
#include "runtime/vector_types.h"

namespace braze::BRAZE_ISA {
namespace {

// Compares as signed integers, which every instruction set does.
template <typename U, typename I, bool kFloat>
BRAZE_INLINE bool any_in_order(const U* bits, int64_t n, U flip, U limit) {
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const I bound = static_cast<I>(limit ^ kSign);
  U any = 0;
  for (int64_t i = 0; i < n; ++i) {
    I key = static_cast<I>(bits[i]);
    if constexpr (kFloat) {
      const U magnitude = static_cast<U>(static_cast<I>(key >> (8 * sizeof(U) - 1)));
      key = static_cast<I>(key ^ static_cast<I>(magnitude & static_cast<U>(~kSign)));
    }
    key = static_cast<I>(static_cast<U>(key) ^ flip);
    any = static_cast<U>(any | static_cast<U>(key < bound));
  }
  return any != 0;
}

template <typename U, typename I>
bool any_before(const U* bits, int64_t n, KeyForm form, U limit) {
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const U invert = static_cast<U>(form.descending ? ~U{0} : U{0});
  if (form.kind == KeyForm::Kind::kFloat) return any_in_order<U, I, true>(bits, n, invert, limit);
  const U flip = static_cast<U>(form.kind == KeyForm::Kind::kSigned ? invert : invert ^ kSign);
  return any_in_order<U, I, false>(bits, n, flip, limit);
}

constexpr OrderKernels order_table() {
  return {any_before<uint8_t, int8_t>, any_before<uint16_t, int16_t>, any_before<uint32_t, int32_t>,
          any_before<uint64_t, int64_t>};
}

}  // namespace
}  // namespace braze::BRAZE_ISA
