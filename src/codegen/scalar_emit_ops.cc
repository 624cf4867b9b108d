// SPDX-License-Identifier: Apache-2.0
// Operations on register values, exactly as scalar.h defines them, in the cheapest sequences known
// for x86-64 with AVX-512, AVX2 or SSE2.
#include <algorithm>
#include <cmath>
#include <vector>

#include "codegen/scalar_emit_impl.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "scalar/fold.h"

namespace braze::codegen {
namespace {

using scalar::Op;
using llvm::Value;

int lanes(Value* v) {
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t ? static_cast<int>(t->getNumElements()) : 0;  // 0: a scalar
}
int element_bits(Value* v) { return static_cast<int>(v->getType()->getScalarSizeInBits()); }
bool is_sub_byte(Dtype t) { return (is_int(t) || is_float(t)) && bit_size(t) < 8; }

// The constant all lanes hold, if any.
const llvm::ConstantFP* float_constant(Value* v) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantFP>(v)) return c;
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (!c || !c->getType()->isVectorTy()) return nullptr;
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(c->getSplatValue());
}
const llvm::ConstantInt* int_constant(Value* v) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) return c;
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (!c || !c->getType()->isVectorTy()) return nullptr;
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(c->getSplatValue());
}

}  // namespace

llvm::Type* OpEmitter::like(Value* v, llvm::Type* element) {
  const int n = lanes(v);
  return n ? llvm::FixedVectorType::get(element, n) : element;
}
Value* OpEmitter::number(Value* like, double v) {
  return llvm::ConstantFP::get(like->getType(), v);
}
Value* OpEmitter::integer(Value* like, int64_t v) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(v), true);
}

Value* OpEmitter::canonical(Dtype t, Value* v) {
  if (!is_sub_byte(t)) return v;
  const int spare = 8 - bit_size(t);
  if (is_unsigned_int(t) || is_float(t)) return b_.CreateAnd(v, integer(v, (1 << bit_size(t)) - 1));
  return b_.CreateAShr(b_.CreateShl(v, integer(v, spare)), integer(v, spare));
}

Value* OpEmitter::operation(Op op, Dtype t, absl::Span<Value* const> args) {
  if (op == Op::kSelect) {
    Value* p = args[0];
    Value *x = args[1], *y = args[2];
    return b_.CreateSelect(p, x, y);
  }
  if (op == Op::kLdexp) return ldexp(t, args[0], args[1], args[1]->getType()->isFPOrFPVectorTy());
  if (is_float(t)) return float_operation(op, t, args);
  return canonical(t, int_operation(op, t, args));
}

Value* OpEmitter::int_operation(Op op, Dtype t, absl::Span<Value* const> args) {
  Value* x = args[0];
  Value* y = args.size() > 1 ? args[1] : nullptr;
  const bool is_signed = is_signed_int(t);
  if (is_pred(t)) {
    switch (op) {
      case Op::kMin: case Op::kMul: case Op::kAnd: return b_.CreateAnd(x, y);
      case Op::kMax: case Op::kAdd: case Op::kOr: return b_.CreateOr(x, y);
      case Op::kNot: return b_.CreateNot(x);
      default: return b_.CreateXor(x, y ? y : x);
    }
  }
  const auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateBinaryIntrinsic(id, x, y); };
  switch (op) {
    case Op::kAdd: return b_.CreateAdd(x, y);
    case Op::kSub: return b_.CreateSub(x, y);
    case Op::kMul: return b_.CreateMul(x, y);
    case Op::kDiv: case Op::kRem: return int_division(op == Op::kRem, t, x, y, false);
    case Op::kMin: return intrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    case Op::kMax: return intrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
    case Op::kAnd: return b_.CreateAnd(x, y);
    case Op::kOr: return b_.CreateOr(x, y);
    case Op::kXor: return b_.CreateXor(x, y);
    case Op::kNot: return b_.CreateNot(x);
    case Op::kNeg: return b_.CreateNeg(x);
    case Op::kAbs:
      return is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse()) : x;
    case Op::kShl: case Op::kShrA: case Op::kShrL: return shift(op, t, x, y);
    case Op::kMulHi: return mul_high(t, x, y);
    case Op::kPopcnt: {
      Value* bits = is_sub_byte(t) ? b_.CreateAnd(x, integer(x, (1 << bit_size(t)) - 1)) : x;
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    }
    case Op::kClz: {
      Value* bits = is_sub_byte(t) ? b_.CreateAnd(x, integer(x, (1 << bit_size(t)) - 1)) : x;
      Value* n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b_.getFalse());
      return is_sub_byte(t) ? b_.CreateSub(n, integer(n, 8 - bit_size(t))) : n;
    }
    default: return llvm::PoisonValue::get(x->getType());
  }
}

