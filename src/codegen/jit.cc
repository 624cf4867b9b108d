// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "codegen/fatal.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar.h"

namespace braze::codegen {
namespace {

Status to_status(llvm::Error e, std::string_view what) {
  return internal(what, ": ", llvm::toString(std::move(e)));
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& t, int level) {
  initialize_llvm();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(t.triple, error);
  if (!target) return internal("LLVM has no target for ", t.triple, ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // what the IR says, no contraction
  auto machine = std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      t.triple, t.cpu, t.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      level == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default, /*JIT=*/false));
  if (!machine) return internal("LLVM cannot generate code for ", t.triple, " ", t.cpu);
  return machine;
}

// Machines that nobody uses now: making one costs more than compiling a small kernel. One thread
// has a machine at a time.
class IdleMachines {
 public:
  static IdleMachines& all() {
    static IdleMachines* const m = new IdleMachines();  // never destroyed: used at exit, too
    return *m;
  }
  Result<std::unique_ptr<llvm::TargetMachine>> take(const Target& t, int level) {
    const std::string key = str_cat(level, "/", t.key());
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (auto it = idle_.begin(); it != idle_.end(); ++it) {
        if (it->first != key) continue;
        std::unique_ptr<llvm::TargetMachine> m = std::move(it->second);
        idle_.erase(it);
        return m;
      }
    }
    return make_machine(t, level);
  }
  void give(const Target& t, int level, std::unique_ptr<llvm::TargetMachine> m) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < kMost) idle_.emplace_back(str_cat(level, "/", t.key()), std::move(m));
  }

 private:
  static constexpr size_t kMost = 64;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::unique_ptr<llvm::TargetMachine>>> idle_;
};

// Inlines the functions marked for it and runs the function passes of -O2.
void simplify(llvm::Module& m, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(builder.buildFunctionSimplificationPipeline(
      llvm::OptimizationLevel::O2, llvm::ThinOrFullLTOPhase::None)));
  passes.run(m, modules);
}

// Passes that have nothing to do in the modules of this library: there is no garbage collection, no freeze, no
// exception, no debug information, no AMX and no integer beyond 128 bits in them. Each costs its set-up and a look at
// every function, some an analysis that nothing else asks for.
constexpr std::string_view kIdlePasses[] = {
    "Analyze Machine Code For Garbage Collection",
    "Canonicalize Freeze Instructions in Loops",
    "Contiguously Lay Out Funclets",
    "Expand large div/rem",
    "Expand large fp convert",
    "Expand memcmp() to load/stores",
    "Fixup Statepoint Caller Saved",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "Insert XRay ops",
    "Insert fentry calls",
    "Live DEBUG_VALUE analysis",
    "Local Dynamic TLS Access Clean-up",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Lower Garbage Collection Instructions",
    "Machine Sanitizer Binary Metadata",
    "Merge contiguous icmps into a memcmp",
    "Partially inline calls to library functions",
    "Pseudo Probe Inserter",
    "Remove Redundant DEBUG_VALUE analysis",
    "Replace intrinsics with calls to vector library",
    "Safe Stack instrumentation pass",
    "Shadow Stack GC Lowering",
    "Stack Frame Layout Analysis",
    "StackMap Liveness Analysis",
    "TLS Variable Hoist",
    "X86 Discriminate Memory Operands",
    "X86 Indirect Branch Tracking",
    "X86 Insert Cache Prefetches",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Windows Fixup Buffer Security Check",
    "X86 speculative load hardening",
};

// Code generation without them.
class NeededPasses : public llvm::legacy::PassManager {
 public:
  explicit NeededPasses(const CompileOptions& o) : reduce_strength_(o.reduce_strength) {}
  void add(llvm::Pass* p) override {
    const std::string_view name = p->getPassName();
    const bool idle = std::find(std::begin(kIdlePasses), std::end(kIdlePasses), name) != std::end(kIdlePasses);
    if (!idle && (reduce_strength_ || name != "Loop Strength Reduction")) return llvm::legacy::PassManager::add(p);
    delete p;
  }

 private:
  bool reduce_strength_;
};

