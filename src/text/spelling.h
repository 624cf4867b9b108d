// SPDX-License-Identifier: Apache-2.0
// How HLO text names attributes: tables read by the parser and the printer alike.
#pragma once

#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "ir/enum_names.h"
#include "ir/module.h"

namespace braze::text {

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
