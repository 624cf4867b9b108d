// SPDX-License-Identifier: Apache-2.0
// Field numbers of xla_data.proto and hlo.proto, once, for reading and writing.
//
// `fields(io, x)` calls io for each field of the message that x stands for. io is a reader, which
// fills the field whose number is at hand, a writer, which appends all of them, or a resetter,
// which gives each field proto3's zero, where our structs may have another default. Its calls:
//   io(number, field)                        scalars, strings, Dims, enums (as varints)
//   io.names(number, field, names)           enum written as a string
//   io.offset(number, field, k)              enum whose wire value is ours plus k
//   io.single(number, field)                 repeated int64 that holds one value
//   io.f32(number, field)                    double kept as float on the wire
//   io.message(number, [&](auto& io) {…})    one submessage
//   io.each(number, vector, [](auto& io, auto& element) {…})   repeated submessage
//   io.columns(number, {dims…}, {numbers…})  repeated submessage kept as parallel Dims
#pragma once

#include <algorithm>

#include "frontend/hlo_sharding.h"
#include "ir/enum_names.h"
#include "ir/module.h"

namespace braze::proto {

// HloInstructionProto
enum InstrField : uint32_t {
  kName = 1,
  kOpcode = 2,
  kShape = 3,
  kMetadata = 7,
  kLiteral = 8,
  kReplicaGroups = 49,
  kId = 35,
  kOperandIds = 36,
  kControlIds = 37,
  kCalledIds = 38,
  kSharding = 40,
  kBackendConfig = 43,
  kAllReduceId = 45,
  kConstrainLayout = 56,
  kOperandShapes = 57,
  kParameterReplication = 61,
  kDelta = 66,
  kFrontendAttributes = 68,
  kSchedule = 76,
  kDeviceList = 87,
  kIsComposite = 89,
  kOutfeedShape = 29,
};
// HloComputationProto
enum CompField : uint32_t {
  kCompName = 1,
  kCompInstrs = 2,
  kCompShape = 4,
  kCompId = 5,
  kCompRoot = 6,
  kCompIsFusion = 7
};
// HloModuleProto
enum ModuleField : uint32_t {
  kModuleName = 1,
  kEntryName = 2,
  kComputations = 3,
  kHostShape = 4,
  kModuleId = 5,
  kEntryId = 6,
  kModuleSchedule = 7,
  kAliases = 8,
  kStackFrames = 17,
  kDonors = 18,
  kModuleAttributes = 19,
};

template <typename IO>
void fields(IO& io, WindowDim& d) {
  io(1, d.size), io(2, d.stride), io(3, d.pad_low), io(4, d.pad_high), io(5, d.window_dilation);
  io(6, d.base_dilation), io(7, d.reversal);
}

template <typename IO>
void fields(IO& io, ConvDims& d) {
  io(3, d.kernel_input), io(4, d.kernel_output), io(6, d.kernel_spatial), io(7, d.input_batch);
  io(8, d.input_feature), io(9, d.output_batch), io(10, d.output_feature), io(11, d.input_spatial);
  io(12, d.output_spatial);
}

template <typename IO>
void fields(IO& io, Metadata& m) {
  io(1, m.op_type), io(2, m.op_name), io(3, m.source_file), io(4, m.source_line),
      io(18, m.source_column);
}

template <typename IO>
void fields(IO& io, HloSharding& s, int depth = 0) {
  io(1, s.kind), io(3, s.tile), io(4, s.devices);
  // A sharding's parts are no tuples themselves.
  if (depth == 0) io.each(5, s.parts, [](auto& sub, HloSharding& part) { fields(sub, part, 1); });
  io(6, s.replicate_last), io(8, s.last_dims), io(9, s.iota_reshape), io(10, s.iota_transpose);
  bool grouped = s.group != HloSharding::kNoGroup;
  bool like = s.group == HloSharding::kShardLike;
  io(11, grouped), io(12, s.group_id), io(13, like);
  s.group = !grouped ? HloSharding::kNoGroup
            : like   ? HloSharding::kShardLike
                     : HloSharding::kShardAs;
}

template <typename IO>
void fields(IO& io, InputOutputAlias& a) {
  int64_t kind = a.must_alias ? 2 : 1;
  io(1, a.output_index), io(2, a.parameter), io(3, a.parameter_index), io(4, kind);
  a.must_alias = kind == 2;
}

template <typename IO>
void fields(IO& io, OperandAlias& a) {
  io(1, a.output_index), io(2, a.operand), io(3, a.operand_index);
}

constexpr uint32_t kPrecisionConfig = 51;

// The dot algorithms by wire value, in HLO's spelling.
absl::Span<const std::string_view> dot_algorithms();

template <typename IO>
void dot_dims(IO& io, DotAttrs& a) {
  io(1, a.lhs_contracting), io(2, a.rhs_contracting), io(3, a.lhs_batch), io(4, a.rhs_batch);
}

template <typename IO>
void dot_precision(IO& io, DotAttrs& a) {
  io.message(kPrecisionConfig, [&](auto& sub) {
    sub(1, a.precision);
    auto names = dot_algorithms();
    int64_t algorithm = std::find(names.begin(), names.end(), a.algorithm) - names.begin();
    if (algorithm == static_cast<int64_t>(names.size())) algorithm = 0;
    sub(2, algorithm);
    if (algorithm > 0 && algorithm < static_cast<int64_t>(names.size()))
      a.algorithm = names[algorithm];
  });
}

// The attributes of an instruction, by alternative of Attrs. What is not here (literals, layouts,
// replica groups) is read and written with the instruction.
template <typename IO>
void fields(IO&, Op, NoAttrs&) {}
template <typename IO>
void fields(IO& io, Op, DimsAttrs& a) {
  io(14, a.dimensions);
}
template <typename IO>
void fields(IO& io, Op, IotaAttrs& a) {
  io.single(14, a.iota_dimension);
}
template <typename IO>
void fields(IO& io, Op, DimAttrs& a) {
  io.single(14, a.dimension);
}
template <typename IO>
void fields(IO& io, Op, SliceAttrs& a) {
  io.columns(17, {&a.start, &a.limit, &a.stride}, {1, 2, 3});
}
template <typename IO>
void fields(IO& io, Op, PadAttrs& a) {
  io.message(21, [&](auto& sub) { sub.columns(1, {&a.low, &a.high, &a.interior}, {1, 2, 3}); });
}
template <typename IO>
void fields(IO& io, Op, CompareAttrs& a) {
  io.names(63, a.direction, spellings<CompareDirection>());
  io.names(72, a.type, spellings<CompareType>());
}
template <typename IO>
void fields(IO&, Op, ConstantAttrs&) {}
template <typename IO>
void fields(IO& io, Op, ParameterAttrs& a) {
  io(9, a.number);
}
template <typename IO>
void fields(IO& io, Op, IndexAttrs& a) {
  io(13, a.index);
}
template <typename IO>
void fields(IO& io, Op, DotAttrs& a) {
  io.message(30, [&](auto& sub) { dot_dims(sub, a); });
  dot_precision(io, a);
}
template <typename IO>
void fields(IO& io, Op, RaggedDotAttrs& a) {
  dot_precision(io, a.dot);
  io.message(90, [&](auto& sub) {
    sub.message(1, [&](auto& dims) { dot_dims(dims, a.dot); });
    sub(2, a.lhs_ragged), sub(3, a.rhs_group);
  });
}
template <typename IO>
void window(IO& io, Window& w) {
  io.message(15, [&](auto& sub) { sub.each(1, w, [](auto& e, WindowDim& d) { fields(e, d); }); });
}
template <typename IO>
void fields(IO& io, Op, ConvAttrs& a) {
  window(io, a.window);
  io.message(16, [&](auto& sub) { fields(sub, a.dims); });
  io(50, a.feature_groups);
  io.message(kPrecisionConfig, [&](auto& sub) { sub(1, a.precision); });
  io(58, a.batch_groups);
}
template <typename IO>
void fields(IO& io, Op, WindowAttrs& a) {
  window(io, a.window);
}
template <typename IO>
void fields(IO& io, Op, DynamicSliceAttrs& a) {
  io(20, a.sizes);
}
template <typename IO>
void fields(IO& io, Op, GatherAttrs& a) {
  io.message(33, [&](auto& sub) {
    sub(1, a.offset_dims), sub(2, a.collapsed_slice_dims), sub(3, a.start_index_map),
        sub(4, a.index_vector_dim);
    sub(5, a.operand_batching_dims), sub(6, a.start_indices_batching_dims);
  });
  io(34, a.slice_sizes), io(67, a.indices_are_sorted);
}
template <typename IO>
void fields(IO& io, Op, ScatterAttrs& a) {
  io.message(48, [&](auto& sub) {
    sub(1, a.update_window_dims), sub(2, a.inserted_window_dims),
        sub(3, a.scatter_dims_to_operand_dims);
    sub(4, a.index_vector_dim), sub(5, a.input_batching_dims),
        sub(6, a.scatter_indices_batching_dims);
  });
  io(67, a.indices_are_sorted), io(69, a.unique_indices);
}
template <typename IO>
void fields(IO& io, Op, SortAttrs& a) {
  io.single(14, a.dimension), io(60, a.is_stable);
}
template <typename IO>
void fields(IO& io, Op, TopKAttrs& a) {
  io(81, a.k), io(85, a.largest);
}
template <typename IO>
void fields(IO& io, Op, RngAttrs& a) {
  io.offset(23, a.distribution, 1);
}
template <typename IO>
void fields(IO& io, Op, RngBitsAttrs& a) {
  io(70, a.algorithm);
}
template <typename IO>
void fields(IO& io, Op, ReducePrecisionAttrs& a) {
  io(18, a.exponent_bits), io(19, a.mantissa_bits);
}
template <typename IO>
void fields(IO& io, Op, FftAttrs& a) {
  io(31, a.type), io(32, a.length);
}
template <typename IO>
void fields(IO& io, Op, CholeskyAttrs& a) {
  io.message(62, [&](auto& sub) { sub(1, a.lower); });
}
template <typename IO>
void fields(IO& io, Op, TriangularSolveAttrs& a) {
  io.message(59, [&](auto& sub) {
    sub(1, a.left_side), sub(2, a.lower), sub(3, a.unit_diagonal), sub.offset(4, a.transpose_a, 1);
  });
}
template <typename IO>
void fields(IO& io, Op, BatchNormAttrs& a) {
  io.f32(24, a.epsilon), io(25, a.feature_index);
}
template <typename IO>
void fields(IO& io, Op, CustomCallAttrs& a) {
  io(28, a.target), io(43, a.backend_config), io(65, a.side_effect);
  io.each(74, a.aliases, [](auto& sub, OperandAlias& alias) { fields(sub, alias); });
  io(77, a.api_version);
}
template <typename IO>
void fields(IO& io, Op op, CollectiveAttrs& a) {
  if (op == Op::kAllGather || op == Op::kReduceScatter) io.single(14, a.dimension);
  if (op ==
      Op::kAllToAll) {  // a dimension is given for one operand, which is split and joined along it
    Dims d;
    if (a.concat_dimension >= 0) d = {a.dimension};
    io(14, d);
    if (!d.empty()) a.dimension = a.concat_dimension = d[0];
  }
  io(26, a.channel_id);
  using Pair = std::pair<int64_t, int64_t>;
  io.each(52, a.source_target_pairs, [](auto& sub, Pair& p) { sub(1, p.first), sub(2, p.second); });
  io(71, a.use_global_device_ids);
}
template <typename IO>
void fields(IO& io, Op op, ChannelAttrs& a) {
  if (op == Op::kOutfeed) io(22, a.config);
  io(26, a.channel_id);
  if (op == Op::kInfeed) io(27, a.config);
  io(47, a.is_host_transfer);
}
template <typename IO>
void fields(IO& io, Op, FusionAttrs& a) {
  io.names(11, a.kind, spellings<FusionKind>());
}

}  // namespace braze::proto
