// SPDX-License-Identifier: Apache-2.0
#include "runtime/library.h"

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

}  // namespace braze
