// SPDX-License-Identifier: Apache-2.0
#include "runtime/library.h"

#include <cstring>

#include "eval/evaluator.h"
#include "ops/custom_call.h"
#include "runtime/batched_call.h"
#include "runtime/factor.h"
#include "runtime/fft.h"
#include "runtime/sort.h"

namespace braze {
namespace {

class SortCall : public LibraryCall {
 public:
  explicit SortCall(const Instr& instr) : instr_(instr) {}
  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    return run_sort(instr_, operands, results, pool);
  }

 private:
  const Instr& instr_;
};

// The leaves from `at` on as a literal of shape s.
Literal gather(const Shape& s, absl::Span<char* const> leaves, size_t* at) {
  if (s.is_tuple()) {
    std::vector<Literal> parts;
    for (const Shape& t : s.tuple) parts.push_back(gather(t, leaves, at));
    return Literal::tuple(std::move(parts));
  }
  char* p = leaves[(*at)++];
  if (!s.is_array()) return Literal(s);
  return Literal::from_bytes(s, {p, static_cast<size_t>(s.bytes())});
}

void spread(const Literal& l, absl::Span<char* const> leaves, size_t* at) {
  if (l.shape().is_tuple()) {
    for (const Literal& p : l.parts()) spread(p, leaves, at);
    return;
  }
  char* p = leaves[(*at)++];
  if (l.shape().is_array() && l.size_bytes() > 0) std::memcpy(p, l.bytes(), l.size_bytes());
}

}  // namespace

std::unique_ptr<LibraryCall> prepare_library(const Instr& instr) {
  switch (instr.op) {
    case Op::kSort:
    case Op::kTopK: return std::make_unique<SortCall>(instr);
    case Op::kFft: return prepare_fft(instr);
    case Op::kCholesky: return prepare_cholesky(instr);
    case Op::kTriangularSolve: return prepare_triangular_solve(instr);
    case Op::kCustomCall: return prepare_batched_call(instr);
    default: return nullptr;
  }
}

Status LibraryStep::run(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool,
                        World* world) const {
  if (native_ && native_->run(operands, results, pool)) return absl::OkStatus();
  if (instr_.is(Op::kCustomCall))
    if (const CustomCallDef* d = find_custom_call(instr_.as<CustomCallAttrs>().target); d && d->raw) {
      const absl::InlinedVector<const void*, 8> from(operands.begin(), operands.end());
      absl::InlinedVector<void*, 8> to(results.begin(), results.end());
      return d->raw(instr_, from, absl::MakeSpan(to));
    }
  std::vector<Literal> values;
  size_t at = 0;
  for (const Instr* o : instr_.operands) values.push_back(gather(o->shape, operands, &at));
  EvalOptions options;
  options.world = world;
  ASSIGN(Literal value, evaluate(instr_, values, options));
  at = 0;
  spread(value, results, &at);
  return absl::OkStatus();
}

}  // namespace braze
