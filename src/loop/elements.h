// SPDX-License-Identifier: Apache-2.0
// Elements: asks a fused computation for single elements, demand-driven, as nodes of a kernel's DAG.
//
// element(i, index) follows the rows' emit and index roads back to parameters (loads), constants and
// values bound by the caller (reductions held in accumulators, instructions kept in scratch). What is
// asked for twice at one index is built once.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "loop/kernel.h"

namespace braze::loop {

using Index = absl::InlinedVector<Scalar, 6>;

// The type of a buffer's elements: the real type of a complex one.
inline Dtype buffer_type(Dtype t) { return real_of(t); }

class Elements {
 public:
  explicit Elements(Kernel& k) : k_(k), g_(k.graph) {}

  // Buffer that holds a parameter, or an instruction kept in memory, row-major.
  void bind_buffer(const Instr* i, int64_t buffer) { buffers_[i] = buffer; }
  // Value of an instruction at one index; any other index of it is an error from then on.
  void bind_value(const Instr* i, absl::Span<const Scalar> index, std::vector<scalar::Value> parts);

  // Values built so far are built anew: another phase cannot see variables of this one.
  void forget() { memo_.clear(); }

  scalar::Value element(const Instr* i, absl::Span<const Scalar> index, Scalar condition = {});
  // Loads from a row-major array in `buffer`.
  scalar::Value load(int64_t buffer, const Shape& shape, absl::Span<const Scalar> index,
                     Scalar condition = {});
  // A scalar computation (a combiner) applied to values; one result per root element.
  std::vector<scalar::Value> apply(const Computation& c, absl::Span<const scalar::Value> args);

  // The first thing that could not be built; elements are then zero.
  const Status& status() const { return status_; }

  Scalar offset(DimSpan dims, absl::Span<const Scalar> index);
  Index delinearize(Scalar linear, DimSpan dims);
  Scalar index_const(int64_t v) { return g_.constant_int(Dtype::kS64, v); }

 private:
  scalar::Value build(const Instr* i, absl::Span<const Scalar> index, Scalar condition);
  scalar::Value constant(const Instr* i, absl::Span<const Scalar> index);
  scalar::Value tiny_reduce(const Instr* i, int64_t part, absl::Span<const Scalar> index,
                            Scalar condition);
  scalar::Value fail(Status s, Dtype t);

  struct Bound {
    Index index;
    std::vector<scalar::Value> parts;
  };
  Kernel& k_;
  scalar::Graph& g_;
  absl::flat_hash_map<const Instr*, int64_t> buffers_;
  absl::flat_hash_map<const Instr*, Bound> bound_;
  absl::flat_hash_map<std::vector<int64_t>, scalar::Value> memo_;
  Status status_;
  int depth_ = 0;
};

// Reductions of so few elements are unrolled into the DAG instead of getting a loop.
constexpr int64_t kTinyReduction = 8;
bool is_tiny_reduction(const Instr& i);
// `op` of two values of real type t: a combiner written for a narrower type, done in a wider one.
scalar::Value combine_in(scalar::Graph& g, Op op, Dtype t, scalar::Value a, scalar::Value b);

// Stores `v` (one or two nodes) at element `offset` of a buffer.
void store_value(Kernel& k, std::vector<Stmt>* body, int64_t buffer, Scalar offset,
                 scalar::Value v, Scalar condition = {});
Stmt make_loop(std::shared_ptr<Loop> l);
// Identity of a combiner the vectoriser knows (add, multiply, min, max, and, or, xor of two
// parameters); nullopt: unknown, keep its order.
std::optional<Op> known_combiner(const Computation& c);
scalar::Value combiner_identity(scalar::Graph& g, Op op, Dtype t);

}  // namespace braze::loop
