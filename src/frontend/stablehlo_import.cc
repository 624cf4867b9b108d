// SPDX-License-Identifier: Apache-2.0
// Functions and the dispatch over ops.
#include "frontend/stablehlo_import.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "frontend/chlo.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_module.h"
#include "frontend/stablehlo_scope.h"
#include "frontend/stablehlo_types.h"
#include "ops/laws.h"
#include "ops/op_def.h"

namespace braze::stablehlo {

namespace {

void import_chlo(OpImport& c);

// Ops that a row of the op table names and that have neither attributes nor regions.
void import_simple(OpImport& c);

struct Tables {
  absl::flat_hash_map<std::string_view, const Handler*> handlers;
  absl::flat_hash_map<std::string_view, Op> simple;
};

const Tables& tables() {
  static const Tables* t = [] {
    auto* out = new Tables;
    for (auto family : {elementwise_handlers(), movement_handlers(), dynamic_handlers(),
                        indexed_handlers(), contraction_handlers(), reduction_handlers(),
                        control_handlers(), linalg_handlers(), effect_handlers(),
                        collective_handlers(), sdy_handlers(), check_handlers()})
      for (const Handler& h : family) out->handlers.emplace(h.name, &h);
    for (int i = 0; i < kOpCount; ++i) {
      const OpDef& d = def(static_cast<Op>(i));
      if (!d.stablehlo.empty() && d.attrs == attrs_index<NoAttrs>())
        out->simple.emplace(d.stablehlo, static_cast<Op>(i));
    }
    return out;
  }();
  return *t;
}

constexpr Handler kSimple{"", import_simple, at_least(0), 1, 0};
constexpr Handler kChlo{"", import_chlo, at_least(0), kAny, kAny};

// `name` after its dialect.
std::string_view short_name(std::string_view name) {
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

void import_simple(OpImport& c) {
  const Op o = tables().simple.at(short_name(c.op.name));
  c.bind(c.emit(o, c.ins()));
}

const Handler* find_handler(std::string_view name) {
  const Tables& t = tables();
  if (auto it = t.handlers.find(name); it != t.handlers.end()) return it->second;
  if (is_chlo_op(name)) return &kChlo;
  // MHLO, StableHLO's ancestor, spells most ops as StableHLO does.
  const bool mhlo = name.substr(0, 5) == "mhlo.";
  if (mhlo || name.substr(0, 10) == "stablehlo.") {
    if (mhlo) {
      if (auto it = t.handlers.find(str_cat("stablehlo.", name.substr(5))); it != t.handlers.end())
        return it->second;
    }
    if (t.simple.contains(short_name(name))) return &kSimple;
  }
  return nullptr;
}

Status check_counts(const Handler& h, const mlir::Op& op) {
  const int operands = static_cast<int>(op.operands.size());
  if (h.operands >= 0 ? operands != h.operands : operands < -1 - h.operands)
    return invalid("expects ", h.operands >= 0 ? "" : "at least ",
                   h.operands >= 0 ? h.operands : -1 - h.operands, " operands, got ", operands);
  if (h.results >= 0 && static_cast<int>(op.num_results) != h.results)
    return invalid("expects ", h.results, " results, got ", op.num_results);
  if (h.regions >= 0 && static_cast<int>(op.regions.size()) != h.regions)
    return invalid("expects ", h.regions, " regions, got ", op.regions.size());
  return absl::OkStatus();
}

Status run_handler(Scope& scope, const mlir::Op& op, OpImport& c) {
  const Handler* h = find_handler(op.name);
  if (!h) return unimplemented("this op is not supported");
  TRY(check_counts(*h, op));
  TRY(c.prepare());
  h->import(c);
  TRY(c.status());
  for (uint32_t k = 0; k < op.num_results; ++k)
    if (!scope.values.contains(op.result(k))) return internal("result ", k, " was not built");
  return absl::OkStatus();
}

void read_top_k(OpImport& c, ChloAttrs& a) {
  a.top_k.k = c.integer("k");
  if (c.attr("largest")) a.top_k.largest = c.flag("largest");
}

void import_chlo(OpImport& c) {
  ChloAttrs a;
  if (c.attr("broadcast_dimensions")) {
    a.has_broadcast_dimensions = true;
    a.broadcast_dimensions = c.dims("broadcast_dimensions");
  }
  if (c.attr("comparison_direction")) a.compare = read_compare(c);
  if (c.attr("k")) read_top_k(c, a);
  if (const mlir::Attr* n = c.attr("ragged_dot_dimension_numbers")) {
    a.ragged.dot = read_dot(c, *n);
    a.ragged.dot.precision = read_precision(c);
    a.ragged.lhs_ragged = field_dims(c, *n, "lhs_ragged_dimensions");
    a.ragged.rhs_group = field_dims(c, *n, "rhs_group_dimensions");
  }
  if (const mlir::Attr* v = c.attr("value")) {
    if (v->kind == mlir::AttrKind::kElements && v->type) {
      Shape s = c.take(import_type(*v->type), Shape());
      if (c.ok()) a.value = c.take(import_elements(*v, s));
    } else if (v->type) {
      const Dtype t = c.take(import_dtype(*v->type), Dtype::kF32);
      a.value = v->kind == mlir::AttrKind::kFloat ? Literal::scalar(t, v->f)
                                                   : Literal::scalar_int(t, v->i);
    }
  }
  if (!c.ok()) return;
  std::vector<Shape> results;
  for (size_t k = 0; k < c.results(); ++k) results.push_back(c.type(k));
  auto values = c.take(build_chlo(c.b, c.op.name, c.ins(), a, results));
  if (!c.ok() || !c.check(values.size() == c.results(), "wrong number of results")) return;
  for (size_t k = 0; k < values.size(); ++k) c.bind(k, values[k]);
}

// The file and names of a location.
void read_location(const mlir::Loc* loc, Metadata& m, int depth = 0) {
  if (!loc || depth > 32) return;
  switch (loc->kind) {
    case mlir::LocKind::kUnknown: return;
    case mlir::LocKind::kFile:
      if (m.source_file.empty()) {
        m.source_file = std::string(loc->text);
        m.source_line = loc->line;
        m.source_column = loc->column;
      }
      return;
    case mlir::LocKind::kName:
      if (m.op_name.empty()) m.op_name = std::string(loc->text);
      break;
    default: break;
  }
  for (const mlir::Loc* child : loc->children) {
    read_location(child, m, depth + 1);
    if (loc->kind == mlir::LocKind::kCallSite && !m.source_file.empty()) return;
  }
}

void attach(const mlir::Op& op, Computation& c, int64_t from, Instr* main) {
  Metadata m;
  read_location(op.loc, m);
  if (!m.source_file.empty() || !m.op_name.empty()) {
    m.op_type = std::string(op.name);
    for (int64_t i = from; i < c.size(); ++i)
      if (!c.instrs()[i]->extras) c.instrs()[i]->extra().metadata = m;
  }
  if (!main || main->parent != &c || main->is(Op::kParameter)) return;
  if (const mlir::Attr* a = op.attr("mhlo.sharding")) main->extra().sharding = read_sharding(*a);
  if (const mlir::Attr* a = op.attr("sdy.sharding")) main->extra().sharding = read_sharding(*a);
  if (const mlir::Attr* a = op.attr("mhlo.frontend_attributes"))
    main->extra().frontend_attributes = read_string_map(*a);
}

}  // namespace

Status import_op(Scope& scope, const mlir::Op& op) {
  Computation& c = *scope.b.computation();
  const int64_t before = c.size();
  OpImport in(scope, op);
  Status s = run_handler(scope, op, in);
  if (!s.ok()) {
    // Errors from inside a region already tell the op.
    if (s.message().find("\n  in: ") != s.message().npos) return s;
    return op_error(scope.program.source, op, s);
  }
  attach(op, c, before, in.main());
  return absl::OkStatus();
}

Result<std::vector<Instr*>> import_block(Scope& scope, const mlir::Block& block) {
  if (block.ops.empty()) return std::vector<Instr*>();
  for (const mlir::Op* op : block.ops.subspan(0, block.ops.size() - 1)) TRY(import_op(scope, *op));
  const mlir::Op& end = *block.ops.back();
  if (short_name(end.name) != "return" && short_name(end.name) != "yield") {
    TRY(import_op(scope, end));  // a body without results may lack a terminator
    return std::vector<Instr*>();
  }
  std::vector<Instr*> out;
  for (mlir::ValueId v : end.operands) {
    auto it = scope.values.find(v);
    if (it == scope.values.end())
      return op_error(
          scope.program.source, end,
          unimplemented("an operand comes from outside a region that can't capture values"));
    out.push_back(it->second);
  }
  return out;
}

}  // namespace braze::stablehlo

namespace braze {

Result<std::unique_ptr<Module>> import_stablehlo(const mlir::Module& source,
                                                 const ImportOptions& options) {
  if (!source.op || source.op->regions.empty()) return invalid("the module is empty");
  const mlir::Attr* name = source.op->attr("sym_name");
  auto module = std::make_unique<Module>(
      name && !name->text.empty() ? stablehlo::legal_name(name->text) : std::string("module"));
  stablehlo::Program program{source, *module, {}, {}};
  for (const mlir::Block& block : source.op->regions[0].blocks)
    for (const mlir::Op* op : block.ops)
      if (const mlir::Attr* a = op->attr("sym_name")) program.symbols.emplace(a->text, op);
  stablehlo::import_module_attributes(*source.op, *module);
  ASSIGN(const mlir::Op* entry, stablehlo::find_entry(program, options));
  ASSIGN(std::vector<const mlir::Op*> order, stablehlo::function_order(program, *entry));
  for (const mlir::Op* f : order) TRY(stablehlo::import_function(program, *f, f == entry));
  module->set_entry(program.functions.at(entry->attr("sym_name")->text));
  module->erase_dead_computations();
  if (Status s = check_header(*module); !s.ok())
    return stablehlo::op_error(program.source, *entry, note("attributes of arguments and results", s));
  return module;
}

}  // namespace braze
