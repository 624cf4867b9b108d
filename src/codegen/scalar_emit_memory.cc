// SPDX-License-Identifier: Apache-2.0
// Loads and stores: by the stride of the address in the vector variable.
//
//   0            one scalar, splat
//   1, -1        a vector (reversed), masked if need be; without AVX-512, where only the first so many lanes
//                exist, in two pieces: stores with masks are slow there, and narrow types have none
//   2, 3, 4      that many vectors and shuffles (stores: of as many neighbours at once)
//   other        lane by lane from one base address
//   not affine   gather or scatter of computed addresses
// A scalar access that must not happen goes to a harmless address instead: no branches.
#include <cstdlib>

#include "codegen/first_lanes.h"
#include "codegen/scalar_emit_impl.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

using llvm::Value;
using scalar::Node;

constexpr int kZeroBytes = 512;

bool is_vector(Value* v) { return v->getType()->isVectorTy(); }

}  // namespace

llvm::Align ScalarEmitter::Impl::element_align(const BufferBinding& buffer, Dtype t) {
  const int64_t size = byte_size(t);
  return llvm::Align(std::min(size, std::max<int64_t>(buffer.align, 1)));
}

bool ScalarEmitter::Impl::has_masked(Dtype t) const {
  return target.avx512 || (target.avx2 && byte_size(t) >= 4);
}

Value* ScalarEmitter::Impl::zeros() {
  llvm::Module* m = b.GetInsertBlock()->getModule();
  const char* const name = "braze.zeros";
  if (llvm::GlobalVariable* g = m->getNamedGlobal(name)) return g;
  auto* type = llvm::ArrayType::get(b.getInt8Ty(), kZeroBytes);
  auto* g = new llvm::GlobalVariable(*m, type, true, llvm::GlobalValue::InternalLinkage,
                                     llvm::ConstantAggregateZero::get(type), name);
  g->setAlignment(llvm::Align(64));
  return g;
}

Value* ScalarEmitter::Impl::scratch() {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  for (llvm::Instruction& i : entry)
    if (i.getName() == "braze.scratch") return &i;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(&entry, entry.begin());
  auto* a = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), 64), nullptr, "braze.scratch");
  a->setAlignment(llvm::Align(64));
  return a;
}

Value* ScalarEmitter::Impl::attach(Value* access, const BufferBinding& buffer, bool is_load) {
  auto* i = llvm::dyn_cast<llvm::Instruction>(access);
  if (!i) return access;
  llvm::LLVMContext& c = b.getContext();
  if (buffer.alias_scope) i->setMetadata(llvm::LLVMContext::MD_alias_scope, buffer.alias_scope);
  if (buffer.no_alias) i->setMetadata(llvm::LLVMContext::MD_noalias, buffer.no_alias);
  if (is_load && buffer.invariant && llvm::isa<llvm::LoadInst>(i))
    i->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(c, {}));
  return access;
}

Value* ScalarEmitter::Impl::to_register(Dtype t, Value* v) {
  if (is_pred(t)) return b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  if (is_int(t) && bit_size(t) < 8) return ops.bitcast(t, Dtype::kU8, v);  // whatever the high bits
  return v;
}

Value* ScalarEmitter::Impl::to_memory(Dtype t, Value* v) {
  if (!is_pred(t)) return v;
  llvm::Type* type = b.getInt8Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType()))
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  return b.CreateZExt(v, type);
}

Value* ScalarEmitter::Impl::address(const BufferBinding& buffer, Dtype t, Value* offset,
                                    Dtype offset_type) {
  // Addressing sign-extends; unsigned offsets must not be.
  if (is_unsigned_int(offset_type) && bit_size(offset_type) < 64) {
    llvm::Type* i64 = b.getInt64Ty();
    offset = b.CreateZExt(offset, is_vector(offset) ? llvm::FixedVectorType::get(i64, width) : i64);
  }
  return b.CreateGEP(memory_type(b.getContext(), t), buffer.base, offset);
}

Access ScalarEmitter::Impl::access_of_offset(Scalar offset) const {
  if (is_uniform(offset)) return {Access::kUniform, 0};
  for (int64_t v : varying)
    if (v != vector_var && g.depends_on(offset, v)) return {Access::kGather, 0};
  int64_t stride = 0;
  if (!g.stride_in(offset, vector_var, &stride)) return {Access::kGather, 0};
  return {stride == 0 ? Access::kUniform : Access::kStrided, stride};
}

