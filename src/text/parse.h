// SPDX-License-Identifier: Apache-2.0
// Reads HLO text: all that XLA prints (with or without '%', operand shapes, layouts, metadata,
// stack frame tables) and what print.h prints.
//
// Interface: the functions below. They accept any input: errors name file, line and column, show
// the line with a caret and say what was expected; recursion and memory are bounded by the text's
// size. Layouts are kept, tilings and memory spaces dropped. Asynchronous pairs (x-start, x-done)
// become the plain op. Attributes without a field of their own are kept verbatim.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

struct ParseOptions {
  std::string file;          // for error messages
  bool fill_elided = false;  // constant({...}): fill with a pattern that depends on the shape only
  bool check = true;         // check each shape by its op's rules
};

Result<std::unique_ptr<Module>> parse_hlo(std::string_view text, const ParseOptions& options = {});

// "f32[2,3]{1,0}", "(f32[], s32[<=4])".
Result<Shape> parse_shape(std::string_view text);
// The value of a constant: "{ {1, 2}, {3, 4} }", "-inf", "(1, 2)".
Result<Literal> parse_literal(std::string_view text, const Shape& shape);

// The value given to a constant whose text was elided.
Literal elided_pattern(const Shape& shape);

}  // namespace braze
