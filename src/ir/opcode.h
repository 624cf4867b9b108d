// SPDX-License-Identifier: Apache-2.0
// The opcode enumeration, from opcodes.def. What an op means is its row in src/ops/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace braze {

enum class Op : uint8_t {
#define OP(e, hlo) e,
#include "ir/opcodes.def"
#undef OP
};

constexpr int kOpCount = 0
#define OP(e, hlo) +1
#include "ir/opcodes.def"
#undef OP
    ;

// HLO spelling: "dynamic-slice".
std::string_view name(Op op);
std::optional<Op> op_from_hlo(std::string_view name);

}  // namespace braze