// The module through code generation, into a string.
Result<std::string> emit(llvm::Module& m, const Target& target, const CompileOptions& o,
                         llvm::CodeGenFileType type) {
  std::string problem;
  llvm::raw_string_ostream problem_stream(problem);
  if (o.verify && llvm::verifyModule(m, &problem_stream))
    return internal("generated code is not valid LLVM IR: ", problem);
  m.getContext().setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* out) {
        if (info->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream stream(*static_cast<std::string*>(out));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &problem);
  ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, IdleMachines::all().take(target, o.level));
  llvm::SmallVector<char, 0> bytes;
  bool able = true;
  TRY(survive([&] {
    if (o.simplify) simplify(m, *machine);
    llvm::raw_svector_ostream stream(bytes);
    NeededPasses passes(o);
    if (o.cleanup) passes.add(llvm::createEarlyCSEPass());
    able = !machine->addPassesToEmitFile(passes, stream, nullptr, type);
    if (able) passes.run(m);
  }));
  if (!able) return internal("LLVM cannot emit machine code for ", target.triple);
  m.getContext().setDiagnosticHandlerCallBack(nullptr, nullptr);
  IdleMachines::all().give(target, o.level, std::move(machine));
  if (!problem.empty()) return internal("code generation: ", problem);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

std::unique_ptr<llvm::Module> make_module(llvm::LLVMContext& context, std::string_view name,
                                          const Target& target) {
  auto m = std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), context);
  m->setTargetTriple(target.triple);
  // The layout depends on the triple only, and all targets have the host's. The machine is left for the
  // first that needs one.
  static const std::string layout = [] {
    constexpr int kLevel = CompileOptions().level;
    auto machine = IdleMachines::all().take(host_target(), kLevel);
    if (!machine.ok()) return std::string();
    std::string text = (*machine)->createDataLayout().getStringRepresentation();
    IdleMachines::all().give(host_target(), kLevel, std::move(machine).value());
    return text;
  }();
  m->setDataLayout(layout);
  return m;
}

void set_function_attributes(llvm::Function& f, const Target& target) {
  const std::string bits = std::to_string(target.vector_bits);
  f.addFnAttr("prefer-vector-width", bits);
  f.addFnAttr("min-legal-vector-width", bits);
  f.addFnAttr("frame-pointer", "none");
  f.addFnAttr(llvm::Attribute::NoUnwind);
}

Result<std::string> compile(llvm::Module& m, const Target& target, const CompileOptions& o) {
  return emit(m, target, o, llvm::CodeGenFileType::ObjectFile);
}

Result<std::string> assembly(llvm::Module& m, const Target& target, const CompileOptions& o) {
  return emit(m, target, o, llvm::CodeGenFileType::AssemblyFile);
}

std::string ir_text(const llvm::Module& m) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  m.print(stream, nullptr);
  return text;
}

Result<std::vector<std::string>> compile_all(
    int64_t n, int threads, absl::FunctionRef<Result<std::string>(int64_t)> build) {
  std::vector<std::string> objects(n);
  std::vector<Status> errors(n);
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < n; i = next++) {
      Result<std::string> r = build(i);
      if (r.ok()) objects[i] = std::move(r).value();
      else errors[i] = r.status();
    }
  };
  std::vector<std::thread> helpers;
  const int64_t extra = std::min<int64_t>(threads, n) - 1;
  for (int64_t i = 0; i < extra; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  for (const Status& s : errors) TRY(s);
  return objects;
}

