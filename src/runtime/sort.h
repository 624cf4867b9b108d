// SPDX-License-Identifier: Apache-2.0
// Native sort and topk: rows in parallel, a radix sort of (key, position) in each.
//
// Interface: run_sort. It answers false, with nothing written, for what it does not know: other
// opcodes, comparators that do not order by one operand (see sort_order.h), NaNs under a comparator
// that gives them no place, results that overlap operands, too little memory. Results are those of
// the evaluator, bit by bit, at any number of threads; equal elements keep their order.
#pragma once

#include "absl/types/span.h"
#include "ir/module.h"
#include "runtime/pool.h"

namespace braze {

bool run_sort(const Instr& instr, absl::Span<char* const> operands,
              absl::Span<char* const> results, Pool& pool);

}  // namespace braze
