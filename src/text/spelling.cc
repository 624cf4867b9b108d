// SPDX-License-Identifier: Apache-2.0
#include "text/spelling.h"

#include "absl/strings/escaping.h"
#include "base/lexer.h"

namespace braze::text {

namespace {

using Words = absl::Span<const std::string_view>;

// Fields that are left out while they have their default value; all others are always printed.
constexpr std::string_view kOptional[] = {"type",
                                          "operand_precision",
                                          "algorithm",
                                          "lhs_batch_dims",
                                          "rhs_batch_dims",
                                          "operand_batching_dims",
                                          "start_indices_batching_dims",
                                          "input_batching_dims",
                                          "scatter_indices_batching_dims",
                                          "indices_are_sorted",
                                          "unique_indices",
                                          "is_stable",
                                          "custom_call_has_side_effect",
                                          "lower",
                                          "unit_diagonal",
                                          "use_global_device_ids",
                                          "is_host_transfer",
                                          "feature_group_count",
                                          "batch_group_count",
                                          "channel_id",
                                          "api_version",
                                          "config",
                                          "concat_dimension",
                                          "source_target_pairs",
                                          "backend_config",
                                          "output_to_operand_aliasing",
                                          "operand_layouts",
                                          "result_layouts",
                                          "lhs_ragged_dims",
                                          "rhs_group_dims"};

}  // namespace

std::string_view attribute_name(Op op, std::string_view field) {
  if (field == "config") return op == Op::kInfeed ? "infeed_config" : "outfeed_config";
  if (field == "operand_layouts") return "operand_layout_constraints";
  return field;
}

bool always_printed(Op op, std::string_view field) {
  // RngBitsAttrs has an `algorithm` too, always printed.
  if (op == Op::kRngBitGenerator) return true;
  if (op == Op::kCollectivePermute) return field == "source_target_pairs";
  if (field == "dimensions" && (op == Op::kAllReduce || op == Op::kCollectiveBroadcast))
    return false;
  for (std::string_view o : kOptional)
    if (o == field) return false;
  return true;
}

Words required_attributes(Op op) {
  static constexpr std::string_view kCompareNeeds[] = {"direction"};
  static constexpr std::string_view kIotaNeeds[] = {"iota_dimension"};
  static constexpr std::string_view kIndexNeeds[] = {"index"};
  static constexpr std::string_view kDimsNeeds[] = {"dimensions"};
  static constexpr std::string_view kSliceNeeds[] = {"slice"};
  static constexpr std::string_view kDynamicSliceNeeds[] = {"dynamic_slice_sizes"};
  static constexpr std::string_view kCustomCallNeeds[] = {"custom_call_target"};
  static constexpr std::string_view kPrecisionNeeds[] = {"exponent_bits", "mantissa_bits"};
  static constexpr std::string_view kFftNeeds[] = {"fft_type", "fft_length"};
  static constexpr std::string_view kGatherNeeds[] = {
      "offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim", "slice_sizes"};
  static constexpr std::string_view kScatterNeeds[] = {"update_window_dims", "inserted_window_dims",
                                                       "scatter_dims_to_operand_dims",
                                                       "index_vector_dim"};
  static constexpr std::string_view kConvNeeds[] = {"dim_labels"};
  static constexpr std::string_view kBatchNormNeeds[] = {"epsilon", "feature_index"};
  static constexpr std::string_view kRngNeeds[] = {"distribution"};
  static constexpr std::string_view kRngBitsNeeds[] = {"algorithm"};
  static constexpr std::string_view kTopKNeeds[] = {"k"};
  switch (op) {
    case Op::kCompare:
      return kCompareNeeds;
    case Op::kIota:
      return kIotaNeeds;
    case Op::kGetTupleElement:
      return kIndexNeeds;
    case Op::kBroadcast:
    case Op::kTranspose:
    case Op::kReduce:
    case Op::kReverse:
    case Op::kConcatenate:
    case Op::kGetDimensionSize:
    case Op::kSetDimensionSize:
    case Op::kAllGather:
    case Op::kReduceScatter:
      return kDimsNeeds;
    case Op::kSlice:
      return kSliceNeeds;
    case Op::kDynamicSlice:
      return kDynamicSliceNeeds;
    case Op::kCustomCall:
      return kCustomCallNeeds;
    case Op::kReducePrecision:
      return kPrecisionNeeds;
    case Op::kFft:
      return kFftNeeds;
    case Op::kGather:
      return kGatherNeeds;
    case Op::kScatter:
      return kScatterNeeds;
    case Op::kConvolution:
      return kConvNeeds;
    case Op::kBatchNormTraining:
    case Op::kBatchNormInference:
    case Op::kBatchNormGrad:
      return kBatchNormNeeds;
    case Op::kRng:
      return kRngNeeds;
    case Op::kRngBitGenerator:
      return kRngBitsNeeds;
    case Op::kTopK:
      return kTopKNeeds;
    default:
      return {};
  }
}

std::string_view callee_attribute(const Instr& i, size_t slot) {
  switch (i.op) {
    case Op::kWhile:
      return slot == 0 ? "condition" : "body";
    case Op::kSelectAndScatter:
      return slot == 0 ? "select" : "scatter";
    case Op::kConditional:
      return slot == 0 ? "true_computation" : "false_computation";
    case Op::kFusion:
      return "calls";
    default:
      return "to_apply";
  }
}

std::string_view callee_list(const Instr& i) {
  if (i.calls.empty()) return {};
  if (i.op == Op::kCustomCall) return "called_computations";
  if (i.op == Op::kConditional) {
    bool two_way =
        i.calls.size() == 2 && !i.operands.empty() && i.operand(0)->shape.dtype == Dtype::kPred;
    return two_way ? "" : "branch_computations";
  }
  size_t single = i.op == Op::kWhile || i.op == Op::kSelectAndScatter ? 2 : 1;
  return i.calls.size() > single ? "called_computations" : "";
}

bool is_braced(std::string_view s) {
  if (s.size() < 2 || s.front() != '{' || s.back() != '}') return false;
  Lexer lex(s, "");
  Result<std::string_view> all = lex.balanced();
  return all.ok() && all->size() == s.size();
}

std::string quote(std::string_view s) {
  return str_cat("\"", absl::CEscape({s.data(), s.size()}), "\"");
}

}  // namespace braze::text
