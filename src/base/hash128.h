// SPDX-License-Identifier: Apache-2.0
// 128-bit hashes (XXH3) that name contents: of kernels, of compiled programs, of files of a cache.
//
// KeyWriter collects values in a form that reads back in one way only, so that different contents
// give different bytes. Hashes are stable across processes and machines, and not for secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace braze {

struct Hash128 {
  uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Hash128& k) {
    return H::combine(std::move(h), k.low);
  }
};

Hash128 hash128(std::string_view bytes);
// 32 hexadecimal digits.
std::string to_hex(const Hash128& h);

class KeyWriter {
 public:
  void number(int64_t v) { bytes_.append(reinterpret_cast<const char*>(&v), sizeof(v)); }
  void real(double v) { bytes_.append(reinterpret_cast<const char*>(&v), sizeof(v)); }
  void text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    bytes_.append(s.data(), s.size());
  }
  void hash(const Hash128& h) {
    number(static_cast<int64_t>(h.high));
    number(static_cast<int64_t>(h.low));
  }
  template <typename List>
  void numbers(const List& list) {
    number(static_cast<int64_t>(list.size()));
    for (auto v : list) number(static_cast<int64_t>(v));
  }
  Hash128 finish() const { return hash128(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace braze
