// SPDX-License-Identifier: Apache-2.0
// Blocks: the memory of arrays. Large freed blocks are kept for the next request of the same size:
// programs ask for the same sizes again and again, and fresh pages cost more than what is computed
// into them. Large blocks lie on huge pages where the system has them.
#pragma once

#include <cstdint>

namespace braze {

// At least `bytes` bytes, 64-byte aligned, of any content; null if there are none. From any thread.
char* take_block(int64_t bytes);
// Gives back a block of take_block(bytes), with the same number.
void give_block(char* block, int64_t bytes);

// An owned block.
class Block {
 public:
  explicit Block(int64_t bytes) : data_(take_block(bytes)), bytes_(data_ ? bytes : 0) {}
  ~Block() { give_block(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  char* data_;
  int64_t bytes_;
};

}  // namespace braze
