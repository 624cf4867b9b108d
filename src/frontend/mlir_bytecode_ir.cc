// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode: operations, regions, values and op properties.
#include "frontend/mlir_bytecode.h"
#include "frontend/mlir_ops.h"

namespace braze::mlir {
namespace {

enum OpMask : uint8_t {
  kHasAttrs = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseLists = 32,
  kHasProperties = 64
};
constexpr ValueId kUndefined = UINT32_MAX;

Cursor over(std::string_view s) { return {s.data(), s.data() + s.size()}; }

std::string_view next_word(std::string_view* s) {
  size_t n = std::min(s->find(' '), s->size());
  std::string_view w = s->substr(0, n);
  s->remove_prefix(std::min(n + 1, s->size()));
  return w;
}

size_t count_words(std::string_view s) {
  size_t n = 0;
  while (!s.empty()) n += next_word(&s) != "+";
  return n;
}

}  // namespace

// The top level is a block of ops, of which there is one: the module.
bool BytecodeReader::ir(std::string_view data) {
  Cursor c = over(data);
  Scope scope;
  size_t next = 0;
  Block top;
  if (!block(&c, &scope, &next, "", &top)) return false;
  if (top.ops.size() != 1 || top.ops[0]->name != "builtin.module" || !top.ops[0]->block(0)) {
    return fail("expected a single module");
  }
  module_.op = top.ops[0];
  return true;
}

bool BytecodeReader::define(Scope* scope, size_t* next, const Type* t) {
  if (*next >= scope->values.size()) return fail("a region has more values than it states");
  scope->values[(*next)++] = static_cast<ValueId>(module_.value_types.size());
  module_.value_types.push_back(t);
  return true;
}

// Orders of uses have no meaning here.
bool BytecodeReader::skip_use_lists(Cursor* c, uint64_t values) {
  uint64_t n = values > 1 ? c->varint() : 1;
  if (n > values) return fail("malformed use-list order");
  for (uint64_t k = 0; k < n && c->ok; ++k) {
    if (values > 1) c->varint();
    bool pairs;
    uint64_t count = c->flagged(&pairs);
    if (count > c->left()) return fail("malformed use-list order");
    for (uint64_t i = 0; i < count; ++i) c->varint();
  }
  return check(*c, "use-list order");
}

// `next` is the number of the next value that this region defines.
bool BytecodeReader::block(Cursor* c, Scope* scope, size_t* next, std::string_view parent,
                           Block* out) {
  bool has_args;
  uint64_t num_ops = c->flagged(&has_args);
  if (num_ops > c->left()) return fail("a block is truncated");
  out->first_arg = static_cast<ValueId>(module_.value_types.size());
  if (has_args) {
    uint64_t n = c->count();
    for (uint64_t k = 0; k < n && c->ok; ++k) {
      bool has_loc = true;
      const Type* t = type(version_ >= 4 ? c->flagged(&has_loc) : c->varint());
      if (has_loc) c->varint();
      if (!t || !define(scope, next, t)) return false;
    }
    out->num_args = static_cast<uint32_t>(n);
    if (version_ >= 3 && c->byte() && !skip_use_lists(c, n)) return false;
  }
  std::vector<Op*> ops;
  ops.reserve(num_ops);
  for (uint64_t k = 0; k < num_ops && c->ok; ++k) {
    Op* o = op(c, scope, next, parent);
    if (!o) return false;
    ops.push_back(o);
  }
  out->ops = b_.arena().copy(ops);
  return check(*c, "block");
}

bool BytecodeReader::region(Cursor* c, Scope* scope, std::string_view parent, Region* out) {
  if (++depth_ > kMaxDepth) return fail("regions are nested too deeply");
  uint64_t n = c->count();
  if (n > 0) {
    uint64_t values = c->varint();
    if (values > c->left()) return fail("a region states too many values");
    size_t next = scope->values.size();
    size_t outer = next;
    scope->values.resize(outer + values, kUndefined);
    std::vector<Block> blocks;
    for (uint64_t k = 0; k < n && c->ok; ++k) {
      blocks.emplace_back();
      if (!block(c, scope, &next, parent, &blocks.back())) return false;
    }
    scope->values.resize(outer);
    out->blocks = b_.arena().copy(blocks);
  }
  --depth_;
  return check(*c, "region");
}

bool BytecodeReader::regions(Cursor* c, uint64_t n, Scope* scope, std::string_view parent,
                             std::vector<Region>* out) {
  for (uint64_t k = 0; k < n; ++k) {
    out->emplace_back();
    if (!region(c, scope, parent, &out->back())) return false;
  }
  return true;
}

bool BytecodeReader::operands(Cursor* c, const Scope& scope, std::vector<ValueId>* out) {
  uint64_t n = c->count();
  out->reserve(n);
  for (uint64_t k = 0; k < n && c->ok; ++k) {
    uint64_t v = c->varint();
    if (v >= scope.values.size() || scope.values[v] == kUndefined) {
      return fail("an operand is used before it is defined");
    }
    out->push_back(scope.values[v]);
  }
  return check(*c, "operand list");
}

Op* BytecodeReader::op(Cursor* c, Scope* scope, size_t* next, std::string_view parent) {
  uint64_t name_index = c->varint();
  uint8_t mask = c->byte();
  uint64_t loc = c->varint();
  if (!check(*c, "operation")) return nullptr;
  if (name_index >= op_names_.size()) return fail("an op name is out of range"), nullptr;
  const OpName& name = op_names_[name_index];
  std::vector<NamedAttr> attrs;
  std::vector<const Type*> results;
  std::vector<ValueId> ids;
  const Loc* where = location(loc);
  if (!where || !op_attributes(c, name, mask, &attrs)) return nullptr;
  if ((mask & kHasResults) && !types(c, &results)) return fail("malformed result types"), nullptr;
  if ((mask & kHasOperands) && !operands(c, *scope, &ids)) return nullptr;
  if ((mask & kHasSuccessors) && c->varint() != 0) {
    return fail("branches between blocks are not supported"), nullptr;
  }
  if ((mask & kHasUseLists) && !skip_use_lists(c, results.size())) return nullptr;
  Status s = normaliser_.attributes(name.name, &attrs);
  if (!s.ok()) {
    if (error_.ok()) error_ = note("MLIR bytecode", s);
    return nullptr;
  }
  Op* o = b_.arena().make(Op{.name = normaliser_.name(name.name, parent),
                             .operands = b_.arena().copy(ids),
                             .first_result = static_cast<ValueId>(module_.value_types.size()),
                             .num_results = static_cast<uint32_t>(results.size()),
                             .attrs = b_.arena().copy(attrs),
                             .loc = where});
  for (const Type* t : results) {
    if (!define(scope, next, t)) return nullptr;
  }
  if (mask & kHasRegions) {
    bool isolated, ok;
    std::vector<Region> list;
    uint64_t n = c->flagged(&isolated);
    if (isolated) {  // own numbering; from version 2 on in a section of its own
      Scope inner;
      int id;
      std::string_view data;
      Cursor nested = *c;
      if (version_ >= 2) {
        if (!section(c, &id, &data)) return nullptr;
        nested = over(data);
      }
      ok = n <= nested.left() && regions(&nested, n, &inner, o->name, &list);
      if (version_ < 2) *c = nested;
    } else {
      ok = n <= c->left() && regions(c, n, scope, o->name, &list);
    }
    if (!ok) return fail("malformed regions"), nullptr;
    o->regions = b_.arena().copy(list);
  }
  return o;
}

bool BytecodeReader::op_attributes(Cursor* c, const OpName& name, uint8_t mask,
                                   std::vector<NamedAttr>* attrs) {
  if (mask & kHasAttrs) {
    const Attr* a = attr(c);
    if (!a) return false;
    if (a->kind != AttrKind::kDict) return fail("expected the attributes of an op");
    attrs->assign(a->fields.begin(), a->fields.end());
  }
  return !(mask & kHasProperties) || op_properties(c, name, attrs);
}

bool BytecodeReader::op_properties(Cursor* c, const OpName& name, std::vector<NamedAttr>* attrs) {
  if (!name.registered) {
    const Attr* a = attr(c);
    if (!a) return false;
    if (a->kind != AttrKind::kDict) return fail("expected the properties of an op");
    attrs->insert(attrs->end(), a->fields.begin(), a->fields.end());
    return true;
  }
  uint64_t index = c->varint();
  if (index >= properties_.size()) return fail("a property index is out of range");
  std::string_view data = properties_[index];
  if (name.name.starts_with("vhlo.")) {
    std::string_view spec = vhlo_properties(name.name.substr(5));
    if (!spec.data()) {
      return fail(str_cat("'", name.name, "' is not an operation of VHLO 0.9.0 to 1.20.0"));
    }
    return named_properties(spec, data, name.name, attrs);
  }
  if (data.empty()) return true;
  size_t entries = 0;
  for (Cursor e = over(data); e.ok && e.left() > 0; e.varint()) ++entries;
  const OpSpec* spec = find_op(name.name);
  if (!spec) return fail(str_cat("the properties of '", name.name, "' are not known"));
  for (const OpSpec* s = spec; s; s = next_variant(s)) {
    bool exact = count_words(s->properties) == entries || s->properties.ends_with('+');
    if (exact) return named_properties(s->properties, data, name.name, attrs);
  }
  return fail(str_cat("'", name.name, "' has ", entries, " properties, which is not a known form"));
}

bool BytecodeReader::named_properties(std::string_view spec, std::string_view data,
                                      std::string_view op, std::vector<NamedAttr>* attrs) {
  Cursor c = over(data);
  while (!spec.empty()) {
    std::string_view word = next_word(&spec);
    if (word == "+") {
      return segment_sizes(&c, "operandSegmentSizes", attrs) &&
             segment_sizes(&c, "resultSegmentSizes", attrs);
    }
    uint64_t index;
    if (word.ends_with('?')) {
      word.remove_suffix(1);
      bool present;
      index = c.flagged(&present);
      if (!present) continue;
    } else {
      index = c.varint();
    }
    if (!check(c, str_cat("property record of '", op, "'"))) return false;
    const Attr* a = attr(index);
    if (!a) return false;
    attrs->push_back({word, a});
  }
  if (c.left() > 0) return fail(str_cat("'", op, "' has more properties than expected"));
  return check(c, "property record");
}

// flagged(count, sparse); sparse: bits of an index, then value << bits | index
bool BytecodeReader::segment_sizes(Cursor* c, std::string_view name,
                                   std::vector<NamedAttr>* attrs) {
  int64_t sizes[2] = {0, 0};
  bool sparse;
  uint64_t n = c->flagged(&sparse);
  uint64_t bits = sparse && n > 0 ? c->varint() : 0;
  if (n > 2 || bits > 8) return fail("malformed segment sizes");
  for (uint64_t k = 0; k < n; ++k) {
    uint64_t v = c->varint();
    uint64_t at = sparse ? v & ((1u << bits) - 1) : k;
    if (at > 1) return fail("malformed segment sizes");
    sizes[at] = static_cast<int64_t>(v >> bits);
  }
  attrs->push_back({name, b_.segments({sizes[0], sizes[1]})});
  return check(*c, "segment sizes");
}

}  // namespace braze::mlir
