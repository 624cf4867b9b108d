// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace braze {
namespace {

constexpr int kSpins = 20000;   // about 50–100 µs
constexpr int kPatience = 500;  // spins before a core is offered to whoever waits for it

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr size_t kFewWorkers = 8;  // more find cores of their own without help

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

Pool::Pool(int threads) {
  for (int i = 1; i < threads; ++i) jobs_.push_back(std::make_unique<Job>());
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(sleep_mutex_);
    stop_.store(true);
  }
  wake_.notify_all();
  for (std::thread& t : workers_) t.join();
}

Pool& Pool::shared() {
  // Never destroyed: worker threads may outlive the statics of a host process that exits.
  static Pool* pool = new Pool(available_cores());
  return *pool;
}

Pool::Busy::Busy(Pool& p) : pool_(p) {
  if (pool_.workers_.empty()) return;
  pool_.busy_.fetch_add(1, std::memory_order_seq_cst);
  pool_.leave_core_to_caller();
}
Pool::Busy::~Busy() {
  if (pool_.workers_.empty()) return;
  pool_.busy_.fetch_sub(1, std::memory_order_seq_cst);
}

void Pool::leave_core_to_caller() {
  const int core = sched_getcpu();
  if (core < 0 || core == caller_core_.load(std::memory_order_relaxed)) return;
  caller_core_.store(core, std::memory_order_relaxed);
  if (workers_.size() > kFewWorkers) return;
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof(others), &others) != 0) return;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  for (std::thread& t : workers_) pthread_setaffinity_np(t.native_handle(), sizeof(others), &others);
}

bool Pool::wait_for(Job& job, uint64_t last) {
  while (true) {
    for (int i = 0; i < kSpins; ++i) {
      if (job.ticket.load(std::memory_order_acquire) != last) return true;
      if (stop_.load(std::memory_order_relaxed)) return false;
      pause();
    }
    if (busy_.load(std::memory_order_relaxed) > 0) {
      sched_yield();
      continue;
    }
    std::unique_lock<std::mutex> lock(sleep_mutex_);
    wake_.wait(lock, [&] { return stop_.load() || job.ticket.load() != last; });
    if (job.ticket.load(std::memory_order_acquire) != last) return true;
    return false;
  }
}

void Pool::work(int id) {
  Job& job = *jobs_[id - 1];
  uint64_t last = 0;
  while (wait_for(job, last)) {
    last = job.ticket.load(std::memory_order_acquire);
    (*function_)(job.begin, job.end, id);
    job.done.store(last, std::memory_order_release);
  }
}

void Pool::run(int64_t items, int64_t grain, absl::FunctionRef<void(int64_t, int64_t, int)> f) {
  int64_t ways = std::min<int64_t>(threads(), items / std::max<int64_t>(grain, 1));
  if (ways <= 1) {
    if (items > 0) f(0, items, 0);
    return;
  }
  std::lock_guard<std::mutex> one(run_mutex_);
  function_ = &f;
  auto cut = [&](int64_t w) { return items * w / ways; };
  for (int64_t w = 1; w < ways; ++w) {
    Job& job = *jobs_[w - 1];
    job.begin = cut(w);
    job.end = cut(w + 1);
    job.ticket.store(job.ticket.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  {
    // A worker about to sleep holds the mutex while it looks at its ticket, so it can't miss this.
    std::lock_guard<std::mutex> lock(sleep_mutex_);
  }
  wake_.notify_all();
  f(0, cut(1), 0);
  for (int64_t w = 1; w < ways; ++w) {
    Job& job = *jobs_[w - 1];
    uint64_t ticket = job.ticket.load(std::memory_order_relaxed);
    for (int spins = 0; job.done.load(std::memory_order_acquire) != ticket; ++spins) {
      // The worker may be waiting for this very core.
      if (spins < kPatience) pause();
      else sched_yield();
    }
  }
}

}  // namespace braze
