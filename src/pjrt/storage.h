// SPDX-License-Identifier: Apache-2.0
// Storage: the bytes of a buffer, counted by their users. Either owned (64-byte aligned) or lent by the
// host, which is told when the last user is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/status.h"

namespace braze::pjrt {

// What a device holds. Lives as long as the process, since storage may outlive its client.
struct MemoryUse {
  std::atomic<int64_t> bytes{0}, peak{0}, allocations{0}, largest{0};
  void add(int64_t n);
  void remove(int64_t n) { bytes.fetch_sub(n, std::memory_order_relaxed); }
};

class Storage;

class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* s) : s_(s) {}  // takes over one count
  StorageRef(const StorageRef& o);
  StorageRef(StorageRef&& o) noexcept : s_(o.s_) { o.s_ = nullptr; }
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(s_, o.s_);
    return *this;
  }
  ~StorageRef();
  Storage* operator->() const { return s_; }
  explicit operator bool() const { return s_; }

 private:
  Storage* s_ = nullptr;
};

class Storage {
 public:
  static Result<StorageRef> allocate(int64_t bytes, MemoryUse* use);
  static StorageRef lend(void* data, int64_t bytes, std::function<void()> on_free);

  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool owned() const { return owned_; }
  // Owned, and the caller's reference is the only one.
  bool exclusive() const { return owned_ && count_.load(std::memory_order_acquire) == 1; }

 private:
  friend class StorageRef;
  Storage() = default;
  void release();
  std::atomic<int64_t> count_{1};
  char* data_ = nullptr;
  int64_t bytes_ = 0;
  bool owned_ = true;
  MemoryUse* use_ = nullptr;
  std::function<void()> on_free_;
};

inline StorageRef::StorageRef(const StorageRef& o) : s_(o.s_) {
  if (s_) s_->count_.fetch_add(1, std::memory_order_relaxed);
}
inline StorageRef::~StorageRef() {
  if (s_ && s_->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) s_->release();
}

}  // namespace braze::pjrt
