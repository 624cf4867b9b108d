// SPDX-License-Identifier: Apache-2.0
// The attribute tables.
#include "frontend/mlir_attrs.h"

namespace braze::mlir {
namespace {

constexpr std::string_view kPrecision[] = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr std::string_view kFft[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kRngAlgorithm[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr std::string_view kRngDistribution[] = {"", "UNIFORM", "NORMAL"};
constexpr std::string_view kTranspose[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                           "ADJOINT"};
constexpr std::string_view kDirection[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kCompare[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kAccuracy[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

constexpr EnumSpec kEnums[] = {
    {"stablehlo.comparison_direction", 2, 3, kDirection},
    {"stablehlo.comparison_type", 3, 4, kCompare},
    {"stablehlo.fft_type", 6, 7, kFft},
    {"stablehlo.precision", 8, 11, kPrecision},
    {"stablehlo.rng_algorithm", 9, 12, kRngAlgorithm},
    {"stablehlo.rng_distribution", 10, 13, kRngDistribution},
    {"stablehlo.transpose", 12, 16, kTranspose},
    {"stablehlo.result_accuracy_mode", 16, 19, kAccuracy},
    {"chlo.comparison_direction", -1, -1, kDirection},
    {"chlo.comparison_type", -1, -1, kCompare},
    {"chlo.precision", -1, -1, kPrecision},
};

using enum FieldKind;
constexpr FieldSpec kDot[] = {{"lhs_batching_dimensions", kDims},
                              {"rhs_batching_dimensions", kDims},
                              {"lhs_contracting_dimensions", kDims},
                              {"rhs_contracting_dimensions", kDims}};
constexpr FieldSpec kRaggedDot[] = {
    {"lhs_batching_dimensions", kDims},    {"rhs_batching_dimensions", kDims},
    {"lhs_contracting_dimensions", kDims}, {"rhs_contracting_dimensions", kDims},
    {"lhs_ragged_dimensions", kDims},      {"rhs_group_dimensions", kDims}};
constexpr FieldSpec kGather[] = {
    {"offset_dims", kDims},           {"collapsed_slice_dims", kDims},
    {"operand_batching_dims", kDims}, {"start_indices_batching_dims", kDims},
    {"start_index_map", kDims},       {"index_vector_dim", kInt}};
constexpr FieldSpec kScatter[] = {
    {"update_window_dims", kDims},           {"inserted_window_dims", kDims},
    {"input_batching_dims", kDims},          {"scatter_indices_batching_dims", kDims},
    {"scatter_dims_to_operand_dims", kDims}, {"index_vector_dim", kInt}};
constexpr FieldSpec kConv[] = {
    {"input_batch_dimension", kInt},          {"input_feature_dimension", kInt},
    {"input_spatial_dimensions", kDims},      {"kernel_input_feature_dimension", kInt},
    {"kernel_output_feature_dimension", kInt}, {"kernel_spatial_dimensions", kDims},
    {"output_batch_dimension", kInt},         {"output_feature_dimension", kInt},
    {"output_spatial_dimensions", kDims}};
constexpr FieldSpec kChannel[] = {{"handle", kInt}, {"type", kInt}};
constexpr FieldSpec kAlgorithm[] = {
    {"lhs_precision_type", kType},     {"rhs_precision_type", kType},
    {"accumulation_type", kType},      {"lhs_component_count", kInt},
    {"rhs_component_count", kInt},     {"num_primitive_operations", kInt},
    {"allow_imprecise_accumulation", kBool}};
constexpr FieldSpec kAlias[] = {
    {"output_tuple_indices", kDims}, {"operand_index", kInt}, {"operand_tuple_indices", kDims}};
constexpr FieldSpec kResultAccuracy[] = {
    {"atol", kDouble}, {"rtol", kDouble}, {"ulps", kInt}, {"mode", kAttr}};
constexpr FieldSpec kBounds[] = {{"bounds", kDims}};
constexpr FieldSpec kMeshAxes[] = {{"mesh", kAttr}, {"axes", kList}};
constexpr FieldSpec kSubAxis[] = {{"pre_size", kInt}, {"size", kInt}};
constexpr FieldSpec kAxisRef[] = {{"name", kString}, {"sub_axis_info", kAttr, true}};
constexpr FieldSpec kMeshAxis[] = {{"name", kString}, {"size", kInt}};
constexpr FieldSpec kMesh[] = {{"axes", kAttr}, {"device_ids", kAttr, true}};

constexpr StructSpec kStructs[] = {
    {"stablehlo.dot", 5, -1, kDot},
    {"stablehlo.gather", 7, -1, kGather},
    {"stablehlo.scatter", 11, -1, kScatter},
    {"stablehlo.conv", 4, -1, kConv},
    {"stablehlo.channel_handle", 1, -1, kChannel},
    {"stablehlo.dot_algorithm", 15, -1, kAlgorithm},
    {"stablehlo.output_operand_alias", 14, 10, kAlias},
    {"stablehlo.result_accuracy", 17, 20, kResultAccuracy},
    {"stablehlo.bounds", 13, 18, kBounds},
    {"stablehlo.replica_group_mesh_axes", 18, 23, kMeshAxes},
    {"stablehlo.sub_axis_info", 19, 21, kSubAxis},
    {"stablehlo.axis_ref", 20, 22, kAxisRef},
    {"stablehlo.mesh_axis", 21, 24, kMeshAxis},
    {"stablehlo.mesh", 22, 25, kMesh},
    {"chlo.ragged_dot", -1, -1, kRaggedDot},
};

constexpr FieldSpec kManualAxes[] = {{"axes", kList}};
constexpr FieldSpec kSdyMesh[] = {{"axes", kList}, {"device_ids", kDims}};
constexpr FieldSpec kDimSharding[] = {
    {"axes", kList}, {"is_closed", kBool}, {"priority", kCount, true}};
constexpr FieldSpec kSharding[] = {
    {"mesh", kAttr}, {"dim_shardings", kList}, {"replicated_axes", kList}};
constexpr FieldSpec kSharding2[] = {{"mesh", kAttr},
                                    {"dim_shardings", kList},
                                    {"replicated_axes", kList},
                                    {"unreduced_axes", kList}};
constexpr FieldSpec kSharding3[] = {{"mesh", kAttr},
                                    {"dim_shardings", kList},
                                    {"replicated_axes", kList},
                                    {"unreduced_axes", kList},
                                    {"reduction_op", kInt}};
constexpr FieldSpec kPerValue[] = {{"shardings", kList}};
constexpr FieldSpec kDimMapping[] = {{"factor_indices", kDims}};
constexpr FieldSpec kTensorMapping[] = {{"dim_mappings", kList}};
constexpr FieldSpec kRule[] = {
    {"factor_sizes", kDims},        {"operand_mappings", kList},
    {"result_mappings", kList},     {"reduction_factors", kDims},
    {"need_replication_factors", kDims}, {"permutation_factors", kDims},
    {"blocked_propagation_factors", kDims}, {"is_custom_rule", kBool}};
constexpr FieldSpec kValueList[] = {{"value", kList}};
constexpr FieldSpec kAllToAll[] = {{"axes", kList}, {"src_dim", kInt}, {"tgt_dim", kInt}};

// Row k has code k.
constexpr StructSpec kSdyStructs[] = {
    {"sdy.manual_axes", 0, -1, kManualAxes},
    {"sdy.mesh_axis", 1, -1, kMeshAxis},
    {"sdy.mesh", 2, -1, kSdyMesh},
    {"sdy.sub_axis_info", 3, -1, kSubAxis},
    {"sdy.axis_ref", 4, -1, kAxisRef},
    {"sdy.dimension_sharding", 5, -1, kDimSharding},
    {"sdy.sharding", 6, -1, kSharding},
    {"sdy.sharding_per_value", 7, -1, kPerValue},
    {"sdy.dim_mapping", 8, -1, kDimMapping},
    {"sdy.tensor_mapping", 9, -1, kTensorMapping},
    {"sdy.op_sharding_rule", 10, -1, kRule},
    {"sdy.axis_ref_list", 11, -1, kValueList},
    {"sdy.list_of_axis_ref_lists", 12, -1, kValueList},
    {"sdy.all_to_all_param", 13, -1, kAllToAll},
    {"sdy.all_to_all_param_list", 14, -1, kValueList},
    {"sdy.sharding", 15, -1, kSharding2},
    {"sdy.sharding_per_value", 16, -1, kPerValue},
    {"sdy.sharding", 17, -1, kSharding3},
};

template <typename T, size_t N>
const T* by_code(const T (&rows)[N], uint64_t code, bool vhlo) {
  for (const T& r : rows) {
    int c = vhlo ? r.vhlo_code : r.stablehlo_code;
    if (c >= 0 && static_cast<uint64_t>(c) == code) return &r;
  }
  return nullptr;
}

template <typename T, size_t N>
const T* by_name(const T (&rows)[N], std::string_view name) {
  for (const T& r : rows) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

}  // namespace

const EnumSpec* find_enum(std::string_view name) { return by_name(kEnums, name); }
const StructSpec* find_struct(std::string_view name) { return by_name(kStructs, name); }
const EnumSpec* enum_by_code(uint64_t code, bool vhlo) { return by_code(kEnums, code, vhlo); }
const StructSpec* struct_by_code(uint64_t code, bool vhlo) { return by_code(kStructs, code, vhlo); }
const StructSpec* sdy_struct_by_code(uint64_t code) { return by_code(kSdyStructs, code, false); }

}  // namespace braze::mlir
