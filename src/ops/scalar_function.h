// SPDX-License-Identifier: Apache-2.0
// Calls of a called computation on single elements: combiners, comparators, map bodies.
//
// The computation is decoded once into a list of steps over cells. Plain arithmetic runs directly
// on the cells; all other ops call their row's eval on scalar literals. A computation that is not
// straight-line code over scalars is run by the evaluator instead. Floats are rounded to their type
// after each op.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ops/op_def.h"

namespace braze {

// One array element: floats in f, complex numbers in f and im, integers and pred in i as Literal
// holds them (u64 as its bits).
struct Cell {
  double f = 0, im = 0;
  int64_t i = 0;
};

Cell load_cell(const Literal& l, int64_t at);
void store_cell(Literal& l, int64_t at, const Cell& c);
// v wrapped to integer type t; pred: whether it isn't 0.
int64_t wrap_to(Dtype t, int64_t v);

class ScalarFunction {
 public:
  // `direct` false: always run by the evaluator (for tests).
  ScalarFunction(const EvalContext& ctx, const Computation& body, bool direct = true);

  // Parameters' values → the root's value, or those of the root tuple's elements. `results` may
  // overlap `args`.
  Status call(absl::Span<const Cell> args, absl::Span<Cell> results);
  bool is_direct() const { return direct_; }

  struct Step;
  using Direct = void (*)(const Step&, Cell* cells);
  struct Step {
    Direct fn = nullptr;  // null: through the row's eval
    const Instr* instr = nullptr;
    Dtype type, from;     // of the result and of the first operand
    int32_t out = 0, a = 0, b = 0, c = 0;
    std::vector<int32_t> args;  // for eval
  };

 private:
  bool decode();
  bool decode(const Instr& i);
  Status run_row(const Step& s);
  Status run_whole(absl::Span<const Cell> args, absl::Span<Cell> results);

  const EvalContext& ctx_;
  const Computation& body_;
  bool direct_ = false;
  std::vector<Step> steps_;
  std::vector<Cell> cells_;          // parameters first
  std::vector<int32_t> results_;
  std::vector<std::pair<const Instr*, std::vector<int32_t>>> places_;  // cells of each instruction
};

// The op if `body` is just "a op b" of its two parameters in one type, op one of add, multiply,
// minimum, maximum, and, or, xor; then a whole reduction may be computed in a wider type.
std::optional<Op> plain_combiner(const Computation& body);

}  // namespace braze