Value* OpEmitter::shift(Op op, Dtype t, Value* x, Value* y) {
  const int bits = bit_size(t);
  // Sub-byte types: logical right shifts see only their bits; signed left shifts are made canonical
  // later.
  if (op == Op::kShrL && is_sub_byte(t)) x = b_.CreateAnd(x, integer(x, (1 << bits) - 1));
  if (op == Op::kShrA && is_sub_byte(t) && is_unsigned_int(t))
    x = b_.CreateAShr(b_.CreateShl(x, integer(x, 8 - bits)), integer(x, 8 - bits));
  if (is_sub_byte(t)) y = b_.CreateAnd(y, integer(y, is_signed_int(t) ? 255 : (1 << bits) - 1));
  if (op == Op::kShrA) {
    Value* most = integer(y, bits - 1);
    return b_.CreateAShr(x, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, y, most));
  }
  const auto shifted = [&](Value* by) {
    return op == Op::kShl ? b_.CreateShl(x, by) : b_.CreateLShr(x, by);
  };
  const llvm::ConstantInt* c = int_constant(y);
  if (c && c->getValue().ult(bits)) return shifted(y);
  Value* inside = b_.CreateICmpULT(y, integer(y, bits));
  // Out of range the shift would be poison: the lanes that are dropped shift by 0.
  Value* by = b_.CreateSelect(inside, y, integer(y, 0));
  return b_.CreateSelect(inside, shifted(by), integer(x, 0));
}

Value* OpEmitter::mul_high(Dtype t, Value* x, Value* y) {
  const int width = element_bits(x) * 2;
  llvm::Type* wide = like(x, b_.getIntNTy(width));
  const bool is_signed = is_signed_int(t);
  Value* a = is_signed ? b_.CreateSExt(x, wide) : b_.CreateZExt(x, wide);
  Value* c = is_signed ? b_.CreateSExt(y, wide) : b_.CreateZExt(y, wide);
  Value* p = b_.CreateMul(a, c);
  return b_.CreateTrunc(b_.CreateLShr(p, integer(p, bit_size(t))), x->getType());
}

// Quotients of vectors of small integers through floats: exact, since the float's precision exceeds
// the sum of the operands' bits (f32: 16-bit types, f64: 32-bit ones). The divisor is not 0.
Value* OpEmitter::divide_as_float(bool rem, Dtype t, Value* x, Value* y) {
  const bool is_signed = is_signed_int(t), is32 = element_bits(x) == 32;
  llvm::Type* f = like(x, is32 ? b_.getDoubleTy() : b_.getFloatTy());
  llvm::Type* i32 = like(x, b_.getInt32Ty());
  Value *a = x, *c = y;
  if (!is32) {
    a = is_signed ? b_.CreateSExt(x, i32) : b_.CreateZExt(x, i32);
    c = is_signed ? b_.CreateSExt(y, i32) : b_.CreateZExt(y, i32);
  }
  const bool by_signed = is_signed || !is32;
  Value* fa = by_signed ? b_.CreateSIToFP(a, f) : b_.CreateUIToFP(a, f);
  Value* fc = by_signed ? b_.CreateSIToFP(c, f) : b_.CreateUIToFP(c, f);
  Value* q = b_.CreateFDiv(fa, fc);
  Value* iq = by_signed ? b_.CreateFPToSI(q, i32) : b_.CreateFPToUI(q, i32);
  if (!is32) iq = b_.CreateTrunc(iq, x->getType());
  return rem ? b_.CreateSub(x, b_.CreateMul(iq, y)) : iq;
}

