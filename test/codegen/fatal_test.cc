// SPDX-License-Identifier: Apache-2.0
// What LLVM cannot compile is an error of the call, and later calls work.
#include "gtest/gtest.h"

#include "codegen/jit.h"
#include "codegen/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

// A function that needs AVX-512, whatever `target` has.
Result<std::string> compile_wide(const Target& target, bool wide) {
  auto* context = new llvm::LLVMContext();  // stays if LLVM gives up
  auto* m = make_module(*context, "fatal", target).release();
  auto* f = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(*context),
                                                           {llvm::PointerType::getUnqual(*context)}, false),
                                   llvm::Function::ExternalLinkage, "f", m);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(*context, "entry", f));
  auto* v = llvm::FixedVectorType::get(b.getInt32Ty(), 16);
  llvm::Value* x = b.CreateLoad(v, f->getArg(0));
  if (wide) x = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {x, x, x});
  b.CreateStore(x, f->getArg(0));
  b.CreateRetVoid();
  return compile(*m, target);
}

TEST(Fatal, UnselectableCodeIsAnError) {
  auto target = target_named("baseline");
  ASSERT_TRUE(target.ok());
  for (int k = 0; k < 3; ++k) {
    auto code = compile_wide(*target, true);
    ASSERT_FALSE(code.ok());
    EXPECT_NE(code.status().message().find("LLVM: "), std::string::npos) << code.status();
    auto fine = compile_wide(*target, false);
    EXPECT_TRUE(fine.ok()) << fine.status();
  }
}

}  // namespace
}  // namespace braze::codegen
