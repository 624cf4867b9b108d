// SPDX-License-Identifier: Apache-2.0
// Attribute values as HLO text, by the fields lists of ir/attrs.h.
#pragma once

#include <string>

#include "ir/module.h"

namespace braze::text {

// ", dimensions={0}, to…": the op's own attributes. The literal of a constant and the number of a
// parameter stand between the parentheses instead and are left out here, as is backend_config.
void append_attrs(std::string* out, const Instr& i);

// A {…} text as it is, anything else quoted.
std::string braced_or_quoted(const std::string& s);

}  // namespace braze::text
