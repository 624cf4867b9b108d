// SPDX-License-Identifier: Apache-2.0
// MLIR text: characters, words, errors, the top level of a file.
#include "frontend/mlir_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace braze::mlir {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool TextParser::fail(const char* at, std::string_view message) {
  if (!error_.ok()) return false;
  at = std::min(at, text_end_);
  int64_t line = 1 + std::count(begin_, at, '\n');
  const char* start = at;
  while (start > begin_ && start[-1] != '\n') --start;
  const char* stop = std::find(at, text_end_, '\n');
  int64_t column = at - start + 1;
  // A window of a very long line, so that messages stay readable.
  const char* from = at - start > 120 ? at - 80 : start;
  std::string source(from, std::min<size_t>(stop - from, 160));
  std::string caret(at - from, ' ');
  for (size_t k = 0; k < caret.size(); ++k) {
    if (from[k] == '\t') caret[k] = '\t';
  }
  std::string where = str_cat(line, ":", column, ": ");
  if (!file_.empty()) where = str_cat(file_, ":", where);
  error_ = invalid(where, message, "\n  ", source, "\n  ", caret, "^");
  p_ = end_;
  return false;
}

void TextParser::skip() {
  while (p_ < end_) {
    if (is_space(*p_)) {
      ++p_;
    } else if (*p_ == '/' && end_ - p_ > 1 && p_[1] == '/') {
      const void* n = std::memchr(p_, '\n', end_ - p_);
      p_ = n ? static_cast<const char*>(n) : end_;
    } else {
      return;
    }
  }
}

bool TextParser::peek(std::string_view s) {
  skip();
  return static_cast<size_t>(end_ - p_) >= s.size() && std::memcmp(p_, s.data(), s.size()) == 0;
}

bool TextParser::accept(std::string_view s) {
  if (!peek(s)) return false;
  p_ += s.size();
  return true;
}

bool TextParser::expect(std::string_view s) {
  return accept(s) || fail(str_cat("expected '", s, "'"));
}

std::string_view TextParser::word() {
  skip();
  const char* start = p_;
  if (p_ < end_ && (is_letter(*p_) || *p_ == '_')) {
    while (p_ < end_ && is_word(*p_)) ++p_;
  }
  return {start, static_cast<size_t>(p_ - start)};
}

bool TextParser::accept_word(std::string_view w) {
  const char* start = p_;
  if (word() == w) return true;
  p_ = start;
  return false;
}

bool TextParser::expect_word(std::string_view w) {
  return accept_word(w) || fail(str_cat("expected '", w, "'"));
}

std::string_view TextParser::value_name() {
  skip();
  const char* start = p_;
  if (p_ >= end_ || *p_ != '%') {
    fail("expected a value such as '%0'");
    return {};
  }
  ++p_;
  while (p_ < end_ && (is_word(*p_) || *p_ == '-')) ++p_;
  if (p_ - start < 2) fail(start, "expected a value such as '%0'");
  return {start, static_cast<size_t>(p_ - start)};
}

bool TextParser::string(std::string_view* out) {
  if (!peek('"')) return fail("expected a string");
  const char* at = p_++;
  const char* start = p_;
  while (p_ < end_ && *p_ != '"' && *p_ != '\\') ++p_;
  if (p_ < end_ && *p_ == '"') {
    *out = {start, static_cast<size_t>(p_++ - start)};
    return true;
  }
  std::string s(start, p_);
  while (p_ < end_ && *p_ != '"') {
    if (*p_ != '\\') {
      s += *p_++;
      continue;
    }
    if (end_ - p_ < 2) break;
    char c = p_[1];
    if (end_ - p_ > 2 && hex_digit(c) >= 0 && hex_digit(p_[2]) >= 0) {
      s += static_cast<char>(hex_digit(c) * 16 + hex_digit(p_[2]));
      p_ += 3;
    } else if (c == 'n' || c == 't' || c == '"' || c == '\\') {
      s += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      p_ += 2;
    } else {
      return fail("unknown escape in string");
    }
  }
  if (p_ >= end_) return fail(at, "the string does not end");
  ++p_;
  *out = b_.arena().copy(s);
  return true;
}

