// SPDX-License-Identifier: Apache-2.0
#include "runtime/scratch.h"

#include "base/blocks.h"

namespace braze {

Scratch::~Scratch() {
  for (const Block& b : idle_) give_block(b.data, b.bytes);
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
  data_ = take_block(bytes);
}

Scratch::Lease::~Lease() {
  if (!data_) return;
  std::lock_guard<std::mutex> lock(scratch_.mutex_);
  scratch_.idle_.push_back({bytes_, data_});
}

}  // namespace braze
