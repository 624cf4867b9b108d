// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan_emit.h"

#include <algorithm>

#include "codegen/jit.h"
#include "llvm/IR/IntrinsicInst.h"

namespace braze::codegen {
namespace {

constexpr int64_t kInlineWork = 256;       // stores times nodes of a kernel worth emitting in the loop
constexpr int64_t kInlineNodes = 8000;     // scalar nodes emitted into one driver
constexpr int64_t kRegisterBytes = 256;    // values kept off memory, so that they can be in registers

double work(const std::vector<loop::Stmt>& body) {
  double w = 0;
  for (const loop::Stmt& s : body)
    w += s.kind == loop::Stmt::Kind::kLoop
             ? 1 + static_cast<double>(s.loop->extent) * (1 + work(s.loop->body))
             : 1;
  return w;
}

// Stores and iterations of one launch.
double work(const loop::Kernel& k) {
  if (k.contraction) return k.flops;
  double w = 0;
  for (const loop::Phase& p : k.phases) w += static_cast<double>(p.items) * (1 + work(p.body));
  return w;
}

bool is_serial(const loop::Kernel& k) {
  if (k.contraction) return !k.chain && k.flops <= kInlineWork;
  return std::all_of(k.phases.begin(), k.phases.end(),
                     [](const loop::Phase& p) { return p.items < 2 * p.grain; });
}

// How many lanes a constant mask has if these are the first ones; 0 for any other mask.
unsigned first_lanes(llvm::Value* mask) {
  auto* type = llvm::cast<llvm::FixedVectorType>(mask->getType());
  auto* bits = llvm::dyn_cast<llvm::Constant>(mask);
  unsigned n = 0;
  auto is_set = [&](unsigned i) {
    llvm::Constant* bit = bits->getAggregateElement(i);
    return bit && bit->isOneValue();
  };
  while (bits && n < type->getNumElements() && is_set(n)) ++n;
  for (unsigned i = n; bits && i < type->getNumElements(); ++i)
    if (is_set(i)) return 0;
  return n;
}

// Accesses of the first lanes of a vector become accesses of a shorter vector, without a mask: only
// such can be moved from memory into registers.
void drop_masks(llvm::Function& f) {
  std::vector<llvm::IntrinsicInst*> masked;
  for (llvm::BasicBlock& block : f)
    for (llvm::Instruction& i : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
          call && (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
                   call->getIntrinsicID() == llvm::Intrinsic::masked_store))
        masked.push_back(call);
  for (llvm::IntrinsicInst* call : masked) {
    // load: pointer, alignment, mask, what the other lanes are; store: value, pointer, alignment, mask
    const bool is_load = call->getIntrinsicID() == llvm::Intrinsic::masked_load;
    const unsigned n = first_lanes(call->getArgOperand(is_load ? 2 : 3));
    if (n == 0) continue;
    llvm::IRBuilder<> b(call);
    auto* type = llvm::cast<llvm::FixedVectorType>(is_load ? call->getType()
                                                           : call->getArgOperand(0)->getType());
    auto* part = llvm::FixedVectorType::get(type->getElementType(), n);
    const llvm::Align align(
        llvm::cast<llvm::ConstantInt>(call->getArgOperand(is_load ? 1 : 2))->getZExtValue());
    llvm::SmallVector<int, 64> first;
    for (unsigned i = 0; i < n; ++i) first.push_back(static_cast<int>(i));
    if (is_load) {
      llvm::Value* loaded = b.CreateAlignedLoad(part, call->getArgOperand(0), align);
      // Lanes of `others` follow those of the loaded vector, which its own length is made for first.
      llvm::SmallVector<int, 64> longer = first, both = first;
      while (longer.size() < type->getNumElements()) longer.push_back(llvm::PoisonMaskElem);
      for (unsigned i = n; i < type->getNumElements(); ++i)
        both.push_back(static_cast<int>(type->getNumElements() + i));
      llvm::Value* wide = b.CreateShuffleVector(loaded, longer);
      call->replaceAllUsesWith(b.CreateShuffleVector(wide, call->getArgOperand(3), both));
    } else {
      b.CreateAlignedStore(b.CreateShuffleVector(call->getArgOperand(0), first),
                           call->getArgOperand(1), align);
    }
    call->eraseFromParent();
  }
}

}  // namespace

bool is_inlined(const loop::Kernel& k) {
  return is_serial(k) && work(k) <= kInlineWork && k.graph.size() <= kInlineNodes / 4;
}

StepChoice::StepChoice(const Plan& p, absl::Span<const PlanStep> steps, bool in_loops) : plan_(p) {
  auto visit = [&](auto& self, absl::Span<const PlanStep> list, bool inside) -> void {
    for (const PlanStep& s : list) {
      if (inside) add(s);
      for (const PlanSteps& inner : s.nested) self(self, inner, inside || s.kind == PlanStep::Kind::kWhile);
    }
  };
  visit(visit, steps, !in_loops);
}

void StepChoice::add(const PlanStep& s) {
  if (s.kind != PlanStep::Kind::kKernel) return;
  const loop::Kernel& k = *plan_.kernels[s.kernel];
  if (is_inlined(k) && (nodes_ += k.graph.size() + 8) <= kInlineNodes) inlined_.insert(&s);
}

bool StepChoice::calls_kernel(const PlanStep& s) const {
  const loop::Kernel& k = *plan_.kernels[s.kernel];
  return !inlines(s) && !k.contraction && is_serial(k);
}

bool StepChoice::calls_back(const PlanStep& s) const {
  if (s.kind == PlanStep::Kind::kLibrary) return true;
  return s.kind == PlanStep::Kind::kKernel && !inlines(s) && !calls_kernel(s);
}

PlanEmitter::PlanEmitter(llvm::Module& m, const Plan& plan, absl::Span<const PlanStep> steps,
                         const std::vector<std::string>& symbols, const Target& target, bool in_loops)
    : module_(m), b_(m.getContext()), plan_(plan), symbols_(symbols), target_(target), steps_(steps),
      choice_(plan, steps, in_loops), ptr_(llvm::PointerType::getUnqual(m.getContext())) {}

Status PlanEmitter::run(llvm::Function* function) {
  function_ = function;
  choose_registers();
  set_function_attributes(*function_, target_);
  entry_ = block("entry");
  auto* start = block("start");
  exit_ = block("exit");
  b_.SetInsertPoint(exit_);
  status_ = b_.CreatePHI(b_.getInt32Ty(), 2);
  b_.SetInsertPoint(entry_);
  begin();
  b_.SetInsertPoint(start);
  TRY(steps(steps_));
  status_->addIncoming(b_.getInt32(0), b_.GetInsertBlock());
  b_.CreateBr(exit_);
  b_.SetInsertPoint(exit_);
  for (int64_t id : copied_out_) copy(addresses(id), place(id), id);
  end();
  b_.CreateRet(status_);
  b_.SetInsertPoint(entry_);
  for (int64_t id : copied_in_) copy(place(id), addresses(id), id);
  b_.CreateBr(start);
  return absl::OkStatus();
}

llvm::BasicBlock* PlanEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, function_);
}

