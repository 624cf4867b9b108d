// SPDX-License-Identifier: Apache-2.0
// The vector kernels of order: does anything in a block come before a limit (top-k: most blocks have nothing), and
// the sorting of short rows, several at a time in the lanes.
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

// Rows of at most kShortRow elements, and at most kShortRows of them.
constexpr int64_t kShortRow = 64, kShortRows = 16;
struct ShortRows {
  const void* keys;                // the first row's first element
  int64_t rows, length;
  int64_t row_step, step;          // elements from a row to the next, from an element of a row to the next
  bool backwards;                  // equal elements end in reversed order
  KeyForm form;
  uint32_t infinity = 0;           // of floats, their bits: what lies above is no number
  uint32_t zero = 0, nan = 0;      // bits that stand for zeros and NaNs, if asked for
  bool replace_zero = false, replace_nan = false;
};

struct OrderKernels {
  // True if the key of any of the n elements is below `limit`, for elements of 1, 2, 4 and 8 bytes.
  bool (*any_before_1)(const uint8_t* bits, int64_t n, KeyForm form, uint8_t limit);
  bool (*any_before_2)(const uint16_t* bits, int64_t n, KeyForm form, uint16_t limit);
  bool (*any_before_4)(const uint32_t* bits, int64_t n, KeyForm form, uint32_t limit);
  bool (*any_before_8)(const uint64_t* bits, int64_t n, KeyForm form, uint64_t limit);
  // Sorts stably: positions[i·kShortRows + r] is the place in row r of its i-th element, for elements of 1, 2 and 4
  // bytes.
  void (*sort_short_1)(const ShortRows& rows, uint8_t* positions);
  void (*sort_short_2)(const ShortRows& rows, uint8_t* positions);
  void (*sort_short_4)(const ShortRows& rows, uint8_t* positions);
};

}  // namespace braze
