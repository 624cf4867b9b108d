// SPDX-License-Identifier: Apache-2.0
// Pool: a few threads that run the parts of a phase. While a program runs they spin for the next
// phase (a fork-join costs about 0.1 µs); between programs they sleep.
//
// A phase is cut into chunks. Each thread starts with a range of its own, the same from phase to
// phase, so that data stays in its cache; a thread that has none left takes from the others' ends, so
// that a thread which lost its core holds nobody up for longer than one chunk.
#pragma once

#include <atomic>
#include <cstdint>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace braze {

class Pool {
 public:
  // threads ≥ 1, the caller of run included.
  explicit Pool(int threads);
  ~Pool();
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs f(begin, end, thread) over chunks of [0, items) of at least `grain` items, on the caller and
  // the workers. Returns when all are done. One run at a time: a second caller waits. f must give the
  // same results for any split.
  void run(int64_t items, int64_t grain, absl::FunctionRef<void(int64_t, int64_t, int)> f);

  // While a Busy object lives the workers spin instead of sleeping.
  class Busy {
   public:
    explicit Busy(Pool& p);
    ~Busy();

   private:
    Pool& pool_;
  };

  // The process's pool: one thread per core this process may use.
  static Pool& shared();

 private:
  // The chunks a thread has yet to start: the first in the low half, the end in the high half.
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};
  };
  void work(int id);
  bool wait_for_ticket(uint64_t last);
  // Takes a chunk from the front of the thread's own share, or from the end of another's; -1: none.
  int64_t take(int id);
  void run_chunks(int id);
  // Keeps the workers off the core the caller runs on: a scheduler that wakes one there makes both
  // wait for each other's time slices.
  void leave_core_to_caller();

  std::vector<Share> shares_;  // by thread, the caller's first
  std::vector<std::thread> workers_;
  // Of the current run; stable while any of its chunks is unfinished.
  const absl::FunctionRef<void(int64_t, int64_t, int)>* function_ = nullptr;
  int64_t items_ = 0, chunks_ = 0;
  alignas(64) std::atomic<int64_t> unfinished_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};
  std::atomic<int> sleepers_{0};
  std::mutex run_mutex_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::atomic<int> busy_{0};
  std::atomic<int> caller_core_{-1};
  std::atomic<bool> stop_{false};
};

}  // namespace braze
