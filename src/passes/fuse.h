// SPDX-License-Identifier: Apache-2.0
// fuse: groups instructions into kernels.
//
//   %m = multiply(y, z)            %f = f32[] fusion(x, y, z), calls={
//   %a = add(x, %m)         =>       m = multiply(y, z); a = add(x, m);
//   %r = reduce(%a, 0, add)          ROOT r = reduce(a, 0, add) }
//
// A producer joins the group of its users when all of them are in one group and the group still has a
// kernel (loop::lower tells); cheap values (scalars, iotas, broadcasts of them, and broadcasts that
// several groups read) are copied into every group that reads them. Contractions take epilogues,
// reductions take producers and row-wise consumers. Other values are computed in several places only
// where that costs less than reading them (fuse_cones.h).
// After this pass each instruction that needs code is a fusion, control flow or a library call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/module.h"
#include "loop/lower.h"

namespace braze {

struct FuseOptions {
  loop::Facts facts;
  int64_t max_group = 200;   // instructions
  // Called for each decision with producer, consumer group root and the reason, for `explain`.
  std::function<void(const Instr& producer, const Instr& consumer, std::string_view verdict)> trace;
};

Status fuse(Module& m, const FuseOptions& options);

// True if some kernel can compute the instruction; false: control flow, library calls, free ops.
bool is_fusible(const Instr& i);

}  // namespace braze