// Remembered, since needs and build both ask; binding a variable to a vector forgets it.
Access ScalarEmitter::Impl::access_of(Scalar load) {
  const auto [it, added] = accesses.try_emplace(load.id);
  if (added) it->second = access_of_offset(g[load].args[0]);
  return it->second;
}

void ScalarEmitter::Impl::load_needs(Scalar s, Mode m, Needs& out) {
  const Node& n = g[s];
  const Scalar offset = n.args[0], condition = n.args[1];
  if (m == Mode::kNarrow) {
    out.emplace_back(s, Mode::kVector);
    return;
  }
  if (m != Mode::kVector) {
    out.emplace_back(offset, mode_of(offset, m));
    if (condition) out.emplace_back(condition, mode_of(condition, m));
    return;
  }
  const bool gather = access_of(s).kind == Access::kGather;
  if (gather) out.emplace_back(offset, fits_narrow(offset) ? Mode::kNarrow : Mode::kVector);
  else out.emplace_back(offset, mode_of(offset, Mode::kBase));
  if (condition) out.emplace_back(condition, mode_of(condition, Mode::kVector));
}

Value* ScalarEmitter::Impl::build_load(Scalar s, Mode m) {
  const Node& n = g[s];
  llvm::LLVMContext& c = b.getContext();
  if (!buffers.contains(n.imm)) {  // unbound: caller's error
    llvm::Type* t = register_type(c, n.type);
    return llvm::PoisonValue::get(m == Mode::kVector ? llvm::FixedVectorType::get(t, width) : t);
  }
  if (m == Mode::kNarrow) {
    Value* v = found(s, Mode::kVector);
    return b.CreateTrunc(v, llvm::FixedVectorType::get(b.getInt32Ty(), width));
  }
  if (m != Mode::kVector) {
    Value* condition = n.args[1] ? found(n.args[1], mode_of(n.args[1], m)) : nullptr;
    return load_scalar(n, found(n.args[0], mode_of(n.args[0], m)), condition);
  }
  const Access access = access_of(s);
  if (access.kind == Access::kStrided) return load_strided(n, access.stride);
  if (access.kind == Access::kGather) return load_gather(n);
  Value* condition = nullptr;
  if (n.args[1]) {
    condition = found(n.args[1], mode_of(n.args[1], Mode::kVector));
    if (is_vector(condition)) condition = b.CreateOrReduce(condition);  // any lane needs it
  }
  return splat(load_scalar(n, found(n.args[0], mode_of(n.args[0], Mode::kBase)), condition));
}

Value* ScalarEmitter::Impl::load_scalar(const Node& n, Value* offset, Value* condition) {
  const BufferBinding& buffer = buffers[n.imm];
  Value* p = address(buffer, n.type, offset, g.type(n.args[0]));
  if (condition) p = b.CreateSelect(condition, p, zeros());
  Value* v = b.CreateAlignedLoad(memory_type(b.getContext(), n.type), p,
                                 element_align(buffer, n.type));
  // Neither the zeros nor metadata about the buffer describe the other.
  return to_register(n.type, condition ? v : attach(v, buffer, true));
}

Value* ScalarEmitter::Impl::lanes_of(Scalar condition, Value** uniform) {
  *uniform = nullptr;
  if (!condition) return mask;
  Value* c = found(condition, mode_of(condition, Mode::kVector));
  if (!is_vector(c)) {
    *uniform = c;
    return mask;
  }
  return mask ? b.CreateAnd(mask, c) : c;
}

// `stride` whole vectors that cover exactly the elements wanted, shuffled together. The last one
// starts stride - 1 elements early, so that nothing past the last element is read.
Value* ScalarEmitter::Impl::load_wide(Dtype t, const BufferBinding& buffer, Value* pointer,
                                      int64_t stride) {
  llvm::Type* element = memory_type(b.getContext(), t);
  auto* type = llvm::FixedVectorType::get(element, width);
  std::vector<Value*> parts;
  std::vector<int64_t> starts;
  for (int64_t k = 0; k < stride; ++k) {
    starts.push_back(k * width - (k == stride - 1 ? stride - 1 : 0));
    Value* p = b.CreateConstGEP1_64(element, pointer, starts.back());
    parts.push_back(attach(b.CreateAlignedLoad(type, p, element_align(buffer, t)), buffer, true));
  }
  // Lane i of the result is element i·stride: take it from the part that holds it.
  Value* r = nullptr;
  for (int64_t k = 0; k < stride; ++k) {
    std::vector<int> pick(width);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t e = i * stride;
      const bool here =
          e >= starts[k] && e < starts[k] + width && (k == stride - 1 || e < starts[k + 1]);
      const bool before = e < starts[k];
      pick[i] = static_cast<int>(here ? width + e - starts[k] : before ? i : 0);
    }
    if (!r) {
      for (int& p : pick) p = p >= width ? p - width : 0;
      r = b.CreateShuffleVector(parts[k], pick);
    } else {
      r = b.CreateShuffleVector(r, parts[k], pick);
    }
  }
  return r;
}

