// SPDX-License-Identifier: Apache-2.0
// The table of CHLO ops and their rewriting. Special functions are in chlo_math.cc.
#include "frontend/chlo.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "frontend/chlo_math.h"
#include "ops/op_def.h"

namespace braze {
namespace {

// CHLO ops that are an opcode of ours.
const absl::flat_hash_map<std::string_view, Op>& native_ops() {
  static const auto* map = new absl::flat_hash_map<std::string_view, Op>{
      {"acos", Op::kAcos},   {"acosh", Op::kAcosh}, {"asin", Op::kAsin}, {"asinh", Op::kAsinh},
      {"atan", Op::kAtan},   {"atanh", Op::kAtanh}, {"cosh", Op::kCosh}, {"erf", Op::kErf},
      {"sinh", Op::kSinh},   {"tan", Op::kTan},     {"mulhi", Op::kMulhi}};
  return *map;
}

const absl::flat_hash_map<std::string_view, Op>& broadcasting_ops() {
  static const auto* map = new absl::flat_hash_map<std::string_view, Op>{
      {"add", Op::kAdd},           {"and", Op::kAnd},
      {"atan2", Op::kAtan2},       {"compare", Op::kCompare},
      {"complex", Op::kComplex},   {"divide", Op::kDivide},
      {"maximum", Op::kMaximum},   {"minimum", Op::kMinimum},
      {"multiply", Op::kMultiply}, {"or", Op::kOr},
      {"power", Op::kPower},       {"remainder", Op::kRemainder},
      {"select", Op::kSelect},     {"shift_left", Op::kShiftLeft},
      {"shift_right_arithmetic", Op::kShiftRightA},
      {"shift_right_logical", Op::kShiftRightL},
      {"subtract", Op::kSubtract}, {"xor", Op::kXor}};
  return *map;
}

// `a` broadcast to `dims`, its dimensions at `at`; size-1 dimensions are stretched.
Instr* broadcast_to(Builder& b, Instr* a, DimSpan dims, DimSpan at) {
  Dims kept, where;
  for (size_t d = 0; d < at.size(); ++d) {
    if (a->shape.dims[d] == 1 && dims[at[d]] != 1) continue;
    kept.push_back(a->shape.dims[d]);
    where.push_back(at[d]);
  }
  if (kept.size() != a->shape.dims.size()) a = b.reshape(a, kept);
  if (a->shape.dims == Dims(dims.begin(), dims.end())) return a;
  return b.broadcast(a, dims, where);
}

Result<std::vector<Instr*>> build_broadcasting(Builder& b, Op op, absl::Span<Instr* const> operands,
                                               const ChloAttrs& attrs, const Shape& result) {
  std::vector<Instr*> args;
  for (Instr* o : operands) {
    bool select_pred = op == Op::kSelect && o == operands[0];
    int64_t rank = o->shape.rank();
    if (rank > result.rank()) return invalid("operand rank above the result's");
    Dims at(static_cast<size_t>(rank));
    std::iota(at.begin(), at.end(), result.rank() - rank);
    if (attrs.has_broadcast_dimensions && rank < result.rank()) {
      if (attrs.broadcast_dimensions.size() != at.size())
        return invalid("broadcast_dimensions must name each dimension of the smaller operand");
      at = attrs.broadcast_dimensions;
    }
    args.push_back(select_pred && rank == 0 ? o : broadcast_to(b, o, result.dims, at));
  }
  Attrs a = NoAttrs{};
  if (op == Op::kCompare) a = attrs.compare;
  return std::vector<Instr*>{b.op(op, args, a)};
}

Instr* is_infinite(Builder& b, Instr* x, double infinity) {
  return b.compare(CompareDirection::kEq, x, b.splat(x->shape, infinity));
}

}  // namespace

bool is_chlo_op(std::string_view op) {
  if (op.substr(0, 5) != "chlo.") return false;
  op.remove_prefix(5);
  if (native_ops().contains(op) || is_chlo_function(op)) return true;
  if (op.substr(0, 10) == "broadcast_") return broadcasting_ops().contains(op.substr(10));
  constexpr std::string_view kOthers[] = {"top_k",      "ragged_dot", "constant", "constant_like",
                                          "is_inf",     "is_pos_inf", "is_neg_inf", "conj", "square"};
  return std::find(std::begin(kOthers), std::end(kOthers), op) != std::end(kOthers);
}

Result<std::vector<Instr*>> build_chlo(Builder& b, std::string_view full_name,
                                       absl::Span<Instr* const> operands, const ChloAttrs& attrs,
                                       absl::Span<const Shape> results) {
  if (!is_chlo_op(full_name)) return unimplemented(full_name, ": this op is not supported");
  std::string_view op = full_name.substr(5);
  using Out = std::vector<Instr*>;
  if (op == "constant") return Out{b.constant(attrs.value)};
  if (results.empty()) return invalid(full_name, ": a result is required");
  if (operands.empty()) return invalid(full_name, ": an operand is required");
  Instr* x = operands[0];
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (auto it = native_ops().find(op); it != native_ops().end()) return Out{b.op(it->second, operands)};
  if (op.substr(0, 10) == "broadcast_")
    return build_broadcasting(b, broadcasting_ops().at(op.substr(10)), operands, attrs, results[0]);
  if (op == "square") return Out{b.mul(x, x)};
  if (op == "is_pos_inf") return Out{is_infinite(b, x, inf)};
  if (op == "is_neg_inf") return Out{is_infinite(b, x, -inf)};
  if (op == "is_inf") return Out{is_infinite(b, b.unary(Op::kAbs, x), inf)};
  if (op == "conj") {
    if (!is_complex(x->shape.dtype)) return Out{x};
    return Out{b.binary(Op::kComplex, b.unary(Op::kReal, x), b.unary(Op::kNegate, b.unary(Op::kImag, x)))};
  }
  if (op == "constant_like") {
    if (results[0].dims.empty()) return Out{b.constant(attrs.value)};
    return Out{b.broadcast(b.constant(attrs.value), results[0].dims, {})};
  }
  if (op == "top_k") {
    Instr* t = b.op(Op::kTopK, {x}, attrs.top_k);
    return Out{b.element(t, 0), b.element(t, 1)};
  }
  if (op == "ragged_dot") return Out{b.op_shaped(Op::kRaggedDot, results[0], operands, attrs.ragged)};
  return build_chlo_function(b, op, operands);
}

}  // namespace braze
