// SPDX-License-Identifier: Apache-2.0
// Attributes of instructions: plain structs that list their fields once.
//
// `fields(v)` calls v("hlo_name", field) for each field in HLO's printing order. Printing, parsing,
// hashing and equality are written once over these lists; a new attribute needs no other code.
// A field equal to its default is not printed unless v is told otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/literal.h"
#include "ir/shape.h"

namespace braze {

enum class CompareDirection : uint8_t { kEq, kNe, kGe, kGt, kLe, kLt };
enum class CompareType : uint8_t { kDefault, kFloat, kTotalOrder, kSigned, kUnsigned };
enum class Precision : uint8_t { kDefault, kHigh, kHighest };
enum class FftType : uint8_t { kFft, kIfft, kRfft, kIrfft };
enum class RngDistribution : uint8_t { kUniform, kNormal };
enum class RngAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };
enum class TransposeA : uint8_t { kNo, kTranspose, kAdjoint };
enum class FusionKind : uint8_t { kLoop, kInput, kOutput, kCustom };

// One dimension of a window over an array. Padding may be negative.
struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, window_dilation = 1, base_dilation = 1;
  bool reversal = false;
  bool operator==(const WindowDim&) const = default;
};
using Window = std::vector<WindowDim>;

// Which dimension of each convolution operand plays which role.
struct ConvDims {
  int64_t input_batch = 0, input_feature = 0, kernel_input = 0, kernel_output = 0, output_batch = 0,
          output_feature = 0;
  Dims input_spatial, kernel_spatial, output_spatial;
  bool operator==(const ConvDims&) const = default;
};

using ReplicaGroups = std::vector<std::vector<int64_t>>;

#define BRAZE_FIELDS(...)             \
  template <typename V>               \
  void fields(V&& v) { __VA_ARGS__ } \
  template <typename V>               \
  void fields(V&& v) const { __VA_ARGS__ }

