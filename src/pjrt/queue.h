// SPDX-License-Identifier: Apache-2.0
// Queue: work of one device, done in order on one thread, which starts with the first piece of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace braze::pjrt {

class Queue {
 public:
  Queue() = default;
  ~Queue();  // after all work is done
  // `then` follows when the work is over and does not count any more: who hears of the end finds the queue idle.
  void post(std::function<void()> work, std::function<void()> then = nullptr);
  // Nothing waits or runs: work done by the caller now keeps the order.
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }
  // The caller runs on a queue's thread, where waiting for later work would be for ever.
  static bool on_queue_thread();

 private:
  void run();
  std::atomic<int64_t> pending_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  struct Piece {
    std::function<void()> work, then;
  };
  std::deque<Piece> pieces_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace braze::pjrt