Value* OpEmitter::int_division(bool rem, Dtype t, Value* x, Value* y, bool safe) {
  const bool is_signed = is_signed_int(t);
  const auto plain = [&](Value* d) -> Value* {
    if (lanes(x) > 1 && element_bits(x) <= 32 && !int_constant(d))
      return divide_as_float(rem, t, x, d);
    if (rem) return is_signed ? b_.CreateSRem(x, d) : b_.CreateURem(x, d);
    return is_signed ? b_.CreateSDiv(x, d) : b_.CreateUDiv(x, d);
  };
  if (const llvm::ConstantInt* c = int_constant(y))
    safe = !c->isZero() && !(is_signed && c->isMinusOne());
  if (safe) return canonical(t, plain(y));
  Value* zero = b_.CreateICmpEQ(y, integer(y, 0));
  Value* unsafe = zero;
  if (is_signed) {  // -1: the quotient is -x, and INT_MIN's would trap
    const int64_t least = scalar::type_range(t).lo;
    unsafe = b_.CreateOr(zero, b_.CreateAnd(b_.CreateICmpEQ(y, integer(y, -1)),
                                            b_.CreateICmpEQ(x, integer(x, least))));
  }
  Value* r = plain(b_.CreateSelect(unsafe, integer(y, 1), y));
  return canonical(t, b_.CreateSelect(zero, rem ? x : integer(x, -1), r));
}

Value* OpEmitter::compare(Op op, Dtype t, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (is_float(t)) {
    const P p = op == Op::kEq   ? P::FCMP_OEQ
                : op == Op::kNe ? P::FCMP_UNE
                : op == Op::kLt ? P::FCMP_OLT
                                : P::FCMP_OLE;
    return b_.CreateFCmp(p, x, y);
  }
  const bool is_signed = is_signed_int(t);
  const P p = op == Op::kEq   ? P::ICMP_EQ
              : op == Op::kNe ? P::ICMP_NE
              : op == Op::kLt ? (is_signed ? P::ICMP_SLT : P::ICMP_ULT)
                              : (is_signed ? P::ICMP_SLE : P::ICMP_ULE);
  return b_.CreateICmp(p, x, y);
}

Value* OpEmitter::float_operation(Op op, Dtype t, absl::Span<Value* const> args) {
  Value* x = args[0];
  Value* y = args.size() > 1 ? args[1] : nullptr;
  const auto unary = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  (void)t;
  switch (op) {
    case Op::kAdd: return b_.CreateFAdd(x, y);
    case Op::kSub: return b_.CreateFSub(x, y);
    case Op::kMul: return b_.CreateFMul(x, y);
    case Op::kDiv: return b_.CreateFDiv(x, y);
    case Op::kRem: return b_.CreateFRem(x, y);
    case Op::kMin: case Op::kMax: return float_min_max(op == Op::kMax, x, y);
    case Op::kNeg: return b_.CreateFNeg(x);
    case Op::kAbs: return unary(llvm::Intrinsic::fabs);
    // Without FMA instructions this becomes a call of fma, which rounds once as well.
    case Op::kFma: return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, args[2]});
    case Op::kSqrt: return unary(llvm::Intrinsic::sqrt);
    case Op::kFloor: return unary(llvm::Intrinsic::floor);
    case Op::kCeil: return unary(llvm::Intrinsic::ceil);
    case Op::kRoundEven: return unary(llvm::Intrinsic::roundeven);
    case Op::kTrunc: return unary(llvm::Intrinsic::trunc);
    case Op::kCopySign: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    default: return llvm::PoisonValue::get(x->getType());
  }
}

