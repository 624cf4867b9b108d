// SPDX-License-Identifier: Apache-2.0
// How HLO, in text and in protos, spells the enums of attrs.h: one table each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "ir/attrs.h"

namespace braze {

// The spellings of an enum's values, in order of the enumerators.
template <typename E>
absl::Span<const std::string_view> spellings();
template <>
absl::Span<const std::string_view> spellings<CompareDirection>();
template <>
absl::Span<const std::string_view> spellings<CompareType>();
template <>
absl::Span<const std::string_view> spellings<Precision>();
template <>
absl::Span<const std::string_view> spellings<FftType>();
template <>
absl::Span<const std::string_view> spellings<RngDistribution>();
template <>
absl::Span<const std::string_view> spellings<RngAlgorithm>();
template <>
absl::Span<const std::string_view> spellings<TransposeA>();
template <>
absl::Span<const std::string_view> spellings<FusionKind>();

template <typename E>
std::string_view spell(E e) {
  return spellings<E>()[static_cast<size_t>(e)];
}
template <typename E>
std::optional<E> unspell(std::string_view s) {
  auto all = spellings<E>();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == s) return static_cast<E>(i);
  return std::nullopt;
}
// "EQ, NE, GE" for messages.
std::string list_of(absl::Span<const std::string_view> words);

// API_VERSION_TYPED_FFI and its like, from number 1 on.
absl::Span<const std::string_view> api_versions();

// The comparison that CompareType::kDefault stands for on operands of type t; readers store it as
// kDefault.
CompareType default_compare_type(Dtype t);

}  // namespace braze
