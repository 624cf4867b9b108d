// SPDX-License-Identifier: Apache-2.0
// Laws of instructions and modules that readers check as they build and the verifier checks again.
//
// Interface: the functions below. Each returns OK or an error that names the instruction.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

// The instruction's shape is what its op's row infers from operands, attributes and callees.
// check_callee_count must have passed: infer looks at the callees.
Status check_shape(const Instr& i);

// No array of the shape is so large that sizes or strides in bytes overflow; bounds its rank too.
Status check_size(const Shape& s);

// As many called computations as the op takes: while 2, reduce 1, add 0 …
Status check_callee_count(const Instr& i);

// No computation calls itself, directly or not, and calls nest less than kMaxCallDepth deep.
constexpr int kMaxCallDepth = 256;
Status check_call_graph(const Module& m);

// Aliases, donors and layouts of the header name parameters and outputs that exist.
Status check_header(const Module& m);

}  // namespace braze
