// SPDX-License-Identifier: Apache-2.0
#include "pjrt/queue.h"

namespace braze::pjrt {
namespace {

thread_local bool t_on_queue = false;

}  // namespace

bool Queue::on_queue_thread() { return t_on_queue; }

Queue::~Queue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Queue::post(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_.fetch_add(1, std::memory_order_relaxed);
  work_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

void Queue::run() {
  t_on_queue = true;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !work_.empty(); });
    if (work_.empty()) return;
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it held goes before the queue counts as idle
    pending_.fetch_sub(1, std::memory_order_release);
    lock.lock();
  }
}

}  // namespace braze::pjrt
