// SPDX-License-Identifier: Apache-2.0
// The generic op tree that both MLIR readers (text, bytecode) produce.
//
// Interface: the structs below, `read_mlir` and `print_mlir` (mlir_read.h). Invariants:
// - Both readers give the same tree for the same program. VHLO is gone: ops, types and attributes
//   are spelled as in StableHLO (`vhlo.add_v1` → `stablehlo.add`), `vhlo.func_v1/call_v1/return_v1`
//   → `func.func`, `func.call`, `func.return` or `stablehlo.return` (by the parent op).
// - All nodes live in the Module's arena and are immutable for the importer. Spans and string views
//   point into the arena or into the input bytes, so *the input must outlive the Module*.
// - Every operand id was defined earlier by a block argument or a result that is in scope.
// - `Op::attrs` and `Attr::fields` are sorted by name, names are unique.
//
// Canonical attribute forms (what the importer sees, whatever the input was):
//   unit, true/false           kUnit, kBool{i}
//   3 : i64                    kInt{type, i}; unsigned types hold the zero-extended value
//   1.5 : f32                  kFloat{type, f, i = the bits in that type}
//   "s", @f::@g, type          kString{text}, kSymbol{text, items = nested kSymbol}, kType{type}
//   [..], {..}                 kArray{items}, kDict{fields}
//   dense<..> : tensor<..>     kElements{type, bytes, splat}; strings: items
//   array<i64: 1, 2>           kDenseArray{type = element type, bytes}; i1 one byte per element
//   enums of a dialect         kEnum{name, text}: `#stablehlo<precision HIGH>`
//                              → name "stablehlo.precision", text "HIGH"
//   structs of a dialect       kStruct{name, fields}, below
//   anything else (#foo.bar<..>)  kOpaque{name "foo.bar", text between the angle brackets}
// Elements are row-major, little-endian, one per (bits+7)/8 bytes; i1 one byte 0/1; i2, i4, f4, f6
// one byte in the low bits (signed ones sign-extended); complex is re, im. If all elements (two or
// more) are equal, it is a splat, which holds one element. The bytes may be unaligned. Lists such as
// `broadcast_dimensions`, `window_strides` are kDenseArray of i64 even if the input wrote `dense<..>`;
// 2-D ones (`padding`, `replica_groups`, `source_target_pairs`) are kElements. `channel_id` of VHLO
// comes as `channel_handle`, and attributes which VHLO writes for an absent StableHLO attribute are
// dropped. Dropped as well, because they say nothing: compare_type NOTYPE, result_accuracy of mode
// DEFAULT, precision_config of DEFAULT.
//
// Structs (field: kind; i = kInt i64, d = kDenseArray i64):
//   stablehlo.dot            lhs/rhs_batching_dimensions, lhs/rhs_contracting_dimensions: d
//   stablehlo.gather         offset_dims, collapsed_slice_dims, operand_batching_dims,
//                            start_indices_batching_dims, start_index_map: d; index_vector_dim: i
//   stablehlo.scatter        update_window_dims, inserted_window_dims, input_batching_dims,
//                            scatter_indices_batching_dims, scatter_dims_to_operand_dims: d;
//                            index_vector_dim: i
//   stablehlo.conv           input_batch_dimension, input_feature_dimension,
//                            kernel_input_feature_dimension, kernel_output_feature_dimension,
//                            output_batch_dimension, output_feature_dimension: i;
//                            input/kernel/output_spatial_dimensions: d
//   stablehlo.channel_handle handle, type: i
//   stablehlo.dot_algorithm  lhs/rhs_precision_type, accumulation_type: kType;
//                            lhs/rhs_component_count, num_primitive_operations: i;
//                            allow_imprecise_accumulation: kBool
//   stablehlo.output_operand_alias  output_tuple_indices, operand_tuple_indices: d;
//                            operand_index: i
//   stablehlo.result_accuracy  atol, rtol: kFloat f64; ulps: i; mode: kEnum
//                            stablehlo.result_accuracy_mode
//   stablehlo.bounds         bounds: d (kDynamic where unbounded); a tensor encoding
//   stablehlo.replica_group_mesh_axes  mesh: kSymbol or stablehlo.mesh; axes: [stablehlo.axis_ref]
//   stablehlo.mesh           axes: [stablehlo.mesh_axis]; device_ids (optional): kElements
//   stablehlo.mesh_axis      name: kString, size: i
//   stablehlo.axis_ref       name: kString; sub_axis_info (optional): stablehlo.sub_axis_info
//   stablehlo.sub_axis_info  pre_size, size: i
//   chlo.ragged_dot          as stablehlo.dot + lhs_ragged_dimensions, rhs_group_dimensions: d
//   sdy.mesh                 axes: [sdy.mesh_axis]; device_ids: d
//   sdy.mesh_axis            name: kString; size: i
//   sdy.axis_ref             name: kString; sub_axis_info (optional): sdy.sub_axis_info
//   sdy.sub_axis_info        pre_size, size: i
//   sdy.sharding             mesh: kSymbol or sdy.mesh; dim_shardings: [sdy.dimension_sharding];
//                            replicated_axes, unreduced_axes: [sdy.axis_ref]; reduction_op
//                            (optional): i, 0 sum, 1 max, 2 min
//   sdy.dimension_sharding   axes: [sdy.axis_ref]; is_closed: kBool; priority (optional): i
//   sdy.sharding_per_value   shardings: [sdy.sharding]
//   sdy.manual_axes          axes: [kString]
//   sdy.op_sharding_rule     factor_sizes, reduction_factors, need_replication_factors,
//                            permutation_factors, blocked_propagation_factors: d;
//                            operand_mappings, result_mappings: [sdy.tensor_mapping];
//                            is_custom_rule: kBool
//   sdy.tensor_mapping       dim_mappings: [sdy.dim_mapping]
//   sdy.dim_mapping          factor_indices: d
//   sdy.axis_ref_list        value: [sdy.axis_ref]
//   sdy.list_of_axis_ref_lists  value: [sdy.axis_ref_list]
//   sdy.all_to_all_param     axes: [sdy.axis_ref]; src_dim, tgt_dim: i
//   sdy.all_to_all_param_list  value: [sdy.all_to_all_param]
// Enums: stablehlo.{precision, fft_type, rng_algorithm, rng_distribution, transpose,
// comparison_direction, comparison_type, result_accuracy_mode}, chlo.{precision,
// comparison_direction, comparison_type}. `api_version` of custom_call is kInt i32.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace braze::mlir {

