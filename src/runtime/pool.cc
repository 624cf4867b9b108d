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
constexpr int64_t kMuch = 16;      // grains of work are worth that look by themselves

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

Pool::Pool(int threads)
    : shares_(static_cast<size_t>(std::clamp(threads, 1, kMostThreads))), sleeps_(shares_.size()) {
  for (int i = 1; i < static_cast<int>(shares_.size()); ++i) workers_.emplace_back([this, i] { work(i); });
}

Pool::~Pool() {
  stop_.store(true);
  for (Sleep& s : sleeps_) {
    s.asleep.store(0);
    s.asleep.notify_one();
  }
  for (std::thread& t : workers_) t.join();
}

Pool& Pool::shared() {
  // Never destroyed: worker threads may outlive the statics of a host process that exits.
  const int64_t asked = debug().threads;
  static Pool* pool = new Pool(asked > 0 ? static_cast<int>(std::min<int64_t>(asked, kMostThreads))
                                         : available_cores());
  return *pool;
}

void Pool::leave_core_to_caller(int64_t grains) {
  if (runs_++ % kMany != 0 && grains < kMuch) return;
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

bool Pool::any_asleep(int64_t ways) const {
  for (int64_t w = 1; w < ways; ++w)
    if (sleeps_[w].asleep.load(std::memory_order_relaxed) != 0) return true;
  return false;
}

bool Pool::wait_for_share(int id) {
  const auto waiting = [&] {
    const uint64_t r = shares_[id].range.load(std::memory_order_acquire);
    return (r & 0xffffffff) >= r >> 32;
  };
  while (true) {
    for (int i = 0; i < kSpins; ++i) {
      if (!waiting()) return true;
      if (stop_.load(std::memory_order_relaxed)) return false;
      pause();
    }
    // A caller that fills the share just now may not see that this thread sleeps. It does the work itself
    // then, and wakes this thread with its next run.
    std::atomic<int32_t>& asleep = sleeps_[id].asleep;
    asleep.store(1);
    if (!waiting()) asleep.store(0);
    else if (!stop_.load()) asleep.wait(1);
  }
}

// What the run is about is read after a chunk was taken: until then it may be the run before or after.
bool Pool::run_one(int id) {
  const int n = threads();
  for (int k = 0; k < n; ++k) {
    Share& share = shares_[(id + k) % n];
    uint64_t r = share.range.load(std::memory_order_acquire);
    while (true) {
      const uint64_t first = r & 0xffffffff, end = r >> 32;
      if (first >= end) break;
      __builtin_prefetch(share.state + sizeof(share.state) - 1);
      const uint64_t left = k == 0 ? (end << 32 | (first + 1)) : ((end - 1) << 32 | first);
      if (!share.range.compare_exchange_weak(r, left, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      const int64_t c = static_cast<int64_t>(k == 0 ? first : end - 1);
      share.call(share.state, share.items * c / share.chunks, share.items * (c + 1) / share.chunks, id);
      return true;
    }
  }
  return false;
}

void Pool::work(int id) {
  const FloatEnvironment floats;
  while (wait_for_share(id))
    while (run_one(id)) done_.fetch_add(1, std::memory_order_acq_rel);
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
    if (!any_asleep(std::min<int64_t>(threads(), more)) || ++small_runs_ % kMany == 0) most = more;
    else one.unlock();
  }
  const int64_t ways = std::min<int64_t>(threads(), most);
  if (ways <= 1) {
    if (items > 0) call(static_cast<const char*>(state), 0, items, 0);
    return;
  }
  leave_core_to_caller(most);
  const int64_t chunks = std::min(most, ways * kChunks);
  // The caller's first chunk is not on offer: a run of one chunk each writes no line but the workers'.
  const auto fill = [&](int64_t w, int64_t taken) {
    Share& s = shares_[w];
    const uint64_t first = static_cast<uint64_t>(chunks * w / ways + taken);
    const uint64_t end = static_cast<uint64_t>(chunks * (w + 1) / ways);
    if (first >= end) return;
    s.call = call, s.items = items, s.chunks = chunks;
    std::memcpy(s.state, state, state_bytes);
    s.range.store(end << 32 | first, std::memory_order_release);
  };
  for (int64_t w = 1; w < ways; ++w) fill(w, 0);
  fill(0, 1);
  for (int64_t w = 1; w < ways; ++w)
    if (std::atomic<int32_t>& asleep = sleeps_[w].asleep; asleep.load(std::memory_order_relaxed) != 0) {
      asleep.store(0);
      asleep.notify_one();
    }
  call(static_cast<const char*>(state), 0, items / chunks, 0);
  uint64_t mine = 1;
  while (run_one(0)) ++mine;
  given_ += static_cast<uint64_t>(chunks) - mine;
  for (int spins = 0; done_.load(std::memory_order_acquire) != given_; ++spins) {
    if (spins < kPatience) pause();
    else sched_yield();
  }
}

}  // namespace braze
