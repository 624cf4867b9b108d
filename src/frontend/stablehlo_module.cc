// SPDX-License-Identifier: Apache-2.0
#include "frontend/stablehlo_module.h"

#include "base/lexer.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {

using mlir::Attr;
using mlir::AttrKind;

std::string legal_name(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!is_name_char(c)) c = '_';
  return out.empty() ? "unnamed" : out;
}

void import_module_attributes(const mlir::Op& op, Module& m) {
  for (const mlir::NamedAttr& a : op.attrs) {
    if (a.name == "mhlo.num_partitions") m.num_partitions = a.value->i;
    else if (a.name == "mhlo.num_replicas") m.num_replicas = a.value->i;
    else if (a.name == "mhlo.frontend_attributes")
      m.frontend_attributes = read_string_map(*a.value);
    else if (a.name == "mhlo.input_output_alias" && a.value->kind == AttrKind::kArray) {
      // [{alias = {kind = "may_alias", parameter_index, parameter_number}, output_index}, ..]
      for (const Attr* item : a.value->items) {
        const Attr* in = item->field("alias");
        if (!in) in = item;
        const Attr* number = in->field("parameter_number");
        if (!number) continue;
        InputOutputAlias alias;
        alias.parameter = number->i;
        auto list = [](const Attr* f) {
          auto v = f ? mlir::int_list(*f) : Result<std::vector<int64_t>>(std::vector<int64_t>());
          return v.ok() ? Dims(v->begin(), v->end()) : Dims();
        };
        alias.parameter_index = list(in->field("parameter_index"));
        alias.output_index = list(item->field("output_index"));
        const Attr* kind = in->field("kind");
        alias.must_alias = kind && kind->text == "must_alias";
        m.aliases.push_back(std::move(alias));
      }
    } else if (a.name != "sym_name" && a.name != "sym_visibility") {
      m.other[std::string(a.name)] = mlir::print_attr(*a.value);
    }
  }
  for (const mlir::Block& block : op.regions[0].blocks)
    for (const mlir::Op* o : block.ops)
      if (o->name == "sdy.mesh" && o->attr("mesh") && o->attr("sym_name"))
        m.other[str_cat("sdy.mesh.", o->attr("sym_name")->text)] =
            mlir::print_attr(*o->attr("mesh"));
  if (m.num_partitions < 1) m.num_partitions = 1;
  if (m.num_replicas < 1) m.num_replicas = 1;
}

Result<const mlir::Op*> find_entry(const Program& p, const ImportOptions& options) {
  auto it = p.symbols.find(options.entry);
  if (it != p.symbols.end() && it->second->name == "func.func") return it->second;
  const mlir::Op* only = nullptr;
  int count = 0;
  std::string names;
  for (auto& [name, op] : p.symbols) {
    if (op->name != "func.func") continue;
    const Attr* visibility = op->attr("sym_visibility");
    if (visibility && visibility->text == "private") continue;
    only = op;
    if (++count <= 10) names += str_cat(count > 1 ? ", @" : "; it has @", name);
  }
  if (options.any_entry && count == 1) return only;
  return not_found("the module has no function @", options.entry, names, count > 10 ? " and more" : "");
}

namespace {

void collect_symbols(const Attr& a, int depth, std::vector<std::string_view>& out) {
  if (depth > 64) return;
  if (a.kind == AttrKind::kSymbol) out.push_back(a.text);
  for (const Attr* item : a.items) collect_symbols(*item, depth + 1, out);
  for (const mlir::NamedAttr& f : a.fields) collect_symbols(*f.value, depth + 1, out);
}

void collect_callees(const mlir::Op& op, std::vector<std::string_view>& out) {
  for (const mlir::Region& r : op.regions)
    for (const mlir::Block& b : r.blocks)
      for (const mlir::Op* o : b.ops) {
        for (const mlir::NamedAttr& a : o->attrs) collect_symbols(*a.value, 0, out);
        collect_callees(*o, out);
      }
}

}  // namespace

