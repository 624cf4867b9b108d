// SPDX-License-Identifier: Apache-2.0
// Compiled with exceptions, which protozero's headers need; writing throws none.
#include "pjrt/op_sharding.h"

#include <protozero/pbf_writer.hpp>

namespace braze::pjrt {

std::string sharding_proto(const spmd::Tiling& t) {
  enum { kType = 1, kTileDims = 3, kTileDevices = 4, kReplicateLast = 6, kLastDims = 8 };
  enum { kReplicated = 0, kOther = 3, kUnreduced = 6 };
  std::string out;
  protozero::pbf_writer w(out);
  const bool rest = t.members() > 1;
  if (t.replicated() && !t.unreduced) {
    w.add_enum(kType, kReplicated);
    return out;
  }
  w.add_enum(kType, kOther);
  Dims dims = t.tiles;
  if (rest) dims.push_back(t.members());
  w.add_packed_int64(kTileDims, dims.begin(), dims.end());
  w.add_packed_int64(kTileDevices, t.devices.begin(), t.devices.end());
  if (t.unreduced) {
    const int32_t kind = kUnreduced;
    w.add_packed_enum(kLastDims, &kind, &kind + 1);
  } else if (rest) {
    w.add_bool(kReplicateLast, true);
  }
  return out;
}

}  // namespace braze::pjrt
