// SPDX-License-Identifier: Apache-2.0
// Regions of ops → computations. HLO computations see only their parameters, so constants used from
// outside are copied in and other captured values become parameters.
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "frontend/stablehlo_scope.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {

namespace {

constexpr int kMaxDepth = 128;
constexpr int kMaxCopied = 64;  // instructions of one copied constant expression

using Ids = std::vector<mlir::ValueId>;

// Ids used in the region (and those within) but defined outside of it, in order of first use.
void free_values(const mlir::Region& region, absl::flat_hash_set<mlir::ValueId>& defined,
                 absl::flat_hash_set<mlir::ValueId>& seen, Ids& out) {
  for (const mlir::Block& block : region.blocks) {
    for (uint32_t k = 0; k < block.num_args; ++k) defined.insert(block.arg(k));
    for (const mlir::Op* op : block.ops) {
      for (mlir::ValueId v : op->operands)
        if (!defined.contains(v) && seen.insert(v).second) out.push_back(v);
      for (const mlir::Region& inner : op->regions) free_values(inner, defined, seen, out);
      for (uint32_t k = 0; k < op->num_results; ++k) defined.insert(op->result(k));
    }
  }
}

Ids free_values(const mlir::Region& region) {
  absl::flat_hash_set<mlir::ValueId> defined, seen;
  Ids out;
  free_values(region, defined, seen, out);
  return out;
}

bool copies_alone(const Instr* i, int& budget) {
  if (--budget < 0) return false;
  switch (i->op) {
    case Op::kParameter:
    case Op::kCustomCall:
    case Op::kRng:
    case Op::kInfeed: return false;
    default: break;
  }
  if (!i->calls.empty() || i->shape.elements() > kMaxCopied || !i->shape.is_array() ||
      has_effect(*i))
    return i->is_constant();
  for (const Instr* o : i->operands)
    if (!copies_alone(o, budget)) return false;
  return true;
}

Instr* copy_tree(Scope& s, const Instr* i) {
  std::vector<Instr*> operands;
  for (const Instr* o : i->operands) operands.push_back(copy_tree(s, o));
  return s.b.computation()->add(i->op, i->shape, operands, i->attrs);
}

// A constant or what costs nothing to make again: a spread scalar, an iota.
bool is_free(const Instr* i) {
  if (i->is_constant() || i->is(Op::kIota)) return true;
  if (!i->is(Op::kBroadcast) && !i->is(Op::kReshape)) return false;
  return i->operand(0)->is_constant();
}

// The op that applies `Op` to the two arguments of the block in order and returns that, if it is
// so.
const mlir::Op* binary_body(const mlir::Block& block) {
  if (block.num_args != 2 || block.ops.size() != 2) return nullptr;
  const mlir::Op& op = *block.ops[0];
  const mlir::Op& end = *block.ops[1];
  if (op.operands.size() != 2 || op.num_results != 1 || !op.attrs.empty() || !op.regions.empty() ||
      end.operands.size() != 1 || end.operands[0] != op.result(0) ||
      op.operands[0] != block.arg(0) || op.operands[1] != block.arg(1))
    return nullptr;
  return &op;
}

std::optional<Op> combiner_op(std::string_view name) {
  static constexpr std::pair<std::string_view, Op> kCombiners[] = {
      {"stablehlo.add", Op::kAdd},         {"stablehlo.maximum", Op::kMaximum},
      {"stablehlo.minimum", Op::kMinimum}, {"stablehlo.multiply", Op::kMultiply},
      {"stablehlo.and", Op::kAnd},         {"stablehlo.or", Op::kOr},
      {"stablehlo.xor", Op::kXor}};
  for (auto& [n, op] : kCombiners)
    if (n == name) return op;
  return std::nullopt;
}

}  // namespace

Instr* copy_constant(Scope& scope, const Instr* value) {
  int budget = kMaxCopied;
  if (!is_free(value) && !copies_alone(value, budget)) return nullptr;
  return copy_tree(scope, value);
}

void OpImport::captures(size_t k, Ids& ids) const {
  if (k >= op.regions.size()) return;
  for (mlir::ValueId v : free_values(op.regions[k])) {
    auto it = scope.values.find(v);
    if (it != scope.values.end() && is_free(it->second)) continue;
    if (std::find(ids.begin(), ids.end(), v) == ids.end()) ids.push_back(v);
  }
}

