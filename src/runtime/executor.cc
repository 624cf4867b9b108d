// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "base/blocks.h"
#include "base/float_environment.h"
#include "base/trace.h"
#include "loop/interpret.h"

namespace braze {
using Clock = std::chrono::steady_clock;

struct Executor::Call {
  absl::Span<const void* const> arguments;
  absl::Span<void* const> results;
  World* world;
  char* arena;
  char* scratch;
  absl::InlinedVector<char*, 24> address;  // of each plan buffer
  const StepObserver* observer = nullptr;
  Clock::time_point start{};
};

Executor::Executor(Plan plan, codegen::LoadedKernels kernels, Pool* pool)
    : plan_(std::move(plan)), kernels_(std::move(kernels)), pool_(pool) {
  for (const codegen::LoadedKernel& k : kernels_.kernels)
    scratch_bytes_ = std::max(scratch_bytes_, (k.scratch_bytes + 127) / 64 * 64);
  prepare(plan_.steps);
}

void Executor::prepare(const PlanSteps& list) {
  for (const PlanStep& s : list) {
    if (s.kind == PlanStep::Kind::kLibrary)
      library_[s.instr] = std::make_unique<LibraryStep>(*s.instr);
    for (const PlanSteps& inner : s.nested) prepare(inner);
  }
}

Executor::~Executor() {
  if (char* a = idle_arena_.load()) give_block(a, call_bytes());
  for (char* a : idle_arenas_) give_block(a, call_bytes());
}

int64_t Executor::call_bytes() const {
  return plan_.arena_bytes + 64 + scratch_bytes_ * pool_->threads();
}

char* Executor::take_arena() {
  if (char* a = idle_arena_.exchange(nullptr, std::memory_order_acq_rel)) return a;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_arenas_.empty()) {
      char* a = idle_arenas_.back();
      idle_arenas_.pop_back();
      return a;
    }
  }
  return take_block(call_bytes());
}

void Executor::keep_arena(char* a) {
  char* none = nullptr;
  if (idle_arena_.compare_exchange_strong(none, a, std::memory_order_acq_rel)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  idle_arenas_.push_back(a);
}

Status Executor::run(absl::Span<const void* const> arguments, absl::Span<void* const> results,
                     World* world) {
  Call c{arguments, results, world, nullptr, nullptr, {}};
  return run_call(c);
}

Status Executor::run_observed(absl::Span<const void* const> arguments,
                              absl::Span<void* const> results, const StepObserver& observer) {
  Call c{arguments, results, nullptr, nullptr, nullptr, {}};
  c.observer = &observer;
  return run_call(c);
}

Status Executor::run_call(Call& c) {
  const FloatEnvironment floats;
  const absl::Span<const void* const> arguments = c.arguments;
  const absl::Span<void* const> results = c.results;
  if (arguments.size() != plan_.argument_buffers.size() ||
      results.size() != plan_.result_buffers.size())
    return invalid("the program takes ", plan_.argument_buffers.size(), " arguments and gives ",
                   plan_.result_buffers.size(), " results, not ", arguments.size(), " and ",
                   results.size());
  c.arena = take_arena();
  if (!c.arena) return exhausted("Out of memory allocating ", plan_.arena_bytes, " bytes of temporaries");
  c.scratch = c.arena + (plan_.arena_bytes + 63) / 64 * 64;
  c.address.resize(plan_.buffers.size());
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& b = plan_.buffers[i];
    switch (b.kind) {
      case PlanBuffer::Kind::kArena: c.address[i] = c.arena + b.offset; break;
      case PlanBuffer::Kind::kArgument:
        c.address[i] = static_cast<char*>(const_cast<void*>(arguments[b.index]));
        break;
      case PlanBuffer::Kind::kConstant:
        c.address[i] = const_cast<char*>(plan_.constants[b.index].bytes());
        break;
      case PlanBuffer::Kind::kResult: c.address[i] = static_cast<char*>(results[b.index]); break;
    }
  }
  if (c.observer) c.start = Clock::now();
  Status s = steps(plan_.steps, c);
  keep_arena(c.arena);
  return s;
}

Status Executor::steps(const PlanSteps& list, Call& c) {
  for (const PlanStep& s : list) TRY(c.observer || trace::on() ? observed(s, c) : step(s, c));
  return absl::OkStatus();
}

Status Executor::observed(const PlanStep& s, Call& c) {
  constexpr std::string_view kKinds[] = {"kernel", "library", "copy", "loop", "conditional"};
  const std::string_view kind = kKinds[static_cast<int>(s.kind)];
  const trace::Span span(s.instr ? std::string_view(s.instr->name) : kind, kind);
  if (!c.observer) return step(s, c);
  auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - c.start).count(); };
  const double begin = seconds();
  TRY(step(s, c));
  (*c.observer)(s, begin, seconds());
  return absl::OkStatus();
}

void Executor::copy(const char* from, char* to, int64_t n) {
  constexpr int64_t kPiece = 64 << 10, kGrain = 4;
  if (from == to) return;
  const bool apart = to + n <= from || from + n <= to;
  if (n < 2 * kGrain * kPiece || !apart) {
    std::memmove(to, from, n);
    return;
  }
  pool_->run((n + kPiece - 1) / kPiece, kGrain, [from, to, n](int64_t begin, int64_t end, int) {
    std::memcpy(to + begin * kPiece, from + begin * kPiece, std::min(end * kPiece, n) - begin * kPiece);
  });
}

