// SPDX-License-Identifier: Apache-2.0
#include "base/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

namespace braze {

bool is_name_char(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

void Lexer::skip_space() {
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) {
      ++pos_;
    } else if (c == '/' && text_.substr(pos_, 2) == "/*") {
      size_t end = text_.find("*/", pos_ + 2);
      pos_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == '/' && text_.substr(pos_, 2) == "//") {
      size_t end = text_.find('\n', pos_);
      pos_ = end == std::string_view::npos ? text_.size() : end;
    } else {
      return;
    }
  }
}

char Lexer::peek() {
  skip_space();
  return peek_raw();
}

bool Lexer::eat(char c) {
  if (peek() != c || pos_ >= text_.size()) return false;
  ++pos_;
  return true;
}

bool Lexer::eat(std::string_view s) {
  skip_space();
  if (text_.substr(pos_, s.size()) != s) return false;
  pos_ += s.size();
  return true;
}

bool Lexer::eat_word(std::string_view w) {
  skip_space();
  size_t start = pos_;
  if (name() == w) return true;
  pos_ = start;
  return false;
}

Status Lexer::expect(char c, std::string_view where) {
  if (eat(c)) return {};
  return expected(str_cat("'", std::string(1, c), "' ", where));
}

std::string_view Lexer::name() {
  skip_space();
  size_t start = pos_;
  while (pos_ < text_.size() && is_name_char(text_[pos_]) &&
         !(text_[pos_] == '-' && text_.substr(pos_, 2) == "->"))
    ++pos_;
  return slice(start, pos_);
}

std::string_view Lexer::word() {
  skip_space();
  size_t start = pos_;
  while (pos_ < text_.size()) {
    unsigned char c = static_cast<unsigned char>(text_[pos_]);
    if (absl::ascii_isspace(c) || std::string_view(",{}()[]\"").find(c) != std::string_view::npos)
      break;
    ++pos_;
  }
  return slice(start, pos_);
}

Result<int64_t> Lexer::integer() {
  skip_space();
  int64_t v = 0;
  const char* begin = text_.data() + pos_;
  auto [end, ec] = std::from_chars(begin, text_.data() + text_.size(), v);
  if (ec == std::errc::result_out_of_range) return error("the integer does not fit 64 bits");
  if (ec != std::errc()) return expected("an integer");
  pos_ += end - begin;
  return v;
}

Result<bool> Lexer::boolean() {
  skip_space();
  size_t start = pos_;
  std::string_view w = name();
  if (w == "true" || w == "1") return true;
  if (w == "false" || w == "0") return false;
  pos_ = start;
  return expected("'true' or 'false'");
}

Result<double> Lexer::number() {
  skip_space();
  const char* begin = text_.data() + pos_;
  const char* last = text_.data() + text_.size();
  const char* p = begin;
  if (p < last && *p == '+') ++p;
  double v = 0;
  auto [end, ec] = std::from_chars(p, last, v);
  if (ec == std::errc::invalid_argument) return expected("a number");
  if (ec == std::errc::result_out_of_range) {
    // from_chars leaves v alone. The exponent's sign tells underflow from overflow.
    std::string_view digits(p, end - p);
    size_t e = digits.find_first_of("eE");
    bool tiny = e != std::string_view::npos && e + 1 < digits.size() && digits[e + 1] == '-';
    v = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    if (*p == '-') v = -v;
  }
  pos_ += end - begin;
  // A NaN may carry its payload: nan(0x400001).
  if (std::isnan(v) && peek_raw() == '(') {
    size_t close = text_.find(')', pos_);
    if (close == std::string_view::npos) return expected("')' after the payload of nan");
    pos_ = close + 1;
  }
  return v;
}

Result<std::string> Lexer::quoted() {
  if (peek() != '"') return expected("a quoted string");
  size_t start = pos_++;
  while (pos_ < text_.size() && text_[pos_] != '"') pos_ += text_[pos_] == '\\' ? 2 : 1;
  if (pos_ >= text_.size()) {
    pos_ = text_.size();
    return error(start, "the string that starts here is not closed");
  }
  ++pos_;
  std::string_view body = slice(start + 1, pos_ - 1);
  std::string out;
  if (body.find('\\') == std::string_view::npos) return std::string(body);
  if (!absl::CUnescape({body.data(), body.size()}, &out))
    return error(start, "bad escape in the string");
  return out;
}

Result<std::string_view> Lexer::balanced() {
  skip_space();
  size_t start = pos_;
  std::string open;  // the closing brackets still due
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (c == '"') {
      TRY(quoted().status());
      continue;
    }
    ++pos_;
    if (c == '{' || c == '(' || c == '[') {
      open += c == '{' ? '}' : c == '(' ? ')' : ']';
    } else if (c == '}' || c == ')' || c == ']') {
      if (open.empty() || open.back() != c) return error(pos_ - 1, "this bracket closes none");
      open.pop_back();
    }
    if (open.empty()) return slice(start, pos_);
  }
  return error(start, "the bracket that opens here is not closed");
}

Result<std::string_view> Lexer::raw_value() {
  skip_space();
  size_t start = pos_;
  while (pos_ < text_.size()) {
    char c = text_[pos_];
    if (c == '{' || c == '(' || c == '[') {
      TRY(balanced().status());
    } else if (c == '"') {
      TRY(quoted().status());
    } else if (c == ',' || c == '}' || c == ')' || c == ']' ||
               absl::ascii_isspace(static_cast<unsigned char>(c))) {
      break;
    } else {
      ++pos_;
    }
  }
  if (pos_ == start) return expected("a value");
  return slice(start, pos_);
}

Status Lexer::error(size_t pos, std::string_view message) const {
  pos = std::min(pos, text_.size());
  size_t line_start = pos == 0 ? std::string_view::npos : text_.rfind('\n', pos - 1);
  line_start = line_start == std::string_view::npos ? 0 : line_start + 1;
  size_t line_end = std::min(text_.find('\n', pos), text_.size());
  int64_t line = 1 + std::count(text_.begin(), text_.begin() + line_start, '\n');
  size_t col = pos - line_start;
  // A window of the line around the caret, with what is not printable as '?'.
  constexpr size_t kBefore = 60, kWidth = 110;
  size_t from = col > kBefore ? line_start + col - kBefore : line_start;
  std::string shown(slice(from, std::min(line_end, from + kWidth)));
  for (char& c : shown)
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = c == '\t' ? ' ' : '?';
  std::string_view more_before = from > line_start ? "…" : "";
  std::string_view more_after = line_end > from + kWidth ? "…" : "";
  std::string caret(pos - from + (from > line_start ? 1 : 0), ' ');
  return invalid(file_.empty() ? "<text>" : file_, ":", line, ":", col + 1, ": ", message, "\n  ",
                 more_before, shown, more_after, "\n  ", caret, "^");
}

Status Lexer::expected(std::string_view what) {
  skip_space();
  if (pos_ >= text_.size())
    return error(pos_, str_cat("expected ", what, ", found the end of the text"));
  size_t start = pos_;
  std::string_view w = word();
  pos_ = start;
  if (w.empty()) w = text_.substr(pos_, 1);
  std::string found(w.substr(0, 40));
  for (char& c : found)
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  return error(pos_, str_cat("expected ", what, ", found '", found, "'"));
}

}  // namespace braze