Shape OpImport::argument_type(size_t k, size_t i) {
  const mlir::Block* block = op.block(k);
  if (!block || i >= block->num_args) {
    fail(invalid("region ", k, " needs at least ", i + 1, " arguments"));
    return Shape();
  }
  return take(import_type(scope.program.source.type(block->arg(uint32_t(i)))), Shape());
}

Computation* OpImport::region(size_t k, absl::Span<const Dtype> parameter_types) {
  const mlir::Block* block = op.block(k);
  if (block && parameter_types.empty()) {
    const mlir::Op* body = binary_body(*block);
    auto o = body ? combiner_op(body->name) : std::nullopt;
    if (o) {
      Shape s = take(import_type(scope.program.source.type(block->arg(0))), Shape());
      Shape t = take(import_type(scope.program.source.type(body->result(0))), Shape());
      if (ok() && s.is_scalar() && !s.quant && s == t) return b.combiner(*o, s.dtype);
    }
  }
  RegionShape shape;
  shape.parameter_types.assign(parameter_types.begin(), parameter_types.end());
  return region(k, shape);
}

Computation* OpImport::region(size_t k, const RegionShape& shape) {
  Program& p = scope.program;
  // A computation must always come back: after an error an empty one that is never used.
  Computation* c = p.module.add_computation(legal_name(
      str_cat(op.name.substr(op.name.find('.') + 1), k ? str_cat("_region_", k) : "_region")));
  const mlir::Block* block = op.block(k);
  if (!check(block != nullptr, "each region must have one block")) return c;
  if (!check(scope.depth < kMaxDepth, "regions nested too deeply")) return c;
  Scope inner(p, c, scope.depth + 1);

  std::vector<Shape> shapes;
  for (uint32_t i = 0; i < block->num_args; ++i) {
    Shape s = take(import_type(p.source.type(block->arg(i))), Shape());
    if (i < shape.parameter_types.size()) s.dtype = shape.parameter_types[i];
    shapes.push_back(std::move(s));
  }
  shapes.insert(shapes.end(), shape.captured_shapes.begin(), shape.captured_shapes.end());
  std::vector<Instr*> params;
  if (shape.tuple_parameter) {
    Instr* all = inner.b.parameter(0, Shape::tuple_of(shapes));
    for (size_t i = 0; i < shapes.size(); ++i)
      params.push_back(inner.b.element(all, static_cast<int64_t>(i)));
  } else {
    for (size_t i = 0; i < shapes.size(); ++i)
      params.push_back(inner.b.parameter(static_cast<int64_t>(i), shapes[i]));
  }
  for (uint32_t i = 0; i < block->num_args; ++i) {
    Dtype want = region_dtype(k, i);
    Instr* x = params[i];
    if (x->shape.is_array() && x->shape.dtype != want) x = inner.b.convert(want, x);
    inner.values[block->arg(i)] = x;
  }
  for (size_t i = 0; i < shape.captures.size(); ++i)
    inner.values[shape.captures[i]] = params[block->num_args + i];
  for (mlir::ValueId v : free_values(op.regions[k])) {
    auto it = scope.values.find(v);
    if (it == scope.values.end() || inner.values.contains(v)) continue;
    if (Instr* copy = copy_constant(inner, it->second)) inner.values[v] = copy;
  }

  auto values = import_block(inner, *block);
  if (!values.ok()) {
    fail(values.status());
    return c;
  }
  std::vector<Instr*> out = *values;
  if (shape.hands_on_captures)
    out.insert(out.end(), params.begin() + block->num_args, params.end());
  c->set_root(out.size() == 1 && !shape.tuple_result ? out[0] : inner.b.tuple(out));
  if (!inner.b.status().ok()) fail(inner.b.status());
  return c;
}

std::vector<Instr*> OpImport::inline_region(size_t k, absl::Span<Instr* const> arguments) {
  const mlir::Block* block = op.block(k);
  if (!check(block != nullptr, "each region must have one block") ||
      !check(block->num_args == arguments.size(), "the region has another number of arguments") ||
      !check(scope.depth < kMaxDepth, "regions nested too deeply"))
    return {};
  for (uint32_t i = 0; i < block->num_args; ++i) scope.values[block->arg(i)] = arguments[i];
  ++scope.depth;
  auto values = import_block(scope, *block);
  --scope.depth;
  return take(std::move(values));
}

}  // namespace braze::stablehlo
