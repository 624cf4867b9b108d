// SPDX-License-Identifier: Apache-2.0
// CHLO: the client-side ops JAX and PyTorch/XLA emit beside StableHLO, rewritten to HLO as they are
// imported.
//
// Interface: build_chlo. Special functions (erfc, erf_inv, lgamma, digamma, polygamma, zeta,
// bessel_i1e …) become elementwise instructions from published series; 16-bit and narrower floats
// are computed in f32. Invariant: the results have the given shapes, or an error comes back.
#pragma once

#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "ops/builder.h"

namespace braze {

// The attributes of CHLO ops; each op reads those it has.
struct ChloAttrs {
  bool has_broadcast_dimensions = false;  // broadcast_*: of the lower-rank operand; absent: trailing
  Dims broadcast_dimensions;
  CompareAttrs compare;    // broadcast_compare
  TopKAttrs top_k;         // top_k
  RaggedDotAttrs ragged;   // ragged_dot
  Literal value;           // constant; constant_like (a scalar)
  // scan: `body` takes (slices of inputs…, carries…) and returns the tuple (slices of outputs…,
  // carries…). The operands are inputs… then inits…, the results outputs… then final carries….
  Computation* body = nullptr;
  int64_t scan_inputs = 0, scan_dimension = 0, scan_dim_size = -1;
  bool is_reverse = false;
};

// True for "chlo.erf_inv" and every other op that build_chlo knows.
bool is_chlo_op(std::string_view op);

// Adds the instructions of one op; `results` are the shapes the program declares.
Result<std::vector<Instr*>> build_chlo(Builder& b, std::string_view op,
                                       absl::Span<Instr* const> operands, const ChloAttrs& attrs,
                                       absl::Span<const Shape> results);

}  // namespace braze
