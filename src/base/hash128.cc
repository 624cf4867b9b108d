// SPDX-License-Identifier: Apache-2.0
#include "base/hash128.h"

#include <cstdio>

#include "xxhash.h"

namespace braze {

Hash128 hash128(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

std::string to_hex(const Hash128& h) {
  char out[33];
  std::snprintf(out, sizeof(out), "%016llx%016llx", static_cast<unsigned long long>(h.high),
                static_cast<unsigned long long>(h.low));
  return out;
}

}  // namespace braze
