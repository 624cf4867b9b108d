// SPDX-License-Identifier: Apache-2.0
#include "backend/compile.h"

#include <chrono>

#include "codegen/kernels.h"
#include "codegen/target.h"
#include "eval/evaluator.h"
#include "passes/cleanup.h"
#include "passes/expand.h"
#include "passes/fuse.h"
#include "passes/inline_calls.h"
#include "runtime/executor.h"

namespace braze {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(CompileStats* s) : stats_(s), last_(Clock::now()) {}
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

loop::Facts facts_of(const codegen::Target& t) {
  loop::Facts f;
  f.vector_bits = t.vector_bits;
  f.l1_bytes = t.l1_bytes;
  f.l2_bytes = t.l2_bytes;
  f.l3_bytes = t.l3_bytes;
  return f;
}

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

void flatten(const Literal& l, std::vector<const void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.bytes());
  for (const Literal& p : l.parts()) flatten(p, out);
}
void flatten_mutable(Literal& l, std::vector<void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.mutable_bytes());
  for (Literal& p : l.mutable_parts()) flatten_mutable(p, out);
}

class CpuExecutable : public Executable {
 public:
  CpuExecutable(Plan p, codegen::LoadedKernels k, std::unique_ptr<Pool> own)
      : own_pool_(std::move(own)),
        executor_(std::move(p), std::move(k), own_pool_ ? own_pool_.get() : &Pool::shared()) {}

  Result<Literal> run(absl::Span<const Literal> args, World* world) override {
    if (args.size() != parameters_.size())
      return invalid("the program takes ", parameters_.size(), " arguments, not ", args.size());
    for (size_t i = 0; i < args.size(); ++i)
      if (!compatible(args[i].shape(), parameters_[i]))
        return invalid("argument ", i, " is ", to_string(args[i].shape(), false), ", the program takes ",
                       to_string(parameters_[i], false));
    std::vector<const void*> in;
    for (const Literal& a : args) flatten(a, &in);
    Literal result(result_);
    std::vector<void*> out;
    flatten_mutable(result, &out);
    TRY(executor_.run(in, out, world));
    return result;
  }
  Status run_raw(absl::Span<const void* const> args, absl::Span<void* const> results) override {
    return executor_.run(args, results);
  }
  const Plan* plan() const override { return &executor_.plan(); }

 private:
  std::unique_ptr<Pool> own_pool_;
  Executor executor_;
};

// Values whose size is known only when the program runs are computed by the evaluator.
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
  ASSIGN(codegen::Target target, codegen::target_named(options.target));
  FuseOptions fuse_options;
  fuse_options.facts = facts_of(target);
  fuse_options.trace = options.trace;
  struct Pass {
    std::string_view name;
    std::function<Status(Module&)> run;
  };
  const Pass passes[] = {
      {"inline", inline_calls},
      {"cleanup", cleanup},
      {"expand", expand},
      {"cleanup", cleanup},
      {"fuse", [&](Module& module) { return fuse(module, fuse_options); }},
  };
  Stopwatch watch(stats);
  for (const Pass& p : passes) {
    TRY(note(str_cat("pass ", p.name), p.run(m)));
    watch.lap(p.name);
    if (options.after_pass) options.after_pass(p.name, m);
  }
  return absl::OkStatus();
}

Result<std::unique_ptr<Executable>> compile(std::unique_ptr<Module> module,
                                            const CompileOptions& options) {
  std::vector<Shape> parameters;
  for (const Instr* p : module->entry()->params()) parameters.push_back(p->shape);
  Shape result = module->entry()->root()->shape;
  std::unique_ptr<Executable> out;
  CompileStats stats;
  bool bounded = options.backend == "cpu" && has_bounded_shapes(*module);
  if (options.backend == "reference" || bounded) {
    if (bounded) stats.library_calls = module->instruction_count();
    out = std::make_unique<ReferenceExecutable>(std::move(module));
  } else if (options.backend == "cpu") {
    TRY(optimize(*module, options, &stats));
    Stopwatch watch(&stats);
    ASSIGN(codegen::Target target, codegen::target_named(options.target));
    PlanOptions plan_options;
    plan_options.facts = facts_of(target);
    plan_options.workspace_bytes = [&](const loop::Kernel& k) {
      return codegen::extra_workspace(k, target);
    };
    ASSIGN(Plan plan, build_plan(std::move(module), plan_options));
    watch.lap("plan");
    ASSIGN(codegen::LoadedKernels kernels,
           codegen::compile_kernels(plan, target, Pool::shared().threads()));
    watch.lap("codegen");
    stats.kernels = static_cast<int64_t>(plan.kernels.size());
    stats.launches = plan.kernel_launches();
    stats.library_calls = plan.library_calls();
    stats.arena_bytes = plan.arena_bytes;
    stats.code_bytes = kernels.code_bytes;
    count_work(plan, plan.steps, &stats);
    auto pool = options.threads > 0 ? std::make_unique<Pool>(options.threads) : nullptr;
    out = std::make_unique<CpuExecutable>(std::move(plan), std::move(kernels), std::move(pool));
  } else {
    return invalid("no backend '", options.backend, "': choose cpu or reference");
  }
  out->stats_ = std::move(stats);
  out->parameters_ = std::move(parameters);
  out->result_ = std::move(result);
  return out;
}

Result<std::string> code_text(const Plan& p, const CompileOptions& options, bool assembly) {
  ASSIGN(codegen::Target target, codegen::target_named(options.target));
  return codegen::kernels_text(p, target, assembly);
}

}  // namespace braze