bool TextParser::string_or_word(std::string_view* out) {
  if (peek('"')) return string(out);
  *out = word();
  return !out->empty() || fail("expected a name");
}

std::string_view TextParser::number_token() {
  skip();
  const char* start = p_;
  if (p_ < end_ && (*p_ == '-' || *p_ == '+')) ++p_;
  const char* digits = p_;
  if (end_ - p_ > 2 && p_[0] == '0' && p_[1] == 'x' && hex_digit(p_[2]) >= 0) {
    p_ += 2;
    while (p_ < end_ && hex_digit(*p_) >= 0) ++p_;
    return {start, static_cast<size_t>(p_ - start)};
  }
  while (p_ < end_ && is_digit(*p_)) ++p_;
  if (p_ == digits) {
    p_ = start;
    return {};
  }
  if (p_ < end_ && *p_ == '.') {
    ++p_;
    while (p_ < end_ && is_digit(*p_)) ++p_;
    if (p_ < end_ && (*p_ == 'e' || *p_ == 'E')) {
      const char* e = p_ + 1;
      if (e < end_ && (*e == '-' || *e == '+')) ++e;
      if (e < end_ && is_digit(*e)) {
        p_ = e;
        while (p_ < end_ && is_digit(*p_)) ++p_;
      }
    }
  }
  return {start, static_cast<size_t>(p_ - start)};
}

bool TextParser::unsigned_integer(uint64_t* out) {
  skip();
  const char* at = p_;
  auto [stop, error] = std::from_chars(p_, end_, *out);
  if (stop == at) return fail("expected a number");
  if (error != std::errc()) return fail("the number does not fit in 64 bits");
  p_ = stop;
  return true;
}

bool TextParser::integer(int64_t* out) {
  skip();
  const char* at = p_;
  auto [stop, error] = std::from_chars(p_, end_, *out);
  if (stop == at) return fail("expected an integer");
  if (error != std::errc()) return fail("the integer does not fit in 64 bits");
  p_ = stop;
  return true;
}

bool TextParser::skip_balanced(char close) {
  std::string open(1, close);
  const char* at = p_;
  while (p_ < end_) {
    char c = *p_;
    if (c == '"') {
      ++p_;
      while (p_ < end_ && *p_ != '"') p_ += *p_ == '\\' && end_ - p_ > 1 ? 2 : 1;
      if (p_ < end_) ++p_;
      continue;
    }
    ++p_;
    if (c == '-' && p_ < end_ && *p_ == '>') {
      ++p_;
    } else if (c == '<' || c == '(' || c == '[' || c == '{') {
      open += c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (open.back() != c)
        return fail(p_ - 1, str_cat("expected '", open.substr(open.size() - 1), "'"));
      open.pop_back();
      if (open.empty()) return true;
    }
  }
  return fail(at, str_cat("no closing '", std::string(1, close), "'"));
}

const Attr* TextParser::symbol() {
  if (!expect("@")) return nullptr;
  std::string_view name;
  if (p_ < end_ && *p_ == '"') {
    if (!string(&name)) return nullptr;
  } else {
    name = word();
    if (name.empty()) return fail("expected a symbol name"), nullptr;
  }
  std::vector<const Attr*> nested;
  while (peek("::@")) {
    p_ += 2;
    Deeper d(this);
    if (too_deep()) return nullptr;
    const Attr* n = symbol();
    if (!n) return nullptr;
    nested.push_back(b_.symbol(n->text));
    nested.insert(nested.end(), n->items.begin(), n->items.end());
  }
  return b_.make({.kind = AttrKind::kSymbol, .text = name, .items = b_.arena().copy(nested)});
}

bool TextParser::int_dims(std::vector<int64_t>* out) {
  return list("[", "]", [&] {
    out->push_back(0);
    if (accept("?")) return out->back() = kDynamic, true;
    return integer(&out->back());
  });
}

