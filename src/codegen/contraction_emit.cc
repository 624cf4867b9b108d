// SPDX-License-Identifier: Apache-2.0
// Emit: control flow, typed loads and stores, arithmetic of the accumulator type.
#include "codegen/contraction_emit.h"

#include "codegen/first_lanes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace braze::codegen {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Type;

Emit::Emit(llvm::Module& m, const Target& t, Dtype a)
    : b(m.getContext()), module(m), target(t), acc(a), w(t.lanes(byte_size(a))) {}

llvm::Function* Emit::begin_kernel(std::string_view name) {
  llvm::Function* f = begin_internal(name, {ptr_type(), i64_type(), i64_type(), ptr_type()});
  f->setLinkage(llvm::Function::ExternalLinkage);
  return f;
}

llvm::Function* Emit::begin_internal(std::string_view name, llvm::ArrayRef<Type*> params) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), params, false);
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                   llvm::StringRef(name.data(), name.size()), module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  // Keeps the code generator from halving the vectors on CPUs tuned for narrower ones.
  const std::string bits = std::to_string(target.vector_bits);
  f->addFnAttr("min-legal-vector-width", bits);
  f->addFnAttr("prefer-vector-width", bits);
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "entry", f));
  return f;
}

void Emit::mark_glue(llvm::Function* f) {
  f->addFnAttr(llvm::Attribute::OptimizeNone);
  f->addFnAttr(llvm::Attribute::NoInline);
}

void Emit::end_function() { b.CreateRetVoid(); }

Type* Emit::memory_type(Dtype t) {
  switch (t) {
    case Dtype::kF64:
      return b.getDoubleTy();
    case Dtype::kF32:
      return b.getFloatTy();
    case Dtype::kF16:
      return b.getHalfTy();
    default:
      return b.getIntNTy(static_cast<unsigned>(byte_size(t) * 8));  // bf16 too: as its bits
  }
}

Type* Emit::vector(Type* t, int lanes) {
  return llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
}

Value* Emit::add(Value* x, Value* y) {
  auto zero = [](Value* v) {
    auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
    return c && c->isZero();
  };
  return zero(y) ? x : zero(x) ? y : b.CreateAdd(x, y);
}
Value* Emit::mul(Value* x, int64_t c) {
  // (x * constant) * c in one multiplication.
  if (auto* m = llvm::dyn_cast<llvm::BinaryOperator>(x);
      m && m->getOpcode() == llvm::Instruction::Mul) {
    if (auto* k = llvm::dyn_cast<llvm::ConstantInt>(m->getOperand(1))) {
      return mul(m->getOperand(0), k->getSExtValue() * c);
    }
  }
  return c == 1 ? x : c == 0 ? i64(0) : b.CreateMul(x, i64(c));
}
Value* Emit::div(Value* x, int64_t c) { return c == 1 ? x : b.CreateUDiv(x, i64(c)); }
Value* Emit::rem(Value* x, int64_t c) { return c == 1 ? i64(0) : b.CreateURem(x, i64(c)); }
Value* Emit::min(Value* x, Value* y) { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }

Value* Emit::select(Value* cond, int64_t yes, int64_t no) {
  return yes == no ? i64(yes) : b.CreateSelect(cond, i64(yes), i64(no));
}

Value* Emit::at(Value* p, Value* bytes) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(bytes); c && c->isZero()) return p;
  return b.CreateGEP(b.getInt8Ty(), p, bytes);
}

void Emit::loop(Value* lo, Value* hi, int64_t step, absl::FunctionRef<void(Value*)> body) {
  loop_carry(lo, hi, step, {}, false, [&](Value* i, const Values&) {
    body(i);
    return Values{};
  });
}

void Emit::loop_while(Value* lo, Value* hi, absl::FunctionRef<Value*(Value*)> body) {
  llvm::Function* f = b.GetInsertBlock()->getParent();
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* head = BasicBlock::Create(b.getContext(), "while", f);
  BasicBlock* after = BasicBlock::Create(b.getContext(), "done", f);
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, after);
  b.SetInsertPoint(head);
  PHINode* i = b.CreatePHI(i64_type(), 2);
  i->addIncoming(lo, before);
  Value* next = body(i);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, hi), head, after);
  b.SetInsertPoint(after);
}