struct Type;
struct Attr;
struct Op;

inline constexpr int64_t kDynamic = INT64_MIN;  // a `?` dimension

enum class TypeKind : uint8_t {
  kInteger,    // bits, sign
  kIndex,
  kFloat,      // bits, name ("f32", "bf16", "f8E4M3FN", "tf32", ...)
  kComplex,    // element
  kTensor,     // ranked, dims, element, encoding
  kMemRef,     // dims, element (StableHLO buffers)
  kVector,     // dims, element
  kTuple,      // inputs = members
  kFunction,   // inputs, results
  kNone,
  kToken,      // !stablehlo.token, !mhlo.token
  kFuture,     // !stablehlo.future<..>: inputs
  kQuantized,  // quant; element = storage type
  kDialect,    // name "shape.witness", text between the angle brackets
};
enum class Sign : uint8_t { kSignless, kSigned, kUnsigned };

// !quant.uniform: real = (stored - zero_point) * scale.
struct Quant {
  const Type* storage = nullptr;    // an integer type, sign kSignless (signed) or kUnsigned
  const Type* expressed = nullptr;  // a float type
  int64_t storage_min = 0, storage_max = 0;
  int64_t axis = -1;                // -1: one scale for the tensor; else one per index of this dim
  std::span<const double> scales;
  std::span<const int64_t> zero_points;
};

struct Type {
  TypeKind kind = TypeKind::kNone;
  Sign sign = Sign::kSignless;
  bool ranked = true;
  uint32_t bits = 0;
  std::string_view name;
  std::string_view text;
  std::span<const int64_t> dims;
  const Type* element = nullptr;
  const Attr* encoding = nullptr;
  std::span<const Type* const> inputs;
  std::span<const Type* const> results;
  const Quant* quant = nullptr;
  uint32_t weight = 1;             // nodes if nothing were shared; bounded by the readers

  bool is_int(uint32_t n) const { return kind == TypeKind::kInteger && bits == n; }
  bool is_float(std::string_view n) const { return kind == TypeKind::kFloat && name == n; }
};

enum class AttrKind : uint8_t {
  kUnit, kBool, kInt, kFloat, kString, kArray, kDict, kSymbol, kType, kElements, kDenseArray,
  kEnum, kStruct, kOpaque,
};

struct NamedAttr {
  std::string_view name;
  const Attr* value = nullptr;
};

