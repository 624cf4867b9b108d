// SPDX-License-Identifier: Apache-2.0
// The functions of the rows that keep row-major order under another shape: reshape and bitcast
// (rows in movement.cc), and their index map, of use to others that fold dimensions.
#pragma once

#include "absl/container/inlined_vector.h"
#include "ops/op_def.h"

namespace braze::reshape {

// The index into an array of dims `to` at the row-major position of `index` in one of dims `from`
// (equal sizes). Dimensions are matched in groups of equal product, so that what a reshape leaves
// alone stays a plain index and only merged or split dimensions cost arithmetic.
absl::InlinedVector<scalar::Scalar, 6> map_index(scalar::Graph& g, Dtype index_type,
                                                 absl::Span<const scalar::Scalar> index,
                                                 DimSpan from, DimSpan to);

Result<Shape> infer(const InferContext& c);
Result<Literal> eval(const EvalContext& c);
scalar::Value index(const IndexContext& c);
std::unique_ptr<Module> sample_reshape(std::mt19937_64& rng);

Result<Shape> infer_bitcast(const InferContext& c);
Result<Literal> eval_bitcast(const EvalContext& c);
scalar::Value index_bitcast(const IndexContext& c);
std::unique_ptr<Module> sample_bitcast(std::mt19937_64& rng);

}  // namespace braze::reshape
