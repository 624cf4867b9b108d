// SPDX-License-Identifier: Apache-2.0
// MLIR text: reads the short forms described by the `format` of an op (mlir_ops.h).
//
// Kinds of `$name:kind`: i64 i32 ui64 ui32 f64 bool dims string attr symbol symbol_string
// e=ENUM conv dot, and those of sdy: mesh sharding shardings manual_axes axes axis_lists
// all_to_all i32_or_word. `$:kind` sets several attributes at once.
#include <algorithm>
#include <charconv>

#include "frontend/mlir_text.h"

namespace braze::mlir {
namespace {

std::string_view next_token(std::string_view* s) {
  while (s->starts_with(' ')) s->remove_prefix(1);
  size_t n = std::min(s->find(' '), s->size());
  std::string_view t = s->substr(0, n);
  s->remove_prefix(n);
  return t;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

const Type* real_part(Builder& b, const Type* t) {
  if (t->kind != TypeKind::kTensor || t->element->kind != TypeKind::kComplex) return nullptr;
  return b.tensor(t->dims, t->element->element, t->encoding);
}

}  // namespace

bool TextParser::format(State* s, std::string_view text) {
  while (!text.empty()) {
    std::string_view token = next_token(&text);
    if (token == "?)") continue;
    if (token == "?(") {
      std::string_view rest = text;
      if (token_present(next_token(&rest))) continue;
      while (token != "?)") token = next_token(&text);
      continue;
    }
    if (!format_token(s, token)) return false;
  }
  return true;
}

bool TextParser::token_present(std::string_view token) {
  const char* at = p_;
  bool yes = is_letter(token[0]) ? accept_word(token) : accept(token);
  p_ = at;
  return yes;
}

bool TextParser::format_token(State* s, std::string_view t) {
  if (t == "%") {
    s->operands.emplace_back();
    return operand(&s->operands.back());
  }
  if (t == "%*") {
    if (peek('(') && s->operands.empty()) {  // `stablehlo.optimization_barrier ()`
      ++p_;
      return expect(")");
    }
    return !peek('%') || operands(&s->operands);
  }
  if (t == "%*,") {
    while (peek('%')) {
      s->operands.emplace_back();
      if (!operand(&s->operands.back()) || !expect(",")) return false;
    }
    return true;
  }
  if (t == "{}") return !peek('{') || attr_dict(&s->attrs);
  if (t == "^") {
    std::vector<Argument> args;
    s->regions.emplace_back();
    return arguments(&args, false) && region(args, s->name, &s->regions.back());
  }
  if (t == "^*") {
    if (!peek('(')) return true;
    return list("(", ")", [&] {
      s->regions.emplace_back();
      return region({}, s->name, &s->regions.back());
    });
  }
  if (t[0] == '@') return format_types(s, t.substr(1));
  if (t[0] == '$') {
    size_t colon = t.find(':');
    return format_attr(s, t.substr(1, colon - 1), t.substr(colon + 1));
  }
  return is_letter(t[0]) ? expect_word(t) : expect(t);
}

bool TextParser::format_attr(State* s, std::string_view name, std::string_view kind) {
  if (name.empty()) return format_special(s, kind);
  const Attr* a = format_value(kind);
  if (!a) return fail("expected an attribute");
  s->attrs.push_back({name, a});
  return true;
}

const Attr* TextParser::format_value(std::string_view kind) {
  if (kind == "i64" || kind == "i32") {
    int64_t v;
    return integer(&v) ? b_.integer_attr(v, b_.integer(kind == "i64" ? 64 : 32)) : nullptr;
  }
  if (kind == "ui64" || kind == "ui32") {
    uint64_t v;
    return unsigned_integer(&v)
               ? b_.integer_attr(static_cast<int64_t>(v),
                                 b_.integer(kind == "ui64" ? 64 : 32, Sign::kUnsigned))
               : nullptr;
  }
  if (kind == "f64") {
    return struct_field({}, {"", FieldKind::kDouble});
  }
  if (kind == "bool") return struct_field({}, {"", FieldKind::kBool});
  if (kind == "dims") {
    std::vector<int64_t> v;
    if (accept_word("array")) return dense_array();
    return int_dims(&v) ? b_.dims(v) : nullptr;
  }
  if (kind == "string") {
    std::string_view v;
    return string(&v) ? b_.string(v) : nullptr;
  }
  if (kind == "attr") return attr();
  if (kind == "symbol" || kind == "symbol_string") {
    skip();
    const Attr* a = symbol();
    return a && kind != "symbol" ? b_.string(a->text) : a;
  }
  if (kind == "conv") return conv_dims();
  if (kind == "dot") return dot_dims();
  if (kind.starts_with("e=")) {
    if (peek('#')) return attr();
    return enum_attr(kind.substr(2));
  }
  if (kind == "i32_or_word") {
    int64_t v;
    if (!peek('-') && !(p_ < end_ && *p_ >= '0' && *p_ <= '9')) {
      std::string_view w = word();
      return w.empty() ? nullptr : b_.string(w);
    }
    return integer(&v) ? b_.i32(v) : nullptr;
  }
  if (kind == "mesh") return sdy_mesh();
  if (kind == "sharding") return sdy_sharding();
  if (kind == "shardings") return sdy_shardings();
  if (kind == "axes") return sdy_attr("sdy.axis_ref_list");
  if (kind == "axis_lists") return sdy_attr("sdy.list_of_axis_ref_lists");
  if (kind == "manual_axes") return sdy_attr("sdy.manual_axes");
  if (kind == "all_to_all") return sdy_attr("sdy.all_to_all_param_list");
  return nullptr;
}

bool TextParser::format_special(State* s, std::string_view kind) {
  if (kind == "ranges") return slice_ranges(s);
  if (kind == "window") return window(s);
  if (kind == "precision") return precision(s, false);
  if (kind == "precision_algorithm") return precision(s, true);
  if (kind == "reduction") {  // the op's name, or nothing for a sum
    int64_t op = accept_word("max") ? 1 : accept_word("min") ? 2 : 0;
    if (op == 0) accept_word("sum");
    if (op != 0) s->attrs.push_back({"reduction_op", b_.i64(op)});
    return true;
  }
  if (kind != "exponent_mantissa") return false;
  skip();
  const char* at = p_;  // e5m10
  std::string_view w = word();
  size_t m = w.find('m');
  int32_t exponent = 0, mantissa = 0;
  auto number = [](std::string_view d, int32_t* out) {
    auto [stop, error] = std::from_chars(d.data(), d.data() + d.size(), *out);
    return !d.empty() && error == std::errc() && stop == d.data() + d.size();
  };
  if (!w.starts_with("e") || m == std::string_view::npos ||
      !number(w.substr(1, m - 1), &exponent) || !number(w.substr(m + 1), &mantissa)) {
    return fail(at, "expected a format such as e5m10");
  }
  s->attrs.push_back({"exponent_bits", b_.i32(exponent)});
  s->attrs.push_back({"mantissa_bits", b_.i32(mantissa)});
  return true;
}

// [start:limit:stride, ...], a stride of 1 may be left out
bool TextParser::slice_ranges(State* s) {
  std::vector<int64_t> start, limit, stride;
  bool ok = list("[", "]", [&] {
    start.push_back(0);
    limit.push_back(0);
    stride.push_back(1);
    return integer(&start.back()) && expect(":") && integer(&limit.back()) &&
           (!accept(":") || integer(&stride.back()));
  });
  if (!ok) return false;
  s->attrs.push_back({"start_indices", b_.dims(start)});
  s->attrs.push_back({"limit_indices", b_.dims(limit)});
  s->attrs.push_back({"strides", b_.dims(stride)});
  return true;
}

// stride = [..], pad = [[0, 1], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]
bool TextParser::window(State* s) {
  while (!peek('}')) {
    const char* at = p_;
    std::string_view key = word();
    if (!expect("=")) return false;
    std::vector<int64_t> v;
    auto number = [&] {
      v.push_back(0);
      if (accept_word("true")) return v.back() = 1, true;
      return accept_word("false") || integer(&v.back());
    };
    if (key == "pad") {
      auto pair = [&] {
        size_t n = v.size();
        return list("[", "]", number) &&
               (v.size() == n + 2 || fail("expected a low and a high padding"));
      };
      if (!list("[", "]", pair)) return false;
      int64_t dims[] = {static_cast<int64_t>(v.size() / 2), 2};
      const Attr* raw = b_.dims(v);
      s->attrs.push_back({"padding", b_.elements(b_.tensor(dims, b_.integer(64)), raw->bytes)});
    } else {
      if (!list("[", "]", number)) return false;
      if (key == "stride") {
        s->attrs.push_back({"window_strides", b_.dims(v)});
      } else if (key == "lhs_dilate") {
        s->attrs.push_back({"lhs_dilation", b_.dims(v)});
      } else if (key == "rhs_dilate") {
        s->attrs.push_back({"rhs_dilation", b_.dims(v)});
      } else if (key == "reverse") {
        s->attrs.push_back({"window_reversal", b_.bools(v)});
      } else {
        return fail(at, "expected stride, pad, lhs_dilate, rhs_dilate or reverse");
      }
    }
    if (!accept(",") && !peek('}')) return fail("expected ',' or '}'");
  }
  return true;
}

// , precision = [HIGH, HIGH], algorithm = <...>, both optional
bool TextParser::precision(State* s, bool algorithm) {
  while (accept(",")) {
    if (algorithm && accept_word("algorithm")) {
      if (!expect("=")) return false;
      const Attr* a = peek('#') ? attr() : struct_attr(*find_struct("stablehlo.dot_algorithm"));
      if (!a) return false;
      s->attrs.push_back({"algorithm", a});
      continue;
    }
    std::vector<const Attr*> items;
    auto item = [&] {
      const Attr* a = peek('#') ? attr() : enum_attr("stablehlo.precision");
      return a && (items.push_back(a), true);
    };
    if (!expect_word("precision") || !expect("=") || !list("[", "]", item)) return false;
    s->attrs.push_back({"precision_config", b_.array(items)});
  }
  return true;
}

// batching_dims = [0] x [0], contracting_dims = [2] x [1]
const Attr* TextParser::dot_dims() {
  std::vector<int64_t> lb, rb, lc, rc;
  if (accept_word("batching_dims") &&
      !(expect("=") && int_dims(&lb) && expect("x") && int_dims(&rb) && expect(","))) {
    return nullptr;
  }
  if (!expect_word("contracting_dims") || !expect("=") || !int_dims(&lc) || !expect("x") ||
      !int_dims(&rc)) {
    return nullptr;
  }
  return b_.structure("stablehlo.dot", {{"lhs_batching_dimensions", b_.dims(lb)},
                                        {"lhs_contracting_dimensions", b_.dims(lc)},
                                        {"rhs_batching_dimensions", b_.dims(rb)},
                                        {"rhs_contracting_dimensions", b_.dims(rc)}});
}

bool TextParser::assign_function(State* s, const Type* fn) {
  s->types.assign(fn->results.begin(), fn->results.end());
  return check_operands(*s, fn->inputs);
}

bool TextParser::format_types(State* s, std::string_view rule) {
  if (rule == "return")
    return !accept(":") ||
           (types(&s->types) && check_operands(*s, s->types) && (s->types.clear(), true));
  if (rule == "from_value") return true;  // the value's type is the operand's
  if (rule == "barrier") {
    if (s->operands.empty()) return true;
    return expect(":") && types(&s->types) && check_operands(*s, s->types);
  }
  if (rule == "operands") {
    std::vector<const Type*> list;
    if (!types(&list)) return false;
    if (list.size() == 1) list.resize(s->operands.size(), list[0]);
    return check_operands(*s, list);
  }
  if (rule == "arrow") {
    std::vector<const Type*> in;
    auto item = [&] {
      const Type* t = type();
      return t && (in.push_back(t), true);
    };
    if (!(peek('(') ? list("(", ")", item) : types(&in))) return false;
    if (!peek("->")) {  // `: type` for operands and result
      if (in.size() != 1) return fail("expected '->'");
      s->types = in;
      in.resize(s->operands.size(), in[0]);
      return check_operands(*s, in);
    }
    p_ += 2;
    return result_types(&s->types) && check_operands(*s, in);
  }
  if (rule == "select") {
    const Type* t = type();
    if (!t) return false;
    if (t->kind == TypeKind::kFunction) return assign_function(s, t);
    if (!expect(",")) return false;
    const Type* u = type();
    if (!u) return false;
    s->types = {u};
    return check_operands(*s, std::vector<const Type*>{t, u, u});
  }
  return single_type_rule(s, rule);
}

bool TextParser::single_type_rule(State* s, std::string_view rule) {
  skip();
  const char* at = p_;
  const Type* t = type();
  if (!t) return false;
  if (rule == "func" && t->kind != TypeKind::kFunction) return fail(at, "expected a function type");
  if (t->kind == TypeKind::kFunction && rule != "result") return assign_function(s, t);
  s->types = {t};
  if (rule == "result") return true;
  if (rule == "tuple") {
    if (t->kind != TypeKind::kTuple) return fail(at, "expected a tuple type");
    return check_operands(*s, t->inputs);
  }
  const Type* in = rule == "complex" ? real_part(b_, t) : t;
  if (!in) return fail(at, "expected a tensor of complex elements");
  return check_operands(*s, std::vector<const Type*>(s->operands.size(), in));
}

}  // namespace braze::mlir
