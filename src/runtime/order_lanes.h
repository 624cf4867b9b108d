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

// Keys of one element of each row above their place, so that no two are equal and any network sorts stably. Entries are
// ordered as signed integers.
template <typename U, bool kFloat>
BRAZE_INLINE void load_entries(const ShortRows& r, const U* from, int64_t place, int64_t* __restrict to) {
  typedef U Keys __attribute__((vector_size(kShortRows * sizeof(U)), aligned(sizeof(U))));
  constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  const U infinity = static_cast<U>(r.infinity), zero = static_cast<U>(r.zero), nan = static_cast<U>(r.nan);
  const U invert = static_cast<U>(r.form.descending ? ~U{0} : U{0});
  Keys bits = *reinterpret_cast<const Keys*>(from);
  if constexpr (kFloat) {
    const Keys magnitude = bits & static_cast<U>(~kSign);
    if (r.replace_zero) bits = magnitude == U{0} ? Keys{} + zero : bits;
    if (r.replace_nan) bits = magnitude > infinity ? Keys{} + nan : bits;
    bits = bits >= kSign ? ~bits : bits ^ kSign;
  } else if (r.form.kind == KeyForm::Kind::kSigned) {
    bits ^= kSign;
  }
  bits ^= invert;
  for (int64_t l = 0; l < kShortRows; ++l) to[l] = static_cast<int64_t>(static_cast<uint64_t>(bits[l]) << 8) + place;
}

typedef int64_t Entries __attribute__((vector_size(kVectorBytes)));
constexpr int64_t kEntryParts = kShortRows / (kVectorBytes / 8);

BRAZE_INLINE void exchange(Entries* a, Entries* b) {
  for (int64_t l = 0; l < kEntryParts; ++l) {
    const Entries x = a[l], y = b[l];
    a[l] = x < y ? x : y;
    b[l] = x < y ? y : x;
  }
}

// Batcher's merges of odd and even places, of any number of entries.
BRAZE_INLINE void sort_entries(Entries* e, int64_t n) {
  for (int64_t p = 1; p < n; p *= 2)
    for (int64_t k = p; k >= 1; k /= 2)
      for (int64_t j = k & (p - 1); j + k < n; j += 2 * k)
        for (int64_t i = j; i < j + k && i + k < n; ++i)
          if (((i ^ (i + k)) & -(2 * p)) == 0)  // in the same part of 2p
            exchange(e + i * kEntryParts, e + (i + k) * kEntryParts);
}

template <typename U, bool kFloat>
BRAZE_INLINE void sort_short_as(const ShortRows& r, uint8_t* positions) {
  alignas(64) int64_t entries[kShortRow * kShortRows];
  U side_by_side[kShortRows] = {};
  for (int64_t i = 0; i < r.length; ++i) {
    const U* from = static_cast<const U*>(r.keys) + (r.backwards ? r.length - 1 - i : i) * r.step;
    if (r.rows < kShortRows || r.row_step != 1) {
      for (int64_t l = 0; l < r.rows; ++l) side_by_side[l] = from[l * r.row_step];
      from = side_by_side;
    }
    load_entries<U, kFloat>(r, from, i, entries + i * kShortRows);
  }
  sort_entries(reinterpret_cast<Entries*>(entries), r.length);
  const uint8_t last = static_cast<uint8_t>(r.length - 1);
  for (int64_t i = 0; i < r.length * kShortRows; ++i) {
    const auto order = static_cast<uint8_t>(entries[i]);
    positions[i] = r.backwards ? static_cast<uint8_t>(last - order) : order;
  }
}

template <typename U>
void sort_short(const ShortRows& r, uint8_t* positions) {
  if (r.form.kind == KeyForm::Kind::kFloat) sort_short_as<U, true>(r, positions);
  else sort_short_as<U, false>(r, positions);
}

constexpr OrderKernels order_table() {
  return {any_before<uint8_t, int8_t>, any_before<uint16_t, int16_t>, any_before<uint32_t, int32_t>,
          any_before<uint64_t, int64_t>, sort_short<uint8_t>, sort_short<uint16_t>, sort_short<uint32_t>};
}

}  // namespace
}  // namespace braze::BRAZE_ISA