// The x86 instructions give the second operand on NaN and when both are zeros; `a < b ? a : b` is
// how IR says so.
Value* OpEmitter::float_min_max(bool is_max, Value* x, Value* y) {
  const auto instruction = [&](Value* a, Value* c) {
    return b_.CreateSelect(is_max ? b_.CreateFCmpOGT(a, c) : b_.CreateFCmpOLT(a, c), a, c);
  };
  const llvm::ConstantFP* c = float_constant(y);
  if (!c && (c = float_constant(x))) std::swap(x, y);
  if (c && !c->getValueAPF().isNaN()) {
    const bool zero = c->getValueAPF().isZero(), negative = c->getValueAPF().isNegative();
    // Second operand x: NaN passes. Both zeros give x: right unless c is the zero that should win.
    Value* r = instruction(y, x);
    if (!zero || is_max == negative) return r;
    if (is_max) return b_.CreateFAdd(r, number(r, 0.0));  // -0 + 0 = +0, nothing else changes
  }
  if (!x->getType()->isVectorTy()) {
    // As the first of a register's lanes: bits of a scalar would go through integer registers, and what
    // is loaded from where they were just stored waits ten times as long.
    auto* lanes = llvm::FixedVectorType::get(x->getType(), 128 / element_bits(x));
    Value* none = llvm::PoisonValue::get(lanes);
    Value* r = float_min_max(is_max, b_.CreateInsertElement(none, x, uint64_t{0}),
                             b_.CreateInsertElement(none, y, uint64_t{0}));
    return b_.CreateExtractElement(r, uint64_t{0});
  }
  llvm::Type* bits = like(x, b_.getIntNTy(element_bits(x)));
  // Both orders: they differ where an operand is NaN or the zeros are mixed. Joined by or, a NaN
  // stays one, and min gets its -0; for max the sign bits are joined by and.
  Value* p = b_.CreateBitCast(instruction(x, y), bits);
  Value* q = b_.CreateBitCast(instruction(y, x), bits);
  Value* joined = b_.CreateOr(p, q);
  if (is_max) {
    const int n = element_bits(x);
    Value* magnitude = integer(p, static_cast<int64_t>(~uint64_t{0} >> (65 - n)));
    Value* both = b_.CreateAnd(p, q);
    joined = b_.CreateOr(b_.CreateAnd(joined, magnitude), both);
  }
  return b_.CreateBitCast(joined, x->getType());
}

// Clamped first, since vectors of the saturating intrinsics are taken apart into scalars.
Value* OpEmitter::float_to_int(Dtype to, Value* v) {
  const int bits = bit_size(to);
  const bool is_signed = is_signed_int(to);
  const double low = is_signed ? -std::ldexp(1, bits - 1) : 0;
  const double end = std::ldexp(1, is_signed ? bits - 1 : bits);  // the first value past the type
  const bool exact_top = bits < (element_bits(v) == 32 ? 24 : 53);
  const double top = exact_top ? end - 1
                     : element_bits(v) == 32 ? std::nextafter(static_cast<float>(end), 0.0f)
                                             : std::nextafter(end, 0.0);
  // NaN takes the bound.
  Value* c = b_.CreateSelect(b_.CreateFCmpOGT(v, number(v, low)), v, number(v, low));
  c = b_.CreateSelect(b_.CreateFCmpOLT(c, number(v, top)), c, number(v, top));
  llvm::Type* wide = like(v, b_.getIntNTy(std::max(bits, 32)));
  Value* r = is_signed || bits < 32 ? b_.CreateFPToSI(c, wide) : b_.CreateFPToUI(c, wide);
  if (!exact_top) {
    const int64_t most = to == Dtype::kU64 ? -1 : scalar::type_range(to).hi;
    r = b_.CreateSelect(b_.CreateFCmpOGE(v, number(v, end)), integer(r, most), r);
  }
  if (is_signed) r = b_.CreateSelect(b_.CreateFCmpUNO(v, v), integer(r, 0), r);
  return b_.CreateTrunc(r, like(v, register_type(b_.getContext(), to)));
}

Value* OpEmitter::cast(Dtype to, Dtype from, Value* v) {
  if (to == from) return v;
  llvm::LLVMContext& c = b_.getContext();
  llvm::Type* type = like(v, register_type(c, to));
  if (is_pred(to)) return compare(Op::kNe, from, v, llvm::Constant::getNullValue(v->getType()));
  if (is_pred(from)) {
    if (!is_float(to)) return canonical(to, b_.CreateZExt(v, type));
    Value* one = llvm::ConstantFP::get(type, 1.0);
    return b_.CreateSelect(v, one, llvm::Constant::getNullValue(type));
  }
  if (!is_float(to) && !is_float(from))
    return canonical(to, b_.CreateIntCast(v, type, is_signed_int(from)));
  if (!is_float(to)) return float_to_int(to, v);
  if (!is_float(from))
    return is_signed_int(from) ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  llvm::Type* half = like(v, b_.getHalfTy());
  llvm::Type* i32 = like(v, b_.getInt32Ty());
  if (from == Dtype::kF16) return b_.CreateFPExt(b_.CreateBitCast(v, half), type);
  if (to == Dtype::kF16) return b_.CreateBitCast(b_.CreateFPTrunc(v, half), type);
  if (from == Dtype::kBF16) {
    Value* bits = b_.CreateZExt(v, i32);
    return b_.CreateBitCast(b_.CreateShl(bits, integer(bits, 16)), type);
  }
  if (to == Dtype::kBF16) {
    Value* bits = b_.CreateBitCast(round_bf16(v), i32);
    return b_.CreateTrunc(b_.CreateLShr(bits, integer(bits, 16)), type);
  }
  return b_.CreateFPCast(v, type);
}