Values Emit::loop_carry(Value* lo, Value* hi, int64_t step, Values init, bool nonzero,
                        absl::FunctionRef<Values(Value*, const Values&)> body) {
  auto* clo = llvm::dyn_cast<llvm::ConstantInt>(lo);
  auto* chi = llvm::dyn_cast<llvm::ConstantInt>(hi);
  if (clo && chi) {
    const int64_t span = chi->getSExtValue() - clo->getSExtValue();
    if (span <= 0) return init;
    if (span <= step) return body(lo, init);
    nonzero = true;
  }
  llvm::Function* f = b.GetInsertBlock()->getParent();
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* head = BasicBlock::Create(b.getContext(), "loop", f);
  BasicBlock* after = BasicBlock::Create(b.getContext(), "end", f);
  if (nonzero) {
    b.CreateBr(head);
  } else {
    b.CreateCondBr(b.CreateICmpSLT(lo, hi), head, after);
  }
  b.SetInsertPoint(head);
  PHINode* i = b.CreatePHI(i64_type(), 2);
  i->addIncoming(lo, before);
  std::vector<PHINode*> phis;
  Values inner;
  for (Value* v : init) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    inner.push_back(phis.back());
  }
  const Values next = body(i, inner);
  Value* i_next = b.CreateAdd(i, i64(step));
  BasicBlock* last = b.GetInsertBlock();
  i->addIncoming(i_next, last);
  for (size_t j = 0; j < phis.size(); ++j) phis[j]->addIncoming(next[j], last);
  b.CreateCondBr(b.CreateICmpSLT(i_next, hi), head, after);
  b.SetInsertPoint(after);
  if (nonzero) return next;
  Values out;
  for (size_t j = 0; j < init.size(); ++j) {
    PHINode* p = b.CreatePHI(init[j]->getType(), 2);
    p->addIncoming(init[j], before);
    p->addIncoming(next[j], last);
    out.push_back(p);
  }
  return out;
}

void Emit::if_then(Value* cond, absl::FunctionRef<void()> then) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond)) {
    if (c->isOne()) then();
    return;
  }
  llvm::Function* f = b.GetInsertBlock()->getParent();
  BasicBlock* yes = BasicBlock::Create(b.getContext(), "then", f);
  BasicBlock* after = BasicBlock::Create(b.getContext(), "endif", f);
  b.CreateCondBr(cond, yes, after);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Emit::if_else(Value* cond, absl::FunctionRef<void()> then,
                   absl::FunctionRef<void()> otherwise) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond)) return c->isOne() ? then() : otherwise();
  llvm::Function* f = b.GetInsertBlock()->getParent();
  BasicBlock* yes = BasicBlock::Create(b.getContext(), "then", f);
  BasicBlock* no = BasicBlock::Create(b.getContext(), "else", f);
  BasicBlock* after = BasicBlock::Create(b.getContext(), "endif", f);
  b.CreateCondBr(cond, yes, no);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(no);
  otherwise();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

Value* Emit::mask_const(int lanes, int valid) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes; ++i) bits.push_back(b.getInt1(i < valid));
  return llvm::ConstantVector::get(bits);
}

Value* Emit::mask_below(int lanes, Value* valid) {
  // Compared in 32 bits (after clamping), so that a vector of indices fits a register or two.
  Value* v32 = b.CreateTrunc(min(valid, i64(lanes)), b.getInt32Ty());
  std::vector<llvm::Constant*> iota;
  for (int i = 0; i < lanes; ++i) iota.push_back(b.getInt32(static_cast<uint32_t>(i)));
  return b.CreateICmpSLT(llvm::ConstantVector::get(iota),
                         b.CreateVectorSplat(static_cast<unsigned>(lanes), v32));
}

Value* Emit::load_raw(Dtype t, Value* p, int lanes, Value* mask, int64_t stride_bytes) {
  Type* elem = memory_type(t);
  Type* type = vector(elem, lanes);
  const llvm::Align align(static_cast<uint64_t>(byte_size(t)));
  if (stride_bytes == 0) {
    // A broadcast element: read if any lane is on, which callers guarantee.
    return b.CreateVectorSplat(static_cast<unsigned>(lanes), b.CreateAlignedLoad(elem, p, align));
  }
  if (stride_bytes == byte_size(t)) {
    if (!mask) return b.CreateAlignedLoad(type, p, align);
    return b.CreateMaskedLoad(type, p, align, mask, llvm::Constant::getNullValue(type));
  }
  std::vector<llvm::Constant*> offsets;
  for (int i = 0; i < lanes; ++i)
    offsets.push_back(b.getInt64(static_cast<uint64_t>(i * stride_bytes)));
  Value* ptrs = b.CreateGEP(b.getInt8Ty(), p, llvm::ConstantVector::get(offsets));
  if (!mask) mask = mask_const(lanes, lanes);
  return b.CreateMaskedGather(type, ptrs, align, mask, llvm::Constant::getNullValue(type));
}

