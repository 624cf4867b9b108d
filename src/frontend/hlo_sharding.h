// SPDX-License-Identifier: Apache-2.0
// A sharding as HLO text and protos give it, and its text: "{devices=[2,1]<=[2]}".
//
// Interface: parse_sharding, print_sharding. Metadata inside a sharding is dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/shape.h"

namespace braze {

struct HloSharding {
  enum Kind : uint8_t { kReplicated, kMaximal, kTuple, kTiled, kManual, kUnknown, kUnreduced };
  enum Group : uint8_t { kNoGroup, kShardAs, kShardLike };

  Kind kind = kReplicated;
  Dims tile;                          // kTiled: shape of the array of devices
  std::vector<int64_t> devices;       // its elements in row-major order, or
  Dims iota_reshape, iota_transpose;  // iota reshaped and transposed; kMaximal: one device
  bool replicate_last = false;        // the last dimension of `tile` replicates
  std::vector<Kind> last_dims;        // roles of the trailing dimensions of `tile`
  std::vector<HloSharding> parts;     // kTuple: one per leaf
  Group group = kNoGroup;
  int64_t group_id = 0;
  bool operator==(const HloSharding&) const = default;
};

// `text` with its braces.
Result<HloSharding> parse_sharding(std::string_view text);
std::string print_sharding(const HloSharding& s);

}  // namespace braze
