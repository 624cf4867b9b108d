// SPDX-License-Identifier: Apache-2.0
// Convolution kernels: ConvSpec → LLVM functions, with the caller's epilogue applied to each output
// vector. All of HLO's convolution: any layout (a stride per role), any number of spatial
// dimensions, window strides, padding (negative too), base and window dilation, window reversal,
// groups.
//
//   out[n, o.., g, f] = epilogue(sum over w.., c of
//       lhs[n, o*stride + w*window_dilation - pad_low (/ base_dilation, exact), g, c] * rhs[w.., g,
//       c, f])
//
// Lanes run along the output feature f or, where that has a stride, perhaps along the last spatial dimension. Epilogue
// coordinates are {n, o..., g*out_features + f}.
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

// One spatial dimension. The high padding is implied by `out`.
struct ConvSpatial {
  int64_t in = 1, window = 1, out = 1;
  int64_t stride = 1, pad_low = 0, base_dilation = 1, window_dilation = 1;
  bool reversed = false;                                     // window_reversal
  int64_t in_stride = 0, window_stride = 0, out_stride = 0;  // element strides of lhs, rhs, out
};

// Sizes are per group. feature_group_count: in_group = in_features * in_feature, rhs_group =
// out_features * rhs_out, out_group = out_features * out_feature; batch_group_count: in_group =
// batch * in_batch instead (batch is then the batch of one group).
struct ConvSpec {
  Dtype lhs = Dtype::kF32, rhs = Dtype::kF32, acc = Dtype::kF32, out = Dtype::kF32;
  int64_t batch = 1, groups = 1, in_features = 1, out_features = 1;
  std::vector<ConvSpatial> spatial;
  // Element strides.
  int64_t in_batch = 0, in_feature = 1, in_group = 0;
  int64_t rhs_in = 0, rhs_out = 1, rhs_group = 0;
  int64_t out_batch = 0, out_feature = 1, out_group = 0;
  int lhs_buffer = 0, rhs_buffer = 1, out_buffer = 2, workspace_buffer = 3;
  int64_t lhs_offset = 0, rhs_offset = 0, out_offset = 0;  // elements, from the buffer's start
  bool out_private = true;                                 // as in GemmSpec
};

bool conv_supported(const ConvSpec& spec, const Target& target);

Result<ContractionPlan> plan_conv(const ConvSpec& spec, const Target& target, std::string_view name,
                                  const ContractionHooks& hooks = {});

Result<ContractionPlan> emit_conv(llvm::Module& module, std::string_view name, const ConvSpec& spec,
                                  const Target& target, const ContractionHooks& hooks = {});

}  // namespace braze::codegen