Status Executor::step(const PlanStep& s, Call& c) {
  switch (s.kind) {
    case PlanStep::Kind::kKernel: return kernel(s, c);
    case PlanStep::Kind::kLibrary:
      return note(str_cat(name(s.instr->op), " '", s.instr->name, "'"), library(s, c));
    case PlanStep::Kind::kCopy: {
      copy(c.address[s.inputs[0]], c.address[s.outputs[0]], plan_.buffers[s.outputs[0]].shape.bytes());
      return absl::OkStatus();
    }
    case PlanStep::Kind::kWhile:
      if (s.driver >= 0 && !c.observer && !trace::on())
        return native_loop(kernels_.drivers[s.driver], c);
      while (true) {
        TRY(steps(s.nested[0], c));
        if (!*c.address[s.predicate]) return absl::OkStatus();
        TRY(steps(s.nested[1], c));
      }
    case PlanStep::Kind::kConditional: {
      int64_t last = static_cast<int64_t>(s.nested.size()) - 1, branch = 0;
      const char* p = c.address[s.predicate];
      if (is_pred(plan_.buffers[s.predicate].shape.dtype)) {
        branch = *p ? 0 : 1;
      } else {
        int32_t i;
        std::memcpy(&i, p, sizeof(i));
        branch = i < 0 || i > last ? last : i;
      }
      return steps(s.nested[branch], c);
    }
  }
  return absl::OkStatus();
}

// What a driver calls back with: the context it was given, extended.
struct Executor::Native : codegen::DriverContext {
  Executor* executor;
  Call* call;
  const std::vector<const PlanStep*>* calls;
  Status status;
};

Status Executor::native_loop(const codegen::LoadedDriver& d, Call& c) {
  Native n;
  n.address = c.address.data();
  n.arena = c.arena;
  n.scratch = c.scratch;
  n.step = [](codegen::DriverContext* context, int64_t index) -> int32_t {
    auto* self = static_cast<Native*>(context);
    self->status = self->executor->step(*(*self->calls)[index], *self->call);
    return self->status.ok() ? 0 : 1;
  };
  n.executor = this;
  n.call = &c;
  n.calls = &d.calls;
  d.function(&n);
  return n.status;
}

namespace {

// A phase of a kernel with its buffers, small enough for the pool to hand over by value: workers need not
// fetch the addresses from the caller's stack.
constexpr size_t kFewBuffers = 9;
struct FewBuffers {
  codegen::PhaseFunction* function;
  char* scratch;
  int64_t scratch_bytes;
  std::array<char*, kFewBuffers> at;
  void operator()(int64_t begin, int64_t end, int thread) const {
    function(const_cast<char**>(at.data()), begin, end, scratch + thread * scratch_bytes);
  }
};

}  // namespace

Status Executor::kernel(const PlanStep& s, Call& c) {
  const loop::Kernel& kernel = *plan_.kernels[s.kernel];
  absl::InlinedVector<char*, 16> buffers;
  for (size_t i = 0; i < s.inputs.size(); ++i)
    buffers.push_back(c.address[s.inputs[i]] + Plan::offset(s, i));
  for (int64_t b : s.outputs) buffers.push_back(c.address[b]);
  if (!kernels_.compiled) return loop::interpret(kernel, buffers);
  const codegen::LoadedKernel& k = kernels_.kernels[s.kernel];
  char* workspace = s.workspace >= 0 ? c.arena + s.workspace : nullptr;
  for (size_t i = buffers.size(); i < kernel.buffers.size(); ++i) {
    const loop::Buffer& b = kernel.buffers[i];
    buffers.push_back(workspace);
    if (b.role == loop::Role::kWorkspace) workspace += (b.elements * byte_size(b.dtype) + 63) / 64 * 64;
  }
  buffers.push_back(workspace);  // a contraction's own
  if (buffers.size() <= kFewBuffers) {
    for (const codegen::LoadedPhase& p : k.phases) {
      FewBuffers call{p.function, c.scratch, scratch_bytes_, {}};
      std::copy(buffers.begin(), buffers.end(), call.at.begin());
      pool_->run(p.items, p.grain, call);
    }
    return absl::OkStatus();
  }
  for (const codegen::LoadedPhase& p : k.phases)
    pool_->run(p.items, p.grain,
               [f = p.function, at = buffers.data(), scratch = c.scratch, bytes = scratch_bytes_](
                   int64_t begin, int64_t end, int thread) { f(at, begin, end, scratch + thread * bytes); });
  return absl::OkStatus();
}

Status Executor::library(const PlanStep& s, Call& c) {
  absl::InlinedVector<char*, 8> from, to;
  for (int64_t b : s.inputs) from.push_back(c.address[b]);
  for (int64_t b : s.outputs) to.push_back(c.address[b]);
  return library_.at(s.instr)->run(from, to, *pool_, c.world);
}

}  // namespace braze