Value* ScalarEmitter::Impl::load_lanes(Dtype t, const BufferBinding& buffer,
                                       absl::Span<Value* const> pointers, Value* lane_mask) {
  llvm::Type* element = memory_type(b.getContext(), t);
  Value* r = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, width));
  const int first = target.avx512 ? 0 : known_first_lanes(lane_mask);
  if (first) r = llvm::Constant::getNullValue(r->getType()), lane_mask = nullptr;
  for (int i = 0; i < (first ? first : width); ++i) {
    Value* p = pointers[i];
    if (lane_mask) p = b.CreateSelect(b.CreateExtractElement(lane_mask, i), p, zeros());
    Value* v = b.CreateAlignedLoad(element, p, element_align(buffer, t));
    r = b.CreateInsertElement(r, lane_mask ? v : attach(v, buffer, true), i);
  }
  return r;
}

Value* ScalarEmitter::Impl::load_first(Dtype t, const BufferBinding& buffer, Value* pointer, int lanes) {
  llvm::Type* element = memory_type(b.getContext(), t);
  Value* r = llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, width));
  for (const LanePiece& piece : pieces_of(lanes)) {
    auto* type = llvm::FixedVectorType::get(element, piece.lanes);
    Value* p = b.CreateConstGEP1_64(element, pointer, piece.start);
    Value* v = attach(b.CreateAlignedLoad(type, p, element_align(buffer, t)), buffer, true);
    std::vector<int> widened(width, -1), pick(width);
    for (int i = 0; i < width; ++i) {
      const bool here = i >= piece.start && i < piece.start + piece.lanes;
      if (here) widened[i] = i - piece.start;
      pick[i] = here ? width + i : i;
    }
    r = b.CreateShuffleVector(r, b.CreateShuffleVector(v, widened), pick);
  }
  return r;
}

void ScalarEmitter::Impl::store_first(const BufferBinding& buffer, Dtype t, Value* pointer, Value* value,
                                      int lanes) {
  for (const LanePiece& piece : pieces_of(lanes)) {
    std::vector<int> pick(piece.lanes);
    for (int i = 0; i < piece.lanes; ++i) pick[i] = piece.start + i;
    Value* p = b.CreateConstGEP1_64(memory_type(b.getContext(), t), pointer, piece.start);
    attach(b.CreateAlignedStore(b.CreateShuffleVector(value, pick), p, element_align(buffer, t)), buffer, false);
  }
}

Value* ScalarEmitter::Impl::load_strided(const Node& n, int64_t stride) {
  const BufferBinding& buffer = buffers[n.imm];
  llvm::Type* element = memory_type(b.getContext(), n.type);
  auto* type = llvm::FixedVectorType::get(element, width);
  Value* uniform = nullptr;
  Value* lane_mask = lanes_of(n.args[1], &uniform);
  Value* p = address(buffer, n.type, found(n.args[0], mode_of(n.args[0], Mode::kBase)),
                     g.type(n.args[0]));
  const int64_t span = std::abs(stride) <= kMaxShuffleStride
                           ? (std::abs(stride) * width) * byte_size(n.type) : kZeroBytes + 1;
  // A condition for all lanes: read zeros instead, if the zeros are large enough for the access.
  if (uniform && !lane_mask && stride > 0 && span <= kZeroBytes) {
    p = b.CreateSelect(uniform, p, zeros());
    uniform = nullptr;
  }
  if (uniform) {
    Value* all = splat(uniform);
    lane_mask = lane_mask ? b.CreateAnd(lane_mask, all) : all;
  }
  const llvm::Align align = element_align(buffer, n.type);
  if (stride == 1 && !lane_mask)
    return to_register(n.type, attach(b.CreateAlignedLoad(type, p, align), buffer, true));
  if (const int first = known_first_lanes(lane_mask); first && stride == 1 && !has_masked(n.type))
    return to_register(n.type, load_first(n.type, buffer, p, first));
  if (stride == 1 && has_masked(n.type)) {
    // A masked load of no lane from where no memory is takes hundreds of cycles.
    if (n.args[1]) p = b.CreateSelect(b.CreateOrReduce(lane_mask), p, zeros());
    Value* v = b.CreateMaskedLoad(type, p, align, lane_mask, llvm::Constant::getNullValue(type));
    return to_register(n.type, attach(v, buffer, true));
  }
  if (stride == -1 && !lane_mask) {
    Value* first = b.CreateConstGEP1_64(element, p, 1 - width);
    Value* v = attach(b.CreateAlignedLoad(type, first, align), buffer, true);
    return to_register(n.type, b.CreateVectorReverse(v));
  }
  if (stride >= 2 && stride <= kMaxShuffleStride && !lane_mask)
    return to_register(n.type, load_wide(n.type, buffer, p, stride));
  std::vector<Value*> pointers;
  for (int64_t i = 0; i < width; ++i)
    pointers.push_back(b.CreateConstGEP1_64(element, p, i * stride));
  return to_register(n.type, load_lanes(n.type, buffer, pointers, lane_mask));
}

