// SPDX-License-Identifier: Apache-2.0
// Pool: a few threads that run the parts of a phase. After a phase they spin for the next one for a while
// (a fork-join costs about 0.1 µs then), and sleep. Neither they nor the caller yields a core: a scheduler
// makes whoever yields wait for the slices of all others.
//
// A phase is cut into chunks. Each thread starts with a range of its own, the same from phase to
// phase, so that data stays in its cache; a thread that has none left takes from the others' ends, so
// that a thread which lost its core holds nobody up for longer than one chunk.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace braze {

class Pool {
 public:
  // threads ≥ 1, the caller of run included; of more than 1,024 so many.
  explicit Pool(int threads);
  ~Pool();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs f(begin, end, thread) over chunks of [0, items), on the caller and the workers. `grain` is the
  // fewest items worth waking a worker for; chunks are that large, or a quarter if the workers are awake
  // (or many such runs found them asleep) and nothing else runs. Returns when all are done. One run at a
  // time: a second caller waits, or does all by itself if there is little to do. f must give the same
  // results for any split.
  // A small function is handed over by value, beside what wakes the workers.
  template <typename F>
  void run(int64_t items, int64_t grain, const F& f) {
    if constexpr (std::is_trivially_copyable_v<F> && sizeof(F) <= kState && alignof(F) <= 8) {
      run(items, grain, [](const char* s, int64_t b, int64_t e, int t) { (*reinterpret_cast<const F*>(s))(b, e, t); },
          &f, sizeof(F));
    } else {
      const F* at = &f;
      run(items, grain, [](const char* s, int64_t b, int64_t e, int t) {
        const F* g;
        std::memcpy(&g, s, sizeof g);
        (*g)(b, e, t);
      }, &at, sizeof at);
    }
  }

  // The process's pool: one thread per core this process may use.
  static Pool& shared();

 private:
  static constexpr size_t kState = 96;
  using Call = void (*)(const char* state, int64_t begin, int64_t end, int thread);
  void run(int64_t items, int64_t grain, Call call, const void* state, size_t state_bytes);

  // What a thread has yet to start of the current run: the worker watches it, the caller fills it, and whoever
  // has nothing left takes from its end. All but the range is stable while any chunk of the run is unfinished.
  // Two cache lines, fetched together: each that a worker has to wait for is a tenth of a microsecond of a call.
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};  // the first chunk in the low half, the end in the high half
    Call call = nullptr;
    int64_t items = 0, chunks = 0;
    alignas(8) char state[kState] = {};
  };
  static_assert(sizeof(Share) == 128);
  struct alignas(64) Sleep {
    std::atomic<int32_t> asleep{0};
  };
  void work(int id);
  // Until the worker's share has something; false: the pool ends.
  bool wait_for_share(int id);
  bool any_asleep(int64_t ways) const;
  // Takes a chunk from the front of the thread's own share or from the end of another's, and runs it; false: none.
  bool run_one(int id);
  // Keeps the workers off the core the caller runs on: a scheduler that wakes one there makes both
  // wait for each other's time slices. Looks where that is before a run of many grains, and now and then.
  void leave_core_to_caller(int64_t grains);

  std::vector<Share> shares_;  // by thread, the caller's first
  std::vector<Sleep> sleeps_;
  std::vector<std::thread> workers_;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint64_t> done_{0};  // chunks that workers finished, ever
  // The caller's own, apart from the lines that workers watch.
  alignas(64) std::mutex run_mutex_;
  uint64_t given_ = 0;      // of them all, chunks that workers took before this run
  int64_t small_runs_ = 0;  // that sleeping workers missed
  int64_t runs_ = 0;
  int caller_core_ = -1;
};

}  // namespace braze