Result<std::vector<const mlir::Op*>> function_order(const Program& p, const mlir::Op& entry) {
  struct Frame {
    const mlir::Op* f;
    std::vector<std::string_view> callees;
    size_t next = 0;
  };
  enum class State : uint8_t { kOpen, kDone };
  absl::flat_hash_map<const mlir::Op*, State> state;
  std::vector<const mlir::Op*> order;
  std::vector<Frame> stack;
  auto enter = [&](const mlir::Op* f) {
    state[f] = State::kOpen;
    stack.push_back({f, {}});
    collect_callees(*f, stack.back().callees);
  };
  enter(&entry);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next == top.callees.size()) {
      state[top.f] = State::kDone;
      order.push_back(top.f);
      stack.pop_back();
      continue;
    }
    auto it = p.symbols.find(top.callees[top.next++]);
    if (it == p.symbols.end() || it->second->name != "func.func") continue;
    auto s = state.find(it->second);
    if (s == state.end()) enter(it->second);
    else if (s->second == State::kOpen)
      return op_error(p.source, *top.f, invalid("recursive call of @", it->first));
  }
  return order;
}

namespace {

// The dictionary of argument or result k; null if there is none.
const Attr* argument_attrs(const mlir::Op& func, std::string_view list, size_t k) {
  const Attr* a = func.attr(list);
  return a && a->kind == AttrKind::kArray && k < a->items.size() ? a->items[k] : nullptr;
}

// "{0,1}" → minor to major; "default", "auto": row-major.
bool read_layout(std::string_view text, Shape& s) {
  Dims order;
  int64_t value = -1;
  if (text.size() < 2 || text.front() != '{') return false;
  for (char c : text.substr(1)) {
    if (c >= '0' && c <= '9') value = (value < 0 ? 0 : value) * 10 + (c - '0');
    else if (value >= 0) order.push_back(value), value = -1;
    if (c == '}' || c == ':' || value > 1000) break;
  }
  if (static_cast<int64_t>(order.size()) != s.rank()) return false;
  s.layout = order;
  return true;
}

// What the dictionary of an argument says of the entry's parameter k.
void entry_argument(Module& m, Instr* parameter, const Attr& attrs, bool tuple_result) {
  const int64_t k = parameter->parameter_number();
  for (const mlir::NamedAttr& a : attrs.fields) {
    if (a.name == "tf.aliasing_output") {
      InputOutputAlias alias;
      if (tuple_result || a.value->i != 0) alias.output_index = {a.value->i};
      alias.parameter = k;
      m.aliases.push_back(std::move(alias));
    } else if (a.name == "jax.buffer_donor" && a.value->i) {
      m.buffer_donors.push_back(k);
    } else if (a.name == "mhlo.sharding" || a.name == "sdy.sharding") {
      parameter->extra().sharding = read_sharding(*a.value);
    } else if (a.name == "mhlo.frontend_attributes") {
      parameter->extra().frontend_attributes = read_string_map(*a.value);
    } else if (a.name == "mhlo.layout_mode") {
      Shape s = parameter->shape;
      if (!read_layout(a.value->text, s)) continue;
      if (m.entry_parameter_layouts.empty())
        m.entry_parameter_layouts.resize(static_cast<size_t>(k) + 1);
      m.entry_parameter_layouts.resize(std::max(m.entry_parameter_layouts.size(), size_t(k) + 1));
      m.entry_parameter_layouts[k] = s;
    } else {
      parameter->extra().other[std::string(a.name)] = mlir::print_attr(*a.value);
    }
  }
}

void entry_results(Module& m, Computation& c, const mlir::Op& func, size_t count) {
  const bool tuple = count != 1;
  Shape root = c.root()->shape;
  bool layout = false;
  std::string shardings, info, memory_kinds;
  for (size_t k = 0; k < count; ++k) {
    const Attr* attrs = argument_attrs(func, "res_attrs", k);
    std::string sharding, memory_kind;
    if (attrs) {
      for (const mlir::NamedAttr& a : attrs->fields) {
        if (a.name == "mhlo.layout_mode")
          layout |= read_layout(a.value->text, tuple ? root.tuple[k] : root);
        else if (a.name == "mhlo.sharding" || a.name == "sdy.sharding")
          sharding = read_sharding(*a.value);
        else if (a.name == "mhlo.memory_kind")
          memory_kind = std::string(a.value->text);
        else if (a.name == "jax.result_info")
          info += str_cat(info.empty() ? "" : ", ", mlir::print_attr(*a.value));
      }
    }
    shardings += str_cat(k ? ", " : "", sharding);
    memory_kinds += str_cat(k ? "," : "", memory_kind);
  }
  if (memory_kinds.find_first_not_of(',') != std::string::npos)
    m.other["entry_result_memory_kinds"] = memory_kinds;
  if (layout) m.entry_result_layouts = {root};
  if (!info.empty()) m.other["jax.result_info"] = str_cat("[", info, "]");
  if (shardings.find_first_not_of(", ") != std::string::npos)
    m.other["entry_result_shardings"] = shardings;
}

// Sizes that are known on both sides must be the same.
bool may_be(const Shape& declared, const Shape& returned) {
  if (declared.dtype != returned.dtype || declared.tuple.size() != returned.tuple.size()) return false;
  for (size_t k = 0; k < declared.tuple.size(); ++k)
    if (!may_be(declared.tuple[k], returned.tuple[k])) return false;
  if (declared.rank() != returned.rank()) return false;
  for (int64_t d = 0; d < declared.rank(); ++d) {
    if (declared.dims[d] == kUnknownDim || returned.dims[d] == kUnknownDim) continue;
    if (declared.dims[d] != returned.dims[d]) return false;
  }
  return true;
}

// The function returns what its type says.
Status check_results(const mlir::Op& func, absl::Span<Instr* const> out) {
  const Attr* type = func.attr("function_type");
  if (!type || !type->type || type->type->kind != mlir::TypeKind::kFunction) return absl::OkStatus();
  const auto& results = type->type->results;
  if (results.size() != out.size())
    return invalid("the type has ", results.size(), " results, ", out.size(), " are returned");
  for (size_t k = 0; k < out.size(); ++k) {
    ASSIGN(Shape declared, import_type(*results[k]));
    if (!may_be(declared, out[k]->shape))
      return invalid("result ", k, " is declared as ", mlir::print_type(*results[k]), ", a value of type ",
                     to_string(out[k]->shape, false), " is returned");
  }
  return absl::OkStatus();
}

}  // namespace