// #name = attribute, #loc1 = loc(...), !name = type
bool TextParser::alias_definition() {
  bool is_type = *p_ == '!';
  const char* at = p_++;
  std::string_view name = word();
  if (name.empty()) return fail(at, "expected an alias name");
  if (!expect("=")) return false;
  if (is_type) {
    const Type* t = type();
    return t && (type_aliases_[name] = t, true);
  }
  if (peek("loc(") || peek("loc (")) {
    p_ += 3;
    const Loc* l = location();
    if (!l) return false;
    Loc*& slot = loc_aliases_[name];
    if (!slot) slot = b_.arena().make(Loc{});
    if (slot != l) *slot = *l;
    return true;
  }
  const Attr* a = attr();
  return a && (attr_aliases_[name] = a, true);
}

// {-# dialect_resources: { builtin: { key: "0x..." } }, external_resources: {...} #-}
bool TextParser::resources() {
  if (!expect("{-#")) return false;
  while (!accept("#-}")) {
    std::string_view section;
    if (!string_or_word(&section) || !expect(":")) return false;
    bool dialect = section == "dialect_resources";
    bool ok = list("{", "}", [&] {
      std::string_view group;
      if (!string_or_word(&group) || !expect(":")) return false;
      return list("{", "}", [&] {
        std::string_view key, text, bytes;
        if (!string_or_word(&key) || !expect(":")) return false;
        if (!dialect || !peek('"')) return attr() != nullptr;
        const char* at = p_;
        if (!string(&text)) return false;
        auto it = pending_resources_.find(key);
        if (it == pending_resources_.end()) return true;
        if (!text.starts_with("0x") || !hex_bytes(text.substr(2), &bytes) || bytes.size() < 4) {
          return fail(at, "expected a hexadecimal blob");
        }
        for (Attr* a : it->second) {
          const Attr* e = b_.elements(a->type, bytes.substr(4));
          if (!e) return fail(at, "the blob does not have the size of its tensor type");
          *a = *e;
        }
        pending_resources_.erase(it);
        return true;
      });
    });
    if (!ok) return false;
    accept(",");
  }
  return true;
}

bool TextParser::top_level(std::vector<Op*>* ops) {
  for (skip(); p_ < end_; skip()) {
    if (*p_ == '#' || *p_ == '!') {
      if (!alias_definition()) return false;
    } else if (peek("{-#")) {
      if (!resources()) return false;
    } else {
      Op* o = op("builtin.module");
      if (!o) return false;
      ops->push_back(o);
    }
  }
  return !failed();
}

Result<Module> TextParser::run() {
  std::vector<Op*> ops;
  if (!top_level(&ops)) return error_;
  for (const auto& [key, list] : pending_resources_) {
    return invalid("the resource '", key, "' is not defined in this file");
  }
  if (ops.size() == 1 && ops[0]->name == "builtin.module" && ops[0]->block(0)) {
    module_.op = ops[0];
  } else {
    Block block{.ops = b_.arena().copy(ops)};
    Region region{.blocks = b_.arena().copy(&block, 1)};
    module_.op =
        b_.arena().make(Op{.name = "builtin.module", .regions = b_.arena().copy(&region, 1)});
  }
  return std::move(module_);
}

Result<const Attr*> TextParser::run_attr() {
  const Attr* a = attr();
  skip();
  if (a && p_ < end_) fail("expected the end of the attribute");
  if (failed()) return error_;
  return a;
}

Result<const Type*> TextParser::run_type() {
  const Type* t = type();
  skip();
  if (t && p_ < end_) fail("expected the end of the type");
  if (failed()) return error_;
  return t;
}

Result<const Attr*> parse_attr_text(std::string_view text, Builder* builder) {
  return TextParser(text, builder).run_attr();
}

Result<const Type*> parse_type_text(std::string_view text, Builder* builder) {
  return TextParser(text, builder).run_type();
}

Result<Module> read_mlir_text(std::string_view text, std::string_view name) {
  ASSIGN(Module m, TextParser(text, name).run());
  m.text = text;
  m.file = name;
  return m;
}

std::vector<std::string_view> split_mlir(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0, line = 0;
  while (line < text.size()) {
    size_t next = text.find('\n', line);
    size_t stop = next == std::string_view::npos ? text.size() : next + 1;
    if (text.substr(line, stop - line).starts_with("// -----")) {
      parts.push_back(text.substr(start, line - start));
      start = stop;
    }
    line = stop;
  }
  parts.push_back(text.substr(start));
  return parts;
}

}  // namespace braze::mlir
