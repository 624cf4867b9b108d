// SPDX-License-Identifier: Apache-2.0
// Custom calls that do the same with each matrix of a batch (LAPACK's, and the decompositions made of
// them): the batch is cut into parts, which run on the pool by the call's own eval.
//
// Interface: prepare_batched_call. Null: not such a call, or a batch too small to cut. How a batch is
// cut depends on its sizes only. potrf and trsm have kernels of their own (factor.h), for single
// matrices too.
#pragma once

#include <memory>

#include "runtime/library.h"

namespace braze {

std::unique_ptr<LibraryCall> prepare_batched_call(const Instr& instr);

}  // namespace braze
