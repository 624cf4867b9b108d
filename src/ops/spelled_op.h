// SPDX-License-Identifier: Apache-2.0
// Opcodes as HLO texts and protos spell them, asynchronous forms included.
//
// x-start … x-done become the op x itself at the place of the start; the done is another name for
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/opcode.h"
#include "ir/shape.h"

namespace braze {

enum class AsyncPart : uint8_t { kNone, kStart, kDone };  // kDone: x-done and x-update

struct SpelledOp {
  Op op;  // async-start is kCall; of a kDone nothing but its operand counts
  AsyncPart part = AsyncPart::kNone;
};

// An error names the nearest known opcode.
Result<SpelledOp> spelled_op(std::string_view spelled);

// The shape of x-start holds operands, results and contexts; the plain op has the results only.
Result<Shape> unwrap_start(Op op, const Shape& shape);

}  // namespace braze
