// SPDX-License-Identifier: Apache-2.0
// An IRBuilder with what the contraction generators say often: counted loops, typed vector loads
// and stores with conversion to and from the accumulator type, multiply-add. Internal to codegen.
//
// Addresses are byte offsets from i8 pointers; indices are i64. Loops are emitted in their final
// SSA form (no allocas): no pass needs to run before instruction selection.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "codegen/contraction.h"
#include "codegen/target.h"
#include "ir/dtype.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {

using llvm::Value;
using Values = std::vector<Value*>;

// How x * y is computed in a tile: elements, or 32-bit words of elements that are adjacent along k.
enum class WordProduct : uint8_t {
  kNone,
  kBytes,  // four u8 of x by four s8 of y (needs vnni)
  kPairs,  // two s16 of x by two s16 of y
  kBf16,   // two bf16 of x by two of y into f32, the second first; denormals count as zeros (needs avx512_bf16)
  kBf16Exact,  // the same, and denormals keep their value
};
inline int word_elements(WordProduct p) {
  return p == WordProduct::kBytes ? 4 : p == WordProduct::kNone ? 1 : 2;
}

class Emit {
 public:
  Emit(llvm::Module& module, const Target& target, Dtype acc);

  llvm::IRBuilder<> b;
  llvm::Module& module;
  const Target& target;
  const Dtype acc;
  const int w;  // lanes of a vector of accumulators

  // A function `void(ptr buffers, i64 begin, i64 end, ptr scratch)`; the builder is put in its
  // entry.
  llvm::Function* begin_kernel(std::string_view name);
  // An internal function with the given parameter types; the builder is put in its entry.
  llvm::Function* begin_internal(std::string_view name, llvm::ArrayRef<llvm::Type*> params);
  void end_function();
  // For a function that mostly calls others: compiled fast rather than well.
  void mark_glue(llvm::Function* f);
  Value* arg(unsigned i) { return b.GetInsertBlock()->getParent()->getArg(i); }

  llvm::Type* i64_type() { return b.getInt64Ty(); }
  llvm::Type* ptr_type() { return b.getPtrTy(); }
  llvm::Type* memory_type(Dtype t);  // of one element in memory
  llvm::Type* acc_vector() { return vector(memory_type(acc), w); }
  static llvm::Type* vector(llvm::Type* t, int lanes);

  Value* i64(int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); }
  Value* add(Value* x, Value* y);
  Value* sub(Value* x, Value* y) { return b.CreateSub(x, y); }
  Value* mul(Value* x, int64_t c);
  Value* div(Value* x, int64_t c);  // unsigned
  Value* rem(Value* x, int64_t c);
  Value* min(Value* x, Value* y);
  Value* select(Value* cond, int64_t yes, int64_t no);
  // p + bytes
  Value* at(Value* p, Value* bytes);
  Value* at(Value* p, int64_t bytes) { return at(p, i64(bytes)); }

  // for (i = lo; i < hi; i += step) body(i). A loop known to run once is emitted without a loop.
  void loop(Value* lo, Value* hi, int64_t step, absl::FunctionRef<void(Value*)> body);
  void loop(Value* lo, Value* hi, absl::FunctionRef<void(Value*)> body) { loop(lo, hi, 1, body); }
  // while (i < hi) i = body(i).
  void loop_while(Value* lo, Value* hi, absl::FunctionRef<Value*(Value*)> body);
  // As loop, carrying values: body maps (i, carried) to the next carried. Zero iterations are
  // allowed unless `nonzero`.
  Values loop_carry(Value* lo, Value* hi, int64_t step, Values init, bool nonzero,
                    absl::FunctionRef<Values(Value*, const Values&)> body);
  void if_then(Value* cond, absl::FunctionRef<void()> then);
  void if_else(Value* cond, absl::FunctionRef<void()> then, absl::FunctionRef<void()> otherwise);

  // <lanes x i1>: the first `valid` lanes.
  Value* mask_const(int lanes, int valid);
  Value* mask_below(int lanes, Value* valid);  // i64, may be above lanes

  // <lanes x memory_type(t)> at p; lanes off in `mask` (null: none) are zero and untouched.
  Value* load_raw(Dtype t, Value* p, int lanes, Value* mask, int64_t stride_bytes);
  // The same converted to the accumulator type.
  Value* load(Dtype t, Value* p, int lanes, Value* mask, int64_t stride_bytes);
  Value* load(Dtype t, Value* p, int lanes, Value* mask) {
    return load(t, p, lanes, mask, byte_size(t));
  }
  void prefetch(Value* p, unsigned locality = 3);  // 3: to the first cache, 2: to the second
  Value* load_broadcast(Dtype t, Value* p, int lanes);  // one element to all lanes
  Value* convert_in(Dtype t, Value* v);  // memory type of t → accumulator type (scalar or vector)
  // Stores v, of accumulator type or already of t's memory type.
  void store(Dtype t, Value* v, Value* p, Value* mask, int64_t stride_bytes);
  void store(Dtype t, Value* v, Value* p, Value* mask) { store(t, v, p, mask, byte_size(t)); }
  Value* convert_out(Dtype t, Value* v);
  // acc-typed scratch, contiguous
  Value* load_acc(Value* p, Value* mask = nullptr) { return load(acc, p, w, mask); }
  void store_acc(Value* v, Value* p, Value* mask = nullptr) { store(acc, v, p, mask); }
  Value* zero_acc();
  Value* madd(Value* x, Value* y, Value* c);  // x * y + c
  Value* plus(Value* x, Value* y);
  // Products of 32-bit words that hold several elements, summed into the 32-bit lanes of c.
  Value* dot(WordProduct kind, Value* x, Value* y, Value* c);
  Value* sum_lanes(Value* v);  // scalar, in a fixed order

  // Within each 128-bit lane of as many vectors as it has elements: vec[i][j] → vec[j][i].
  void transpose_in_lanes(Values& v);
  // One vector of the lanes of several, a power of two of them.
  Value* concat(Values parts);

 private:
  Value* f32_to_bf16(Value* v);
};

// i64 coordinates of a linear index over `sizes`, the last fastest.
Values unravel(Emit& e, Value* linear, const std::vector<int64_t>& sizes);

}  // namespace braze::codegen
