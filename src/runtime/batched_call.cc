// SPDX-License-Identifier: Apache-2.0
#include "runtime/batched_call.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "eval/evaluator.h"
#include "ops/builder.h"
#include "ops/custom_call.h"
#include "ops/lapack.h"
#include "plan/plan.h"
#include "runtime/factor.h"

namespace braze {
namespace {

// Is this the definition of its target that was built in, and one that works matrix by matrix?
bool is_per_matrix(const CustomCallDef& d) {
  for (absl::Span<const CustomCallDef> family : {lapack_calls(), decomposition_calls()})
    for (const CustomCallDef& builtin : family)
      if (builtin.target == d.target) return builtin.eval == d.eval && !d.raw;
  return false;
}

// Dimensions in front of operand 0's matrices (gtsv: of its bands).
DimSpan batch_of(const Instr& instr) {
  const Shape& s = instr.operand(0)->shape;
  const bool bands = instr.as<CustomCallAttrs>().target.find("gtsv") != std::string::npos;
  return DimSpan(s.dims).first(s.dims.size() - (bands ? 1 : 2));
}

bool begins_with(const Shape& s, DimSpan batch) {
  return s.is_array() && s.dims.size() >= batch.size() &&
         std::equal(batch.begin(), batch.end(), s.dims.begin());
}

// The shape of `count` members of the batch.
Shape part_of(const Shape& s, size_t batch_rank, int64_t count) {
  if (s.is_tuple()) {
    std::vector<Shape> parts;
    for (const Shape& t : s.tuple) parts.push_back(part_of(t, batch_rank, count));
    return Shape::tuple_of(std::move(parts));
  }
  Dims dims{count};
  dims.insert(dims.end(), s.dims.begin() + static_cast<int64_t>(batch_rank), s.dims.end());
  return Shape::array(s.dtype, dims);
}

class BatchedCall : public LibraryCall {
 public:
  BatchedCall(const Instr& instr, int64_t batch, int64_t part)
      : module_("batch"), batch_(batch), part_(part) {
    const size_t rank = batch_of(instr).size();
    for (const Instr* o : instr.operands) operand_bytes_.push_back(o->shape.bytes() / batch);
    for (const Shape& s : leaves(instr.shape)) result_bytes_.push_back(s.bytes() / batch);
    whole_ = add_part(instr, rank, part);
    rest_ = batch % part ? add_part(instr, rank, batch % part) : nullptr;
  }
  bool sound() const { return status_.ok(); }

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    const lapack::OneThread scope;
    std::atomic<bool> fine{true};
    pool.run((batch_ + part_ - 1) / part_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end && fine.load(std::memory_order_relaxed); ++k)
        if (!run_part(k, operands, results)) fine.store(false, std::memory_order_relaxed);
    });
    return fine.load();
  }

 private:
  Instr* add_part(const Instr& instr, size_t batch_rank, int64_t count) {
    Builder b(module_.add_computation("part"));
    std::vector<Instr*> operands;
    for (const Instr* o : instr.operands)
      operands.push_back(b.parameter(static_cast<int64_t>(operands.size()),
                                     part_of(o->shape, batch_rank, count)));
    CustomCallAttrs attrs = instr.as<CustomCallAttrs>();
    attrs.operand_layouts.clear();
    attrs.result_layouts.clear();
    Instr* call = b.op_shaped(Op::kCustomCall, part_of(instr.shape, batch_rank, count), operands, attrs);
    if (status_.ok()) status_ = b.status();
    return call;
  }

  bool run_part(int64_t k, absl::Span<char* const> operands, absl::Span<char* const> results) const {
    const Instr& call = (k + 1) * part_ <= batch_ ? *whole_ : *rest_;
    std::vector<Literal> in;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Shape& s = call.operand(static_cast<int64_t>(i))->shape;
      in.push_back(Literal::from_bytes(s, {operands[i] + k * part_ * operand_bytes_[i],
                                           static_cast<size_t>(s.bytes())}));
    }
    const Result<Literal> out = evaluate(call, in);
    if (!out.ok()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      const Literal& l = out->shape().is_tuple() ? out->parts()[i] : *out;
      if (l.size_bytes() > 0)
        std::memcpy(results[i] + k * part_ * result_bytes_[i], l.bytes(), l.size_bytes());
    }
    return true;
  }

  Module module_;
  const int64_t batch_, part_;
  std::vector<int64_t> operand_bytes_, result_bytes_;  // of one member
  Instr *whole_ = nullptr, *rest_ = nullptr;
  Status status_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_batched_call(const Instr& instr) {
  constexpr int64_t kParts = 64, kWork = 1 << 14;  // at most so many, of at least so many operations
  const std::string& target = instr.as<CustomCallAttrs>().target;
  const CustomCallDef* d = find_custom_call(target);
  if (!d || !is_per_matrix(*d) || instr.operands.empty()) return nullptr;
  const Shape& first = instr.operand(0)->shape;
  if (!first.is_array() || first.rank() < 2) return nullptr;
  if (target.find("potrf") != std::string::npos && leaves(instr.shape).size() == 2)
    return prepare_potrf(instr);
  if (target.find("trsm") != std::string::npos) return prepare_trsm(instr);
  const DimSpan dims = batch_of(instr);
  const int64_t batch = product(dims);
  for (const Instr* o : instr.operands)
    if (!begins_with(o->shape, dims) || !o->shape.is_static() || o->shape.has_bounded_dim())
      return nullptr;
  if (instr.shape.is_tuple())
    for (const Shape& s : instr.shape.tuple)
      if (!begins_with(s, dims)) return nullptr;
  if (!instr.shape.is_tuple() && !begins_with(instr.shape, dims)) return nullptr;
  if (batch < 2 || first.elements() == 0) return nullptr;
  if (target.find("getrf") != std::string::npos && leaves(instr.shape).size() == 3)
    if (auto small = prepare_getrf(instr)) return small;
  const auto one = static_cast<double>(first.elements() / batch);
  const double work = one * static_cast<double>(first.dims.back());
  const int64_t least = static_cast<int64_t>(std::min(1e9, kWork / work)) + 1;
  const int64_t part = std::max((batch + kParts - 1) / kParts, least);
  if (part >= batch) return nullptr;
  auto call = std::make_unique<BatchedCall>(instr, batch, part);
  if (!call->sound()) return nullptr;
  return call;
}

}  // namespace braze
