// SPDX-License-Identifier: Apache-2.0
// libbraze_runtime: include/braze/runtime.h over the thread pool and the library calls. Holds no compiler.
#include "braze/runtime.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "base/float_environment.h"
#include "runtime/library.h"
#include "runtime/pool.h"
#include "text/parse.h"

namespace braze {
namespace {

struct Runtime : braze_runtime {
  Pool* pool = nullptr;
  std::unique_ptr<Pool> own;
};

// A library call of a program, as its state holds it: made at its first run and kept while the process lives,
// as the program's code is.
struct PreparedCall {
  std::unique_ptr<Module> module;
  LibraryStep step;
};

size_t leaf_count(const Shape& shape) {
  if (!shape.is_tuple()) return 1;
  size_t n = 0;
  for (const Shape& t : shape.tuple) n += leaf_count(t);
  return n;
}

std::string& error_of_this_thread() {
  thread_local std::string error;
  return error;
}

void launch(const braze_runtime* r, braze_phase* phase, char** buffers, int64_t items, int64_t grain, char* scratch,
            int64_t scratch_bytes) {
  static_cast<const Runtime*>(r)->pool->run(items, grain, [=](int64_t begin, int64_t end, int thread) {
    phase(buffers, begin, end, scratch + thread * scratch_bytes);
  });
}

Result<const PreparedCall*> prepared(const char* call, void** state) {
  std::atomic_ref<void*> kept(*state);
  if (void* p = kept.load(std::memory_order_acquire)) return static_cast<const PreparedCall*>(p);
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (void* p = kept.load(std::memory_order_acquire)) return static_cast<const PreparedCall*>(p);
  ASSIGN(std::unique_ptr<Module> module, parse_hlo(call));
  const Instr& instr = *module->entry()->root();
  auto* made = new (std::nothrow) PreparedCall{std::move(module), LibraryStep(instr)};
  if (!made) return exhausted("Out of memory preparing a library call");
  kept.store(made, std::memory_order_release);
  return made;
}

int32_t library(const braze_runtime* r, const char* call, void** state, char* const* operands, char* const* results) {
  const FloatEnvironment floats;
  const Status s = [&]() -> Status {
    ASSIGN(const PreparedCall* p, prepared(call, state));
    const Instr& instr = *p->module->entry()->root();
    size_t takes = 0;
    for (const Instr* o : instr.operands) takes += leaf_count(o->shape);
    return p->step.run({operands, takes}, {results, leaf_count(instr.shape)}, *static_cast<const Runtime*>(r)->pool,
                       nullptr);
  }();
  if (s.ok()) return BRAZE_OK;
  error_of_this_thread() = std::string(s.message());
  return BRAZE_FAILED;
}

const char* last_error(const braze_runtime*) { return error_of_this_thread().c_str(); }

void fill(Runtime* r, Pool* pool) {
  r->version = 1;
  r->threads = pool->threads();
  r->launch = launch;
  r->library = library;
  r->last_error = last_error;
  r->pool = pool;
}

}  // namespace
}  // namespace braze

#pragma GCC visibility push(default)

extern "C" const braze_runtime* braze_default_runtime(void) {
  static const braze::Runtime* const runtime = [] {  // never destroyed: used at exit, too
    auto* r = new braze::Runtime();
    braze::fill(r, &braze::Pool::shared());
    return r;
  }();
  return runtime;
}

extern "C" braze_runtime* braze_runtime_create(int32_t threads) {
  auto* r = new (std::nothrow) braze::Runtime();
  if (!r) return nullptr;
  r->own = std::make_unique<braze::Pool>(threads < 1 ? 1 : threads);
  braze::fill(r, r->own.get());
  return r;
}

extern "C" void braze_runtime_destroy(braze_runtime* runtime) { delete static_cast<braze::Runtime*>(runtime); }

#pragma GCC visibility pop
