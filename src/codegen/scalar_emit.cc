// SPDX-License-Identifier: Apache-2.0
// Which nodes are emitted, in which order, as scalars or vectors. An explicit stack takes the place
// of recursion; each (node, mode) is emitted once per scope.
#include "codegen/scalar_emit.h"

#include <algorithm>
#include <bit>

#include "codegen/scalar_emit_impl.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/MDBuilder.h"
#include "scalar/fold.h"

namespace braze::codegen {
namespace {

using scalar::Node;
using scalar::Op;
using scalar::Range;

constexpr Range kNarrowRange{INT32_MIN, INT32_MAX};
constexpr int kMaxLazyDepth = 4;

bool is_vector(llvm::Value* v) { return v->getType()->isVectorTy(); }
bool is_compare(Op op) { return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe; }
bool is_wide_int(Dtype t) { return t == Dtype::kS64 || t == Dtype::kU64; }

llvm::Constant* constant_of(llvm::LLVMContext& c, const Node& n) {
  llvm::Type* type = register_type(c, n.type);
  if (!is_float(n.type)) return llvm::ConstantInt::get(type, static_cast<uint64_t>(n.imm));
  if (type->isFloatingPointTy()) {
    // f32 NaNs keep their bits.
    const double v = std::bit_cast<double>(n.imm);
    if (type->isDoubleTy()) return llvm::ConstantFP::get(c, llvm::APFloat(v));
    return llvm::ConstantFP::get(c, llvm::APFloat(static_cast<float>(v)));
  }
  scalar::Cell cell;
  cell.f = std::bit_cast<double>(n.imm);
  const Dtype types[3] = {n.type};
  const scalar::Cell args[3] = {cell};
  const Dtype bits = bit_size(n.type) == 16 ? Dtype::kU16 : Dtype::kU8;
  return llvm::ConstantInt::get(type, scalar::fold(Op::kBitcast, bits, types, args).i);
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& c, Dtype t) {
  if (is_pred(t)) return llvm::Type::getInt1Ty(c);
  if (t == Dtype::kF32) return llvm::Type::getFloatTy(c);
  if (t == Dtype::kF64) return llvm::Type::getDoubleTy(c);
  return llvm::Type::getIntNTy(c, std::max(8, byte_size(t) * 8));
}

llvm::Type* memory_type(llvm::LLVMContext& c, Dtype t) {
  return is_pred(t) ? llvm::Type::getInt8Ty(c) : register_type(c, t);
}

void ScalarEmitter::Impl::remember(int64_t k, llvm::Value* v) {
  llvm::Value*& slot = cache[k];
  undo.emplace_back(k, slot);
  slot = v;
}

void ScalarEmitter::Impl::forget_if(bool (*predicate)(const Impl&, Scalar, int64_t),
                                    int64_t argument) {
  for (auto& [k, value] : cache) {
    if (!value || !predicate(*this, Scalar{static_cast<int32_t>(k / 8)}, argument)) continue;
    undo.emplace_back(k, value);
    value = nullptr;
  }
}

void ScalarEmitter::Impl::restore(size_t scope) {
  while (undo.size() > scope) {
    const auto [k, value] = undo.back();
    undo.pop_back();
    if (k >= 0) {
      cache[k] = value;
      continue;
    }
    vars[-1 - k] = value;
    note_varying(-1 - k);
  }
}

llvm::Value* ScalarEmitter::Impl::found(Scalar s, Mode m) const {
  const auto it = cache.find(key(s, m));
  return it == cache.end() ? nullptr : it->second;
}

llvm::Value* ScalarEmitter::Impl::splat(llvm::Value* v) {
  if (is_vector(v)) return v;
  if (auto* c = llvm::dyn_cast<llvm::Constant>(v))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width), c);
  return b.CreateVectorSplat(width, v);
}

void ScalarEmitter::Impl::note_varying(int64_t id) {
  if (id == vector_var) return;
  const size_t before = varying.size();
  varying.erase(std::remove(varying.begin(), varying.end(), id), varying.end());
  const bool is_varying = vars[id] && is_vector(vars[id]);
  if ((varying.size() != before) != is_varying) accesses.clear();
  if (is_varying) varying.push_back(id);
}

bool ScalarEmitter::Impl::fits_narrow(Scalar s) const {
  const Range r = g.range(s);
  return is_wide_int(g.type(s)) && r.lo >= kNarrowRange.lo && r.hi <= kNarrowRange.hi;
}

