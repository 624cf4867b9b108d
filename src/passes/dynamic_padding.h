// SPDX-License-Identifier: Apache-2.0
// dynamic_padding: a program with bounded dynamic dimensions as one of static shapes.
//
//   f32[<=8] x   =>   f32[8] x, s32[] n      elements from n on are arbitrary
//
// Each bounded dimension is carried at its bound with its size as a scalar beside it. Ops that work
// element by element, move whole dimensions or gather ignore the padding; reductions, contractions and
// scatters over a bounded dimension see values in it that do not count.
//
// Interface: dynamic_padding makes a new module, whose entry takes the sizes of bounded parameter
// dimensions as further parameters and returns ((the old result), sizes of bounded result dimensions …,
// pred: no size was out of bounds). UNIMPLEMENTED: an op whose padding has no rule here.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

// Dimension `dim` of parameter (or result) leaf `leaf` has a size of its own.
struct BoundedDim {
  int64_t leaf = 0, dim = 0;
};

struct PaddedModule {
  std::unique_ptr<Module> module;
  // In the order of the further parameters and results. All empty and not `checked`: the program was
  // static but for its spelling, and its entry is as it was.
  std::vector<BoundedDim> parameters, results;
  bool checked = false;  // there is a last result that tells whether all sizes were legal
  bool is_static() const { return parameters.empty() && results.empty() && !checked; }
};

Result<PaddedModule> dynamic_padding(const Module& m);

}  // namespace braze
