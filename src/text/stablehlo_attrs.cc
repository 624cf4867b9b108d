// SPDX-License-Identifier: Apache-2.0
// The attributes of each op as StableHLO names and writes them.
#include <algorithm>

#include "absl/strings/str_split.h"
#include "ir/enum_names.h"
#include "text/spelling.h"
#include "text/stablehlo_types.h"

namespace braze::text {

namespace {

std::string i64(int64_t v) { return str_cat(v, " : i64"); }
std::string flag(bool v) { return v ? "true" : "false"; }
std::string list(DimSpan v) { return str_cat("[", join(v), "]"); }

std::string bools(const std::vector<bool>& v) {
  std::string out = "array<i1: ";
  for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + flag(v[i]);
  return out + ">";
}

std::string precision(const std::vector<Precision>& p) {
  std::string out = "[";
  for (size_t i = 0; i < std::max<size_t>(p.size(), 2); ++i) {
    std::string word(i < p.size() ? spell(p[i]) : spell(Precision::kDefault));
    for (char& c : word) c = static_cast<char>(c - 'a' + 'A');
    absl::StrAppend(&out, i ? ", " : "", "#stablehlo<precision ", word, ">");
  }
  return out + "]";
}

// "dot_bf16_bf16_f32_x3" → #stablehlo.dot_algorithm<…>; empty if it has no such form.
std::string algorithm(const std::string& name) {
  std::vector<std::string> parts = absl::StrSplit(name, '_');
  if (parts.size() < 4 || parts.size() > 5 || parts[0] != "dot" || parts[1] == "any") return "";
  std::string count = parts.size() == 5 && parts[4].size() > 1 ? parts[4].substr(1) : "1";
  return str_cat("#stablehlo.dot_algorithm<lhs_precision_type = ", parts[1],
                 ", rhs_precision_type = ", parts[2], ", accumulation_type = ", parts[3],
                 ", lhs_component_count = 1, rhs_component_count = 1, "
                 "num_primitive_operations = ",
                 count, ", allow_imprecise_accumulation = false>");
}

std::string dot_dims(const DotAttrs& a) {
  return str_cat("#stablehlo.dot<lhs_batching_dimensions = ", list(a.lhs_batch),
                 ", rhs_batching_dimensions = ", list(a.rhs_batch),
                 ", lhs_contracting_dimensions = ", list(a.lhs_contracting),
                 ", rhs_contracting_dimensions = ", list(a.rhs_contracting), ">");
}

// One array's dimension labels, such as "b, f, 0, 1".
std::string conv_labels(int64_t rank, char a, int64_t at_a, char b, int64_t at_b, DimSpan spatial) {
  std::vector<std::string> labels(rank, "?");
  auto put = [&](int64_t at, std::string label) {
    if (at >= 0 && at < rank) labels[at] = std::move(label);
  };
  put(at_a, std::string(1, a));
  put(at_b, std::string(1, b));
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], str_cat(i));
  std::string out;
  for (const std::string& l : labels) absl::StrAppend(&out, out.empty() ? "" : ", ", l);
  return out;
}

std::string conv_dims(const Instr& i, const ConvDims& d) {
  return str_cat(
      "#stablehlo.conv<[",
      conv_labels(i.operand(0)->shape.rank(), 'b', d.input_batch, 'f', d.input_feature,
                  d.input_spatial),
      "]x[",
      conv_labels(i.operand(1)->shape.rank(), 'i', d.kernel_input, 'o', d.kernel_output,
                  d.kernel_spatial),
      "]->[",
      conv_labels(i.shape.rank(), 'b', d.output_batch, 'f', d.output_feature, d.output_spatial),
      "]>");
}

Dims column(const Window& w, int64_t WindowDim::*member) {
  Dims out;
  for (const WindowDim& d : w) out.push_back(d.*member);
  return out;
}

std::string window_padding(const Window& w) {
  std::vector<Dims> rows;
  for (const WindowDim& d : w) rows.push_back({d.pad_low, d.pad_high});
  return rows.empty() ? "dense<> : tensor<0x2xi64>" : mlir_matrix(rows);
}

