// SPDX-License-Identifier: Apache-2.0
// Custom calls: functions of the host known by a target name, such as "lapack_spotrf_ffi" or "TopK".
//
// Interface: find_custom_call, register_custom_call, check_custom_call, eval_custom_call. An unknown
// target is legal in a module and an error when it runs; the message says how to register one.
// Literals cross here in row-major order: layouts that the call states are the callee's own view of the
// same array and need no transposition.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ops/op_def.h"

namespace braze {

struct CustomCallDef {
  std::string_view target;
  // Checks operand and result shapes; null: any are legal.
  Status (*check)(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                  const Shape& result) = nullptr;
  // Computes the result, a tuple if the call has several.
  Result<Literal> (*eval)(const EvalContext&) = nullptr;
  // The same on bytes, where there is one: a pointer per array leaf of the operands and the results,
  // row-major. Engines with values in memory of their own call this.
  Status (*raw)(const Instr&, absl::Span<const void* const> operands,
                absl::Span<void* const> results) = nullptr;
};

// The definition of a target, or null.
const CustomCallDef* find_custom_call(std::string_view target);
// Whether a target stands for code of the process that made the program: a Python callback, a partitioner.
bool needs_host_process(std::string_view target);
// Adds a target, or replaces one, for the whole process; safe from any thread. `target` is copied.
Status register_custom_call(const CustomCallDef& d);
// All targets, sorted: for documentation and messages.
std::vector<std::string_view> custom_call_targets();

// The check of the target's definition, if there is one.
Status check_custom_call(const CustomCallAttrs& a, absl::Span<const Shape* const> operands,
                         const Shape& result, absl::Span<Computation* const> calls);
Result<Literal> eval_custom_call(const EvalContext& ctx);

// Evaluates `op` on values in a module of its own, with the called computations of ctx's instruction.
// `shape`: as in Builder::op_shaped, or null.
Result<Literal> eval_scratch(const EvalContext& ctx, Op op, absl::Span<const Literal> operands,
                             Attrs attrs, const Shape* shape = nullptr);

// Built-in targets by family.
absl::Span<const CustomCallDef> lapack_calls();
absl::Span<const CustomCallDef> marker_calls();   // Sharding, annotate_device_placement …
absl::Span<const CustomCallDef> tensor_calls();   // TopK, ApproxTopK, dynamic_* , sparse …
absl::Span<const CustomCallDef> decomposition_calls();  // Qr, Eigh, LuDecomposition …

// One attribute of a dictionary in MLIR text, "{uplo = 76 : ui8, mhlo.backend_config = {k = 3 : i64}}":
// its value's text, searched in nested dictionaries too; empty if absent.
std::string_view dictionary_value(std::string_view dictionary, std::string_view key);
// The value as a number ("76 : ui8", "true", "0x4C"), or `otherwise` where the key is absent.
Result<int64_t> dictionary_int(std::string_view dictionary, std::string_view key,
                               int64_t otherwise);

}  // namespace braze
