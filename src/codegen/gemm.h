// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication kernels: GemmSpec → LLVM functions (register tiles, packing, K blocks,
// masked tails), with the caller's epilogue applied to each output vector.
//
//   out[b, m, n] = epilogue(sum over k of lhs[b, m, k] * rhs[b, k, n])
//
// Lanes run along n. A product with n == 1, or whose output is contiguous along m, should be given
// with the sides swapped (swap_sides), as the transposed product: loop::Contraction::is_transposed says so. It is
// correct either way. Epilogue coordinates are {batch..., m, n}, lhs loads {batch..., m, k...}, rhs
// loads {batch..., k..., n}.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codegen/contraction.h"
#include "codegen/target.h"
#include "ir/dtype.h"

namespace llvm {
class Module;
}

namespace braze::codegen {

// Strides are in elements and may be 0 (broadcast) for inputs, and negative.
struct GemmBatchDim {
  int64_t size = 1, lhs = 0, rhs = 0, out = 0;
};
struct GemmContractedDim {
  int64_t size = 1, lhs = 0, rhs = 0;
};

// Elements that an operand's first one lies further: min(max(i, 0), most) * stride, where i is the first element of a buffer
// of that type, an integer.
struct GemmStart {
  int buffer = 0;
  Dtype type = Dtype::kS64;
  int64_t most = 0, stride = 0;
};

struct GemmSpec {
  Dtype lhs = Dtype::kF32, rhs = Dtype::kF32;
  Dtype acc = Dtype::kF32;  // f32, f64, s32, s64 (or the unsigned ones)
  Dtype out = Dtype::kF32;
  // Outermost first. The last ones with rhs == 0 are further m dimensions, blocked as such; a load
  // hook of rhs sees 0 for them.
  std::vector<GemmBatchDim> batch;
  int64_t m = 1, n = 1;
  std::vector<GemmContractedDim> k;                    // outermost first; mergeable ones are merged
  int64_t lhs_m = 0, rhs_n = 0, out_m = 0, out_n = 1;  // strides
  int lhs_buffer = 0, rhs_buffer = 1, out_buffer = 2, workspace_buffer = 3;
  int64_t lhs_offset = 0, rhs_offset = 0, out_offset = 0;  // elements, from the buffer's start
  std::vector<GemmStart> lhs_starts, rhs_starts;           // added to these
  int64_t workspace_offset = 0;                            // bytes, where the kernel's part starts
  // Whether out may hold partial sums while the kernel runs: false if an epilogue reads memory that
  // overlaps it (an in-place residual).
  bool out_private = true;
  bool in_place = false;  // both sides are read where they lie, if no hook loads them and rhs_n is 1
  // If not 0: these are m of so many rows that are multiplied with the same right side, a call for each
  // few. What is packed of the right side is then packed before, by a phase of its own.
  int64_t rows_in_all = 0;
};

// True if the types have a generated kernel on this CPU: f32, f64; bf16 and f16 into f32; s8/u8/s16
// into s32; s32, u32, s64, u64. Others are the caller's scalar loop.
bool gemm_supported(const GemmSpec& spec, const Target& target);

// The transposed product: lhs and rhs, m and n exchanged. The caller's hooks must be exchanged too.
GemmSpec swap_sides(const GemmSpec& spec);

// Sizes and phases without generating code; the same as emit_gemm returns with these hooks.
Result<ContractionPlan> plan_gemm(const GemmSpec& spec, const Target& target, std::string_view name,
                                  const ContractionHooks& hooks = {});

// Adds the functions of `spec` to `module`, named from `name`. Their target attributes
// ("target-cpu", "target-features") are the caller's to set.
Result<ContractionPlan> emit_gemm(llvm::Module& module, std::string_view name, const GemmSpec& spec,
                                  const Target& target, const ContractionHooks& hooks = {});

}  // namespace braze::codegen
