// SPDX-License-Identifier: Apache-2.0
// Elements as bits, and the functions of the rows that are about bits: bitcast-convert and
// stochastic-convert (rows in select.cc).
#pragma once

#include "ops/op_def.h"

namespace braze {

// The significant bits of element i, zero-extended; types of at most 64 bits. Setting drops bits
// above the type's width.
uint64_t element_bits(const Literal& l, int64_t i);
void set_element_bits(Literal& l, int64_t i, uint64_t bits);
// `x` read as elements of another type: `out` has its dtype and as many bits in all.
void bitcast_elements(Literal& out, const Literal& x);

namespace bitcast {

Result<Shape> infer_convert(const InferContext& c);
Result<Literal> eval_convert(const EvalContext& c);
scalar::Value index_convert(const IndexContext& c);
std::unique_ptr<Module> sample_convert(std::mt19937_64& rng);

Result<Shape> infer_stochastic(const InferContext& c);
Result<Literal> eval_stochastic(const EvalContext& c);
Result<Instr*> expand_stochastic(Builder& b, const Instr& i);
std::unique_ptr<Module> sample_stochastic(std::mt19937_64& rng);

}  // namespace bitcast

constexpr OpDef bitcast_convert_row() {
  OpDef row{Op::kBitcastConvert, "bitcast_convert", 1};
  row.infer = bitcast::infer_convert;
  row.eval = bitcast::eval_convert;
  row.index = bitcast::index_convert;
  row.sample = bitcast::sample_convert;
  row.doc =
      "The same bits as another type. A narrower type adds a minor dimension, low bits first; a "
      "wider one takes it away.";
  return row;
}

constexpr OpDef stochastic_convert_row() {
  OpDef row{Op::kStochasticConvert, "", 2, kElementwise};
  row.infer = bitcast::infer_stochastic;
  row.eval = bitcast::eval_stochastic;
  row.expand = bitcast::expand_stochastic;
  row.cost = 6;
  row.sample = bitcast::sample_stochastic;
  row.doc =
      "Float to integer, away from zero with the probability of the fraction, as unsigned random "
      "bits of the float's width decide.";
  return row;
}

}  // namespace braze
