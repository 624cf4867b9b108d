// SPDX-License-Identifier: Apache-2.0
// The rows of gather and scatter, and the index arithmetic they share with dynamic slices.
#pragma once

#include <algorithm>

#include "ops/op_def.h"

namespace braze {

OpDef gather_row();
OpDef scatter_row();

// An element of an index array clamped to [0, limit]; huge unsigned values don't turn negative.
inline int64_t clamped_index(const Literal& l, int64_t at, int64_t limit) {
  const int64_t v = l.get_int(at);
  if (v < 0) return is_unsigned_int(l.dtype()) ? limit : 0;
  return std::min(v, limit);
}

// The same as a scalar node of type `index_type`: `start` clamped to [0, limit] and cast.
scalar::Scalar clamped_start(scalar::Graph& g, scalar::Scalar start, int64_t limit,
                             Dtype index_type);
// a and b, where an absent condition means true.
scalar::Scalar both(scalar::Graph& g, scalar::Scalar a, scalar::Scalar b);

}  // namespace braze