Value* ScalarEmitter::Impl::load_gather(const Node& n) {
  const BufferBinding& buffer = buffers[n.imm];
  llvm::Type* element = memory_type(b.getContext(), n.type);
  Value* uniform = nullptr;
  Value* lane_mask = lanes_of(n.args[1], &uniform);
  if (uniform) {
    Value* all = splat(uniform);
    lane_mask = lane_mask ? b.CreateAnd(lane_mask, all) : all;
  }
  const Scalar offset = n.args[0];
  Value* offsets = found(offset, fits_narrow(offset) ? Mode::kNarrow : Mode::kVector);
  if (byte_size(n.type) >= 4 && (target.avx512 || (target.avx2 && lane_mask))) {
    auto* type = llvm::FixedVectorType::get(element, width);
    Value* pointers = address(buffer, n.type, offsets, g.type(offset));
    Value* v = b.CreateMaskedGather(type, pointers, element_align(buffer, n.type), lane_mask,
                                    llvm::Constant::getNullValue(type));
    return to_register(n.type, attach(v, buffer, true));
  }
  std::vector<Value*> pointers;
  for (int i = 0; i < width; ++i)
    pointers.push_back(
        address(buffer, n.type, b.CreateExtractElement(offsets, i), g.type(offset)));
  return to_register(n.type, load_lanes(n.type, buffer, pointers, lane_mask));
}

void ScalarEmitter::Impl::store_lanes(const BufferBinding& buffer,
                                      absl::Span<Value* const> pointers, Value* value,
                                      Value* lane_mask) {
  const int first = target.avx512 ? 0 : known_first_lanes(lane_mask);
  if (first) lane_mask = nullptr;
  for (int i = 0; i < (first ? first : width); ++i) {
    Value* p = pointers[i];
    if (lane_mask) p = b.CreateSelect(b.CreateExtractElement(lane_mask, i), p, scratch());
    Value* v = b.CreateExtractElement(value, i);
    const int64_t size = static_cast<int64_t>(v->getType()->getPrimitiveSizeInBits() / 8);
    const llvm::Align align(std::min(size, std::max<int64_t>(buffer.align, 1)));
    Value* st = b.CreateAlignedStore(v, p, align);
    if (!lane_mask) attach(st, buffer, false);
  }
}

