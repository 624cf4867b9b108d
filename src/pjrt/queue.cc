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

void Queue::post(std::function<void()> work, std::function<void()> then) {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_.fetch_add(1, std::memory_order_relaxed);
  pieces_.push_back({std::move(work), std::move(then)});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

void Queue::run() {
  t_on_queue = true;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    piece.work();
    piece.work = nullptr;  // what it held goes before the queue counts as idle
    pending_.fetch_sub(1, std::memory_order_release);
    if (piece.then) piece.then();
    piece.then = nullptr;
    lock.lock();
  }
}

}  // namespace braze::pjrt
