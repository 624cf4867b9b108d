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
  if (t.replicated() && !t.unreduced()) {
    w.add_enum(kType, kReplicated);
    return out;
  }
  w.add_enum(kType, kOther);
  Dims dims = t.tiles;
  if (t.unreduced()) dims.push_back(t.terms);
  if (t.holders() > 1) dims.push_back(t.holders());
  w.add_packed_int64(kTileDims, dims.begin(), dims.end());
  w.add_packed_int64(kTileDevices, t.devices.begin(), t.devices.end());
  if (t.unreduced()) {
    const int32_t kinds[] = {kUnreduced, kReplicated};
    w.add_packed_enum(kLastDims, kinds, kinds + (t.holders() > 1 ? 2 : 1));
  } else if (t.holders() > 1) {
    w.add_bool(kReplicateLast, true);
  }
  return out;
}

}  // namespace braze::pjrt