Status import_function(Program& p, const mlir::Op& func, bool is_entry) {
  const Attr* name = func.attr("sym_name");
  if (!name) return op_error(p.source, func, invalid("a function without a name"));
  const mlir::Block* block = func.block(0);
  if (!block) {
    if (!is_entry && (func.regions.empty() || func.regions[0].blocks.empty()))
      return absl::OkStatus();  // a declaration; a call of it is the error
    return op_error(p.source, func, invalid("@", name->text, " must have a body of one block"));
  }
  Computation* c = p.module.add_computation(legal_name(name->text));
  Scope scope(p, c, 0);
  std::vector<Instr*> params;
  for (uint32_t k = 0; k < block->num_args; ++k) {
    auto shape = import_type(p.source.type(block->arg(k)));
    if (!shape.ok()) return op_error(p.source, func, note(str_cat("argument ", k), shape.status()));
    Instr* i = scope.b.parameter(k, *shape);
    params.push_back(i);
    scope.values[block->arg(k)] = i;
  }
  ASSIGN(std::vector<Instr*> out, import_block(scope, *block));
  if (Status s = check_results(func, out); !s.ok())
    return op_error(p.source, func, note(str_cat("@", name->text), s));
  c->set_root(out.size() == 1 ? out[0] : scope.b.tuple(out));
  TRY(scope.b.status());
  p.functions[name->text] = c;
  if (!is_entry) return absl::OkStatus();
  const bool tuple = c->root()->shape.is_tuple();  // of several results, or the only one
  for (size_t k = 0; k < params.size(); ++k)
    if (const Attr* a = argument_attrs(func, "arg_attrs", k))
      entry_argument(p.module, params[k], *a, tuple);
  auto& layouts = p.module.entry_parameter_layouts;
  if (!layouts.empty()) {
    const size_t known = layouts.size();
    layouts.resize(params.size());
    for (size_t k = 0; k < params.size(); ++k)
      if (k >= known || layouts[k].layout.empty()) layouts[k] = params[k]->shape;
  }
  entry_results(p.module, *c, func, out.size());
  return absl::OkStatus();
}

}  // namespace braze::stablehlo
