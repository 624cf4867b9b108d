// SPDX-License-Identifier: Apache-2.0
#include "codegen/driver.h"

#include "codegen/jit.h"
#include "codegen/plan_emit.h"

namespace braze::codegen {
namespace {

// Called with a DriverContext.
class DriverEmitter : public PlanEmitter {
 public:
  DriverEmitter(llvm::Module& m, const Plan& plan, const PlanStep& loop,
                const std::vector<std::string>& symbols, const Target& t)
      : PlanEmitter(m, plan, {&loop, 1}, symbols, t, /*in_loops=*/false) {}

 private:
  void begin() override {
    context_ = function_->getArg(0);
    addresses_ = field(0);
    arena_ = field(1);
    scratch_ = field(2);
  }
  llvm::Value* field(int64_t i) {
    return b_.CreateLoad(pointer(), b_.CreateConstGEP1_64(pointer(), context_, i));
  }
  llvm::Value* address(int64_t id) override {
    return b_.CreateLoad(pointer(), b_.CreateConstGEP1_64(pointer(), addresses_, static_cast<uint64_t>(id)));
  }
  // Calls come in the order of the steps, as driver_calls lists them.
  Status call(const PlanStep&) override {
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer(), b_.getInt64Ty()}, false);
    return_unless_zero(b_.CreateCall(type, field(3), {context_, b_.getInt64(calls_++)}));
    return absl::OkStatus();
  }

  llvm::Value *context_ = nullptr, *addresses_ = nullptr;
  uint64_t calls_ = 0;
};

}  // namespace

std::vector<const PlanStep*> driver_loops(const Plan& plan) {
  std::vector<const PlanStep*> out;
  auto find = [&](auto& self, const PlanSteps& steps) -> void {
    for (const PlanStep& s : steps) {
      if (s.kind != PlanStep::Kind::kWhile) {
        for (const PlanSteps& inner : s.nested) self(self, inner);
        continue;
      }
      bool gains = false;
      for_each_step(s, [&](const PlanStep& x) {
        gains |= x.kind == PlanStep::Kind::kKernel && is_inlined(*plan.kernels[x.kernel]);
      });
      if (gains) out.push_back(&s);
      else for (const PlanSteps& inner : s.nested) self(self, inner);
    }
  };
  find(find, plan.steps);
  return out;
}

std::vector<const PlanStep*> driver_calls(const Plan& plan, const PlanStep& loop) {
  const StepChoice choice(plan, {&loop, 1}, false);
  std::vector<const PlanStep*> out;
  for_each_step(loop, [&](const PlanStep& s) {
    if (choice.calls_back(s)) out.push_back(&s);
  });
  return out;
}

Status emit_driver(llvm::Module& module, const Plan& plan, const PlanStep& loop, std::string_view name,
                   const std::vector<std::string>& symbols, const Target& target) {
  llvm::LLVMContext& context = module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {llvm::PointerType::getUnqual(context)}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          llvm::StringRef(name.data(), name.size()), module);
  return DriverEmitter(module, plan, loop, symbols, target).run(function);
}

}  // namespace braze::codegen