struct NoAttrs {
  BRAZE_FIELDS((void)v;)
  bool operator==(const NoAttrs&) const = default;
};
// broadcast, transpose, reduce, reverse, map: a list of dimensions. concatenate: one.
struct DimsAttrs {
  Dims dimensions;
  BRAZE_FIELDS(v("dimensions", dimensions);)
  bool operator==(const DimsAttrs&) const = default;
};
struct IotaAttrs {
  int64_t iota_dimension = 0;
  BRAZE_FIELDS(v("iota_dimension", iota_dimension);)
  bool operator==(const IotaAttrs&) const = default;
};
// get-dimension-size, set-dimension-size
struct DimAttrs {
  int64_t dimension = 0;
  BRAZE_FIELDS(v("dimensions", dimension);)
  bool operator==(const DimAttrs&) const = default;
};
struct SliceAttrs {
  Dims start, limit, stride;  // printed as slice={[s:l:st], …}
  BRAZE_FIELDS(v.slice("slice", start, limit, stride);)
  bool operator==(const SliceAttrs&) const = default;
};
struct PadAttrs {
  Dims low, high, interior;  // printed as padding=l_h_ixl_h_i
  BRAZE_FIELDS(v.padding("padding", low, high, interior);)
  bool operator==(const PadAttrs&) const = default;
};
struct CompareAttrs {
  CompareDirection direction = CompareDirection::kEq;
  CompareType type = CompareType::kDefault;
  BRAZE_FIELDS(v("direction", direction); v("type", type);)
  bool operator==(const CompareAttrs&) const = default;
};
struct ConstantAttrs {
  Literal value;
  BRAZE_FIELDS(v.literal(value);)
  bool operator==(const ConstantAttrs&) const = default;
};
struct ParameterAttrs {
  int64_t number = 0;
  BRAZE_FIELDS(v.number(number);)
  bool operator==(const ParameterAttrs&) const = default;
};
struct IndexAttrs {  // get-tuple-element
  int64_t index = 0;
  BRAZE_FIELDS(v("index", index);)
  bool operator==(const IndexAttrs&) const = default;
};
struct DotAttrs {
  Dims lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
  std::vector<Precision> precision;
  std::string algorithm;  // HLO spelling ("dot_bf16_bf16_f32"), empty: unset
  BRAZE_FIELDS(v("lhs_batch_dims", lhs_batch); v("lhs_contracting_dims", lhs_contracting);
               v("rhs_batch_dims", rhs_batch); v("rhs_contracting_dims", rhs_contracting);
               v("operand_precision", precision); v("algorithm", algorithm);)
  bool operator==(const DotAttrs&) const = default;
};
struct RaggedDotAttrs {
  DotAttrs dot;
  Dims lhs_ragged, rhs_group;
  BRAZE_FIELDS(dot.fields(v); v("lhs_ragged_dims", lhs_ragged); v("rhs_group_dims", rhs_group);)
  bool operator==(const RaggedDotAttrs&) const = default;
};
struct ConvAttrs {
  Window window;
  ConvDims dims;
  int64_t feature_groups = 1, batch_groups = 1;
  std::vector<Precision> precision;
  BRAZE_FIELDS(v("window", window); v("dim_labels", dims); v("feature_group_count", feature_groups);
               v("batch_group_count", batch_groups); v("operand_precision", precision);)
  bool operator==(const ConvAttrs&) const = default;
};
struct WindowAttrs {  // reduce-window, select-and-scatter
  Window window;
  BRAZE_FIELDS(v("window", window);)
  bool operator==(const WindowAttrs&) const = default;
};
struct DynamicSliceAttrs {
  Dims sizes;
  BRAZE_FIELDS(v("dynamic_slice_sizes", sizes);)
  bool operator==(const DynamicSliceAttrs&) const = default;
};
struct GatherAttrs {
  Dims offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  BRAZE_FIELDS(v("offset_dims", offset_dims); v("collapsed_slice_dims", collapsed_slice_dims);
               v("start_index_map", start_index_map);
               v("operand_batching_dims", operand_batching_dims);
               v("start_indices_batching_dims", start_indices_batching_dims);
               v("index_vector_dim", index_vector_dim); v("slice_sizes", slice_sizes);
               v("indices_are_sorted", indices_are_sorted);)
  bool operator==(const GatherAttrs&) const = default;
};
struct ScatterAttrs {
  Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  BRAZE_FIELDS(v("update_window_dims", update_window_dims);
               v("inserted_window_dims", inserted_window_dims);
               v("scatter_dims_to_operand_dims", scatter_dims_to_operand_dims);
               v("input_batching_dims", input_batching_dims);
               v("scatter_indices_batching_dims", scatter_indices_batching_dims);
               v("index_vector_dim", index_vector_dim);
               v("indices_are_sorted", indices_are_sorted); v("unique_indices", unique_indices);)
  bool operator==(const ScatterAttrs&) const = default;
};
struct SortAttrs {
  int64_t dimension = 0;  // printed as dimensions={d}
  bool is_stable = false;
  BRAZE_FIELDS(v.one_dim("dimensions", dimension); v("is_stable", is_stable);)
  bool operator==(const SortAttrs&) const = default;
};
struct TopKAttrs {
  int64_t k = 0;
  bool largest = true;
  BRAZE_FIELDS(v("k", k); v("largest", largest);)
  bool operator==(const TopKAttrs&) const = default;
};
struct RngAttrs {
  RngDistribution distribution = RngDistribution::kUniform;
  BRAZE_FIELDS(v("distribution", distribution);)
  bool operator==(const RngAttrs&) const = default;
};
struct RngBitsAttrs {
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  BRAZE_FIELDS(v("algorithm", algorithm);)
  bool operator==(const RngBitsAttrs&) const = default;
};
struct ReducePrecisionAttrs {
  int64_t exponent_bits = 8, mantissa_bits = 23;
  BRAZE_FIELDS(v("exponent_bits", exponent_bits); v("mantissa_bits", mantissa_bits);)
  bool operator==(const ReducePrecisionAttrs&) const = default;
};
struct FftAttrs {
  FftType type = FftType::kFft;
  Dims length;
  BRAZE_FIELDS(v("fft_type", type); v("fft_length", length);)
  bool operator==(const FftAttrs&) const = default;
};
struct CholeskyAttrs {
  bool lower = false;
  BRAZE_FIELDS(v("lower", lower);)
  bool operator==(const CholeskyAttrs&) const = default;
};
struct TriangularSolveAttrs {
  bool left_side = true, lower = false, unit_diagonal = false;
  TransposeA transpose_a = TransposeA::kNo;
  BRAZE_FIELDS(v("left_side", left_side); v("lower", lower); v("unit_diagonal", unit_diagonal);
               v("transpose_a", transpose_a);)
  bool operator==(const TriangularSolveAttrs&) const = default;
};
struct BatchNormAttrs {
  double epsilon = 0;
  int64_t feature_index = 0;
  BRAZE_FIELDS(v("epsilon", epsilon); v("feature_index", feature_index);)
  bool operator==(const BatchNormAttrs&) const = default;
};
// One element of `output_to_operand_aliasing={{out}: (operand, {in})}`.
struct OperandAlias {
  Dims output_index;
  int64_t operand = 0;
  Dims operand_index;
  bool operator==(const OperandAlias&) const = default;
};
struct CustomCallAttrs {
  std::string target;
  bool side_effect = false;
  int64_t api_version = 1;  // 1 original, 2 status, 3 status unified, 4 typed FFI
  std::string backend_config;          // opaque string (api 1–3) or MLIR dictionary text (api 4)
  std::vector<OperandAlias> aliases;
  std::vector<Dims> operand_layouts, result_layouts;  // empty: row-major, unconstrained
  BRAZE_FIELDS(v("custom_call_target", target); v("operand_layouts", operand_layouts);
               v("custom_call_has_side_effect", side_effect);
               v("output_to_operand_aliasing", aliases); v("api_version", api_version);
               v("backend_config", backend_config); v("result_layouts", result_layouts);)
  bool operator==(const CustomCallAttrs&) const = default;
};
struct CollectiveAttrs {
  ReplicaGroups replica_groups;
  int64_t channel_id = 0;  // 0: none
  bool use_global_device_ids = false;
  int64_t dimension = 0;                 // all-gather, reduce-scatter: the dimension; all-to-all: split
  int64_t concat_dimension = -1;         // all-to-all with one operand
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;  // collective-permute
  BRAZE_FIELDS(v("replica_groups", replica_groups); v("channel_id", channel_id);
               v("use_global_device_ids", use_global_device_ids);
               v.one_dim("dimensions", dimension); v("concat_dimension", concat_dimension);
               v("source_target_pairs", source_target_pairs);)
  bool operator==(const CollectiveAttrs&) const = default;
};
struct ChannelAttrs {  // send, recv, infeed, outfeed
  int64_t channel_id = 0;
  bool is_host_transfer = false;
  std::string config;  // infeed_config / outfeed_config
  BRAZE_FIELDS(v("channel_id", channel_id); v("is_host_transfer", is_host_transfer);
               v("config", config);)
  bool operator==(const ChannelAttrs&) const = default;
};
struct FusionAttrs {
  FusionKind kind = FusionKind::kLoop;
  BRAZE_FIELDS(v("kind", kind);)
  bool operator==(const FusionAttrs&) const = default;
};

using Attrs =
    std::variant<NoAttrs, DimsAttrs, IotaAttrs, DimAttrs, SliceAttrs, PadAttrs, CompareAttrs,
                 ConstantAttrs, ParameterAttrs, IndexAttrs, DotAttrs, RaggedDotAttrs, ConvAttrs,
                 WindowAttrs, DynamicSliceAttrs, GatherAttrs, ScatterAttrs, SortAttrs, TopKAttrs,
                 RngAttrs, RngBitsAttrs, ReducePrecisionAttrs, FftAttrs, CholeskyAttrs,
                 TriangularSolveAttrs, BatchNormAttrs, CustomCallAttrs, CollectiveAttrs,
                 ChannelAttrs, FusionAttrs>;

}  // namespace braze