// Is a 64-bit node better computed in lanes of i32?
bool ScalarEmitter::Impl::narrowable(Scalar s) const {
  if (!fits_narrow(s)) return false;
  const Node& n = g[s];
  switch (n.op) {
    case Op::kVar:
      return n.imm == vector_var;
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kDiv: case Op::kRem:
    case Op::kMin: case Op::kMax: case Op::kAnd: case Op::kSelect:
      for (int i = n.op == Op::kSelect; i < 3 && n.args[i]; ++i)
        if (!fits_narrow(n.args[i])) return false;
      return true;
    case Op::kCast: {
      const Dtype from = g.type(n.args[0]);
      return from == Dtype::kS32 || (!is_float(from) && bit_size(from) < 32);
    }
    default:
      return false;
  }
}

// The mode in which argument i of n is wanted when n is emitted in mode m.
Mode ScalarEmitter::Impl::argument_mode(const Node& n, int i, Mode m) const {
  const Scalar a = n.args[i];
  if (m == Mode::kScalar || m == Mode::kBase) return mode_of(a, m);
  if (n.op == Op::kSelect && i == 0) return mode_of(a, Mode::kVector);
  if (m == Mode::kNarrow)
    return n.op == Op::kCast ? mode_of(a, Mode::kSplat) : is_uniform(a) ? Mode::kSplat : m;
  const bool narrow = (is_compare(n.op) && narrowable(n.args[0]) && fits_narrow(n.args[1])) ||
                      (is_compare(n.op) && narrowable(n.args[1]) && fits_narrow(n.args[0])) ||
                      (n.op == Op::kCast && narrowable(n.args[0]));
  if (narrow && !is_uniform(a)) return Mode::kNarrow;
  return mode_of(a, Mode::kSplat);
}

void ScalarEmitter::Impl::needs(Scalar s, Mode m, Needs& out) {
  const Node& n = g[s];
  if (m == Mode::kSplat) {
    out.emplace_back(s, Mode::kScalar);
    return;
  }
  if (n.op == Op::kLoad) return load_needs(s, m, out);
  if (n.op == Op::kVar || n.op == Op::kConst) return;
  if (m == Mode::kVector && narrowable(s)) {
    out.emplace_back(s, Mode::kNarrow);
    return;
  }
  if (m == Mode::kNarrow && !narrowable(s)) {
    out.emplace_back(s, Mode::kVector);
    return;
  }
  const bool lazy = is_lazy(n);
  for (int i = 0; i < 3 && n.args[i]; ++i)
    if (!lazy || i != 1) out.emplace_back(n.args[i], argument_mode(n, i, m));
}

bool ScalarEmitter::Impl::is_lazy(const Node& n) const {
  // Branches are emitted by recursion, so not many in one another; and not into the middle of a
  // block.
  return n.op == Op::kSelect && n.imm == 1 && is_float(n.type) && lazy_depth < kMaxLazyDepth &&
         b.GetInsertPoint() == b.GetInsertBlock()->end();
}

llvm::Value* ScalarEmitter::Impl::build_lazy(const Node& n, Mode m) {
  llvm::Value* p = found(n.args[0], argument_mode(n, 0, m));
  llvm::Value* common = found(n.args[2], argument_mode(n, 2, m));
  llvm::Value* any = p;
  if (is_vector(p)) {
    // As an integer: the reduction intrinsic takes longer to compile.
    any = b.CreateBitCast(p, b.getIntNTy(width));
    any = b.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType()));
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* rare = llvm::BasicBlock::Create(b.getContext(), "rare", before->getParent());
  auto* join = llvm::BasicBlock::Create(b.getContext(), "join", before->getParent());
  b.CreateCondBr(any, rare, join, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(rare);
  ++lazy_depth;
  const size_t scope = undo.size();
  llvm::Value* v = get(n.args[1], argument_mode(n, 1, m));
  restore(scope);
  --lazy_depth;
  llvm::BasicBlock* rare_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* phi = b.CreatePHI(v->getType(), 2);
  phi->addIncoming(common, before);
  phi->addIncoming(v, rare_end);
  return is_vector(p) ? b.CreateSelect(p, phi, common) : phi;
}

llvm::Value* ScalarEmitter::Impl::get(Scalar s, Mode m) {
  m = mode_of(s, m);
  std::vector<std::pair<Scalar, Mode>> stack{{s, m}};
  Needs wanted;
  while (!stack.empty()) {
    const auto [node, mode] = stack.back();
    if (found(node, mode)) {
      stack.pop_back();
      continue;
    }
    wanted.clear();
    needs(node, mode, wanted);
    const size_t before = stack.size();
    // Pushed last, emitted first: arguments in order.
    for (size_t i = wanted.size(); i-- > 0;)
      if (!found(wanted[i].first, wanted[i].second)) stack.push_back(wanted[i]);
    if (stack.size() > before) continue;
    stack.pop_back();
    remember(key(node, mode), build(node, mode));
  }
  return found(s, m);
}