Value* Emit::load(Dtype t, Value* p, int lanes, Value* mask, int64_t stride_bytes) {
  return convert_in(t, load_raw(t, p, lanes, mask, stride_bytes));
}

Value* Emit::load_broadcast(Dtype t, Value* p, int lanes) {
  const llvm::Align align(static_cast<uint64_t>(byte_size(t)));
  Value* v = convert_in(t, b.CreateAlignedLoad(memory_type(t), p, align));
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), v);
}

Value* Emit::convert_in(Dtype t, Value* v) {
  if (t == acc) return v;
  Type* to = memory_type(acc);
  int lanes = 0;
  if (auto* vt = llvm::dyn_cast<llvm::FixedVectorType>(v->getType())) {
    lanes = static_cast<int>(vt->getNumElements());
    to = vector(to, lanes);
  }
  if (t == Dtype::kBF16) {
    Type* i32 = lanes ? vector(b.getInt32Ty(), lanes) : b.getInt32Ty();
    Type* f32 = lanes ? vector(b.getFloatTy(), lanes) : b.getFloatTy();
    v = b.CreateBitCast(b.CreateShl(b.CreateZExt(v, i32), 16), f32);
    return acc == Dtype::kF64 ? b.CreateFPExt(v, to) : v;
  }
  if (is_float(t)) return b.CreateFPExt(v, to);
  const bool is_s = is_signed_int(t);
  if (is_float(acc)) return is_s ? b.CreateSIToFP(v, to) : b.CreateUIToFP(v, to);
  if (byte_size(t) == byte_size(acc)) return v;
  return is_s ? b.CreateSExt(v, to) : b.CreateZExt(v, to);
}

Value* Emit::f32_to_bf16(Value* v) {
  const auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  Type* i32 = vector(b.getInt32Ty(), lanes);
  auto splat = [&](uint32_t x) { return llvm::ConstantInt::get(i32, x); };
  Value* bits = b.CreateBitCast(v, i32);
  // Round to nearest even; a NaN keeps its high bits and becomes quiet.
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), splat(1));
  Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, splat(0x7fff))), 16);
  Value* quiet = b.CreateOr(b.CreateLShr(bits, 16), splat(0x40));
  Value* r = b.CreateSelect(b.CreateFCmpUNO(v, v), quiet, rounded);
  return b.CreateTrunc(r, vector(b.getInt16Ty(), lanes));
}

Value* Emit::convert_out(Dtype t, Value* v) {
  const auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  Type* to = vector(memory_type(t), lanes);
  if (v->getType() == to) return v;
  if (v->getType()->getScalarType()->isBFloatTy()) return b.CreateBitCast(v, to);
  if (t == acc) return v;
  if (t == Dtype::kBF16) {
    if (acc == Dtype::kF64) v = b.CreateFPTrunc(v, vector(b.getFloatTy(), lanes));
    return f32_to_bf16(v);
  }
  if (is_float(t) && is_float(acc)) return b.CreateFPCast(v, to);
  if (is_float(t)) return is_signed_int(acc) ? b.CreateSIToFP(v, to) : b.CreateUIToFP(v, to);
  return is_signed_int(acc) ? b.CreateSExtOrTrunc(v, to) : b.CreateZExtOrTrunc(v, to);
}

void Emit::store(Dtype t, Value* v, Value* p, Value* mask, int64_t stride_bytes) {
  v = convert_out(t, v);
  const auto lanes =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  const llvm::Align align(static_cast<uint64_t>(byte_size(t)));
  if (stride_bytes == byte_size(t)) {
    if (const int first = target.avx512 ? 0 : known_first_lanes(mask)) {
      for (const LanePiece& piece : pieces_of(first)) {
        llvm::SmallVector<int, 32> pick;
        for (int i = 0; i < piece.lanes; ++i) pick.push_back(piece.start + i);
        b.CreateAlignedStore(b.CreateShuffleVector(v, pick), at(p, piece.start * byte_size(t)), align);
      }
    } else if (mask) {
      b.CreateMaskedStore(v, p, align, mask);
    } else {
      b.CreateAlignedStore(v, p, align);
    }
    return;
  }
  std::vector<llvm::Constant*> offsets;
  for (int i = 0; i < lanes; ++i)
    offsets.push_back(b.getInt64(static_cast<uint64_t>(i * stride_bytes)));
  Value* ptrs = b.CreateGEP(b.getInt8Ty(), p, llvm::ConstantVector::get(offsets));
  b.CreateMaskedScatter(v, ptrs, align, mask ? mask : mask_const(lanes, lanes));
}

