// SPDX-License-Identifier: Apache-2.0
#include "base/blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

namespace braze {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kKept = 32 << 10;  // smaller ones are left to malloc

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t alignment(int64_t bytes) { return bytes >= 2 * kHugePage ? kHugePage : kAlign; }

// From the system and not malloc's: freeing one would tell malloc to keep blocks of this size from then on, in
// each of its arenas.
char* map_block(int64_t bytes) {
  void* mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(mapped);
  char* p = start + (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (p > start) munmap(start, p - start);
  if (char* end = start + kHugePage; end > p) munmap(p + bytes, end - p);
#ifdef MADV_HUGEPAGE
  madvise(p, bytes, MADV_HUGEPAGE);
#endif
  return p;
}

char* new_block(int64_t bytes) {
  if (alignment(bytes) == kHugePage) return map_block(bytes);
  return static_cast<char*>(std::aligned_alloc(kAlign, bytes));
}

void free_block(char* p, int64_t bytes) {
  if (alignment(bytes) == kHugePage) munmap(p, bytes);
  else std::free(p);
}

// The blocks kept. The oldest go first: when there are too many, or when nobody asked for them for a while.
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
    if (bytes > kMaxHeld / 4) return free_block(p, bytes);
    std::vector<Block> gone;
    const Clock::time_point now = Clock::now();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      blocks_.push_back({p, bytes, now});
      held_ += bytes;
      while (held_ > kMaxHeld || blocks_.size() > kMaxBlocks || now - blocks_.front().given > kIdle) {
        gone.push_back(blocks_.front());
        held_ -= blocks_.front().bytes;
        blocks_.pop_front();
      }
    }
    for (const Block& b : gone) free_block(b.data, b.bytes);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kMaxHeld = int64_t{256} << 20;
  static constexpr size_t kMaxBlocks = 1024;
  static constexpr std::chrono::seconds kIdle{5};
  struct Block {
    char* data;
    int64_t bytes;
    Clock::time_point given;
  };
  void drop() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Block& b : blocks_) free_block(b.data, b.bytes);
    blocks_.clear();
    held_ = 0;
  }
  std::mutex mutex_;
  std::deque<Block> blocks_;
  int64_t held_ = 0;
};

int64_t block_size(int64_t bytes) {
  bytes = std::max(bytes, kAlign);
  return round_up(bytes, alignment(bytes));
}

}  // namespace

char* take_block(int64_t bytes) {
  const int64_t size = block_size(bytes);
  return size < kKept ? new_block(size) : FreedBlocks::shared().take(size);
}

void give_block(char* block, int64_t bytes) {
  if (!block) return;
  const int64_t size = block_size(bytes);
  if (size < kKept) std::free(block);
  else FreedBlocks::shared().give(block, size);
}

}  // namespace braze
