// SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo_sharding.h"

#include <algorithm>

#include "base/lexer.h"

namespace braze {

namespace {

// By HloSharding::Kind; tuples and tilings are written by their contents.
constexpr std::string_view kKinds[] = {"replicated", "maximal", "tuple",    "devices",
                                       "manual",     "unknown", "unreduced"};

Result<Dims> int_list(Lexer& lex, char open, char close) {
  Dims out;
  TRY(lex.expect(open, "to open a list of integers"));
  while (!lex.eat(close)) {
    if (!out.empty()) TRY(lex.expect(',', "between integers"));
    ASSIGN(int64_t v, lex.integer());
    out.push_back(v);
  }
  return out;
}

Result<HloSharding::Kind> kind_of(Lexer& lex, std::string_view word) {
  auto at = std::find(std::begin(kKinds), std::end(kKinds), word);
  if (at == std::end(kKinds)) return lex.error("unknown kind of sharding");
  return static_cast<HloSharding::Kind>(at - std::begin(kKinds));
}

// [2,1]0,1 or [2,1]<=[2] or [2,1]<=[1,2]T(1,0)
Status parse_devices(Lexer& lex, HloSharding* s) {
  s->kind = HloSharding::kTiled;
  TRY(lex.expect('=', "after devices"));
  ASSIGN(s->tile, int_list(lex, '[', ']'));
  if (lex.eat("<=")) {
    ASSIGN(s->iota_reshape, int_list(lex, '[', ']'));
    if (lex.eat_word("T")) {
      ASSIGN(s->iota_transpose, int_list(lex, '(', ')'));
    } else {
      for (size_t i = 0; i < s->iota_reshape.size(); ++i)
        s->iota_transpose.push_back(static_cast<int64_t>(i));
    }
    return {};
  }
  do {
    ASSIGN(int64_t d, lex.integer());
    s->devices.push_back(d);
  } while (lex.eat(','));
  return {};
}

Status parse_word(Lexer& lex, std::string_view word, HloSharding* s) {
  if (word == "devices") return parse_devices(lex, s);
  if (word == "device") {
    TRY(lex.expect('=', "after device"));
    ASSIGN(int64_t d, lex.integer());
    s->devices = {d};
    s->tile = {1};
    return {};
  }
  if (word == "last_tile_dim_replicate") return s->replicate_last = true, Status();
  if (word == "last_tile_dims") {
    TRY(lex.expect('=', "after last_tile_dims"));
    TRY(lex.expect('{', "before the kinds"));
    while (!lex.eat('}')) {
      ASSIGN(HloSharding::Kind k, kind_of(lex, lex.name()));
      s->last_dims.push_back(k);
      lex.eat(',');
    }
    return {};
  }
  if (word == "shard_as" || word == "shard_like") {
    s->group = word == "shard_as" ? HloSharding::kShardAs : HloSharding::kShardLike;
    ASSIGN(s->group_id, lex.integer());
    return {};
  }
  if (word == "metadata") {
    TRY(lex.expect('=', "after metadata"));
    return lex.balanced().status();
  }
  ASSIGN(s->kind, kind_of(lex, word));
  return {};
}

Result<HloSharding> parse(Lexer& lex, bool inside) {
  HloSharding s;
  TRY(lex.expect('{', "to open a sharding"));
  // A tuple's parts stand in braces of their own; "{}" is a tuple of none.
  if (!inside && (lex.peek() == '{' || lex.peek() == '}')) {
    s.kind = HloSharding::kTuple;
    while (!lex.eat('}')) {
      if (!s.parts.empty()) TRY(lex.expect(',', "between shardings"));
      ASSIGN(HloSharding part, parse(lex, true));
      s.parts.push_back(std::move(part));
    }
    return s;
  }
  while (!lex.eat('}')) {
    std::string_view word = lex.name();
    if (word.empty()) return lex.expected("a word of a sharding");
    TRY(parse_word(lex, word, &s));
  }
  return s;
}

}  // namespace

Result<HloSharding> parse_sharding(std::string_view text) {
  Lexer lex(text, "sharding");
  ASSIGN(HloSharding s, parse(lex, false));
  if (!lex.at_end()) return lex.expected("the end of the sharding");
  return s;
}

std::string print_sharding(const HloSharding& s) {
  std::string out = "{";
  if (s.kind == HloSharding::kTuple) {
    for (size_t i = 0; i < s.parts.size(); ++i)
      absl::StrAppend(&out, i ? ", " : "", print_sharding(s.parts[i]));
    return out + "}";
  }
  absl::StrAppend(&out, cat_piece(kKinds[s.kind]));
  if (s.kind == HloSharding::kMaximal)
    absl::StrAppend(&out, " device=", s.devices.empty() ? 0 : s.devices[0]);
  if (s.kind == HloSharding::kTiled) {
    absl::StrAppend(&out, "=[", join(s.tile), "]");
    if (s.iota_reshape.empty()) {
      out += join(s.devices);
    } else {
      absl::StrAppend(&out, "<=[", join(s.iota_reshape), "]");
      if (!std::is_sorted(s.iota_transpose.begin(), s.iota_transpose.end()))
        absl::StrAppend(&out, "T(", join(s.iota_transpose), ")");
    }
    if (s.replicate_last) out += " last_tile_dim_replicate";
    if (!s.last_dims.empty()) {
      out += " last_tile_dims={";
      for (size_t i = 0; i < s.last_dims.size(); ++i)
        absl::StrAppend(&out, i ? ", " : "", cat_piece(kKinds[s.last_dims[i]]));
      out += "}";
    }
  }
  if (s.group == HloSharding::kShardAs) absl::StrAppend(&out, " shard_as ", s.group_id);
  if (s.group == HloSharding::kShardLike) absl::StrAppend(&out, " shard_like ", s.group_id);
  return out + "}";
}

}  // namespace braze
