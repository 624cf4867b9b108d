// SPDX-License-Identifier: Apache-2.0
// ScalarEmitter: the nodes of a scalar DAG as LLVM IR, one element (width 1) or `width` elements at
// once.
//
// One loop variable may be the vector variable: a vector iteration covers its values base …
// base+W-1. A node that depends on it (or on a variable bound to a vector, as accumulators are) is
// a vector of W elements; any other node is *uniform*: emitted as a scalar, splat where a vector is
// wanted. Emission goes to the builder's insertion point; each node is emitted once per scope.
//
// In registers: pred is i1; integers iN, except s2/s4/u2/u4: i8 holding the (sign- or
// zero-extended) value; f32/f64 float/double; narrower floats their bits as i16 or i8. In memory:
// pred is a byte 0/1, every other type its bytes (dtypes.def). No fast-math flags: what the DAG
// says is what is computed. Emission never recurses with the DAG's depth.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "codegen/target.h"
#include "scalar/scalar.h"

namespace llvm {
class Constant;
class IRBuilderBase;
class LLVMContext;
class MDNode;
class Type;
class Value;
}  // namespace llvm

namespace braze::codegen {

// Element type in registers and in memory.
llvm::Type* register_type(llvm::LLVMContext& c, Dtype t);
llvm::Type* memory_type(llvm::LLVMContext& c, Dtype t);

struct BufferBinding {
  llvm::Value* base = nullptr;  // pointer to element 0
  int64_t align = 1;            // bytes `base` is known to be aligned to
  bool invariant = false;       // never written while the emitted code runs: loads may move freely
  llvm::MDNode* alias_scope = nullptr;  // !alias.scope and !noalias of accesses, if any
  llvm::MDNode* no_alias = nullptr;
};

class ScalarEmitter {
 public:
  // `width` 1: no vectors. vector_var: the id of the vector variable, or -1 for none.
  ScalarEmitter(llvm::IRBuilderBase& b, const scalar::Graph& g, const Target& target, int width = 1,
                int64_t vector_var = -1);
  ~ScalarEmitter();
  ScalarEmitter(const ScalarEmitter&) = delete;

  // Everything a root needs must be bound before it is emitted. A variable gets a scalar of its
  // type (the vector variable: its value in lane 0), or a vector of `width` elements
  // (accumulators).
  void bind_buffer(int64_t id, const BufferBinding& binding);
  void bind_var(int64_t id, llvm::Value* value);
  // Lanes that exist, <W x i1>, for a tail; nullptr: all. Loads and stores of vectors obey it, and
  // so may touch no memory in the other lanes.
  void set_mask(llvm::Value* mask);

  // The node's value: a scalar if it is uniform, else a vector.
  llvm::Value* emit(scalar::Scalar s);
  // Always a vector (width > 1).
  llvm::Value* emit_vector(scalar::Scalar s);
  // Its value in lane 0, computed as a scalar: addresses, bounds.
  llvm::Value* emit_base(scalar::Scalar s);
  bool is_uniform(scalar::Scalar s) const;
  llvm::Value* splat(llvm::Value* v);  // vectors stay

  // Emits, at the insertion point, those maximal parts of `roots` that depend on none of `inner`:
  // call it in a preheader before the loops over `inner` are opened. `loads`: also move loads out
  // of buffers that are not marked invariant.
  void hoist(absl::Span<const scalar::Scalar> roots, absl::Span<const int64_t> inner,
             bool loads = false);

  // Stores element(s) `value` (a scalar or vector in register form) of type t at buffer[offset]:
  // contiguous, reversed or scattered as the offset's stride in the vector variable asks. Offset
  // uniform and value a vector: lane 0 is stored. `condition`: stores nothing where false.
  // non_temporal: needs a stride-1 store, no mask, and base and offset aligned to the full vector.
  struct StoreOptions {
    scalar::Scalar condition;
    bool non_temporal = false;
  };
  void store(int64_t buffer, Dtype t, scalar::Scalar offset, llvm::Value* value,
             const StoreOptions& o);
  void store(int64_t buffer, Dtype t, scalar::Scalar offset, llvm::Value* value) {
    store(buffer, t, offset, value, StoreOptions());
  }

  // Stores vectors that lie interleaved: element i of `values[k]` at buffer[offset + i·n + k], n the
  // count of values and `offset`'s stride. No mask may be set.
  void store_interleaved(int64_t buffer, Dtype t, scalar::Scalar offset,
                         absl::Span<llvm::Value* const> values);

  // Loads that `roots` need of which each reads, in lane j, a[j·stride ± var]: neighbours along `var`.
  std::vector<scalar::Scalar> transposable(absl::Span<const scalar::Scalar> roots, int64_t var);
  // The vectors of such a load for var = 0, 1, … to the number of lanes; var must be bound to 0.
  std::vector<llvm::Value*> load_transposed(scalar::Scalar load, int64_t var);
  // The load's value is this from now on, until what it depends on is bound again.
  void bind_load(scalar::Scalar load, llvm::Value* value);

  // What is emitted or bound after open_scope is forgotten at the matching close_scope: open one
  // for each loop body or branch, since its values do not reach the code after it.
  size_t open_scope();
  void close_scope(size_t scope);

  // Primitive operations on register values (all scalars or all vectors of any one length), for
  // accumulators and combiners emitted by hand. t: the operands' type (select: of the branches).
  llvm::Value* operation(scalar::Op op, Dtype t, absl::Span<llvm::Value* const> args);
  llvm::Value* cast(Dtype to, Dtype from, llvm::Value* v);  // the pairs that are kCast nodes

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace braze::codegen
