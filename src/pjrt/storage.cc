// SPDX-License-Identifier: Apache-2.0
#include "pjrt/storage.h"

#include <cstdlib>
#include <new>

#include "base/blocks.h"

namespace braze::pjrt {
namespace {

constexpr int64_t kAlign = 64;
// Below this the bytes follow the object in one block.
constexpr int64_t kInline = 4096;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

void MemoryUse::add(int64_t n) {
  const int64_t now = bytes.fetch_add(n, std::memory_order_relaxed) + n;
  allocations.fetch_add(1, std::memory_order_relaxed);
  for (int64_t p = peak.load(std::memory_order_relaxed);
       now > p && !peak.compare_exchange_weak(p, now, std::memory_order_relaxed);) {
  }
  for (int64_t l = largest.load(std::memory_order_relaxed);
       n > l && !largest.compare_exchange_weak(l, n, std::memory_order_relaxed);) {
  }
}

Result<StorageRef> Storage::allocate(int64_t bytes, MemoryUse* use) {
  if (bytes < 0 || bytes > (int64_t{1} << 46)) return exhausted("Out of memory allocating ", bytes, " bytes");
  constexpr int64_t kHead = (sizeof(Storage) + kAlign - 1) / kAlign * kAlign;
  const bool small = bytes <= kInline;
  char* block = static_cast<char*>(
      std::aligned_alloc(kAlign, kHead + (small ? round_up(bytes, kAlign) : 0)));
  if (!block) return exhausted("Out of memory allocating ", bytes, " bytes");
  char* data = block + kHead;
  if (!small) {
    data = take_block(bytes);
    if (!data) {
      std::free(block);
      return exhausted("Out of memory allocating ", bytes, " bytes");
    }
  }
  auto* s = new (block) Storage;
  s->data_ = data;
  s->bytes_ = bytes;
  s->use_ = use;
  if (use) use->add(bytes);
  return StorageRef(s);
}

StorageRef Storage::lend(void* data, int64_t bytes, std::function<void()> on_free) {
  void* block = std::malloc(sizeof(Storage));
  auto* s = new (block) Storage;
  s->data_ = static_cast<char*>(data);
  s->bytes_ = bytes;
  s->owned_ = false;
  s->on_free_ = std::move(on_free);
  return StorageRef(s);
}

void Storage::release() {
  if (use_) use_->remove(bytes_);
  if (owned_ && bytes_ > kInline) give_block(data_, bytes_);
  std::function<void()> on_free = std::move(on_free_);
  this->~Storage();
  std::free(this);
  if (on_free) on_free();
}

}  // namespace braze::pjrt
