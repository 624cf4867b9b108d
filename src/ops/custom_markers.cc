// SPDX-License-Identifier: Apache-2.0
// Custom calls that mark a value for the partitioner or the layout pass and compute nothing: on one
// device each hands its operands on.
#include "ops/custom_call.h"
#include "ops/dim_rules.h"

namespace braze {
namespace {

Status check_identity(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                      const Shape& result) {
  if (operands.empty()) return invalid("takes an operand");
  if (shapes_agree(*operands[0], result)) return absl::OkStatus();
  if (result.is_tuple() && result.tuple.size() == operands.size()) {
    bool same = true;
    for (size_t i = 0; i < operands.size(); ++i) same &= shapes_agree(*operands[i], result.tuple[i]);
    if (same) return absl::OkStatus();
  }
  return invalid("operand and result must have one shape on one device, got ",
                 to_string(*operands[0], false), " and ", to_string(result, false));
}

Result<Literal> identity(const EvalContext& ctx) {
  if (!ctx.instr.shape.is_tuple() || ctx.operand(0).shape().is_tuple()) return ctx.operand(0);
  return Literal::tuple(std::vector<Literal>(ctx.operands.begin(), ctx.operands.end()));
}

// Operand 0 holds whatever the assertion is about: an error if it is false, else no result.
Result<Literal> assert_shape(const EvalContext& ctx) {
  if (ctx.operands.empty()) return invalid("takes a condition");
  if (!ctx.operand(0).get_bool(0)) {
    const auto& a = ctx.as<CustomCallAttrs>();
    const std::string_view message = dictionary_value(a.backend_config, "error_message");
    return invalid("shape assertion failed: ", message.empty() ? a.backend_config : message);
  }
  if (ctx.instr.shape.is_tuple() && ctx.instr.shape.tuple.empty()) return Literal::tuple({});
  return Literal(ctx.instr.shape);
}

Result<Literal> nothing(const EvalContext& ctx) { return Literal(ctx.instr.shape); }

}  // namespace

absl::Span<const CustomCallDef> marker_calls() {
  static const CustomCallDef calls[] = {
      {"Sharding", check_identity, identity},
      {"SPMDFullToShardShape", nullptr, identity},
      {"SPMDShardToFullShape", nullptr, identity},
      {"LayoutConstraint", check_identity, identity},
      {"annotate_device_placement", check_identity, identity},
      {"MoveToHost", check_identity, identity},
      {"MoveToDevice", check_identity, identity},
      {"xla.sdy.FuncResultSharding", check_identity, identity},
      {"xla.sdy.ShardingGroup", nullptr, nothing},
      {"xla.sdy.GlobalToLocalShape", nullptr, identity},
      {"xla.sdy.LocalToGlobalShape", nullptr, identity},
      {"control_dep", nullptr, nothing},  // an order of two values' computations; any order is right
      {"shape_assertion", nullptr, assert_shape},
  };
  return calls;
}

}  // namespace braze
