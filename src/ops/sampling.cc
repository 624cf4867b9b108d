// SPDX-License-Identifier: Apache-2.0
#include "ops/sampling.h"

#include <algorithm>
#include <numeric>

namespace braze {
namespace {

Computation* add_entry(Module& m) {
  Computation* c = m.add_computation("main");
  m.set_entry(c);
  return c;
}

}  // namespace

Sampler::Sampler(std::mt19937_64& rng, std::string_view name)
    : rng_(rng),
      module_(std::make_unique<Module>(std::string(name))),
      builder_(add_entry(*module_)) {}

int64_t Sampler::uniform(int64_t lo, int64_t hi) {
  // Not std::uniform_int_distribution: instances are the same with every standard library.
  return lo + static_cast<int64_t>(rng_() % static_cast<uint64_t>(hi - lo + 1));
}

bool Sampler::chance(double p) { return static_cast<double>(rng_() >> 11) * 0x1p-53 < p; }

Dtype Sampler::dtype() {
  return pick({Dtype::kF32, Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kS8,
               Dtype::kS32, Dtype::kS64, Dtype::kU8, Dtype::kU32, Dtype::kPred, Dtype::kC64,
               Dtype::kC128});
}

Dtype Sampler::number() {
  return pick({Dtype::kF32, Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kS8,
               Dtype::kS32, Dtype::kS64, Dtype::kU8, Dtype::kU32});
}

Dtype Sampler::index_dtype() {
  return pick({Dtype::kS32, Dtype::kS32, Dtype::kS64, Dtype::kU32, Dtype::kS8, Dtype::kU64});
}

Dims Sampler::dims(int64_t min_rank, int64_t max_rank, int64_t max_size) {
  Dims d(uniform(min_rank, max_rank));
  for (int64_t& size : d) size = uniform(1, max_size);
  return d;
}

Dims Sampler::permutation(int64_t n) {
  Dims p(n);
  std::iota(p.begin(), p.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(p[i], p[uniform(0, i)]);
  return p;
}

Instr* Sampler::parameter(const Shape& shape) {
  return builder_.parameter(static_cast<int64_t>(builder_.computation()->params().size()), shape);
}

Computation* Sampler::computation(std::string_view name, absl::Span<const Shape> params) {
  Computation* c = module_->add_computation(name);
  Builder b(c);
  for (size_t i = 0; i < params.size(); ++i) b.parameter(static_cast<int64_t>(i), params[i]);
  return c;
}

Computation* Sampler::combiner(Dtype t) {
  Op op = Op::kAdd;
  if (is_pred(t)) op = pick({Op::kAnd, Op::kOr, Op::kXor});
  else if (is_complex(t)) op = pick({Op::kAdd, Op::kMultiply});
  else if (is_float(t)) op = pick({Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum});
  else
    op = pick({Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum, Op::kAnd, Op::kOr, Op::kXor});
  return builder_.combiner(op, t);
}

Computation* Sampler::arg_max(Dtype value, Dtype index) {
  const Shape v = Shape::scalar(value), i = Shape::scalar(index);
  Computation* c = computation("arg_max", {v, i, v, i});
  Builder b(c);
  Instr* const* p = c->params().data();
  Instr* greater = b.compare(CompareDirection::kGt, p[0], p[2]);
  Instr* tie = b.binary(Op::kAnd, b.compare(CompareDirection::kEq, p[0], p[2]),
                        b.compare(CompareDirection::kLt, p[1], p[3]));
  Instr* first = b.binary(Op::kOr, greater, tie);
  c->set_root(b.tuple({b.select(greater, p[0], p[2]), b.select(first, p[1], p[3])}));
  return c;
}

Instr* Sampler::root(Op op, absl::Span<Instr* const> operands, Attrs attrs,
                     absl::Span<Computation* const> calls) {
  Instr* i = builder_.op(op, operands, std::move(attrs), calls);
  builder_.computation()->set_root(i);
  return i;
}

Instr* Sampler::root_shaped(Op op, const Shape& shape, std::initializer_list<Instr*> operands,
                            Attrs attrs) {
  Instr* i = builder_.op_shaped(
      op, shape, absl::Span<Instr* const>(operands.begin(), operands.size()), std::move(attrs));
  builder_.computation()->set_root(i);
  return i;
}

std::unique_ptr<Module> Sampler::finish() {
  return builder_.status().ok() ? std::move(module_) : nullptr;
}

}  // namespace braze
