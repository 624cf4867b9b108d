// SPDX-License-Identifier: Apache-2.0
// The check and interpreter dialects of StableHLO's test suite → custom calls with side effects,
// which ops/check.cc and a conformance runner evaluate. A `_const` form becomes the two-operand
// one.
#include <algorithm>

#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {
namespace {

using mlir::Attr;

// The attributes other than `skip`, as a dictionary's text.
std::string options(OpImport& c, std::initializer_list<std::string_view> skip) {
  std::string out;
  for (const mlir::NamedAttr& a : c.op.attrs) {
    if (std::find(skip.begin(), skip.end(), a.name) != skip.end()) continue;
    out += str_cat(out.empty() ? "" : ", ", a.name, " = ", mlir::print_attr(*a.value));
  }
  return str_cat("{", out, "}");
}

void emit_check(OpImport& c, std::string_view target, absl::Span<Instr* const> operands,
                std::string config, absl::Span<Computation* const> calls = {}) {
  CustomCallAttrs a;
  a.target = std::string(target);
  a.side_effect = true;
  a.backend_config = std::move(config);
  c.bind_all(c.emit_typed(Op::kCustomCall, operands, std::move(a), calls));
}

// With the tolerance that the op has when it names none. The custom calls of the same names have
// defaults of their own, in ops/check.cc.
std::string options_of_check(OpImport& c, std::initializer_list<std::string_view> skip) {
  std::string out = options(c, skip);
  out.pop_back();
  const char* sep = out.size() > 1 ? ", " : "";
  if (c.op.name.rfind("check.expect_almost_eq", 0) == 0 && !c.attr("tolerance"))
    out += str_cat(sep, "tolerance = 1.0e-4 : f64");
  if (c.op.name == "check.expect_close" && !c.attr("max_ulp_difference"))
    out += str_cat(sep, "max_ulp_difference = 1 : ui64");
  return out + "}";
}

void expect(OpImport& c) { emit_check(c, c.op.name, c.ins(), options_of_check(c, {})); }

void expect_const(OpImport& c) {
  const Attr* v = c.attr("value");
  if (!c.check(v && v->type, "needs a value")) return;
  Shape s = c.take(import_type(*v->type), Shape());
  if (!c.ok()) return;
  Literal l = c.take(import_elements(*v, s));
  if (!c.ok()) return;
  const std::string_view name = c.op.name;
  emit_check(c, name.substr(0, name.size() - std::string_view("_const").size()),
             {c.in(0), c.b.constant(std::move(l))}, options_of_check(c, {"value"}));
}

// Processes are the called computations, the feeds follow them. The configuration is
// "rows=R columns=C feeds=F": a grid of R replicas by C partitions.
void run_parallel(OpImport& c) {
  std::vector<Computation*> calls;
  auto add = [&](const Attr& symbol) {
    auto it = c.scope.program.functions.find(symbol.text);
    if (c.check(it != c.scope.program.functions.end(), "a program does not exist"))
      calls.push_back(it->second);
  };
  const Attr* programs = c.attr("programs");
  if (!c.check(programs && !programs->items.empty(), "needs programs")) return;
  const size_t rows = programs->items.size(), columns = programs->items[0]->items.size();
  for (const Attr* row : programs->items) {
    if (!c.check(row->items.size() == columns, "programs must be a table")) return;
    for (const Attr* symbol : row->items) add(*symbol);
  }
  size_t feeds = 0;
  if (const Attr* infeed = c.attr("infeed")) {
    feeds = infeed->items.size();
    for (const Attr* symbol : infeed->items) add(*symbol);
  }
  if (!c.ok()) return;
  // The grid of the test is the program's.
  c.scope.program.module.num_replicas = static_cast<int64_t>(rows);
  c.scope.program.module.num_partitions = static_cast<int64_t>(columns);
  emit_check(c, "interpreter.run_parallel", c.ins(),
             str_cat("rows=", rows, " columns=", columns, " feeds=", feeds), calls);
}

void print(OpImport& c) { emit_check(c, "interpreter.print", c.ins(), ""); }

// Writes its operand to a file when the reference interpreter runs it; here it is the operand.
void probe(OpImport& c) { c.bind(c.emit(Op::kCopy, c.ins())); }

constexpr Handler kHandlers[] = {
    {"check.expect_eq", expect, 2, 0, 0},
    {"check.expect_almost_eq", expect, 2, 0, 0},
    {"check.expect_close", expect, 2, 0, 0},
    {"check.expect_serialized_eq", expect, 1, 0, 0},
    {"check.expect_eq_const", expect_const, 1, 0, 0},
    {"check.expect_almost_eq_const", expect_const, 1, 0, 0},
    {"interpreter.run_parallel", run_parallel, kAny, kAny, 0},
    {"interpreter.print", print, 1, 0, 0},
    {"interpreter.probe", probe, 1, 1, 0},
};

}  // namespace

absl::Span<const Handler> check_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
