// SPDX-License-Identifier: Apache-2.0
// Scratch: working memory that a library call keeps from run to run, since fresh pages cost more
// than most calls compute.
//
// Interface: Scratch::Lease takes a block for one run; each running call has one of its own.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace braze {

class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  class Lease {
   public:
    // `bytes`: the same at each run of one call.
    Lease(Scratch& s, int64_t bytes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    char* data() const { return data_; }  // 64-byte aligned; null if there is no memory

   private:
    Scratch& scratch_;
    int64_t bytes_;
    char* data_;
  };

 private:
  struct Block {
    int64_t bytes;
    char* data;
  };
  std::mutex mutex_;
  std::vector<Block> idle_;
};

}  // namespace braze
