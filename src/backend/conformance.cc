// SPDX-License-Identifier: Apache-2.0
#include "backend/conformance.h"

#include "analysis/verify.h"
#include "base/npy.h"
#include "eval/evaluator.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "ops/check.h"
#include "passes/refine_shapes.h"

namespace braze {

Engine evaluator_engine() {
  return [](std::unique_ptr<Module> m) { return evaluate(*m, {}); };
}

namespace {

Result<std::unique_ptr<Module>> prepare(const mlir::Module& tree, const std::string& entry) {
  ImportOptions options;
  options.entry = entry;
  ASSIGN(std::unique_ptr<Module> m, import_stablehlo(tree, options));
  TRY(verify(*m));
  // Its value is not used, yet it must run.
  for (const auto& c : m->computations())
    for (const auto& i : c->instrs())
      if (i->is(Op::kCustomCall) && i->as<CustomCallAttrs>().target == "check.eq") {
        CustomCallAttrs a = i->as<CustomCallAttrs>();
        a.side_effect = true;
        c->set_attrs(i.get(), a);
      }
  if (m->entry()->params().empty() && has_unknown_shapes(*m)) {
    TRY(refine_shapes(*m, {}));
    TRY(verify(*m));
  }
  return m;
}

// The suite switches the run of some programs off in their first lines, as inaccurate or not supported:
// no interpreter is held to the values they expect, which are those of one build of XLA.
bool run_is_disabled(std::string_view text) {
  return text.substr(0, 400).find("// RUN-DISABLED") != std::string_view::npos;
}

ConformanceResult run_one(const mlir::Module& tree, const std::string& program,
                          const std::string& entry, bool disabled, const Engine& engine) {
  ConformanceResult r{program};
  auto m = prepare(tree, entry);
  Status s = m.status();
  if (s.ok() && !(*m)->entry()->params().empty()) {
    r.kind = ConformanceResult::kReadOnly;
    return r;
  }
  if (s.ok()) {
    auto value = engine(*std::move(m));
    s = value.status();
  }
  if (!s.ok() && s.message().find("check.expect_") != absl::string_view::npos) {
    // Sums with cancellation: a few steps of the largest value are all that their order leaves.
    set_loose_checks(true);
    auto again = prepare(tree, entry);
    auto value = again.ok() ? engine(*std::move(again)) : Result<Literal>(again.status());
    set_loose_checks(false);
    if (value.ok()) {
      r.kind = disabled ? ConformanceResult::kDisabled : ConformanceResult::kLoosely;
      r.error = std::string(s.message());
      return r;
    }
  }
  if (!s.ok()) {
    r.kind = ConformanceResult::kFailed;
    r.error = std::string(s.message());
  }
  return r;
}

std::vector<std::string> entries_of(const mlir::Module& tree) {
  if (tree.symbol("main")) return {"main"};
  std::vector<std::string> out;
  for (const mlir::Op* op : tree.body().ops)
    if (op->name == "func.func" && op->block(0)) out.emplace_back(op->attr("sym_name")->text);
  return out;
}

}  // namespace

std::vector<ConformanceResult> run_conformance_file(const std::string& path, const Engine& engine) {
  auto fail = [&](const std::string& program, const Status& s) {
    return ConformanceResult{program, ConformanceResult::kFailed, std::string(s.message())};
  };
  std::vector<ConformanceResult> out;
  auto bytes = read_file(path);
  if (!bytes.ok()) return {fail(path, bytes.status())};
  if (Status s = register_conformance_calls(); !s.ok()) return {fail(path, s)};
  std::vector<std::string_view> parts = {*bytes};
  if (!mlir::is_bytecode(*bytes)) parts = mlir::split_mlir(*bytes);
  for (size_t k = 0; k < parts.size(); ++k) {
    const std::string where = parts.size() > 1 ? str_cat(path, "#", k) : path;
    auto tree = mlir::is_bytecode(parts[k]) ? mlir::read_mlir_bytecode(parts[k])
                                            : mlir::read_mlir_text(parts[k], where);
    if (!tree.ok()) {
      out.push_back(fail(where, tree.status()));
      continue;
    }
    for (const std::string& entry : entries_of(*tree))
      out.push_back(run_one(*tree, str_cat(where, "@", entry), entry, run_is_disabled(*bytes),
                            engine));
  }
  return out;
}

}  // namespace braze