namespace {

extern "C" {
// Half conversions and 128-bit division of the compiler's runtime.
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
double roundeven(double);
float roundevenf(float);
}

template <typename F>
const void* address_of(F* f) {
  return reinterpret_cast<const void*>(f);
}

// What LLVM calls for operations the target has no instructions for.
const HostSymbol kRuntime[] = {
    {"memcpy", address_of(&std::memcpy)},
    {"memmove", address_of(&std::memmove)},
    {"memset", address_of(&std::memset)},
    {"memcmp", address_of(&std::memcmp)},
    {"fma", address_of<double(double, double, double)>(&::fma)},
    {"fmaf", address_of(&::fmaf)},
    {"fmod", address_of<double(double, double)>(&::fmod)},
    {"fmodf", address_of(&::fmodf)},
    {"floor", address_of<double(double)>(&::floor)},
    {"floorf", address_of(&::floorf)},
    {"ceil", address_of<double(double)>(&::ceil)},
    {"ceilf", address_of(&::ceilf)},
    {"trunc", address_of<double(double)>(&::trunc)},
    {"truncf", address_of(&::truncf)},
    {"roundeven", address_of(&roundeven)},
    {"roundevenf", address_of(&roundevenf)},
    {"rint", address_of<double(double)>(&::rint)},
    {"rintf", address_of(&::rintf)},
    {"nearbyint", address_of<double(double)>(&::nearbyint)},
    {"nearbyintf", address_of(&::nearbyintf)},
    {"round", address_of<double(double)>(&::round)},
    {"roundf", address_of(&::roundf)},
    {"fmin", address_of<double(double, double)>(&::fmin)},
    {"fminf", address_of(&::fminf)},
    {"fmax", address_of<double(double, double)>(&::fmax)},
    {"fmaxf", address_of(&::fmaxf)},
    {"__extendhfsf2", address_of(&__extendhfsf2)},
    {"__truncsfhf2", address_of(&__truncsfhf2)},
    {"__truncdfhf2", address_of(&__truncdfhf2)},
    {"__divti3", address_of(&__divti3)},
    {"__modti3", address_of(&__modti3)},
    {"__udivti3", address_of(&__udivti3)},
    {"__umodti3", address_of(&__umodti3)},
};

}  // namespace

struct Jit::Impl {
  std::mutex mutex;
  std::string reported;  // what ORC reports asynchronously; joined to the error of the call
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::optional<llvm::orc::ObjectLinkingLayer> linker;
  llvm::orc::JITDylib* library = nullptr;

  Status failed(llvm::Error e, std::string_view what) {
    std::lock_guard<std::mutex> lock(mutex);
    Status s = to_status(std::move(e), what);
    if (!reported.empty()) s = Status(s.code(), str_cat(s.message(), "; ", reported));
    reported.clear();
    return s;
  }
};

Jit::Jit(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Jit::~Jit() {
  llvm::consumeError(impl_->session->endSession());
}

Result<std::unique_ptr<Jit>> Jit::create(const Target&) {
  initialize_llvm();
  // Linking is quick: on the caller's thread, not on one of its own.
  auto control = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control) return to_status(control.takeError(), "starting the JIT");
  auto impl = std::make_unique<Impl>();
  impl->session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
  Impl* raw = impl.get();
  impl->session->setErrorReporter([raw](llvm::Error e) {
    std::lock_guard<std::mutex> lock(raw->mutex);
    raw->reported += llvm::toString(std::move(e));
  });
  impl->linker.emplace(*impl->session, std::make_unique<llvm::jitlink::InProcessMemoryManager>(
                                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
  impl->library = &impl->session->createBareJITDylib("braze");
  auto jit = std::unique_ptr<Jit>(new Jit(std::move(impl)));
  TRY(jit->define(kRuntime));
  return jit;
}

Status Jit::define(absl::Span<const HostSymbol> list) {
  llvm::orc::SymbolMap symbols;
  for (const HostSymbol& s : list)
    symbols[impl_->session->intern(llvm::StringRef(s.name.data(), s.name.size()))] = {
        llvm::orc::ExecutorAddr::fromPtr(s.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (auto e = impl_->library->define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return impl_->failed(std::move(e), "defining host symbols");
  return absl::OkStatus();
}

Status Jit::add_object(std::string bytes) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "braze object");
  if (auto e = impl_->linker->add(*impl_->library, std::move(buffer)))
    return impl_->failed(std::move(e), "loading compiled code");
  return absl::OkStatus();
}

Result<void*> Jit::lookup(std::string_view name) {
  auto symbol = impl_->session->lookup(
      {impl_->library}, impl_->session->intern(llvm::StringRef(name.data(), name.size())));
  if (!symbol) return impl_->failed(symbol.takeError(), str_cat("looking up '", name, "'"));
  return symbol->getAddress().toPtr<void*>();
}

}  // namespace braze::codegen
