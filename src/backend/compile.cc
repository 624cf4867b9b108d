// SPDX-License-Identifier: Apache-2.0
#include "backend/compile.h"

#include <chrono>

#include "base/float_environment.h"
#include "backend/debug_session.h"
#include "backend/optimized_cache.h"
#include "backend/padded.h"
#include "backend/pipeline.h"
#include "codegen/kernels.h"
#include "codegen/kernels_code.h"
#include "codegen/target.h"
#include "eval/evaluator.h"
#include "passes/dynamic_padding.h"
#include "runtime/executor.h"

namespace braze {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(CompileStats* s) : stats_(s), last_(Clock::now()) {}
  void restart() { last_ = Clock::now(); }
  void lap(std::string_view name) {
    auto now = Clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    if (!stats_) return;
    stats_->phases.emplace_back(std::string(name), ms);
    stats_->total_ms += ms;
  }

 private:
  using Clock = std::chrono::steady_clock;
  CompileStats* stats_;
  Clock::time_point last_;
};

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(std::unique_ptr<Module> m) : module_(std::move(m)) {}
  Result<Literal> run(absl::Span<const Literal> args, World* world) override {
    EvalOptions o;
    o.world = world;
    return evaluate(*module_, args, o);
  }
  Status run_raw(absl::Span<const void* const>, absl::Span<void* const>) override {
    return unimplemented("raw calls of the reference backend");
  }

 private:
  std::unique_ptr<Module> module_;
};

// The literal of shape s whose leaves are at pointers [*at, …).
Literal literal_at(const Shape& s, const void* const* leaves, size_t* at) {
  if (s.is_tuple()) {
    std::vector<Literal> parts;
    for (const Shape& t : s.tuple) parts.push_back(literal_at(t, leaves, at));
    return Literal::tuple(std::move(parts));
  }
  const void* p = leaves[(*at)++];
  if (!s.is_array() || s.bytes() == 0) return Literal(s);
  return Literal::from_bytes(s, {static_cast<const char*>(p), static_cast<size_t>(s.bytes())});
}

void flatten(const Literal& l, std::vector<const void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.bytes());
  for (const Literal& p : l.parts()) flatten(p, out);
}
void flatten_mutable(Literal& l, std::vector<void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.mutable_bytes());
  for (Literal& p : l.mutable_parts()) flatten_mutable(p, out);
}

// False if some array of the literal could not be allocated.
bool has_memory(const Literal& l) {
  for (const Literal& p : l.parts())
    if (!has_memory(p)) return false;
  return !l.shape().is_array() || l.size_bytes() >= l.shape().bytes();
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Plan p, codegen::LoadedKernels k, std::unique_ptr<Pool> own)
      : own_pool_(std::move(own)),
        executor_(std::move(p), std::move(k), own_pool_ ? own_pool_.get() : &Pool::shared()) {}

  Result<Literal> run(absl::Span<const Literal> args, World* world) override {
    return with_pointers(args, [&](auto in, auto out) { return executor_.run(in, out, world); });
  }
  Result<Literal> run_observed(absl::Span<const Literal> args,
                               const StepObserver& observer) override {
    return with_pointers(
        args, [&](auto in, auto out) { return executor_.run_observed(in, out, observer); });
  }
  Status run_raw(absl::Span<const void* const> args, absl::Span<void* const> results) override {
    return executor_.run(args, results);
  }
  const Plan* plan() const override { return &executor_.plan(); }
  std::string code_image() const override { return codegen::code_image(executor_.kernels()); }

 private:
  // Checks the arguments, calls f(leaf pointers, result pointers) and returns the result.
  template <typename F>
  Result<Literal> with_pointers(absl::Span<const Literal> args, F f) {
    if (args.size() != parameters_.size())
      return invalid("the program takes ", parameters_.size(), " arguments, not ", args.size());
    for (size_t i = 0; i < args.size(); ++i)
      if (!compatible(args[i].shape(), parameters_[i]))
        return invalid("argument ", i, " is ", to_string(args[i].shape(), false),
                       ", the program takes ", to_string(parameters_[i], false));
    std::vector<const void*> in;
    for (const Literal& a : args) flatten(a, &in);
    Literal result = Literal::for_overwrite(result_);
    if (!has_memory(result)) return exhausted("no memory for the result ", to_string(result_, false));
    std::vector<void*> out;
    flatten_mutable(result, &out);
    TRY(f(absl::Span<const void* const>(in), absl::Span<void* const>(out)));
    return result;
  }

  std::unique_ptr<Pool> own_pool_;
  Executor executor_;
};

// Another executable whose runs are written to the dump folder.
class SnapshotExecutable : public Executable {
 public:
  SnapshotExecutable(std::unique_ptr<Executable> inner, std::shared_ptr<DebugSession> session)
      : inner_(std::move(inner)), session_(std::move(session)) {}
  Result<Literal> run(absl::Span<const Literal> args, World* world) override {
    auto value = inner_->run(args, world);
    if (value.ok()) session_->snapshot(args, *value);
    return value;
  }
  Status run_raw(absl::Span<const void* const> args, absl::Span<void* const> results) override {
    TRY(inner_->run_raw(args, results));
    std::vector<Literal> literals;
    size_t at = 0;
    for (const Shape& s : inner_->parameters()) literals.push_back(literal_at(s, args.data(), &at));
    at = 0;
    session_->snapshot(literals, literal_at(result_, results.data(), &at));
    return absl::OkStatus();
  }
  const Plan* plan() const override { return inner_->plan(); }
  std::string code_image() const override { return inner_->code_image(); }

