// SPDX-License-Identifier: Apache-2.0
// Pool: a few threads that run the parts of a phase. While a program runs they spin for the next
// phase (a fork-join costs about 0.1 µs); between programs they sleep.
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

  // Runs f(begin, end, thread) over a fixed split of [0, items) into at most threads() ranges of at
  // least `grain` items, the caller taking the first. Returns when all are done. One run at a time:
  // a second caller waits.
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
  struct alignas(64) Job {
    std::atomic<uint64_t> ticket{0};
    std::atomic<uint64_t> done{0};
    int64_t begin = 0, end = 0;
  };
  void work(int id);
  // Keeps the workers off the core the caller runs on: a scheduler that wakes one there makes both
  // wait for each other's time slices.
  void leave_core_to_caller();
  bool wait_for(Job& job, uint64_t last);

  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::thread> workers_;
  const absl::FunctionRef<void(int64_t, int64_t, int)>* function_ = nullptr;
  std::mutex run_mutex_;
  std::mutex sleep_mutex_;
  std::condition_variable wake_;
  std::atomic<int> busy_{0};
  std::atomic<int> caller_core_{-1};
  std::atomic<bool> stop_{false};
};

}  // namespace braze