// To nearest even by integer addition; denormals are kept, NaNs made quiet.
Value* OpEmitter::round_bf16(Value* v) {
  Value* bits = b_.CreateBitCast(v, like(v, b_.getInt32Ty()));
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, integer(bits, 16)), integer(bits, 1));
  Value* r = b_.CreateAdd(b_.CreateAdd(bits, integer(bits, 0x7fff)), odd);
  Value* quiet = b_.CreateOr(bits, integer(bits, 0x400000));
  r = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, r);
  r = b_.CreateAnd(r, integer(r, -65536));
  return b_.CreateBitCast(r, v->getType());
}

Value* OpEmitter::bitcast(Dtype to, Dtype from, Value* v) {
  Value* r = v;
  if (scalar::is_arithmetic_float(to) || scalar::is_arithmetic_float(from))
    r = b_.CreateBitCast(v, like(v, register_type(b_.getContext(), to)));
  return canonical(to, r);
}

Value* OpEmitter::scalef(Value* x, Value* exponent) {
  const int bits = element_bits(x);
  const int n = std::max(lanes(x), 1);
  const int chunk = std::min(512, std::max(128, n * bits)) / bits;  // lanes of one instruction
  const int register_bits = chunk * bits;
  using I = llvm::Intrinsic::IndependentIntrinsics;
  (void)sizeof(I);
  const bool f32 = bits == 32;
  const llvm::Intrinsic::ID id =
      register_bits == 512   ? (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512)
      : register_bits == 256 ? (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_256)
                             : (f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_128
                                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128);
  llvm::Type* type = llvm::FixedVectorType::get(x->getType()->getScalarType(), chunk);
  Value* none = llvm::Constant::getNullValue(type);
  Value* all = b_.getIntN(std::max(8, chunk), ~uint64_t{0} >> (64 - std::max(8, chunk)));
  const auto call = [&](Value* a, Value* e) -> Value* {
    std::vector<Value*> args{a, e, none, all};
    if (register_bits == 512) args.push_back(b_.getInt32(4));  // the current rounding mode
    return b_.CreateIntrinsic(id, {}, args);
  };
  if (lanes(x) == chunk) return call(x, exponent);
  if (!lanes(x)) {
    Value* a = b_.CreateInsertElement(none, x, uint64_t{0});
    Value* e = b_.CreateInsertElement(none, exponent, uint64_t{0});
    return b_.CreateExtractElement(call(a, e), uint64_t{0});
  }
  // More lanes than a register, or fewer: piece by piece.
  std::vector<Value*> pieces;
  for (int at = 0; at < n; at += chunk) {
    std::vector<int> pick;
    for (int i = 0; i < chunk; ++i) pick.push_back(std::min(at + i, n - 1));
    pieces.push_back(call(b_.CreateShuffleVector(x, pick), b_.CreateShuffleVector(exponent, pick)));
  }
  while (pieces.size() > 1) {
    std::vector<Value*> joined;
    for (size_t i = 0; i + 1 < pieces.size(); i += 2) {
      std::vector<int> all_lanes(2 * lanes(pieces[i]));
      for (size_t k = 0; k < all_lanes.size(); ++k) all_lanes[k] = static_cast<int>(k);
      joined.push_back(b_.CreateShuffleVector(pieces[i], pieces[i + 1], all_lanes));
    }
    pieces = std::move(joined);  // widths are powers of two
  }
  if (lanes(pieces[0]) == n) return pieces[0];
  std::vector<int> first(n);
  for (int i = 0; i < n; ++i) first[i] = i;
  return b_.CreateShuffleVector(pieces[0], first);
}