llvm::Value* ScalarEmitter::Impl::build_var(const Node& n, Mode m) {
  llvm::Value* v = vars[n.imm];
  if (!v)
    v = llvm::PoisonValue::get(register_type(b.getContext(), n.type));  // unbound: caller's error
  if (is_vector(v)) {
    if (m == Mode::kBase) return b.CreateExtractElement(v, uint64_t{0});
    return m == Mode::kNarrow
               ? b.CreateTrunc(v, llvm::FixedVectorType::get(b.getInt32Ty(), width)) : v;
  }
  if (m != Mode::kVector && m != Mode::kNarrow) return v;
  if (n.imm != vector_var) return splat(v);
  // The vector variable: base, base + 1, …
  llvm::Type* type = m == Mode::kNarrow ? b.getInt32Ty() : v->getType();
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < width; ++i) steps.push_back(llvm::ConstantInt::get(type, i));
  if (m == Mode::kNarrow && v->getType() != type) v = b.CreateTrunc(v, type);
  return b.CreateAdd(splat(v), llvm::ConstantVector::get(steps));
}

llvm::Value* ScalarEmitter::Impl::build_operation(const Node& n, Mode m) {
  llvm::Value* args[3] = {};
  int count = 0;
  bool any_narrow = false;
  for (; count < 3 && n.args[count]; ++count) {
    const Mode am = argument_mode(n, count, m);
    args[count] = found(n.args[count], am);
    any_narrow |= am == Mode::kNarrow;
  }
  // 64-bit operands of narrow operations and comparisons come down to i32.
  llvm::Type* i32 = llvm::FixedVectorType::get(b.getInt32Ty(), width);
  const bool narrow = m == Mode::kNarrow || any_narrow;
  for (int i = n.op == Op::kSelect; narrow && i < count; ++i) {
    if (n.op == Op::kCast || args[i]->getType() == i32) continue;
    if (llvm::Value* uniform = is_uniform(n.args[i]) ? found(n.args[i], Mode::kScalar) : nullptr)
      args[i] = splat(b.CreateTrunc(uniform, b.getInt32Ty()));
    else
      args[i] = b.CreateTrunc(args[i], i32);
  }
  const Dtype arg_type = g.type(n.args[0]);
  const Dtype narrow_type = Dtype::kS32;
  switch (n.op) {
    case Op::kCast:
      if (m == Mode::kNarrow) return ops.cast(Dtype::kS32, arg_type, args[0]);
      return ops.cast(n.type, any_narrow ? narrow_type : arg_type, args[0]);
    case Op::kBitcast:
      return ops.bitcast(n.type, arg_type, args[0]);
    case Op::kEq: case Op::kNe: case Op::kLt: case Op::kLe:
      return ops.compare(n.op, any_narrow ? narrow_type : arg_type, args[0], args[1]);
    case Op::kLdexp:
      if (n.imm == 1) return ops.ldexp_near(n.type, args[0], args[1]);
      return ops.ldexp(n.type, args[0], args[1], is_float(g.type(n.args[1])));
    case Op::kDiv: case Op::kRem:
      if (!is_float(n.type)) {
        const Range r = g.range(n.args[1]);
        const bool safe = r.lo > 0;
        return ops.int_division(n.op == Op::kRem, m == Mode::kNarrow ? narrow_type : n.type,
                                args[0], args[1], safe);
      }
      break;
    default:
      break;
  }
  return ops.operation(n.op, m == Mode::kNarrow ? narrow_type : n.type, {args, size_t(count)});
}

llvm::Value* ScalarEmitter::Impl::build(Scalar s, Mode m) {
  const Node& n = g[s];
  if (m == Mode::kSplat) return splat(found(s, Mode::kScalar));
  if (n.op == Op::kConst) return constant_of(b.getContext(), n);
  if (n.op == Op::kVar) return build_var(n, m);
  if (n.op == Op::kLoad) return build_load(s, m);
  if (is_lazy(n)) return build_lazy(n, m);
  llvm::Type* i32 = llvm::FixedVectorType::get(b.getInt32Ty(), width);
  if (m == Mode::kVector && narrowable(s))
    return b.CreateSExt(found(s, Mode::kNarrow), llvm::FixedVectorType::get(b.getInt64Ty(), width));
  if (m == Mode::kNarrow && !narrowable(s)) return b.CreateTrunc(found(s, Mode::kVector), i32);
  // bf16 values are mostly made to be widened again.
  const Scalar x = n.args[0];
  if (n.op == Op::kCast && n.type == Dtype::kF32 && g.type(x) == Dtype::kBF16 &&
      g[x].op == Op::kCast) {
    if (llvm::Value* inner = found(g[x].args[0], argument_mode(g[x], 0, m)))
      return ops.round_bf16(inner);
  }
  return build_operation(n, m);
}

