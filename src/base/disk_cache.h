// SPDX-License-Identifier: Apache-2.0
// DiskCache: a folder of files named by 128-bit keys, for what is costly to make again.
//
// Safe for any number of processes and threads at once, without locks: a file is written under a
// name of its own and renamed when whole, and each carries its key, size and checksum, so that a
// reader takes a file entirely or not at all. The folder's size is bounded: what was not used for
// longest goes first. Nothing here is needed for a right answer: every failure is a miss.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/hash128.h"
#include "base/status.h"

namespace braze {

class DiskCache {
 public:
  DiskCache(std::string folder, int64_t limit_bytes)
      : folder_(std::move(folder)), limit_(limit_bytes) {}

  // The cache that BRAZE_CACHE_DIR and BRAZE_CACHE_SIZE ask for, read once; null: none.
  static DiskCache* from_environment();

  // The bytes put under `key`. NOT_FOUND: there are none. Any other error: there is a file, and why
  // it was left alone.
  Result<std::string> get(const Hash128& key);
  // Makes `bytes` what get(key) gives, and room for them.
  Status put(const Hash128& key, std::string_view bytes);
  // Whether there is a file for `key`; it counts as used now.
  bool touch(const Hash128& key);

  const std::string& folder() const { return folder_; }
  int64_t limit() const { return limit_; }
  std::string path(const Hash128& key) const;

 private:
  void make_room(int64_t fresh);

  std::string folder_;
  int64_t limit_;
  std::mutex mutex_;
  int64_t size_ = -1;  // of the folder, by the last look and what was put since; -1: not looked yet
};

// "500M", "2G", "1048576" → bytes; -1 if it is no size. K, M and G are powers of 1024.
int64_t parse_size(std::string_view text);

}  // namespace braze