 private:
  std::unique_ptr<Executable> inner_;
  std::shared_ptr<DebugSession> session_;
};

// Some values have sizes that are known only when the program runs.
bool has_bounded_shapes(const Module& m) {
  for (const Computation* c : computation_post_order(m))
    for (auto& i : c->instrs())
      if (i->shape.has_bounded_dim() || i->op == Op::kSetDimensionSize) return true;
  return false;
}

void count_work(const Plan& p, const PlanSteps& steps, CompileStats* s) {
  for (const PlanStep& step : steps) {
    if (step.kind == PlanStep::Kind::kKernel) {
      s->flops += p.kernels[step.kernel]->flops;
      s->bytes += p.kernels[step.kernel]->bytes;
    }
    for (const PlanSteps& inner : step.nested) count_work(p, inner, s);
  }
}

}  // namespace

Status optimize(Module& m, const CompileOptions& options, CompileStats* stats) {
  auto session = DebugSession::start(m, options.debug ? *options.debug : debug());
  TRY(run_pipeline(m, options, stats, session.get()));
  if (session) session->optimized(m);
  return absl::OkStatus();
}

Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Module> module,
                                            const CompileOptions& options) {
  const FloatEnvironment floats;  // constants are folded
  std::vector<Shape> parameters;
  for (const Instr* p : module->entry()->params()) parameters.push_back(p->shape);
  Shape result = module->entry()->root()->shape;
  std::unique_ptr<Executable> out;
  CompileStats stats;
  const bool bounded = options.backend != "reference" && has_bounded_shapes(*module);
  if (bounded) {
    auto padded = dynamic_padding(*module);
    if (padded.ok()) {
      remember_copy(*module, *padded->module);
      ASSIGN(out, compile(std::move(padded->module), options));
      if (padded->is_static()) return out;
      stats = out->stats_;
      out = padded_executable(std::move(out), *std::move(padded));
      out->stats_ = std::move(stats);
      out->parameters_ = std::move(parameters);
      out->result_ = std::move(result);
      return out;
    }
  }
  auto session = DebugSession::start(*module, options.debug ? *options.debug : debug());
  if (options.backend == "reference" || bounded) {
    if (bounded) stats.library_calls = module->instruction_count();
    out = std::make_unique<ReferenceExecutable>(std::move(module));
  } else if (options.backend == "cpu" || options.backend == "kernel") {
    const bool interpreted = options.backend == "kernel";
    ASSIGN(codegen::Target target, target_of(options));
    Stopwatch watch(&stats);
    OptimizedCache cache(*module, options, target, session.get());
    std::unique_ptr<Module> found = cache.find();
    if (cache.active()) watch.lap("cache");
    if (found) {
      module = std::move(found);
    } else {
      TRY(run_pipeline(*module, options, &stats, session.get()));
      watch.restart();
      cache.keep(*module);
      if (cache.active()) watch.lap("cache");
    }
    if (session) session->optimized(*module);
    watch.restart();
    ASSIGN(Plan plan, plan_for(std::move(module), target));
    watch.lap("plan");
    codegen::LoadedKernels kernels;
    if (!interpreted) {
      const codegen::CodeSources sources{options.code, options.cache ? options.cache
                                                                     : DiskCache::from_environment()};
      ASSIGN(kernels, codegen::compile_kernels(plan, target, Pool::shared().threads(), sources));
      watch.lap("codegen");
      if (session)
        for (const std::string& said : kernels.notes) session->note(said);
    }
    stats.kernels = static_cast<int64_t>(plan.kernels.size());
    stats.launches = plan.kernel_launches();
    stats.library_calls = plan.library_calls();
    stats.arena_bytes = plan.arena_bytes;
    stats.code_bytes = kernels.code_bytes;
    stats.code_compiled = kernels.fresh;
    stats.code_shared = kernels.shared;
    stats.code_loaded = kernels.cached;
    count_work(plan, plan.steps, &stats);
    if (session) session->compiled(plan, target, stats);
    auto pool = options.threads > 0 ? std::make_unique<Pool>(options.threads) : nullptr;
    out = std::make_unique<CpuExecutable>(std::move(plan), std::move(kernels), std::move(pool));
  } else {
    return invalid("no backend '", options.backend, "': choose cpu, reference or kernel");
  }
  out->stats_ = stats;
  out->parameters_ = parameters;
  out->result_ = result;
  if (!session || !session->wants_snapshots()) return out;
  std::unique_ptr<Executable> wrapped =
      std::make_unique<SnapshotExecutable>(std::move(out), std::move(session));
  wrapped->stats_ = std::move(stats);
  wrapped->parameters_ = std::move(parameters);
  wrapped->result_ = std::move(result);
  return wrapped;
}

Result<std::string> code_text(const Plan& p, const CompileOptions& options, bool assembly) {
  ASSIGN(codegen::Target target, target_of(options));
  return codegen::kernels_text(p, target, assembly);
}

}  // namespace braze