void ScalarEmitter::Impl::store_vector(const BufferBinding& buffer, Dtype t, Scalar offset,
                                       Value* value, const StoreOptions& o) {
  Value* uniform = nullptr;
  if (o.condition) get(o.condition, mode_of(o.condition, Mode::kVector));
  Value* lane_mask = lanes_of(o.condition, &uniform);
  if (uniform) {
    Value* all = splat(uniform);
    lane_mask = lane_mask ? b.CreateAnd(lane_mask, all) : all;
  }
  Value* v = to_memory(t, value);
  const Access access = access_of_offset(offset);
  llvm::Type* element = memory_type(b.getContext(), t);
  const llvm::Align align = element_align(buffer, t);
  std::vector<Value*> pointers;
  if (access.kind == Access::kGather) {
    Value* offsets = get(offset, fits_narrow(offset) ? Mode::kNarrow : Mode::kVector);
    if (byte_size(t) >= 4 && target.avx512) {
      Value* to = address(buffer, t, offsets, g.type(offset));
      attach(b.CreateMaskedScatter(v, to, align, lane_mask), buffer, false);
      return;
    }
    for (int i = 0; i < width; ++i)
      pointers.push_back(address(buffer, t, b.CreateExtractElement(offsets, i), g.type(offset)));
    return store_lanes(buffer, pointers, v, lane_mask);
  }
  Value* p = address(buffer, t, get(offset, Mode::kBase), g.type(offset));
  if (access.stride == -1 && !lane_mask) {
    p = b.CreateConstGEP1_64(element, p, 1 - width);
    attach(b.CreateAlignedStore(b.CreateVectorReverse(v), p, align), buffer, false);
    return;
  }
  if (access.stride == 1 && !lane_mask) {
    const int64_t whole = int64_t{width} * byte_size(t);
    auto* st = b.CreateAlignedStore(v, p, o.non_temporal ? llvm::Align(whole) : align);
    if (o.non_temporal)
      st->setMetadata(
          llvm::LLVMContext::MD_nontemporal,
          llvm::MDNode::get(b.getContext(), llvm::ConstantAsMetadata::get(b.getInt32(1))));
    attach(st, buffer, false);
    return;
  }
  if (const int first = known_first_lanes(lane_mask); first && access.stride == 1 && !target.avx512)
    return store_first(buffer, t, p, v, first);
  if (access.stride == 1 && has_masked(t)) {
    if (o.condition) p = b.CreateSelect(b.CreateOrReduce(lane_mask), p, scratch());
    attach(b.CreateMaskedStore(v, p, align, lane_mask), buffer, false);
    return;
  }
  for (int64_t i = 0; i < width; ++i)
    pointers.push_back(b.CreateConstGEP1_64(element, p, i * access.stride));
  store_lanes(buffer, pointers, v, lane_mask);
}

void ScalarEmitter::store(int64_t buffer_id, Dtype t, Scalar offset, Value* value,
                          const StoreOptions& o) {
  Impl& e = *impl_;
  const auto it = e.buffers.find(buffer_id);
  if (it == e.buffers.end()) return;  // unbound: caller's error
  const BufferBinding& buffer = it->second;
  const Access access = e.access_of_offset(offset);
  if (e.width > 1 && access.kind != Access::kUniform)
    return e.store_vector(buffer, t, offset, e.splat(value), o);
  Value* v = is_vector(value) ? e.b.CreateExtractElement(value, uint64_t{0}) : value;
  Value* p = e.address(buffer, t, e.get(offset, Mode::kBase), e.g.type(offset));
  if (o.condition) p = e.b.CreateSelect(e.get(o.condition, Mode::kBase), p, e.scratch());
  Value* st = e.b.CreateAlignedStore(e.to_memory(t, v), p, Impl::element_align(buffer, t));
  if (!o.condition) e.attach(st, buffer, false);
}

void ScalarEmitter::store_interleaved(int64_t buffer_id, Dtype t, Scalar offset,
                                      absl::Span<Value* const> values) {
  Impl& e = *impl_;
  const auto it = e.buffers.find(buffer_id);
  if (it == e.buffers.end()) return;  // unbound: caller's error
  const BufferBinding& buffer = it->second;
  const int n = static_cast<int>(values.size()), width = e.width;
  std::vector<Value*> parts;
  for (Value* v : values) parts.push_back(e.to_memory(t, e.splat(v)));
  llvm::Type* element = memory_type(e.b.getContext(), t);
  Value* p = e.address(buffer, t, e.get(offset, Mode::kBase), e.g.type(offset));
  for (int j = 0; j < n; ++j) {
    // Lane i of this vector is element (j·width + i) / n of the part numbered by the remainder.
    Value* r = parts[0];
    for (int k = 1; k < n; ++k) {
      llvm::SmallVector<int, 64> pick(width);
      for (int i = 0; i < width; ++i) {
        const int at = j * width + i;
        const bool here = at % n == k, first = k == 1 && at % n == 0;
        pick[i] = here ? width + at / n : first ? at / n : i;
      }
      r = e.b.CreateShuffleVector(r, parts[k], pick);
    }
    Value* to = e.b.CreateConstGEP1_64(element, p, int64_t{j} * width);
    e.attach(e.b.CreateAlignedStore(r, to, Impl::element_align(buffer, t)), buffer, false);
  }
}

}  // namespace braze::codegen
