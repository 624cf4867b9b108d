// SPDX-License-Identifier: Apache-2.0
// When vdpbf16ps may be used: it takes denormal operands and sums for zeros. With e the least exponent field of a
// nonzero element of each side (0: a denormal), all products are multiples of 2^(e_a + e_b - 268), and so is every
// partial sum, rounded or not; it is zero or normal, and nothing is flushed, if that is at least 2^-126.
#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

constexpr int kPairs = 16, kMantissaBits = 7;
constexpr uint32_t kLeastSum = 268 - 126;  // of the exponent fields

}  // namespace

void reset_exponents(Emit& e, Value* slot) {
  e.b.CreateAlignedStore(e.b.getInt32(0xffff), slot, llvm::Align(4));
}

void note_exponents(Emit& e, Value* slot, const Words& words) {
  llvm::Function* f = e.module.getFunction("bf16.exponents");
  if (!f) {
    const llvm::IRBuilderBase::InsertPointGuard guard(e.b);
    f = e.begin_internal("bf16.exponents", {e.ptr_type(), e.ptr_type(), e.i64_type(), e.i64_type(), e.i64_type()});
    llvm::Type* halves = Emit::vector(e.b.getInt16Ty(), 2 * kPairs);
    const auto splat = [&](uint16_t x) { return llvm::ConstantInt::get(halves, x); };
    Value* count = e.arg(4);
    // A zero becomes the largest value.
    const auto least = [&](Value* so_far, Value* p, Value* mask) {
      Value* v = e.b.CreateBitCast(e.load_raw(Dtype::kS32, p, kPairs, mask, 4), halves);
      v = e.b.CreateSub(e.b.CreateAnd(v, splat(0x7fff)), splat(1));
      return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, so_far, v);
    };
    Value* whole = e.mul(e.div(count, kPairs), kPairs);
    Values all{splat(0xffff), e.arg(1)};
    all = e.loop_carry(e.i64(0), e.arg(2), 1, all, false, [&](Value*, const Values& row) {
      Values m = e.loop_carry(e.i64(0), whole, kPairs, {row[0]}, false, [&](Value* i, const Values& v) {
        return Values{least(v[0], e.at(row[1], e.mul(i, 4)), nullptr)};
      });
      Value* rest = e.mask_below(kPairs, e.sub(count, whole));
      return Values{least(m[0], e.at(row[1], e.mul(whole, 4)), rest), e.at(row[1], e.arg(3))};
    });
    Value* here = e.b.CreateZExt(e.b.CreateIntMinReduce(all[0], false), e.b.getInt32Ty());
    Value* before = e.b.CreateAlignedLoad(e.b.getInt32Ty(), e.arg(0), llvm::Align(4));
    e.b.CreateAlignedStore(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, before, here), e.arg(0), llvm::Align(4));
    e.end_function();
  }
  e.b.CreateCall(f, {slot, words.at, words.rows, words.row_bytes, words.count});
}

Value* nothing_flushed(Emit& e, Value* slot_a, Value* slot_b) {
  const auto exponent = [&](Value* slot) {
    Value* v = e.b.CreateAlignedLoad(e.b.getInt32Ty(), slot, llvm::Align(4));
    return e.b.CreateLShr(e.b.CreateAdd(v, e.b.getInt32(1)), kMantissaBits);
  };
  Value *a = exponent(slot_a), *b = exponent(slot_b);
  Value* sums = e.b.CreateICmpUGE(e.b.CreateAdd(a, b), e.b.getInt32(kLeastSum));
  Value* operands = e.b.CreateICmpNE(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b), e.b.getInt32(0));
  return e.b.CreateAnd(sums, operands);
}

}  // namespace braze::codegen
