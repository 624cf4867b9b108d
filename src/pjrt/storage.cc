// SPDX-License-Identifier: Apache-2.0
#include "pjrt/storage.h"

#include <sys/mman.h>

#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

namespace braze::pjrt {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kHugePage = 2 << 20;
// Below this the bytes follow the object in one block.
constexpr int64_t kInline = 4096;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t alignment(int64_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlign; }

char* new_block(int64_t bytes) {
  const int64_t align = alignment(bytes);
  char* p = static_cast<char*>(std::aligned_alloc(align, bytes));
#ifdef MADV_HUGEPAGE
  if (p && align == kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
#endif
  return p;
}

// Freed blocks, kept for the next request of the same size: programs ask for the same sizes again and
// again, and fresh pages cost more than what is computed into them. The oldest go first.
class FreedBlocks {
 public:
  static FreedBlocks& shared() {
    static FreedBlocks* f = new FreedBlocks;
    return *f;
  }
  // Of `bytes`, a multiple of its alignment.
  char* take(int64_t bytes) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (auto at = blocks_.rbegin(); at != blocks_.rend(); ++at) {
        if (at->bytes != bytes) continue;
        char* p = at->data;
        blocks_.erase(std::next(at).base());
        held_ -= bytes;
        return p;
      }
    }
    if (char* p = new_block(bytes)) return p;
    drop();
    return new_block(bytes);
  }
  void give(char* p, int64_t bytes) {
    if (bytes > kMaxHeld / 4) return std::free(p);
    std::vector<char*> gone;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      blocks_.push_back({p, bytes});
      held_ += bytes;
      while (held_ > kMaxHeld || blocks_.size() > kMaxBlocks) {
        gone.push_back(blocks_.front().data);
        held_ -= blocks_.front().bytes;
        blocks_.pop_front();
      }
    }
    for (char* g : gone) std::free(g);
  }

 private:
  static constexpr int64_t kMaxHeld = int64_t{256} << 20;
  static constexpr size_t kMaxBlocks = 64;
  struct Block {
    char* data;
    int64_t bytes;
  };
  void drop() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Block& b : blocks_) std::free(b.data);
    blocks_.clear();
    held_ = 0;
  }
  std::mutex mutex_;
  std::deque<Block> blocks_;
  int64_t held_ = 0;
};

int64_t block_size(int64_t bytes) { return round_up(bytes, alignment(bytes)); }

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
  if (bytes < 0 || bytes > (int64_t{1} << 46)) return exhausted("no memory for ", bytes, " bytes");
  constexpr int64_t kHead = (sizeof(Storage) + kAlign - 1) / kAlign * kAlign;
  const bool small = bytes <= kInline;
  char* block = static_cast<char*>(
      std::aligned_alloc(kAlign, kHead + (small ? round_up(bytes, kAlign) : 0)));
  if (!block) return exhausted("no memory for ", bytes, " bytes");
  char* data = block + kHead;
  if (!small) {
    data = FreedBlocks::shared().take(block_size(bytes));
    if (!data) {
      std::free(block);
      return exhausted("no memory for ", bytes, " bytes");
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
  if (owned_ && bytes_ > kInline) FreedBlocks::shared().give(data_, block_size(bytes_));
  std::function<void()> on_free = std::move(on_free_);
  this->~Storage();
  std::free(this);
  if (on_free) on_free();
}

}  // namespace braze::pjrt
