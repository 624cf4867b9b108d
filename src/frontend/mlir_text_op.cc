// SPDX-License-Identifier: Apache-2.0
// MLIR text: operations, values and regions.
#include <algorithm>
#include <cctype>

#include "frontend/mlir_ops.h"
#include "frontend/mlir_text.h"

namespace braze::mlir {
namespace {

// Ops whose regions see no outer values, so that names start afresh inside.
bool is_isolated(std::string_view op) {
  return op == "func.func" || op == "builtin.module" || op == "sdy.manual_computation";
}

}  // namespace

ValueId TextParser::new_value(const Type* t) {
  module_.value_types.push_back(t);
  return static_cast<ValueId>(module_.value_types.size() - 1);
}

bool TextParser::define(std::string_view name, const char* at, Values v) {
  auto [it, added] = values_.try_emplace(name, v);
  if (!added) return fail(at, str_cat("the value ", name, " is already defined"));
  defined_.push_back(name);
  return true;
}

void TextParser::leave_scope(size_t mark) {
  for (; defined_.size() > mark; defined_.pop_back()) values_.erase(defined_.back());
}

bool TextParser::operand(ValueId* out) {
  skip();
  const char* at = p_;
  std::string_view name = value_name();
  if (name.empty() || failed()) return false;
  uint64_t index = 0;
  bool indexed = p_ < end_ && *p_ == '#';
  if (indexed) {
    ++p_;
    if (!unsigned_integer(&index)) return false;
  }
  auto it = values_.find(name);
  if (it == values_.end()) return fail(at, str_cat("the value ", name, " is not defined"));
  if (index >= it->second.count) {
    return fail(at, str_cat(name, " has ", it->second.count, " results"));
  }
  if (!indexed && it->second.count != 1) {
    return fail(at, str_cat(name, " has ", it->second.count, " results: write ", name, "#0"));
  }
  *out = it->second.first + static_cast<ValueId>(index);
  return true;
}

bool TextParser::operands(std::vector<ValueId>* out) {
  do {
    ValueId v;
    if (!operand(&v)) return false;
    out->push_back(v);
  } while (accept(","));
  return true;
}

bool TextParser::check_operands(const State& s, std::span<const Type* const> types) {
  if (types.size() != s.operands.size()) {
    return fail(s.at, str_cat("'", s.name, "' has ", s.operands.size(), " operands and ",
                              types.size(), " operand types"));
  }
  for (size_t k = 0; k < types.size(); ++k) {
    const Type* have = module_.value_types[s.operands[k]];
    if (types[k] != have && !equal(types[k], have)) {
      return fail(s.at, str_cat("operand ", k, " of '", s.name, "' is written as ",
                                print_type(*types[k]), " but was defined as ", print_type(*have)));
    }
  }
  return true;
}

Op* TextParser::op(std::string_view parent) {
  Deeper d(this);
  if (too_deep()) return nullptr;
  std::vector<Name> names;
  if (peek('%')) {
    do {
      Name n;
      skip();
      n.at = p_;
      n.name = value_name();
      if (failed()) return nullptr;
      int64_t count = 1;
      if (accept(":") && !integer(&count)) return nullptr;
      if (count < 1 || count > (1 << 20)) return fail(n.at, "bad number of results"), nullptr;
      n.count = static_cast<uint32_t>(count);
      names.push_back(n);
    } while (accept(","));
    if (!expect("=")) return nullptr;
  }
  State s;
  skip();
  s.at = p_;
  bool ok = peek('"') ? generic_op(&s) : custom_op(&s);
  if (!ok) return nullptr;
  return finish_op(&s, names, parent);
}

Op* TextParser::finish_op(State* s, const std::vector<Name>& names, std::string_view parent) {
  if (!s->loc) s->loc = optional_location();
  if (failed()) return nullptr;
  Status status = normaliser_.attributes(s->name, &s->attrs);
  if (!status.ok()) {
    absl::string_view m = status.message();
    return fail(s->at, {m.data(), m.size()}), nullptr;
  }
  Op* o = make_op(normaliser_.name(s->name, parent), s->operands, s->types, s->loc);
  o->at = s->at;
  o->attrs = b_.arena().copy(s->attrs);
  o->regions = b_.arena().copy(s->regions);
  uint64_t named = 0;
  for (const Name& n : names) named += n.count;
  if (!names.empty() && named != o->num_results) {
    return fail(s->at,
                str_cat("'", s->name, "' has ", o->num_results, " results, ", named, " are named")),
           nullptr;
  }
  ValueId next = o->first_result;
  for (const Name& n : names) {
    if (!define(n.name, n.at, {next, n.count})) return nullptr;
    next += n.count;
  }
  return o;
}

Op* TextParser::make_op(std::string_view name, std::vector<ValueId> operands,
                        std::vector<const Type*> types, const Loc* loc) {
  Op* o = b_.arena().make(Op{.name = name,
                             .operands = b_.arena().copy(operands),
                             .first_result = static_cast<ValueId>(module_.value_types.size()),
                             .num_results = static_cast<uint32_t>(types.size()),
                             .loc = loc});
  for (const Type* t : types) new_value(t);
  return o;
}

// "name"(%a, %b) <{properties}> ({regions}) {attributes} : (types) -> types
bool TextParser::generic_op(State* s) {
  if (!string(&s->name)) return false;
  if (s->name.empty()) return fail(s->at, "expected the name of an operation");
  if (!expect("(") || (!peek(')') && !operands(&s->operands)) || !expect(")")) return false;
  if (peek('[')) return fail("branches between blocks are not supported");
  if (accept("<") && !(attr_dict(&s->attrs) && expect(">"))) return false;
  if (peek('(')) {
    std::string_view name = normaliser_.name(s->name, "");
    bool ok = list("(", ")", [&] {
      s->regions.emplace_back();
      return region({}, name, &s->regions.back());
    });
    if (!ok) return false;
  }
  if (peek('{') && !attr_dict(&s->attrs)) return false;
  if (!expect(":")) return false;
  const char* at = p_;
  const Type* fn = type();
  if (!fn) return false;
  if (fn->kind != TypeKind::kFunction) return fail(at, "expected a function type");
  return assign_function(s, fn);
}

bool TextParser::custom_op(State* s) {
  const char* at = p_;
  std::string_view name = word();
  if (name.empty()) return fail(at, "expected an operation");
  if (name == "module") name = "builtin.module";
  if (name == "func" || name == "return" || name == "call") {
    name = name == "func" ? "func.func" : name == "call" ? "func.call" : "func.return";
  }
  s->name = name;
  if (name == "func.func" || name.starts_with("vhlo.func_v")) return function(s);
  if (name == "builtin.module") return module_op(s);
  if (name == "stablehlo.constant" || name == "sdy.constant" || name == "chlo.constant" ||
      name == "mhlo.constant") {
    return constant(s);
  }
  if (name == "stablehlo.while" || name == "mhlo.while") return while_op(s);
  if (name == "stablehlo.reduce" || name == "mhlo.reduce") return reduce(s);
  if (name == "chlo.scan") return scan(s);
  const OpSpec* spec = find_op(name);
  if (!spec && name.starts_with("mhlo.")) {
    spec = find_op(b_.arena().copy(str_cat("stablehlo.", name.substr(5))));
  }
  if (!spec) return fail(at, str_cat("unknown operation '", name, "'"));
  if (spec->format.empty()) {
    return fail(at, str_cat("'", name, "' has no short form: write \"", name, "\"(...)"));
  }
  return format(s, spec->format);
}

// @name attributes {..} {..}
bool TextParser::module_op(State* s) {
  if (peek('@')) {
    const Attr* name = symbol();
    if (!name) return false;
    s->attrs.push_back({"sym_name", b_.string(name->text)});
  }
  if (accept_word("attributes") && !attr_dict(&s->attrs)) return false;
  s->regions.emplace_back();
  return region({}, "builtin.module", &s->regions.back());
}

// %a: type {attributes} loc(..), ... or only types
bool TextParser::arguments(std::vector<Argument>* out, bool allow_unnamed) {
  return list("(", ")", [&] {
    Argument a;
    skip();
    a.at = p_;
    if (peek('%') || !allow_unnamed) {
      a.name = value_name();
      if (failed() || !expect(":")) return false;
    }
    if (!(a.type = type())) return false;
    if (peek('{') && !(a.attrs = dict())) return false;
    optional_location();
    out->push_back(a);
    return !failed();
  });
}

bool TextParser::function_results(std::vector<const Type*>* types, const Attr** attrs) {
  if (!accept("->")) return true;
  if (!peek('(')) {
    const Type* t = type();
    return t && (types->push_back(t), true);
  }
  std::vector<const Attr*> dicts;
  bool any = false;
  bool ok = list("(", ")", [&] {
    const Type* t = type();
    if (!t) return false;
    types->push_back(t);
    const Attr* d = nullptr;
    if (peek('{')) {
      if (!(d = dict())) return false;
      any |= !d->fields.empty();
    }
    dicts.push_back(d ? d : b_.dict({}));
    return true;
  });
  if (ok && any) *attrs = b_.array(dicts);
  return ok;
}

// visibility @name(arguments) -> (results) attributes {..} {body}
bool TextParser::function(State* s) {
  for (std::string_view v : {"public", "private", "nested"}) {
    if (accept_word(v)) s->attrs.push_back({"sym_visibility", b_.string(v)});
  }
  skip();
  const Attr* name = symbol();
  if (!name) return false;
  s->attrs.push_back({"sym_name", b_.string(name->text)});
  std::vector<Argument> args;
  if (!arguments(&args, true)) return false;
  std::vector<const Type*> in, out;
  std::vector<const Attr*> dicts;
  bool any = false;
  for (const Argument& a : args) {
    in.push_back(a.type);
    any |= a.attrs && !a.attrs->fields.empty();
    dicts.push_back(a.attrs ? a.attrs : b_.dict({}));
  }
  if (any) s->attrs.push_back({"arg_attrs", b_.array(dicts)});
  const Attr* result_attrs = nullptr;
  if (!function_results(&out, &result_attrs)) return false;
  if (result_attrs) s->attrs.push_back({"res_attrs", result_attrs});
  const Type* fn = b_.make_type({.kind = TypeKind::kFunction,
                                 .inputs = b_.arena().copy(in),
                                 .results = b_.arena().copy(out)});
  s->attrs.push_back({"function_type", b_.type_attr(fn)});
  if (accept_word("attributes") && !attr_dict(&s->attrs)) return false;
  s->regions.emplace_back();
  if (peek('{')) {
    for (const Argument& a : args) {
      if (a.name.empty()) return fail(a.at, "the arguments of a function with a body need names");
    }
    if (!region(args, "func.func", &s->regions.back())) return false;
  }
  // VHLO prints its attributes behind the body.
  return !s->name.starts_with("vhlo.") || !peek('{') || attr_dict(&s->attrs);
}

// dense<..> : type, or the generic form behind the name
bool TextParser::constant(State* s) {
  if (accept("(")) {
    if (!expect(")") || (accept("<") && !(attr_dict(&s->attrs) && expect(">"))) ||
        (peek('{') && !attr_dict(&s->attrs)) || !expect(":")) {
      return false;
    }
    const char* at = p_;
    const Type* fn = type();
    if (!fn) return false;
    if (fn->kind != TypeKind::kFunction) return fail(at, "expected a function type");
    return assign_function(s, fn);
  }
  if (peek('{') && !attr_dict(&s->attrs)) return false;
  const char* at = p_;
  const Attr* value = attr();
  if (!value) return false;
  if (!value->type || value->kind == AttrKind::kType) {
    return fail(at, "expected a constant such as dense<1> : tensor<i32>");
  }
  s->attrs.push_back({"value", value});
  s->types.push_back(value->type);
  return true;
}

bool TextParser::region(const std::vector<Argument>& args, std::string_view parent, Region* out) {
  Deeper d(this);
  if (too_deep() || !expect("{")) return false;
  bool isolated = is_isolated(parent);
  decltype(values_) outer_values;
  decltype(defined_) outer_defined;
  if (isolated) {
    std::swap(values_, outer_values);
    std::swap(defined_, outer_defined);
  }
  size_t mark = defined_.size();
  std::vector<Block> blocks;
  bool ok = true;
  while (ok && !accept("}")) {
    skip();
    if (p_ >= end_) {
      ok = fail("expected '}'");
      break;
    }
    blocks.emplace_back();
    ok = block(blocks.size() == 1 ? args : std::vector<Argument>(), parent, &blocks.back());
  }
  if (ok && blocks.empty() && (!args.empty() || parent == "builtin.module")) {
    p_ = std::max(begin_, p_ - 1);  // an empty block still has its arguments
    blocks.emplace_back();
    ok = block(args, parent, &blocks.back()) && expect("}");
  }
  leave_scope(mark);
  if (isolated) {
    std::swap(values_, outer_values);
    std::swap(defined_, outer_defined);
  }
  out->blocks = b_.arena().copy(blocks);
  return ok;
}

// ^name(%a: type): and the ops up to the next label or '}'
bool TextParser::block(const std::vector<Argument>& args, std::string_view parent, Block* out) {
  std::vector<Argument> own = args;
  if (peek('^')) {
    ++p_;
    while (p_ < end_ &&
           (*p_ == '_' || *p_ == '-' || std::isalnum(static_cast<unsigned char>(*p_)))) {
      ++p_;
    }
    if (peek('(')) {
      if (!args.empty()) return fail("the arguments of this block are given twice");
      if (!arguments(&own, false)) return false;
    }
    if (!expect(":")) return false;
  }
  out->first_arg = static_cast<ValueId>(module_.value_types.size());
  out->num_args = static_cast<uint32_t>(own.size());
  for (const Argument& a : own) {
    if (!define(a.name, a.at, {new_value(a.type), 1})) return false;
  }
  std::vector<Op*> ops;
  while (!peek('}') && !peek('^')) {
    if (p_ >= end_) return fail("expected '}'");
    Op* o = op(parent);
    if (!o) return false;
    ops.push_back(o);
  }
  out->ops = b_.arena().copy(ops);
  return true;
}

// (%arg = %init, ...) : types attributes {..} cond {..} do {..}
bool TextParser::while_op(State* s) {
  std::vector<Argument> args;
  bool ok = list("(", ")", [&] {
    Argument a;
    skip();
    a.at = p_;
    a.name = value_name();
    ValueId v;
    if (failed() || !expect("=") || !operand(&v)) return false;
    args.push_back(a);
    s->operands.push_back(v);
    return true;
  });
  if (!ok) return false;
  if (!args.empty() && !(expect(":") && types(&s->types))) return false;
  if (!check_operands(*s, s->types)) return false;
  for (size_t k = 0; k < args.size(); ++k) args[k].type = s->types[k];
  if (accept_word("attributes") && !attr_dict(&s->attrs)) return false;
  s->regions.resize(2);
  return expect_word("cond") && region(args, s->name, &s->regions[0]) && expect_word("do") &&
         region(args, s->name, &s->regions[1]);
}

// (%x init: %c), ... applies op across dimensions = [..] {..} : type
// (%x init: %c), ... across dimensions = [..] {..} : type reducer(%a: t, %b: t) ... {..}
bool TextParser::reduce(State* s) {
  std::vector<ValueId> inits;
  do {
    ValueId x, c;
    if (!expect("(") || !operand(&x) || !expect_word("init") || !expect(":") || !operand(&c) ||
        !expect(")")) {
      return false;
    }
    s->operands.push_back(x);
    inits.push_back(c);
  } while (accept(","));
  s->operands.insert(s->operands.end(), inits.begin(), inits.end());
  std::string_view applied;
  const char* applied_at = p_;
  if (accept_word("applies")) {
    skip();
    applied_at = p_;
    if (!string_or_word(&applied)) return false;
  }
  std::vector<int64_t> dims;
  if (!expect_word("across") || !expect_word("dimensions") || !expect("=") || !int_dims(&dims) ||
      (peek('{') && !attr_dict(&s->attrs)) || !expect(":")) {
    return false;
  }
  s->attrs.push_back({"dimensions", b_.dims(dims)});
  const char* at = p_;
  const Type* fn = type();
  if (!fn) return false;
  if (fn->kind != TypeKind::kFunction) return fail(at, "expected a function type");
  if (!assign_function(s, fn)) return false;
  s->regions.resize(1);
  if (applied.empty()) return reduce_body(s, fn);
  s->loc = optional_location();
  const Type* in = fn->inputs[0];
  if (s->operands.size() != 2 || in->kind != TypeKind::kTensor) {
    return fail(applied_at, "'applies' needs one operand, a tensor");
  }
  const Type* scalar = b_.tensor({}, in->element);
  // As an operation of its own would be.
  std::vector<NamedAttr> no_attributes;
  Status status = normaliser_.attributes(applied, &no_attributes);
  if (!status.ok()) {
    absl::string_view m = status.message();
    return fail(applied_at, {m.data(), m.size()});
  }
  Block body{.first_arg = new_value(scalar), .num_args = 2};
  new_value(scalar);
  Op* inner = make_op(normaliser_.name(applied, s->name), {body.first_arg, body.first_arg + 1}, {scalar}, s->loc);
  Op* end = make_op("stablehlo.return", {inner->first_result}, {}, s->loc);
  Op* ops[] = {inner, end};
  body.ops = b_.arena().copy(ops, 2);
  s->regions[0].blocks = b_.arena().copy(&body, 1);
  return !failed();
}

bool TextParser::reduce_body(State* s, const Type* fn) {
  if (!expect_word("reducer")) return false;
  std::vector<Argument> args, second;
  while (peek('(')) {
    std::vector<Argument> pair;
    const char* at = p_;
    if (!arguments(&pair, false)) return false;
    if (pair.size() != 2) return fail(at, "expected a pair of arguments");
    args.push_back(pair[0]);
    second.push_back(pair[1]);
  }
  args.insert(args.end(), second.begin(), second.end());
  if (args.size() != fn->inputs.size()) return fail("expected a pair of arguments per operand");
  return region(args, s->name, &s->regions[0]);
}

// (inputs) inits (..) dimension=0 attributes {..} {^bb0(..): ..} : type
bool TextParser::scan(State* s) {
  if (!expect("(") || (!peek(')') && !operands(&s->operands)) || !expect(")")) return false;
  int64_t inputs = static_cast<int64_t>(s->operands.size()), dimension = 0;
  if (!expect_word("inits") || !expect("(") || (!peek(')') && !operands(&s->operands)) ||
      !expect(")") || !expect_word("dimension") || !expect("=") || !integer(&dimension)) {
    return false;
  }
  if (accept_word("attributes") && !attr_dict(&s->attrs)) return false;
  s->regions.resize(1);
  if (!region({}, s->name, &s->regions[0]) || !expect(":")) return false;
  const char* at = p_;
  const Type* fn = type();
  if (!fn) return false;
  if (fn->kind != TypeKind::kFunction) return fail(at, "expected a function type");
  if (!assign_function(s, fn)) return false;
  int64_t carries = static_cast<int64_t>(s->operands.size()) - inputs;
  int64_t outputs = static_cast<int64_t>(s->types.size()) - carries;
  if (outputs < 0) return fail(at, "there are fewer results than inits");
  s->attrs.push_back({"dimension", b_.i64(dimension)});
  s->attrs.push_back({"operandSegmentSizes", b_.segments({inputs, carries})});
  s->attrs.push_back({"resultSegmentSizes", b_.segments({outputs, carries})});
  return true;
}

}  // namespace braze::mlir