// Small buffers that only inlined steps touch live in allocas, which become registers.
void PlanEmitter::choose_registers() {
  absl::flat_hash_set<int64_t> inside, memory, outside, written;
  for (const PlanStep& root : steps_) for_each_step(root, [&](const PlanStep& s) {
    bool opaque = s.kind == PlanStep::Kind::kLibrary ||
                  (s.kind == PlanStep::Kind::kKernel && !choice_.inlines(s));
    auto touch = [&](int64_t id) { (opaque ? memory : inside).insert(id); };
    for (int64_t id : s.inputs) touch(id);
    for (int64_t id : s.outputs) touch(id), written.insert(id);
    if (s.predicate >= 0) inside.insert(s.predicate);
  });
  auto mark_outside = [&](auto& self, const PlanSteps& steps) -> void {
    for (const PlanStep& s : steps) {
      if (&s >= steps_.data() && &s < steps_.data() + steps_.size()) continue;
      outside.insert(s.inputs.begin(), s.inputs.end());
      outside.insert(s.outputs.begin(), s.outputs.end());
      if (s.predicate >= 0) outside.insert(s.predicate);
      for (const PlanSteps& inner : s.nested) self(self, inner);
    }
  };
  mark_outside(mark_outside, plan_.steps);
  std::vector<int64_t> ids(inside.begin(), inside.end());
  std::sort(ids.begin(), ids.end());
  for (int64_t id : ids) {
    const PlanBuffer& p = plan_.buffers[id];
    if (memory.contains(id) || !p.shape.is_array() || p.shape.bytes() > kRegisterBytes) continue;
    bool arena = p.kind == PlanBuffer::Kind::kArena;
    register_ids_.push_back(id);
    if (!arena || outside.contains(id)) {
      copied_in_.push_back(id);
      if (written.contains(id)) copied_out_.push_back(id);
    }
  }
}

