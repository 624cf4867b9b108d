// SPDX-License-Identifier: Apache-2.0
#include "codegen/program.h"

#include <algorithm>

#include "codegen/jit.h"
#include "codegen/plan_emit.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace braze::codegen {
namespace {

constexpr int64_t kPerModule = 12;  // kernels
constexpr int64_t kAlign = 64;      // of the arena and of scratch

int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

class ProgramEmitter : public PlanEmitter {
 public:
  ProgramEmitter(llvm::Module& m, const Plan& plan, const std::vector<std::string>& symbols, const Target& t,
                 const std::vector<EmittedKernel>& kernels, int64_t scratch_bytes,
                 const std::vector<std::string>& calls)
      : PlanEmitter(m, plan, plan.steps, symbols, t, /*in_loops=*/true), kernels_(kernels),
        scratch_bytes_(scratch_bytes), calls_(calls), i64_(b_.getInt64Ty()) {}

  Status emit(std::string_view name) {
    launch_ = launcher();
    library_ = library_caller();
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer(), pointer(), pointer(), pointer()}, false);
    return run(llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                      llvm::StringRef(name.data(), name.size()), module_));
  }
  bool inlines_any() const { return choice().inlines_any(); }

 private:
  void begin() override {
    llvm::Value* temp = b_.CreatePtrToInt(function_->getArg(2), i64_);
    temp = b_.CreateAnd(b_.CreateAdd(temp, b_.getInt64(kAlign - 1)), b_.getInt64(~uint64_t{kAlign - 1}));
    arena_ = b_.CreateIntToPtr(temp, pointer());
    scratch_ = b_.CreateConstGEP1_64(b_.getInt8Ty(), arena_, static_cast<uint64_t>(aligned(plan_.arena_bytes)));
    // The default floating-point environment, whatever the caller's is.
    floats_ = b_.CreateAlloca(b_.getInt32Ty());
    llvm::Value* ours = b_.CreateAlloca(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(0x1f80), ours);
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {floats_});
    b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {ours});
  }
  void end() override { b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {floats_}); }

  llvm::Value* address(int64_t id) override {
    const PlanBuffer& p = plan_.buffers[id];
    if (p.kind == PlanBuffer::Kind::kConstant) return constant(p.index);
    llvm::Value* list = function_->getArg(p.kind == PlanBuffer::Kind::kArgument ? 0 : 1);
    return b_.CreateLoad(pointer(), b_.CreateConstGEP1_64(pointer(), list, static_cast<uint64_t>(p.index)));
  }
  llvm::Value* constant(int64_t index) {
    llvm::GlobalVariable*& g = constants_[index];
    if (!g) g = data({plan_.constants[index].bytes(), static_cast<size_t>(plan_.constants[index].size_bytes())});
    return g;
  }
  llvm::GlobalVariable* data(std::string_view bytes) {
    llvm::Constant* value =
        llvm::ConstantDataArray::getString(module_.getContext(), llvm::StringRef(bytes.data(), bytes.size()), false);
    auto* g = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                       llvm::GlobalValue::PrivateLinkage, value);
    g->setAlignment(llvm::Align(kAlign));
    return g;
  }

  Status call(const PlanStep& s) override {
    if (s.kind == PlanStep::Kind::kLibrary) {
      const std::string& text = calls_[library_calls_++];
      llvm::Value* words = data(std::string(text.c_str(), text.size() + 1));
      auto* state = new llvm::GlobalVariable(module_, pointer(), /*isConstant=*/false,
                                             llvm::GlobalValue::PrivateLinkage,
                                             llvm::Constant::getNullValue(pointer()));
      return_unless_zero(b_.CreateCall(
          library_, {function_->getArg(3), words, state, addresses_of(s.inputs), addresses_of(s.outputs)}));
      return absl::OkStatus();
    }
    llvm::Value* array = buffer_array(s);
    for (const EmittedPhase& p : kernels_[s.kernel].phases)
      b_.CreateCall(launch_, {function_->getArg(3), module_.getOrInsertFunction(p.function, phase_type()).getCallee(),
                              array, b_.getInt64(p.items), b_.getInt64(p.grain), scratch_});
    return absl::OkStatus();
  }
  llvm::Value* addresses_of(const std::vector<int64_t>& ids) {
    std::vector<llvm::Value*> v;
    for (int64_t id : ids) v.push_back(place(id));
    return pointer_array(v);
  }

  // void launch(runtime, phase, buffers, items, grain, scratch): on the runtime's threads, or here.
  llvm::Function* launcher() {
    llvm::Function* f = helper("launch", b_.getVoidTy(), {pointer(), pointer(), pointer(), i64_, i64_, pointer()});
    llvm::Value* run = with_runtime(f, 1);
    std::vector<llvm::Value*> args = arguments(f);
    args.push_back(b_.getInt64(scratch_bytes_));
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), types(args), false), run, args);
    b_.CreateRetVoid();
    b_.SetInsertPoint(&f->back());
    b_.CreateCall(phase_type(), f->getArg(1), {f->getArg(2), b_.getInt64(0), f->getArg(3), f->getArg(5)});
    b_.CreateRetVoid();
    return f;
  }
  // int32 library(runtime, text, state, operands, results)
  llvm::Function* library_caller() {
    llvm::Function* f = helper("library", b_.getInt32Ty(), {pointer(), pointer(), pointer(), pointer(), pointer()});
    llvm::Value* run = with_runtime(f, 2);
    const std::vector<llvm::Value*> args = arguments(f);
    b_.CreateRet(b_.CreateCall(llvm::FunctionType::get(b_.getInt32Ty(), types(args), false), run, args));
    b_.SetInsertPoint(&f->back());
    b_.CreateRet(b_.getInt32(kNeedsRuntime));
    return f;
  }
  llvm::Function* helper(const char* name, llvm::Type* result, std::vector<llvm::Type*> takes) {
    auto* f = llvm::Function::Create(llvm::FunctionType::get(result, takes, false), llvm::Function::InternalLinkage,
                                     name, module_);
    f->addFnAttr(llvm::Attribute::NoInline);
    set_function_attributes(*f, target_);
    return f;
  }
  // Three blocks of `f`: the first asks whether there is a runtime, the last is for none. What follows is in the
  // middle one, with the runtime's pointer number `field`.
  llvm::Value* with_runtime(llvm::Function* f, uint64_t field) {
    auto block = [&] { return llvm::BasicBlock::Create(module_.getContext(), "", f); };
    llvm::BasicBlock *first = block(), *some = block(), *none = block();
    b_.SetInsertPoint(first);
    b_.CreateCondBr(b_.CreateIsNull(f->getArg(0)), none, some);
    b_.SetInsertPoint(some);
    return b_.CreateLoad(pointer(), b_.CreateConstGEP1_64(pointer(), f->getArg(0), field));
  }
  static std::vector<llvm::Value*> arguments(llvm::Function* f) {
    std::vector<llvm::Value*> out;
    for (llvm::Argument& a : f->args()) out.push_back(&a);
    return out;
  }
  static std::vector<llvm::Type*> types(const std::vector<llvm::Value*>& values) {
    std::vector<llvm::Type*> out;
    for (llvm::Value* v : values) out.push_back(v->getType());
    return out;
  }

  const std::vector<EmittedKernel>& kernels_;
  const int64_t scratch_bytes_;
  const std::vector<std::string>& calls_;
  llvm::Type* i64_;
  llvm::Function *launch_ = nullptr, *library_ = nullptr;
  llvm::Value* floats_ = nullptr;
  absl::flat_hash_map<int64_t, llvm::GlobalVariable*> constants_;
  size_t library_calls_ = 0;
};

