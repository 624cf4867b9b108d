// SPDX-License-Identifier: Apache-2.0
// Tiling: how an array lies on devices, from either notation of shardings.
//
// The array is cut into tiles[d] equal parts along each dimension d. Every tile is held by the same number
// of devices: `devices` lists them tile by tile in row-major order of tiles, so that members of one
// position of two tiles agree on everything that the tiling does not cut. An unreduced array is the sum (or
// maximum, minimum) of `terms` terms: the members of a tile hold them one after the other, each term by the
// same number of members.
//
// Interface: MeshTable, tiling_of, tiling_proto. Devices are the program's logical ids.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze::spmd {

struct Mesh {
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  std::vector<Axis> axes;
  std::vector<int64_t> device_ids;  // by position; empty: the position is the id
};

// A part of a mesh axis of size n, seen as [pre, size, n / (pre * size)]: the middle.
struct AxisRef {
  std::string name;
  int64_t pre = 1, size = 0;  // size 0: all of it
  bool operator==(const AxisRef&) const = default;
  auto operator<=>(const AxisRef&) const = default;
};

// #sdy.sharding<@mesh, [{"x", "y":(1)2}, {?}], replicated={…}, unreduced={…}>
struct AxisSharding {
  std::string mesh;  // its name; empty: `inline_mesh` tells
  std::optional<Mesh> inline_mesh;
  std::vector<std::vector<AxisRef>> dims;
  std::vector<bool> open;  // dims that may be cut further
  std::vector<AxisRef> unreduced;
  std::string reduction;  // of `unreduced`: "" (sum), "max", "min"
};

struct Tiling {
  Dims tiles;                    // by dimension
  std::vector<int64_t> devices;  // [tile][member]
  int64_t terms = 1;
  Op reduction = Op::kAdd;       // of the terms
  bool operator==(const Tiling&) const = default;

  int64_t count() const { return product(tiles); }
  int64_t members() const { return static_cast<int64_t>(devices.size()) / count(); }
  int64_t device(int64_t tile, int64_t member) const { return devices[tile * members() + member]; }
  // Position of a device in `devices`.
  int64_t position(int64_t device) const;
  int64_t tile_of(int64_t device) const { return position(device) / members(); }
  int64_t member_of(int64_t device) const { return position(device) % members(); }
  int64_t holders() const { return members() / terms; }  // of one term of one tile
  int64_t term_of(int64_t device) const { return member_of(device) / holders(); }
  bool unreduced() const { return terms > 1; }
  bool replicated() const { return count() == 1; }
};

using MeshTable = std::map<std::string, Mesh, std::less<>>;

// The meshes that a module names.
Result<MeshTable> meshes_of(const Module& m);

bool is_axis_sharding(std::string_view text);
Result<AxisSharding> parse_axis_sharding(std::string_view text);
Result<const Mesh*> mesh_of(const AxisSharding& s, const MeshTable& meshes);

Tiling replicated(int64_t rank, int64_t devices);
// `only`: axes that count; others are left uncut.
Result<Tiling> tiling_of(const AxisSharding& s, const MeshTable& meshes, int64_t devices,
                         const std::set<std::string>* only = nullptr);
// Of a text in either notation; an empty text is replicated.
Result<Tiling> tiling_of(std::string_view text, int64_t rank, const MeshTable& meshes, int64_t devices,
                         const std::set<std::string>* only = nullptr);

// The shape of one tile; an error where the tiles do not divide it.
Result<Shape> tile_shape(const Shape& whole, const Tiling& t);
// Where tile k begins.
Dims tile_start(const Shape& tile, const Tiling& t, int64_t k);

// As text of HLO: "{devices=[2,1,4]0,1,… last_tile_dim_replicate}".
std::string hlo_text(const Tiling& t);

// Quoted words of a text: the axes of #sdy.manual_axes{"x", "y"}.
std::set<std::string> quoted_names(std::string_view text);

}  // namespace braze::spmd