// Where buffer `id` is in memory, computed once at entry.
llvm::Value* PlanEmitter::addresses(int64_t id) {
  llvm::Value*& v = address_[id];
  if (v) return v;
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  to_entry();
  const PlanBuffer& p = plan_.buffers[id];
  v = p.kind == PlanBuffer::Kind::kArena
          ? b_.CreateConstGEP1_64(b_.getInt8Ty(), arena_, static_cast<uint64_t>(p.offset))
          : address(id);
  return v;
}
void PlanEmitter::to_entry() {
  if (llvm::Instruction* end = entry_->getTerminator()) b_.SetInsertPoint(end);
  else b_.SetInsertPoint(entry_);
}
llvm::Value* PlanEmitter::in_entry(uint64_t bytes) {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  to_entry();
  llvm::AllocaInst* a = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes));
  a->setAlignment(llvm::Align(64));
  return a;
}
llvm::Value* PlanEmitter::place(int64_t id) {
  if (auto it = registers_.find(id); it != registers_.end()) return it->second;
  if (std::binary_search(register_ids_.begin(), register_ids_.end(), id))
    return registers_[id] = in_entry(std::max<int64_t>(plan_.buffers[id].shape.bytes(), 1));
  return addresses(id);
}
void PlanEmitter::copy(llvm::Value* to, llvm::Value* from, int64_t id) {
  int64_t n = plan_.buffers[id].shape.bytes();
  if (n > 0) b_.CreateMemMove(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), n);
}

Status PlanEmitter::steps(absl::Span<const PlanStep> list) {
  for (const PlanStep& s : list) TRY(step(s));
  return absl::OkStatus();
}

Status PlanEmitter::step(const PlanStep& s) {
  switch (s.kind) {
    case PlanStep::Kind::kWhile: return loop(s);
    case PlanStep::Kind::kConditional: return conditional(s);
    case PlanStep::Kind::kCopy:
      copy(place(s.outputs[0]), place(s.inputs[0]), s.outputs[0]);
      return absl::OkStatus();
    case PlanStep::Kind::kKernel:
      if (choice_.inlines(s)) return inline_kernel(s);
      if (choice_.calls_kernel(s)) return call_kernel(s);
      break;
    case PlanStep::Kind::kLibrary: break;
  }
  return call(s);
}

// Filled once, at entry.
llvm::Value* PlanEmitter::buffer_array(const PlanStep& s) {
  const loop::Kernel& k = *plan_.kernels[s.kernel];
  std::vector<llvm::Value*> v;
  for (int64_t id : s.inputs) v.push_back(place(id));
  for (int64_t id : s.outputs) v.push_back(place(id));
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  to_entry();
  for (size_t i = 0; i < s.offsets.size(); ++i)
    if (s.offsets[i] != 0)
      v[i] = b_.CreateConstGEP1_64(b_.getInt8Ty(), v[i], static_cast<uint64_t>(s.offsets[i]));
  int64_t at = std::max<int64_t>(s.workspace, 0);
  auto workspace = [&] { return b_.CreateConstGEP1_64(b_.getInt8Ty(), arena_, static_cast<uint64_t>(at)); };
  for (size_t i = v.size(); i < k.buffers.size(); ++i) {
    const loop::Buffer& buffer = k.buffers[i];
    v.push_back(workspace());
    if (buffer.role == loop::Role::kWorkspace)
      at += (buffer.elements * byte_size(buffer.dtype) + 63) / 64 * 64;
  }
  v.push_back(workspace());
  return pointer_array(v);
}

