// SPDX-License-Identifier: Apache-2.0
// From LLVM modules to callable code: machine-code emission and an in-process linker.
//
// `compile` needs no Jit and may run on several threads, one llvm::LLVMContext each. No LLVM IR
// passes run: modules arrive in final form (explicit vectors, SSA, no allocas to promote). Errors
// come back as Status: modules are verified before code generation, so that LLVM does not abort on
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "codegen/target.h"

namespace llvm {
class Function;
class LLVMContext;
class Module;
}  // namespace llvm

namespace braze::codegen {

// An empty module with the target's triple and data layout.
std::unique_ptr<llvm::Module> make_module(llvm::LLVMContext& context, std::string_view name,
                                          const Target& target);
// Attributes each emitted function needs: full-width vectors, no unwinding, no frame pointer.
void set_function_attributes(llvm::Function& f, const Target& target);

// Machine code of a module: the bytes of a relocatable ELF object. The module is consumed (code
// generation rewrites it). Also what the compile cache stores and what AOT links.
struct CompileOptions {
  int level = 2;        // 0: fast code generation for cold glue; 2: default
  bool verify = true;   // run LLVM's verifier first
  bool cleanup = false; // first a little scalar cleanup (early CSE, instruction simplification)
  // Loops step pointers instead of computing addresses. Finding out which takes a third of the time, for code
  // that has stepped them from the start for nothing.
  bool reduce_strength = true;
  bool simplify = false; // first inlining of what asks for it and LLVM's function simplification
};
Result<std::string> compile(llvm::Module& m, const Target& target, const CompileOptions& o = {});
// The assembly text of a module, for dumps and tests; consumes the module.
Result<std::string> assembly(llvm::Module& m, const Target& target, const CompileOptions& o = {});
// The module as LLVM IR text.
std::string ir_text(const llvm::Module& m);

// Runs build(i) → object bytes for i in [0, n) on up to `threads` threads; the first error wins.
// Each call makes its own LLVMContext and module, so nothing is shared.
Result<std::vector<std::string>> compile_all(
    int64_t n, int threads, absl::FunctionRef<Result<std::string>(int64_t)> build);

struct HostSymbol {
  std::string_view name;
  const void* address;
};

// Owns loaded code. Functions stay callable for the life of the Jit.
class Jit {
 public:
  static Result<std::unique_ptr<Jit>> create(const Target& target = host_target());
  ~Jit();
  // Runtime functions or data that objects may refer to. Before the first add_object that needs
  // them. Present from the start: the C math and memory functions code generation may call by itself
  // (memcpy, memmove, memset, fmod, fma, half conversions …). No other host symbol is visible.
  Status define(absl::Span<const HostSymbol> symbols);
  // Links an object made by `compile`. Symbols are global over the Jit's objects.
  Status add_object(std::string bytes);
  // Address of a function of a loaded object; links what is pending.
  Result<void*> lookup(std::string_view name);
  template <typename F>
  Result<F*> function(std::string_view name) {
    ASSIGN(void* p, lookup(name));
    return reinterpret_cast<F*>(p);
  }

 private:
  struct Impl;
  explicit Jit(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace braze::codegen
