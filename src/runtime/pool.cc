// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/debug.h"
#include "base/float_environment.h"

namespace braze {
namespace {

constexpr int kSpins = 20000;      // of a worker before it sleeps, about 100 µs
constexpr int kPatience = 100000;  // of the caller before it offers its core to others
constexpr int64_t kChunks = 4;     // per thread, if they are large enough
constexpr int64_t kAwake = 4;      // an awake worker is worth this much less work than one to be woken
constexpr int64_t kMany = 64;      // runs, too small each, are worth a waking together; or a look at the caller's core

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr int kMostThreads = 1024;
constexpr size_t kFewWorkers = 8;  // more find cores of their own without help

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

Pool::Pool(int threads) : shares_(static_cast<size_t>(std::clamp(threads, 1, kMostThreads))) {
  for (int i = 1; i < static_cast<int>(shares_.size()); ++i) workers_.emplace_back([this, i] { work(i); });
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
  const int64_t asked = debug().threads;
  static Pool* pool = new Pool(asked > 0 ? static_cast<int>(std::min<int64_t>(asked, kMostThreads))
                                         : available_cores());
  return *pool;
}

void Pool::leave_core_to_caller() {
  if (runs_++ % kMany != 0) return;
  const int core = sched_getcpu();
  if (core < 0 || core == caller_core_) return;
  caller_core_ = core;
  if (workers_.size() > kFewWorkers) return;
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof(others), &others) != 0) return;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  for (std::thread& t : workers_) pthread_setaffinity_np(t.native_handle(), sizeof(others), &others);
}

bool Pool::wait_for_ticket(uint64_t last) {
  for (int i = 0; i < kSpins; ++i) {
    if (job_.ticket.load(std::memory_order_acquire) != last) return true;
    if (stop_.load(std::memory_order_relaxed)) return false;
    pause();
  }
  std::unique_lock<std::mutex> lock(sleep_mutex_);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  wake_.wait(lock, [&] { return stop_.load() || job_.ticket.load(std::memory_order_seq_cst) != last; });
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return job_.ticket.load(std::memory_order_acquire) != last;
}

int64_t Pool::take(int id) {
  const int n = threads();
  for (int k = 0; k < n; ++k) {
    std::atomic<uint64_t>& range = shares_[(id + k) % n].range;
    uint64_t r = range.load(std::memory_order_acquire);
    while (true) {
      uint64_t first = r & 0xffffffff, end = r >> 32;
      if (first >= end) break;
      uint64_t left = k == 0 ? (end << 32 | (first + 1)) : ((end - 1) << 32 | first);
      if (range.compare_exchange_weak(r, left, std::memory_order_acq_rel, std::memory_order_acquire))
        return static_cast<int64_t>(k == 0 ? first : end - 1);
    }
  }
  return -1;
}

// What the run is about is read after a chunk was taken: until then it may be the run before or after.
void Pool::run_chunks(int id) {
  for (int64_t c = take(id); c >= 0; c = take(id)) {
    job_.call(job_.state, job_.items * c / job_.chunks, job_.items * (c + 1) / job_.chunks, id);
    unfinished_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

void Pool::work(int id) {
  const FloatEnvironment floats;
  uint64_t last = 0;
  while (wait_for_ticket(last)) {
    last = job_.ticket.load(std::memory_order_acquire);
    run_chunks(id);
  }
}

void Pool::run(int64_t items, int64_t grain, Call call, const void* state, size_t state_bytes) {
  grain = std::max<int64_t>(grain, 1);
  int64_t most = items / grain;
  std::unique_lock<std::mutex> one(run_mutex_, std::defer_lock);
  if (most > 1) {
    if (threads() > 1) one.lock();
  } else if (const int64_t more = items / ((grain + kAwake - 1) / kAwake);
             more > 1 && threads() > 1 && one.try_lock()) {
    // Many runs of this size are worth the waking that one isn't.
    if (sleepers_.load(std::memory_order_relaxed) == 0 || ++small_runs_ % kMany == 0) most = more;
    else one.unlock();
  }
  const int64_t ways = std::min<int64_t>(threads(), most);
  if (ways <= 1) {
    if (items > 0) call(static_cast<const char*>(state), 0, items, 0);
    return;
  }
  leave_core_to_caller();
  const int64_t chunks = std::min(most, ways * kChunks);
  unfinished_.store(chunks, std::memory_order_relaxed);
  job_.call = call;
  job_.items = items;
  job_.chunks = chunks;
  std::memcpy(job_.state, state, state_bytes);
  for (int64_t w = 0; w < ways; ++w) {
    uint64_t first = static_cast<uint64_t>(chunks * w / ways);
    uint64_t end = static_cast<uint64_t>(chunks * (w + 1) / ways);
    shares_[w].range.store(end << 32 | first, std::memory_order_release);
  }
  job_.ticket.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    // A worker about to sleep holds the mutex while it looks at the ticket, so it can't miss this.
    { std::lock_guard<std::mutex> lock(sleep_mutex_); }
    wake_.notify_all();
  }
  run_chunks(0);
  for (int spins = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kPatience) pause();
    else sched_yield();
  }
}

}  // namespace braze
