// SPDX-License-Identifier: Apache-2.0
// Sampler: what the rows' `sample` functions build their random instances with. An instance is a
// module whose entry has only parameters and, as its root, the one instruction under test.
#pragma once

#include <memory>
#include <random>
#include <string_view>

#include "ops/builder.h"

namespace braze {

class Sampler {
 public:
  Sampler(std::mt19937_64& rng, std::string_view name);

  int64_t uniform(int64_t lo, int64_t hi);  // inclusive
  bool chance(double p);
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[uniform(0, static_cast<int64_t>(values.size()) - 1)];
  }
  // Integers, floats, complex or pred.
  Dtype dtype();
  Dtype number();       // integer or float
  Dtype index_dtype();  // s32, s64, u32, …
  // min_rank … max_rank sizes of 1 … max_size.
  Dims dims(int64_t min_rank, int64_t max_rank, int64_t max_size);
  Dims permutation(int64_t n);

  Module* module() { return module_.get(); }
  Builder& builder() { return builder_; }
  Instr* parameter(const Shape& shape);  // the next one
  // A computation of its own with a parameter per shape; the caller adds the rest and sets the
  // root.
  Computation* computation(std::string_view name, absl::Span<const Shape> params);
  // A random associative combiner for elements of t.
  Computation* combiner(Dtype t);
  // (v, i), (w, j) → the pair with the greater value, then the smaller index.
  Computation* arg_max(Dtype value, Dtype index);
  Instr* root(Op op, absl::Span<Instr* const> operands, Attrs attrs = NoAttrs{},
              absl::Span<Computation* const> calls = {});
  Instr* root(Op op, std::initializer_list<Instr*> operands, Attrs attrs = NoAttrs{},
              std::initializer_list<Computation*> calls = {}) {
    return root(op, absl::Span<Instr* const>(operands.begin(), operands.size()), std::move(attrs),
                absl::Span<Computation* const>(calls.begin(), calls.size()));
  }
  Instr* root_shaped(Op op, const Shape& shape, std::initializer_list<Instr*> operands,
                     Attrs attrs = NoAttrs{});
  // Null if an inference failed; `status` says why.
  std::unique_ptr<Module> finish();
  const Status& status() const { return builder_.status(); }

 private:
  std::mt19937_64& rng_;
  std::unique_ptr<Module> module_;
  Builder builder_;
};

}  // namespace braze