// f32 · 2^n in f64, where the product is exact, and one rounding.
Value* OpEmitter::scale_in_f64(Value* x, Value* n) {
  llvm::Type* i64 = like(x, b_.getInt64Ty());
  llvm::Type* f64 = like(x, b_.getDoubleTy());
  Value* e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, integer(n, -400));
  e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e, integer(e, 400));
  Value* biased = b_.CreateZExt(b_.CreateAdd(e, integer(e, 1023)), i64);
  Value* power = b_.CreateBitCast(b_.CreateShl(biased, integer(biased, 52)), f64);
  return b_.CreateFPTrunc(b_.CreateFMul(b_.CreateFPExt(x, f64), power), x->getType());
}

// f64 · 2^n in three steps. A step down leaves 53 bits of room, so that only the last one can
// round: if an earlier one does, the result is below half the least denormal.
Value* OpEmitter::scale_in_steps(Value* x, Value* n) {
  Value* r = x;
  Value* e = n;
  for (int step = 0; step < 2; ++step) {
    Value* low = b_.CreateICmpSLT(e, integer(e, -1022));
    Value* high = b_.CreateICmpSGT(e, integer(e, 1023));
    Value* factor = b_.CreateSelect(low, number(r, 0x1p-969),
                                    b_.CreateSelect(high, number(r, 0x1p1023), number(r, 1)));
    Value* taken = b_.CreateSelect(low, integer(e, -969),
                                   b_.CreateSelect(high, integer(e, 1023), integer(e, 0)));
    r = b_.CreateFMul(r, factor);
    e = b_.CreateSub(e, taken);
  }
  e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e, integer(e, -1022));
  e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e, integer(e, 1023));
  Value* biased = b_.CreateAdd(e, integer(e, 1023));
  return b_.CreateFMul(r,
                       b_.CreateBitCast(b_.CreateShl(biased, integer(biased, 52)), r->getType()));
}

Value* OpEmitter::ldexp(Dtype t, Value* x, Value* exponent, bool float_exponent) {
  if (target_.avx512)
    return scalef(x, float_exponent ? exponent : b_.CreateSIToFP(exponent, x->getType()));
  Value* nan = nullptr;
  if (float_exponent) {
    nan = b_.CreateFCmpUNO(exponent, exponent);
    Value* limited = exponent;
    // NaN fails both comparisons and takes a bound.
    const auto limit = [&](bool upper, double v) {
      Value* bound = number(exponent, v);
      Value* inside = upper ? b_.CreateFCmpOLT(limited, bound) : b_.CreateFCmpOGT(limited, bound);
      limited = b_.CreateSelect(inside, limited, bound);
    };
    limit(true, 5000);
    limit(false, -5000);
    exponent = b_.CreateFPToSI(limited, like(x, b_.getIntNTy(element_bits(x))));
  }
  Value* r = t == Dtype::kF32 ? scale_in_f64(x, exponent) : scale_in_steps(x, exponent);
  return nan ? b_.CreateSelect(nan, number(r, std::nan("")), r) : r;
}

// In two steps, of which only the second can round. Added to a number whose last place is 1, the
// exponent appears in its low bits, and with it twice the bias, of which each step gets its own; what
// else is in these bits is shifted out. NaN gives nonsense powers, whose products with x, NaN itself,
// are NaN.
Value* OpEmitter::ldexp_near(Dtype t, Value* x, Value* exponent) {
  if (target_.avx512) return scalef(x, exponent);
  const bool f32 = t == Dtype::kF32;
  llvm::Type* bits = like(x, b_.getIntNTy(element_bits(x)));
  Value* aligner = number(exponent, f32 ? 0x1.8p23 + 2 * 127 : 0x1.8p52 + 2 * 1023);
  Value* e = b_.CreateBitCast(b_.CreateFAdd(exponent, aligner), bits);
  Value* half = b_.CreateLShr(e, integer(e, 1));
  const auto power = [&](Value* biased) {
    return b_.CreateBitCast(b_.CreateShl(biased, integer(biased, f32 ? 23 : 52)), x->getType());
  };
  return b_.CreateFMul(b_.CreateFMul(x, power(half)), power(b_.CreateSub(e, half)));
}

}  // namespace braze::codegen
