// SPDX-License-Identifier: Apache-2.0
#include "runtime/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace braze {
namespace {

constexpr int64_t kHugePage = 2 << 20;

char* allocate(int64_t bytes) {
  const int64_t align = bytes >= kHugePage ? kHugePage : 64;
  bytes = (std::max<int64_t>(bytes, 64) + align - 1) / align * align;
  char* p = static_cast<char*>(std::aligned_alloc(align, bytes));
#ifdef MADV_HUGEPAGE
  if (p && bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
#endif
  return p;
}

}  // namespace

Scratch::~Scratch() {
  for (const Block& b : idle_) std::free(b.data);
}

Scratch::Lease::Lease(Scratch& s, int64_t bytes) : scratch_(s), bytes_(bytes), data_(nullptr) {
  {
    std::lock_guard<std::mutex> lock(s.mutex_);
    for (size_t i = 0; i < s.idle_.size(); ++i)
      if (s.idle_[i].bytes >= bytes) {
        bytes_ = s.idle_[i].bytes;
        data_ = s.idle_[i].data;
        s.idle_.erase(s.idle_.begin() + static_cast<int64_t>(i));
        return;
      }
  }
  data_ = allocate(bytes);
}

Scratch::Lease::~Lease() {
  if (!data_) return;
  std::lock_guard<std::mutex> lock(scratch_.mutex_);
  scratch_.idle_.push_back({bytes_, data_});
}

}  // namespace braze