ScalarEmitter::ScalarEmitter(llvm::IRBuilderBase& b, const scalar::Graph& g, const Target& target,
                             int width, int64_t vector_var)
    : impl_(std::make_unique<Impl>(b, g, target, width, vector_var)) {}
ScalarEmitter::~ScalarEmitter() = default;

void ScalarEmitter::bind_buffer(int64_t id, const BufferBinding& binding) {
  impl_->buffers[id] = binding;
}

void ScalarEmitter::bind_var(int64_t id, llvm::Value* value) {
  Impl& i = *impl_;
  llvm::Value*& slot = i.vars[id];
  if (slot == value) return;
  const bool rebound = slot != nullptr;
  i.undo.emplace_back(-1 - id, slot);
  slot = value;
  if (rebound)
    i.forget_if([](const Impl& e, Scalar s, int64_t v) { return e.g.depends_on(s, v); }, id);
  i.note_varying(id);
}

void ScalarEmitter::set_mask(llvm::Value* mask) {
  if (impl_->mask == mask) return;
  impl_->mask = mask;
  // Masked lanes of earlier loads hold nothing.
  impl_->forget_if([](const Impl& e, Scalar s, int64_t) {
    return e.g.has_loads(s) && !e.is_uniform(s);
  }, 0);
}

llvm::Value* ScalarEmitter::emit(Scalar s) {
  return impl_->get(s, impl_->is_uniform(s) ? Mode::kScalar : Mode::kVector);
}
llvm::Value* ScalarEmitter::emit_vector(Scalar s) { return impl_->vector(s); }
llvm::Value* ScalarEmitter::emit_base(Scalar s) { return impl_->get(s, Mode::kBase); }
bool ScalarEmitter::is_uniform(Scalar s) const { return impl_->is_uniform(s); }
llvm::Value* ScalarEmitter::splat(llvm::Value* v) { return impl_->splat(v); }

void ScalarEmitter::hoist(absl::Span<const Scalar> roots, absl::Span<const int64_t> inner,
                          bool loads) {
  Impl& e = *impl_;
  std::vector<int32_t> order;
  absl::flat_hash_map<int32_t, bool> movable;
  for (Scalar s : roots)
    if (s && movable.try_emplace(s.id, false).second) order.push_back(s.id);
  for (size_t i = 0; i < order.size(); ++i)
    for (Scalar a : e.g[Scalar{order[i]}].args)
      if (a && movable.try_emplace(a.id, false).second) order.push_back(a.id);
  std::sort(order.begin(), order.end());
  for (int32_t id : order) {
    const Node& n = e.g[Scalar{id}];
    bool m = true;
    if (n.op == Op::kVar)
      m = std::find(inner.begin(), inner.end(), n.imm) == inner.end() && e.vars[n.imm];
    if (n.op == Op::kLoad) {
      const auto buffer = e.buffers.find(n.imm);
      m = buffer != e.buffers.end() && (loads || buffer->second.invariant);
    }
    for (Scalar a : n.args) m = m && (!a || movable[a.id]);
    movable[id] = m;
  }
  const auto move = [&](Scalar s, bool by_vector) {
    const Op op = e.g[s].op;
    if (!movable[s.id] || op == Op::kConst || op == Op::kVar) return;
    if (by_vector && e.width > 1) e.vector(s);
    else emit(s);
  };
  for (int32_t id : order) {
    const Node& n = e.g[Scalar{id}];
    if (movable[id] || n.op == Op::kLoad) {
      // An address moves as a scalar; what it loads from may not.
      if (!movable[id])
        for (Scalar a : n.args)
          if (a && e.is_uniform(a)) move(a, false);
      continue;
    }
    for (Scalar a : n.args)
      if (a) move(a, !e.is_uniform(Scalar{id}));
  }
  for (Scalar s : roots)
    if (s) move(s, false);
}

size_t ScalarEmitter::open_scope() { return impl_->undo.size(); }

void ScalarEmitter::close_scope(size_t scope) { impl_->restore(scope); }

llvm::Value* ScalarEmitter::operation(Op op, Dtype t, absl::Span<llvm::Value* const> args) {
  if (is_compare(op)) return impl_->ops.compare(op, t, args[0], args[1]);
  return impl_->ops.operation(op, t, args);
}

llvm::Value* ScalarEmitter::cast(Dtype to, Dtype from, llvm::Value* v) {
  return impl_->ops.cast(to, from, v);
}

}  // namespace braze::codegen