Value* Emit::zero_acc() { return llvm::Constant::getNullValue(acc_vector()); }

Value* Emit::madd(Value* x, Value* y, Value* c) {
  if (!is_float(acc)) return b.CreateAdd(b.CreateMul(x, y), c);
  if (!target.fma) return b.CreateFAdd(b.CreateFMul(x, y), c);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, c});
}

Value* Emit::dot(WordProduct kind, Value* x, Value* y, Value* c) {
  if (kind == WordProduct::kNone) return madd(x, y, c);
  if (kind == WordProduct::kBf16) {
    Type* halves = vector(b.getBFloatTy(), 2 * w);
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                             {c, b.CreateBitCast(x, halves), b.CreateBitCast(y, halves)});
  }
  if (kind == WordProduct::kBf16Exact) {
    Type* words = vector(b.getInt32Ty(), w);
    const auto second = [&](Value* v) {
      v = b.CreateAnd(b.CreateBitCast(v, words), llvm::ConstantInt::get(words, 0xffff0000U));
      return b.CreateBitCast(v, acc_vector());
    };
    const auto first = [&](Value* v) { return b.CreateBitCast(b.CreateShl(b.CreateBitCast(v, words), 16), acc_vector()); };
    return madd(first(x), first(y), madd(second(x), second(y), c));
  }
  if (kind == WordProduct::kBytes || (w == 16 && target.vnni)) {
    const auto id = kind == WordProduct::kBytes ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                                : llvm::Intrinsic::x86_avx512_vpdpwssd_512;
    return b.CreateIntrinsic(id, {}, {c, x, y});
  }
  const auto id = w == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                  : w == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                           : llvm::Intrinsic::x86_sse2_pmadd_wd;
  Type* pairs = vector(b.getInt16Ty(), 2 * w);
  return b.CreateAdd(
      c, b.CreateIntrinsic(id, {}, {b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)}));
}

Value* Emit::plus(Value* x, Value* y) {
  return is_float(acc) ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
}

Value* Emit::sum_lanes(Value* v) {
  auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  while (lanes > 1) {
    const int half = lanes / 2;
    llvm::SmallVector<int, 32> lo, hi;
    for (int i = 0; i < half; ++i) {
      lo.push_back(i);
      hi.push_back(i + half);
    }
    v = plus(b.CreateShuffleVector(v, lo), b.CreateShuffleVector(v, hi));
    lanes = half;
  }
  return b.CreateExtractElement(v, uint64_t{0});
}

void Emit::transpose_in_lanes(Values& v) {
  // Butterflies of unpack instructions: each stage interleaves blocks of `d` elements of two
  // vectors.
  const int q = static_cast<int>(v.size());
  for (int d = 1; d < q; d *= 2) {
    Values next(v.size());
    llvm::SmallVector<int, 32> lo, hi;
    const auto n =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(v[0]->getType())->getNumElements());
    for (int lane = 0; lane < n; lane += q) {
      for (int i = 0; i < q; ++i) {
        const int block = i / d / 2, from = (i / d) % 2 * n + lane + i % d;
        lo.push_back(from + block * d);
        hi.push_back(from + block * d + q / 2);
      }
    }
    // Vector i pairs with i + d; the results go to where the next stage pairs them.
    for (int i = 0; i < q; ++i) {
      if ((i / d) % 2 != 0) continue;
      const auto a = static_cast<size_t>(i), c = static_cast<size_t>(i + d);
      next[a] = b.CreateShuffleVector(v[a], v[c], lo);
      next[c] = b.CreateShuffleVector(v[a], v[c], hi);
    }
    v = std::move(next);
  }
  // With four elements the stages leave columns 0, 2, 1, 3.
  if (q == 4) std::swap(v[1], v[2]);
}

Value* Emit::concat(Values parts) {
  while (parts.size() > 1) {
    const auto n =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements());
    llvm::SmallVector<int, 64> all;
    for (int i = 0; i < 2 * n; ++i) all.push_back(i);
    Values next;
    for (size_t i = 0; i < parts.size(); i += 2)
      next.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], all));
    parts = std::move(next);
  }
  return parts[0];
}

void Emit::prefetch(Value* p, unsigned locality) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {ptr_type()},
                    {p, b.getInt32(0), b.getInt32(locality), b.getInt32(1)});
}

Values unravel(Emit& e, Value* linear, const std::vector<int64_t>& sizes) {
  Values out(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      out[i] = linear;
    } else {
      out[i] = e.rem(linear, sizes[i]);
      linear = e.div(linear, sizes[i]);
    }
  }
  return out;
}

}  // namespace braze::codegen