struct Attr {
  AttrKind kind = AttrKind::kUnit;
  bool splat = false;              // kElements
  const Type* type = nullptr;      // kInt, kFloat, kType, kElements, kDenseArray; kString: optional
  int64_t i = 0;                   // kBool, kInt; kFloat: bits
  double f = 0;                    // kFloat
  std::string_view name;           // kEnum, kStruct, kOpaque: "stablehlo.gather"
  std::string_view text;           // kString, kSymbol, kEnum, kOpaque
  std::string_view bytes;          // kElements, kDenseArray
  std::span<const Attr* const> items;   // kArray, kSymbol, kElements of strings
  std::span<const NamedAttr> fields;    // kDict, kStruct
  uint32_t weight = 1;                  // as in Type

  // The field `name` of a kDict or kStruct, or null.
  const Attr* field(std::string_view name) const;
  bool is_struct(std::string_view n) const { return kind == AttrKind::kStruct && name == n; }
};

enum class LocKind : uint8_t { kUnknown, kFile, kName, kCallSite, kFused };
struct Loc {
  LocKind kind = LocKind::kUnknown;
  std::string_view text;           // kFile: file; kName: name
  uint32_t line = 0, column = 0;   // kFile
  std::span<const Loc* const> children;  // kName: 0 or 1; kCallSite: callee, caller; kFused: parts
};

using ValueId = uint32_t;  // index into Module::value_types

struct Block {
  ValueId first_arg = 0;
  uint32_t num_args = 0;
  std::span<Op* const> ops;
  ValueId arg(uint32_t k) const { return first_arg + k; }
};
struct Region {
  std::span<const Block> blocks;
};

struct Op {
  std::string_view name;           // "stablehlo.add"
  std::span<const ValueId> operands;
  ValueId first_result = 0;
  uint32_t num_results = 0;
  std::span<const NamedAttr> attrs;  // properties and discardable attributes together
  std::span<const Region> regions;
  const Loc* loc = nullptr;          // may be null
  const char* at = nullptr;          // its name in Module::text; null if it has none

  ValueId result(uint32_t k) const { return first_result + k; }
  const Attr* attr(std::string_view name) const;  // or null
  // The only block of region k, or null if the region is absent or not a single block.
  const Block* block(size_t k) const {
    return k < regions.size() && regions[k].blocks.size() == 1 ? &regions[k].blocks[0] : nullptr;
  }
};

// Bump allocator for nodes; nothing in it is destroyed one by one, so nodes must be trivial.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(size_t bytes, size_t align);
  template <typename T>
  T* make(const T& value) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(value);
  }
  template <typename T>
  std::span<T> copy(const T* data, size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* p = static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    for (size_t k = 0; k < n; ++k) new (p + k) T(data[k]);
    return {p, n};
  }
  template <typename T>
  std::span<T> copy(const std::vector<T>& v) { return copy(v.data(), v.size()); }
  std::string_view copy(std::string_view s) {
    auto p = copy(s.data(), s.size());
    return {p.data(), p.size()};
  }
  // Uninitialised bytes, for decoded constants.
  char* bytes(size_t n) { return static_cast<char*>(allocate(n ? n : 1, 8)); }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

struct Module {
  Op* op = nullptr;                       // builtin.module, one region with one block
  std::vector<const Type*> value_types;   // by ValueId
  std::unique_ptr<Arena> arena = std::make_unique<Arena>();
  std::string_view text, file;            // what was read and its name, for messages; or empty

  const Type& type(ValueId v) const { return *value_types[v]; }
  const Block& body() const { return op->regions[0].blocks[0]; }
  // The func.func (or other symbol) called `name` at the top level, or null.
  const Op* symbol(std::string_view name) const;
};

// Structural equality; null equals null.
bool equal(const Type* a, const Type* b);
bool equal(const Attr* a, const Attr* b);

// Number of elements of a static tensor shape; -1 if dynamic, negative or above 2^48.
int64_t element_count(const Type& tensor);
// Bytes of one element in kElements (complex: both parts); 0 if the type has no such form.
size_t element_bytes(const Type& element);

// The list of a kDenseArray or integer kElements (splats expanded), or of a kArray of kInt.
Result<std::vector<int64_t>> int_list(const Attr& a);
// Element k of an integer kElements or kDenseArray; sign- or zero-extended by its type.
int64_t int_at(const Attr& a, size_t k);

// "file:line:column" of the innermost useful part of a location, with names; "" if unknown.
std::string to_string(const Loc* loc);

}  // namespace braze::mlir
