// SPDX-License-Identifier: Apache-2.0
// The reference evaluator: runs a Module by calling each row's eval. Slow, plain, independent of
// code generation; the oracle of all tests and the engine of constant folding.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "ops/op_def.h"

namespace braze {

struct EvalOptions {
  World* world = nullptr;
  int64_t max_steps = 0;  // > 0: give up (ResourceExhausted) after so many instruction evaluations
  double max_cpu_seconds = 0;  // > 0: likewise, after so much of this thread's processor time
  int64_t max_bytes = int64_t{8} << 30;  // of live values; more: ResourceExhausted
};

// Whether an evaluation ended by max_steps or max_cpu_seconds.
bool is_too_long(const Status& s);

// Values of the entry's parameters in order → value of its root.
Result<Literal> evaluate(const Module& m, absl::Span<const Literal> args,
                         const EvalOptions& o = {});
Result<Literal> evaluate(const Computation& c, absl::Span<const Literal> args,
                         const EvalOptions& o = {});
// One instruction whose operands' values are known.
Result<Literal> evaluate(const Instr& i, absl::Span<const Literal> operands,
                         const EvalOptions& o = {});

}  // namespace braze
