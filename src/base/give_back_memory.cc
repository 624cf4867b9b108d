// SPDX-License-Identifier: Apache-2.0
#include "base/give_back_memory.h"

#include <atomic>
#include <chrono>
#include <cstdint>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace braze {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kCompilations = 64;  // between two times
constexpr int64_t kShare = 100;        // of the time that passes, one part is spent here

std::atomic<int64_t> running{0}, ended{0}, next_ns{0};

int64_t now_ns() { return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(); }

}  // namespace

Compiling::Compiling() { running.fetch_add(1, std::memory_order_relaxed); }

Compiling::~Compiling() {
  const bool last = running.fetch_sub(1, std::memory_order_relaxed) == 1;
  const int64_t count = ended.fetch_add(1, std::memory_order_relaxed) + 1;
  // Under a constant load of several threads there may be no idle moment.
  if (count < kCompilations || (!last && count < 4 * kCompilations)) return;
  const int64_t start = now_ns();
  int64_t due = next_ns.load(std::memory_order_relaxed);
  if (start < due || !next_ns.compare_exchange_strong(due, INT64_MAX)) return;
  ended.store(0, std::memory_order_relaxed);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  const int64_t end = now_ns();
  next_ns.store(end + kShare * (end - start), std::memory_order_relaxed);
}

}  // namespace braze
