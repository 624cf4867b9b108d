// SPDX-License-Identifier: Apache-2.0
// The inside of ScalarEmitter, shared by scalar_emit.cc (which node is emitted when, and how:
// scalar or vector), scalar_emit_memory.cc (loads and stores) and scalar_emit_ops.cc (operations on
// registers).
#pragma once

#include <utility>
#include <vector>

#include "codegen/scalar_emit.h"
#include "llvm/IR/IRBuilder.h"

namespace braze::codegen {

using scalar::Scalar;

// Operations on register values; stateless but for the builder. Values are scalars or vectors.
class OpEmitter {
 public:
  OpEmitter(llvm::IRBuilderBase& b, const Target& target) : b_(b), target_(target) {}

  llvm::Value* operation(scalar::Op op, Dtype t, absl::Span<llvm::Value* const> args);
  llvm::Value* cast(Dtype to, Dtype from, llvm::Value* v);
  llvm::Value* bitcast(Dtype to, Dtype from, llvm::Value* v);
  llvm::Value* compare(scalar::Op op, Dtype t, llvm::Value* x, llvm::Value* y);
  // `safe`: the divisor is known to be neither 0 nor -1.
  llvm::Value* int_division(bool rem, Dtype t, llvm::Value* x, llvm::Value* y, bool safe);
  // exponent: an integer of x's width, or a float of x's type if is_float.
  llvm::Value* ldexp(Dtype t, llvm::Value* x, llvm::Value* exponent, bool is_float);
  llvm::Value* ldexp_near(Dtype t, llvm::Value* x, llvm::Value* exponent);
  // f32 rounded to bf16 and widened again, in one go.
  llvm::Value* round_bf16(llvm::Value* v);

 private:
  llvm::Type* like(llvm::Value* v,
                   llvm::Type* element);  // element, or a vector of as many as v has
  llvm::Value* number(llvm::Value* like, double v);       // constant of v's float type
  llvm::Value* integer(llvm::Value* like, int64_t v);
  llvm::Value* canonical(Dtype t, llvm::Value* v);        // s2/s4/u2/u4 after arithmetic
  llvm::Value* int_operation(scalar::Op op, Dtype t, absl::Span<llvm::Value* const> args);
  llvm::Value* float_operation(scalar::Op op, Dtype t, absl::Span<llvm::Value* const> args);
  llvm::Value* float_min_max(bool is_max, llvm::Value* x, llvm::Value* y);
  llvm::Value* shift(scalar::Op op, Dtype t, llvm::Value* x, llvm::Value* y);
  llvm::Value* mul_high(Dtype t, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_to_int(Dtype to, llvm::Value* v);
  llvm::Value* divide_as_float(bool rem, Dtype t, llvm::Value* x, llvm::Value* y);
  llvm::Value* scalef(llvm::Value* x, llvm::Value* exponent);
  llvm::Value* scale_in_f64(llvm::Value* x, llvm::Value* exponent);
  llvm::Value* scale_in_steps(llvm::Value* x, llvm::Value* exponent);

  llvm::IRBuilderBase& b_;
  const Target& target_;
};

// How a node is wanted.
enum class Mode : uint8_t {
  kScalar,  // uniform: a scalar
  kVector,  // varying: all lanes
  kBase,    // varying: lane 0, as a scalar
  kNarrow,  // varying 64-bit integer whose values fit 32 bits: lanes of i32
  kSplat,   // uniform, as a vector
};

constexpr int64_t kMaxShuffleStride = 4;  // larger strides are read lane by lane, or in tiles

// How a vector load addresses memory.
struct Access {
  enum Kind : uint8_t { kUniform, kStrided, kGather } kind = kGather;
  int64_t stride = 0;
};

struct ScalarEmitter::Impl {
  Impl(llvm::IRBuilderBase& builder, const scalar::Graph& graph, const Target& t, int w,
       int64_t var)
      : b(builder), g(graph), target(t), ops(builder, t), width(w), vector_var(w > 1 ? var : -1) {
    if (vector_var >= 0) varying.push_back(vector_var);
  }

  llvm::IRBuilderBase& b;
  const scalar::Graph& g;
  const Target& target;
  OpEmitter ops;
  int width;
  int64_t vector_var;
  std::vector<int64_t> varying;  // vector_var and variables bound to vectors
  absl::flat_hash_map<int64_t, BufferBinding> buffers;
  absl::flat_hash_map<int64_t, llvm::Value*> vars;
  llvm::Value* mask = nullptr;
  int lazy_depth = 0;  // branches being emitted
  absl::flat_hash_map<int64_t, llvm::Value*> cache;  // node id · 8 + mode
  absl::flat_hash_map<int32_t, Access> accesses;     // of varying loads
  // What to restore when a scope closes: cache entries, and variables (key: -1 - id).
  std::vector<std::pair<int64_t, llvm::Value*>> undo;

