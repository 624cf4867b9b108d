// SPDX-License-Identifier: Apache-2.0
// Lexer: a cursor over text that reads one piece at a time and reports errors with a caret.
//
// HLO text has no fixed token set (a window "2x2_1", dimension labels "bf01_oi01->bf01" and raw
// MLIR inside braces all depend on where they stand), so the parser asks for the piece it wants.
// Every reading function skips white space and comments first. The text must outlive the lexer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace braze {

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  size_t pos() const { return pos_; }
  void seek(size_t pos) { pos_ = pos; }
  size_t remaining() const { return text_.size() - pos_; }
  std::string_view slice(size_t from, size_t to) const { return text_.substr(from, to - from); }

  void skip_space();  // and comments
  char peek();        // the next character, '\0' at the end
  char peek_raw() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }  // no skipping
  bool at_end() { return peek() == '\0' && pos_ >= text_.size(); }
  bool eat(char c);
  bool eat(std::string_view s);       // punctuation such as "->"
  bool eat_word(std::string_view w);  // a whole identifier
  Status expect(char c, std::string_view where);

  // [A-Za-z0-9_.-]*, possibly empty. A '-' that starts "->" ends the name.
  std::string_view name();
  // Everything up to white space, a comma, a bracket or a quote; possibly empty.
  std::string_view word();
  Result<int64_t> integer();
  Result<bool> boolean();
  Result<double> number();       // "1.5e3", "inf", "-nan"
  Result<std::string> quoted();  // C escapes undone
  // From an opening bracket to its partner, both included. Quoted strings are skipped over.
  Result<std::string_view> balanced();
  // An attribute's value as written: balanced, quoted, or a bare word with brackets in it.
  Result<std::string_view> raw_value();

  // "file:line:col: message", the line and a caret.
  Status error(size_t pos, std::string_view message) const;
  Status error(std::string_view message) { return skip_space(), error(pos_, message); }
  // "expected WHAT, found 'x'".
  Status expected(std::string_view what);

 private:
  std::string_view text_, file_;
  size_t pos_ = 0;
};

bool is_name_char(char c);

}  // namespace braze