// What the objects of one program share is nobody else's.
void hide_functions(llvm::Module& m, std::string_view name) {
  for (llvm::Function& f : m)
    if (!f.hasLocalLinkage() && f.getName().starts_with(llvm::StringRef(name.data(), name.size())))
      f.setVisibility(llvm::GlobalValue::HiddenVisibility);
}

// Kernels [first, last), from several threads at once.
Result<std::string> kernels_object(const Plan& plan, const Target& target, std::string_view name,
                                   const std::vector<std::string>& symbols, int64_t first, int64_t last,
                                   std::vector<EmittedKernel>* out) {
  llvm::LLVMContext context;
  auto module = make_module(context, "kernels", target);
  for (int64_t k = first; k < last; ++k) {
    auto e = emit_kernel(*module, *plan.kernels[k], symbols[k], target);
    if (!e.ok()) return note(str_cat("kernel '", plan.kernels[k]->name, "'"), e.status());
    (*out)[k] = std::move(e).value();
  }
  hide_functions(*module, name);
  return compile(*module, target);
}

}  // namespace

std::vector<const PlanStep*> library_steps(const Plan& plan) {
  std::vector<const PlanStep*> out;
  for (const PlanStep& root : plan.steps)
    for_each_step(root, [&](const PlanStep& s) {
      if (s.kind == PlanStep::Kind::kLibrary) out.push_back(&s);
    });
  return out;
}

Result<ProgramCode> program_code(const Plan& plan, const Target& target, std::string_view name,
                                 const std::vector<std::string>& calls, int threads) {
  ProgramCode out;
  const int64_t n = static_cast<int64_t>(plan.kernels.size());
  std::vector<std::string> symbols;
  for (int64_t k = 0; k < n; ++k) symbols.push_back(str_cat(name, ".kernel_", k));
  std::vector<EmittedKernel> kernels(n);
  ASSIGN(out.objects, compile_all((n + kPerModule - 1) / kPerModule, threads, [&](int64_t g) {
           return kernels_object(plan, target, name, symbols, g * kPerModule, std::min(n, (g + 1) * kPerModule),
                                 &kernels);
         }));
  for (const EmittedKernel& k : kernels) out.scratch_bytes = std::max(out.scratch_bytes, aligned(k.scratch_bytes + 64));
  out.temp_bytes = aligned(plan.arena_bytes) + kAlign;
  llvm::LLVMContext context;
  auto module = make_module(context, "program", target);
  ProgramEmitter emitter(*module, plan, symbols, target, kernels, out.scratch_bytes, calls);
  TRY(emitter.emit(name));
  hide_functions(*module, name);
  module->getFunction(llvm::StringRef(name.data(), name.size()))->setVisibility(llvm::GlobalValue::DefaultVisibility);
  CompileOptions options;
  options.simplify = emitter.inlines_any();
  ASSIGN(std::string object, compile(*module, target, options));
  out.objects.push_back(std::move(object));
  return out;
}

}  // namespace braze::codegen