  bool is_uniform(Scalar s) const {
    for (int64_t v : varying)
      if (g.depends_on(s, v)) return false;
    return true;
  }
  // The mode a node is really emitted in when `m` is wanted.
  Mode mode_of(Scalar s, Mode m) const {
    if (!is_uniform(s)) return m == Mode::kSplat ? Mode::kVector : m;
    return m == Mode::kSplat ? m : Mode::kScalar;
  }
  static int64_t key(Scalar s, Mode m) { return int64_t{s.id} * 8 + static_cast<int64_t>(m); }
  void remember(int64_t k, llvm::Value* v);
  void note_varying(int64_t id);  // after its binding changed
  void restore(size_t scope);
  void forget_if(bool (*predicate)(const Impl&, Scalar, int64_t), int64_t argument);

  // Emits (s, m) and what it needs.
  llvm::Value* get(Scalar s, Mode m);
  llvm::Value* vector(Scalar s) { return get(s, is_uniform(s) ? Mode::kSplat : Mode::kVector); }
  llvm::Value* found(Scalar s, Mode m) const;
  using Needs = std::vector<std::pair<Scalar, Mode>>;
  void needs(Scalar s, Mode m, Needs& out);
  llvm::Value* build(Scalar s, Mode m);
  // A select whose true side is emitted in a branch of its own.
  bool is_lazy(const scalar::Node& n) const;
  llvm::Value* build_lazy(const scalar::Node& n, Mode m);
  llvm::Value* build_operation(const scalar::Node& n, Mode m);
  llvm::Value* build_var(const scalar::Node& n, Mode m);
  llvm::Value* splat(llvm::Value* v);
  bool fits_narrow(Scalar s) const;
  bool narrowable(Scalar s) const;
  Mode argument_mode(const scalar::Node& n, int i, Mode m) const;

  // scalar_emit_memory.cc
  Access access_of(Scalar load);
  Access access_of_offset(Scalar offset) const;
  void load_needs(Scalar s, Mode m, Needs& out);
  llvm::Value* build_load(Scalar s, Mode m);
  llvm::Value* load_scalar(const scalar::Node& n, llvm::Value* offset, llvm::Value* condition);
  llvm::Value* load_strided(const scalar::Node& n, int64_t stride);
  llvm::Value* load_gather(const scalar::Node& n);
  llvm::Value* load_wide(Dtype t, const BufferBinding& buffer, llvm::Value* pointer,
                         int64_t stride);
  // With the other lanes 0: both access nothing but the first `lanes` elements.
  llvm::Value* load_first(Dtype t, const BufferBinding& buffer, llvm::Value* pointer, int lanes);
  void store_first(const BufferBinding& buffer, Dtype t, llvm::Value* pointer, llvm::Value* value, int lanes);
  llvm::Value* load_lanes(Dtype t, const BufferBinding& buffer,
                          absl::Span<llvm::Value* const> pointers, llvm::Value* lane_mask);
  // The lanes to touch: the mask and the condition; nullptr: all. A uniform condition is left to
  // the caller, in `uniform`.
  llvm::Value* lanes_of(Scalar condition, llvm::Value** uniform);
  llvm::Value* address(const BufferBinding& buffer, Dtype t, llvm::Value* offset,
                       Dtype offset_type);
  llvm::Value* zeros();    // readable memory for loads that must not happen
  llvm::Value* scratch();  // writable memory for stores that must not happen
  llvm::Value* attach(llvm::Value* access, const BufferBinding& buffer, bool is_load);
  llvm::Value* to_register(Dtype t, llvm::Value* v);
  llvm::Value* to_memory(Dtype t, llvm::Value* v);
  void store_vector(const BufferBinding& buffer, Dtype t, Scalar offset, llvm::Value* value,
                    const StoreOptions& o);
  void store_lanes(const BufferBinding& buffer, absl::Span<llvm::Value* const> pointers,
                   llvm::Value* value, llvm::Value* lane_mask);
  static llvm::Align element_align(const BufferBinding& buffer, Dtype t);
  bool has_masked(Dtype t) const;  // masked contiguous accesses are single instructions
};

}  // namespace braze::codegen