llvm::Value* PlanEmitter::pointer_array(absl::Span<llvm::Value* const> pointers) {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  to_entry();
  llvm::Value* array = b_.CreateAlloca(llvm::ArrayType::get(ptr_, std::max<size_t>(pointers.size(), 1)));
  for (size_t i = 0; i < pointers.size(); ++i)
    b_.CreateStore(pointers[i], b_.CreateConstGEP1_64(ptr_, array, static_cast<uint64_t>(i)));
  return array;
}

llvm::FunctionType* PlanEmitter::phase_type() {
  llvm::Type* i64 = b_.getInt64Ty();
  return llvm::FunctionType::get(b_.getVoidTy(), {ptr_, i64, i64, ptr_}, false);
}

Status PlanEmitter::call_kernel(const PlanStep& s) {
  llvm::Value* array = buffer_array(s);
  const loop::Kernel& k = *plan_.kernels[s.kernel];
  for (size_t p = 0; p < k.phases.size(); ++p)
    b_.CreateCall(module_.getOrInsertFunction(
                      p == 0 ? symbols_[s.kernel] : str_cat(symbols_[s.kernel], ".", p), phase_type()),
                  {array, b_.getInt64(0), b_.getInt64(k.phases[p].items), scratch_});
  return absl::OkStatus();
}

Status PlanEmitter::inline_kernel(const PlanStep& s) {
  EmittedKernel& e = emitted_[symbols_[s.kernel]];
  if (e.phases.empty()) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    EmitOptions options;
    options.inputs_constant = false;
    ASSIGN(e, emit_kernel(module_, *plan_.kernels[s.kernel],
                          str_cat("inline_", symbols_[s.kernel]), target_, options));
    for (const EmittedPhase& p : e.phases) {
      llvm::Function* f = module_.getFunction(p.function);
      drop_masks(*f);
      f->setLinkage(llvm::Function::InternalLinkage);
      f->removeFnAttr(llvm::Attribute::NoInline);
      f->removeFnAttr(llvm::Attribute::OptimizeNone);
      f->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
  llvm::Value* array = buffer_array(s);
  for (const EmittedPhase& p : e.phases)
    b_.CreateCall(module_.getFunction(p.function),
                  {array, b_.getInt64(0), b_.getInt64(p.items), scratch_});
  return absl::OkStatus();
}

Status PlanEmitter::loop(const PlanStep& s) {
  auto* head = block("while");
  auto* body = block("body");
  auto* done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  TRY(steps(s.nested[0]));
  llvm::Value* p = b_.CreateLoad(b_.getInt8Ty(), place(s.predicate));
  b_.CreateCondBr(b_.CreateICmpNE(p, b_.getInt8(0)), body, done);
  b_.SetInsertPoint(body);
  TRY(steps(s.nested[1]));
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
  return absl::OkStatus();
}

// A predicate chooses branch 0 when true; an index out of range chooses the last branch.
Status PlanEmitter::conditional(const PlanStep& s) {
  auto* done = block("join");
  bool pred = is_pred(plan_.buffers[s.predicate].shape.dtype);
  int64_t n = static_cast<int64_t>(s.nested.size());
  llvm::Value* chosen = b_.CreateLoad(pred ? b_.getInt8Ty() : b_.getInt32Ty(), place(s.predicate));
  std::vector<llvm::BasicBlock*> blocks;
  for (int64_t i = 0; i < n; ++i) blocks.push_back(block("branch"));
  if (pred) {
    b_.CreateCondBr(b_.CreateICmpNE(chosen, b_.getInt8(0)), blocks[0], blocks[n - 1]);
  } else {
    auto* choose = b_.CreateSwitch(chosen, blocks[n - 1], static_cast<unsigned>(n));
    for (int64_t i = 0; i + 1 < n; ++i) choose->addCase(b_.getInt32(static_cast<uint32_t>(i)), blocks[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    b_.SetInsertPoint(blocks[i]);
    TRY(steps(s.nested[i]));
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  return absl::OkStatus();
}

void PlanEmitter::return_unless_zero(llvm::Value* status) {
  auto* next = block("next");
  status_->addIncoming(status, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), exit_, next);
  b_.SetInsertPoint(next);
}

}  // namespace braze::codegen
