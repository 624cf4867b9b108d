// SPDX-License-Identifier: Apache-2.0
#include "backend/warm_up.h"

#include <unistd.h>

#include <mutex>
#include <thread>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "runtime/pool.h"

namespace braze {
namespace {

// A product with an epilogue, and row sums: register tiles, masks, vector math, a horizontal sum.
constexpr const char* kProgram = R"(
HloModule warm_up
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  a = f32[40,50] parameter(0)  b = f32[50,60] parameter(1)
  p = f32[40,60] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[40,60] tanh(p)  zero = f32[] constant(0)
  s = f32[40] reduce(t, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[40,60], f32[40]) tuple(t, s)
})";

void warm_up() {
  Debug quiet;
  CompileOptions options;
  options.debug = &quiet;
  if (auto m = read_module(kProgram); m.ok()) (void)compile(std::move(*m), options);
}

class WarmUp {
 public:
  ~WarmUp() { finish(); }  // a thread must not be in LLVM when its static data goes
  void start() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (started_ || Pool::shared().threads() < 2) return;
    started_ = true;
    process_ = getpid();
    thread_ = std::thread(warm_up);
  }
  void finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) return;
    if (getpid() == process_) thread_.join();
    else thread_.detach();  // a forked child has no such thread
  }

 private:
  std::mutex mutex_;
  bool started_ = false;
  pid_t process_ = 0;
  std::thread thread_;
};

WarmUp& the_warm_up() {
  static WarmUp w;
  return w;
}

}  // namespace

void start_warm_up() { the_warm_up().start(); }
void finish_warm_up() { the_warm_up().finish(); }

}  // namespace braze
