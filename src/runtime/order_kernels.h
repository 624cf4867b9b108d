// SPDX-License-Identifier: Apache-2.0
// The vector kernel of top-k: does anything in a block come before a limit? Most blocks have nothing.
//
// Interface: OrderKernels, of runtime/isa.h.
#pragma once

#include <cstdint>

namespace braze {

// How bits become an unsigned key whose order is the elements': floats by their total order.
struct KeyForm {
  enum class Kind : uint8_t { kUnsigned, kSigned, kFloat } kind = Kind::kUnsigned;
  bool descending = false;
};

struct OrderKernels {
  // True if the key of any of the n elements is below `limit`, for elements of 1, 2, 4 and 8 bytes.
  bool (*any_before_1)(const uint8_t* bits, int64_t n, KeyForm form, uint8_t limit);
  bool (*any_before_2)(const uint16_t* bits, int64_t n, KeyForm form, uint16_t limit);
  bool (*any_before_4)(const uint32_t* bits, int64_t n, KeyForm form, uint32_t limit);
  bool (*any_before_8)(const uint64_t* bits, int64_t n, KeyForm form, uint64_t limit);
};

}  // namespace braze
