// SPDX-License-Identifier: Apache-2.0
// How HLO text spells attribute values and names: tables read by the parser and the printer alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "ir/module.h"

namespace braze::text {

// The spellings of an enum's values, in order of the enumerators.
template <typename E>
absl::Span<const std::string_view> spellings();
template <> absl::Span<const std::string_view> spellings<CompareDirection>();
template <> absl::Span<const std::string_view> spellings<CompareType>();
template <> absl::Span<const std::string_view> spellings<Precision>();
template <> absl::Span<const std::string_view> spellings<FftType>();
template <> absl::Span<const std::string_view> spellings<RngDistribution>();
template <> absl::Span<const std::string_view> spellings<RngAlgorithm>();
template <> absl::Span<const std::string_view> spellings<TransposeA>();
template <> absl::Span<const std::string_view> spellings<FusionKind>();

template <typename E>
std::string_view spell(E e) { return spellings<E>()[static_cast<size_t>(e)]; }
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

// The text name of the field that attrs.h calls `field`.
std::string_view attribute_name(Op op, std::string_view field);
// Whether the attribute is printed even if it equals its default.
bool always_printed(Op op, std::string_view field);
// Attributes without which an instruction of this op means nothing.
absl::Span<const std::string_view> required_attributes(Op op);

// The attribute that names callee `slot` of `op` with `count` callees: "to_apply", "condition" …
// Lists (branch_computations, called_computations) are told apart by `callee_list`.
std::string_view callee_attribute(const Instr& i, size_t slot);
std::string_view callee_list(const Instr& i);

// True if `s` is one {…} with balanced brackets and quotes: printed bare, without quotes.
bool is_braced(std::string_view s);
std::string quote(std::string_view s);

}  // namespace braze::text