// A layout attribute: minor to major.
std::string layouts(const std::vector<Dims>& given, const std::vector<Shape>& leaves) {
  std::string out = "[";
  for (size_t k = 0; k < leaves.size(); ++k) {
    Dims l = k < given.size() ? given[k] : Dims{};
    if (l.empty())
      for (int64_t d = leaves[k].rank() - 1; d >= 0; --d) l.push_back(d);
    absl::StrAppend(&out, k ? ", " : "", l.empty() ? "dense<" : "dense<[", join(l),
                    l.empty() ? "" : "]", "> : tensor<", l.size(), "xindex>");
  }
  return out + "]";
}

struct AttrWriter {
  const Instr& i;
  NamedAttrs& out;
  Status status;

  void put(std::string_view name, std::string value) {
    out.emplace_back(std::string(name), std::move(value));
  }

  void operator()(const NoAttrs&) {}
  void operator()(const DimsAttrs& a) {
    switch (i.op) {
      case Op::kBroadcast:
      case Op::kDynamicBroadcast:
        return put("broadcast_dimensions", mlir_array(a.dimensions));
      case Op::kTranspose:
        return put("permutation", mlir_array(a.dimensions));
      case Op::kConcatenate:
        return put("dimension", i64(a.dimensions.empty() ? 0 : a.dimensions[0]));
      default:
        return put("dimensions", mlir_array(a.dimensions));
    }
  }
  void operator()(const IotaAttrs& a) { put("iota_dimension", i64(a.iota_dimension)); }
  void operator()(const DimAttrs& a) { put("dimension", i64(a.dimension)); }
  void operator()(const SliceAttrs& a) {
    put("start_indices", mlir_array(a.start)), put("limit_indices", mlir_array(a.limit));
    put("strides", mlir_array(a.stride));
  }
  void operator()(const PadAttrs& a) {
    put("edge_padding_low", mlir_array(a.low)), put("edge_padding_high", mlir_array(a.high));
    put("interior_padding", mlir_array(a.interior));
  }
  void operator()(const CompareAttrs& a) {
    CompareType t =
        a.type == CompareType::kDefault ? default_compare_type(i.operand(0)->shape.dtype) : a.type;
    put("comparison_direction",
        str_cat("#stablehlo<comparison_direction ", spell(a.direction), ">"));
    put("compare_type", str_cat("#stablehlo<comparison_type ", spell(t), ">"));
  }
  void operator()(const ConstantAttrs& a) { put("value", mlir_dense(a.value)); }
  void operator()(const ParameterAttrs&) {}
  void operator()(const IndexAttrs&) {}
  void operator()(const DotAttrs& a) {
    put("dot_dimension_numbers", dot_dims(a));
    put("precision_config", precision(a.precision));
    if (std::string alg = algorithm(a.algorithm); !alg.empty()) put("algorithm", alg);
  }
  void operator()(const RaggedDotAttrs& a) {
    put("ragged_dot_dimension_numbers",
        str_cat("#chlo.ragged_dot<lhs_batching_dimensions = ", list(a.dot.lhs_batch),
                ", rhs_batching_dimensions = ", list(a.dot.rhs_batch),
                ", lhs_contracting_dimensions = ", list(a.dot.lhs_contracting),
                ", rhs_contracting_dimensions = ", list(a.dot.rhs_contracting),
                ", lhs_ragged_dimensions = ", list(a.lhs_ragged),
                ", rhs_group_dimensions = ", list(a.rhs_group), ">"));
  }
  void operator()(const ConvAttrs& a) {
    if (i.operand(0)->shape.rank() != static_cast<int64_t>(a.dims.input_spatial.size()) + 2 ||
        i.operand(1)->shape.rank() != static_cast<int64_t>(a.dims.kernel_spatial.size()) + 2)
      status = unimplemented("a convolution with dimensions of no role has no StableHLO form");
    std::vector<bool> reversal;
    for (const WindowDim& d : a.window) reversal.push_back(d.reversal);
    put("window_strides", mlir_array(column(a.window, &WindowDim::stride)));
    if (i.op == Op::kConvolution) put("padding", window_padding(a.window));
    put("lhs_dilation", mlir_array(column(a.window, &WindowDim::base_dilation)));
    put("rhs_dilation", mlir_array(column(a.window, &WindowDim::window_dilation)));
    if (!reversal.empty()) put("window_reversal", bools(reversal));
    put("dimension_numbers", conv_dims(i, a.dims));
    put("feature_group_count", i64(a.feature_groups)),
        put("batch_group_count", i64(a.batch_groups));
    put("precision_config", precision(a.precision));
  }
  void operator()(const WindowAttrs& a) {
    put("window_dimensions", mlir_array(column(a.window, &WindowDim::size)));
    put("window_strides", mlir_array(column(a.window, &WindowDim::stride)));
    if (i.op == Op::kReduceWindow) {
      put("base_dilations", mlir_array(column(a.window, &WindowDim::base_dilation)));
      put("window_dilations", mlir_array(column(a.window, &WindowDim::window_dilation)));
    }
    put("padding", window_padding(a.window));
  }
  void operator()(const DynamicSliceAttrs& a) { put("slice_sizes", mlir_array(a.sizes)); }
  void operator()(const GatherAttrs& a) {
    put("dimension_numbers",
        str_cat("#stablehlo.gather<offset_dims = ", list(a.offset_dims),
                ", collapsed_slice_dims = ", list(a.collapsed_slice_dims),
                ", operand_batching_dims = ", list(a.operand_batching_dims),
                ", start_indices_batching_dims = ", list(a.start_indices_batching_dims),
                ", start_index_map = ", list(a.start_index_map),
                ", index_vector_dim = ", a.index_vector_dim, ">"));
    if (i.op == Op::kGather) put("slice_sizes", mlir_array(a.slice_sizes));
    put("indices_are_sorted", flag(a.indices_are_sorted));
  }
  void operator()(const ScatterAttrs& a) {
    put("scatter_dimension_numbers",
        str_cat("#stablehlo.scatter<update_window_dims = ", list(a.update_window_dims),
                ", inserted_window_dims = ", list(a.inserted_window_dims),
                ", input_batching_dims = ", list(a.input_batching_dims),
                ", scatter_indices_batching_dims = ", list(a.scatter_indices_batching_dims),
                ", scatter_dims_to_operand_dims = ", list(a.scatter_dims_to_operand_dims),
                ", index_vector_dim = ", a.index_vector_dim, ">"));
    put("indices_are_sorted", flag(a.indices_are_sorted)),
        put("unique_indices", flag(a.unique_indices));
  }
  void operator()(const SortAttrs& a) {
    put("dimension", i64(a.dimension)), put("is_stable", flag(a.is_stable));
  }
  void operator()(const TopKAttrs& a) {
    put("k", i64(a.k));
    if (!a.largest) put("largest", "false");
  }
  void operator()(const RngAttrs& a) {
    put("rng_distribution",
        str_cat("#stablehlo<rng_distribution ",
                a.distribution == RngDistribution::kUniform ? "UNIFORM" : "NORMAL", ">"));
  }
  void operator()(const RngBitsAttrs& a) {
    static constexpr const char* kNames[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
    put("rng_algorithm",
        str_cat("#stablehlo<rng_algorithm ", kNames[static_cast<int>(a.algorithm)], ">"));
  }
  void operator()(const ReducePrecisionAttrs& a) {
    put("exponent_bits", str_cat(a.exponent_bits, " : i32")),
        put("mantissa_bits", str_cat(a.mantissa_bits, " : i32"));
  }
  void operator()(const FftAttrs& a) {
    put("fft_type", str_cat("#stablehlo<fft_type ", spell(a.type), ">")),
        put("fft_length", mlir_array(a.length));
  }
  void operator()(const CholeskyAttrs& a) { put("lower", flag(a.lower)); }
  void operator()(const TriangularSolveAttrs& a) {
    put("left_side", flag(a.left_side)), put("lower", flag(a.lower)),
        put("unit_diagonal", flag(a.unit_diagonal));
    put("transpose_a", str_cat("#stablehlo<transpose ", spell(a.transpose_a), ">"));
  }
  void operator()(const BatchNormAttrs& a) {
    put("epsilon", mlir_dense(Literal::scalar(Dtype::kF32, a.epsilon)));
    std::string& e = out.back().second;  // dense<v> : tensor<f32> → v : f32
    e = str_cat(e.substr(6, e.find('>') - 6), " : f32");
    put("feature_index", i64(a.feature_index));
  }
  void operator()(const CustomCallAttrs& a);
  void operator()(const CollectiveAttrs& a);
  void operator()(const ChannelAttrs& a) {
    if (i.op == Op::kInfeed) return put("infeed_config", mlir_string(a.config));
    if (i.op == Op::kOutfeed) return put("outfeed_config", mlir_string(a.config));
    bool send = i.op == Op::kSend;
    put("channel_handle", str_cat("#stablehlo.channel_handle<handle = ", a.channel_id,
                                  ", type = ", a.is_host_transfer ? (send ? 2 : 3) : 1, ">"));
    put("is_host_transfer", flag(a.is_host_transfer));
  }
  void operator()(const FusionAttrs&) {}
};

void AttrWriter::operator()(const CustomCallAttrs& a) {
  put("call_target_name", mlir_string(a.target));
  put("has_side_effect", flag(a.side_effect));
  put("api_version", str_cat(a.api_version, " : i32"));
  if (a.api_version == 4 && is_braced(a.backend_config))
    put("backend_config", a.backend_config);
  else if (!a.backend_config.empty())
    put("backend_config", mlir_string(a.backend_config));
  if (!i.calls.empty()) {
    std::string s = "[";
    for (size_t k = 0; k < i.calls.size(); ++k)
      absl::StrAppend(&s, k ? ", " : "", mlir_symbol(i.calls[k]->name()));
    put("called_computations", s + "]");
  }
  std::vector<Shape> results, operands;
  append_leaves(i.shape, &results);
  for (const Instr* o : i.operands) append_leaves(o->shape, &operands);
  if (!a.operand_layouts.empty() || !a.result_layouts.empty()) {
    put("operand_layouts", layouts(a.operand_layouts, operands));
    put("result_layouts", layouts(a.result_layouts, results));
  }
  std::string aliases;
  for (const OperandAlias& alias : a.aliases)
    absl::StrAppend(&aliases, aliases.empty() ? "" : ", ",
                    "#stablehlo.output_operand_alias<output_tuple_indices = ",
                    list(results.size() == 1 ? DimSpan() : DimSpan(alias.output_index)),
                    ", operand_index = ", alias.operand,
                    ", operand_tuple_indices = ", list(alias.operand_index), ">");
  if (!aliases.empty()) put("output_operand_aliases", str_cat("[", aliases, "]"));
}

void AttrWriter::operator()(const CollectiveAttrs& a) {
  std::vector<Dims> rows;
  size_t columns = 0;
  for (auto& g : a.replica_groups) columns = std::max(columns, g.size());
  for (auto& g : a.replica_groups) {
    rows.emplace_back(g.begin(), g.end());
    rows.back().resize(columns, -1);
  }
  if (i.op == Op::kCollectivePermute) {
    rows.clear();
    for (auto [from, to] : a.source_target_pairs) rows.push_back({from, to});
    put("source_target_pairs", rows.empty() ? "dense<> : tensor<0x2xi64>" : mlir_matrix(rows));
  } else {
    put("replica_groups", mlir_matrix(rows));
  }
  if (a.channel_id > 0)
    put("channel_handle",
        str_cat("#stablehlo.channel_handle<handle = ", a.channel_id, ", type = 0>"));
  if (a.use_global_device_ids) put("use_global_device_ids", "unit");
  if (i.op == Op::kAllGather) put("all_gather_dim", i64(a.dimension));
  if (i.op == Op::kReduceScatter) put("scatter_dimension", i64(a.dimension));
  if (i.op != Op::kAllToAll) return;
  if (a.concat_dimension < 0 || columns == 0) {
    status =
        unimplemented("an all-to-all of whole operands or of unnamed groups has no StableHLO form");
    return;
  }
  put("split_dimension", i64(a.dimension)), put("concat_dimension", i64(a.concat_dimension));
  put("split_count", i64(static_cast<int64_t>(columns)));
}

}  // namespace

Result<NamedAttrs> stablehlo_attrs(const Instr& i) {
  NamedAttrs out;
  AttrWriter w{i, out, {}};
  std::visit(w, i.attrs);
  TRY(w.status);
  return out;
}

}  // namespace braze::text
