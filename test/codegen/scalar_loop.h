// SPDX-License-Identifier: Apache-2.0
// A loop over one index that stores scalar DAGs, compiled through ScalarEmitter: for tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/jit.h"
#include "codegen/scalar_emit.h"
#include "codegen/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "scalar/scalar.h"

namespace braze::codegen {

// for i in [0, n): outputs[k][i] = roots[k]. Buffers are numbered by their place in `buffers`,
// inputs first, then one output per root, whose id must not be loaded from. `var` is i.
struct ScalarLoop {
  const scalar::Graph& g;
  std::vector<scalar::Scalar> roots;
  std::vector<int64_t> buffers;  // ids of the inputs
  int64_t var;
  int width = 1;
  Target target = host_target();
  // Where root k goes, if not to element i, and when.
  std::vector<scalar::Scalar> offsets = {};
  ScalarEmitter::StoreOptions options = {};

  using Function = void(void** buffers, int64_t n);

  void body(llvm::IRBuilder<>& b, llvm::Function* f, llvm::Value* from, llvm::Value* to, int w,
            llvm::Value* mask_count, const std::vector<llvm::Value*>& bases) const {
    auto* head = b.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", f);
    auto* done = llvm::BasicBlock::Create(b.getContext(), "done", f);
    ScalarEmitter e(b, g, target, w, var);
    for (size_t k = 0; k < bases.size(); ++k) {
      const int64_t id =
          k < buffers.size() ? buffers[k] : -1 - static_cast<int64_t>(k - buffers.size());
      e.bind_buffer(id, {.base = bases[k], .align = 64, .invariant = k < buffers.size()});
    }
    const int64_t inner[] = {var};
    e.hoist(roots, inner);
    b.CreateCondBr(b.CreateICmpSLT(from, to), loop, done);
    b.SetInsertPoint(loop);
    auto* i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(from, head);
    const size_t scope = e.open_scope();
    e.bind_var(var, i);
    if (mask_count) {
      std::vector<llvm::Constant*> lanes;
      for (int k = 0; k < w; ++k) lanes.push_back(b.getInt64(k));
      e.set_mask(
          b.CreateICmpSLT(llvm::ConstantVector::get(lanes), b.CreateVectorSplat(w, mask_count)));
    }
    auto& graph = const_cast<scalar::Graph&>(g);
    const scalar::Scalar offset = graph.var(Dtype::kS64, var);
    std::vector<llvm::Value*> values;
    for (scalar::Scalar s : roots) values.push_back(e.emit(s));
    for (size_t k = 0; k < roots.size(); ++k)
      e.store(-1 - static_cast<int64_t>(k), g.type(roots[k]), offsets.empty() ? offset : offsets[k],
              values[k], options);
    e.close_scope(scope);
    auto* next = b.CreateAdd(i, b.getInt64(w));
    i->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpSLT(next, to), loop, done);
    b.SetInsertPoint(done);
  }

  std::unique_ptr<llvm::Module> module(llvm::LLVMContext& c) const {
    auto m = make_module(c, "test", target);
    auto* type = llvm::FunctionType::get(
        llvm::Type::getVoidTy(c), {llvm::PointerType::get(c, 0), llvm::Type::getInt64Ty(c)}, false);
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "kernel", *m);
    set_function_attributes(*f, target);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", f));
    std::vector<llvm::Value*> bases;
    for (size_t k = 0; k < buffers.size() + roots.size(); ++k) {
      auto* p = b.CreateConstGEP1_64(b.getPtrTy(), f->getArg(0), k);
      bases.push_back(b.CreateLoad(b.getPtrTy(), p));
    }
    llvm::Value* n = f->getArg(1);
    llvm::Value* whole = b.CreateAnd(n, b.getInt64(-width));
    body(b, f, b.getInt64(0), whole, width, nullptr, bases);
    if (width > 1) body(b, f, whole, n, width, b.CreateSub(n, whole), bases);
    b.CreateRetVoid();
    return m;
  }

  Result<std::string> text() const {
    llvm::LLVMContext c;
    auto m = module(c);
    return assembly(*m, target);
  }

  Result<Function*> load(Jit& jit) const {
    llvm::LLVMContext c;
    auto m = module(c);
    ASSIGN(std::string object, compile(*m, target));
    TRY(jit.add_object(std::move(object)));
    return jit.function<Function>("kernel");
  }
};

}  // namespace braze::codegen
