// SPDX-License-Identifier: Apache-2.0
// expand: a program over several devices => one program of one device that computes the values of all.
//
//   y = f(x), x sharded over 4 devices        =>  y = f(x), on whole arrays
//   manual region, body g on shards           =>  y0 = g(x0), y1 = g(x1), …   x_k = slice(x)
//     all-reduce(v)                           =>    s = ((v0 + v1) + v2) + …, by device number
//     all-gather, all-to-all, permute         =>    concatenations and slices of the copies
//     partition-id                            =>    constants
//   while with such ops in its body           =>  one while over the state of all devices
//
// All devices share one memory and all cores, so what the program says of whole arrays is computed once;
// only manual regions are computed per device. Copies with equal operands are one: a value that is
// replicated along an axis is computed once. The order of every sum is fixed by the program.
//
// Interface: expand_devices. The module must be fresh from a frontend; its calls are inlined here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/module.h"
#include "spmd/tiling.h"

namespace braze::spmd {

struct ExpandOptions {
  // The entry takes and gives the parts that devices hold, each distinct one once. Else whole arrays, or,
  // of several replicas, an array for each.
  bool by_device = false;
  // Hears of calls of InspectSharding and how their operand lies.
  std::function<Status(const Instr& call, const Tiling& operand)> inspect;
};

// Of by_device: which parameter and which result of the new entry belongs to a leaf on a device.
struct Expanded {
  int64_t devices = 1;
  std::vector<std::vector<int64_t>> parameters, results;  // [leaf][device]
  std::vector<Tiling> argument_tilings, result_tilings;   // [leaf]
};

Result<Expanded> expand_devices(Module& m, const ExpandOptions& options = {});

// On whole arrays, if the program is for several devices; nothing otherwise.
Status to_one_device(Module& m);

// The text of the sharding of each result leaf; empty where the module states none.
std::vector<std::string> stated_results(const Module& m, size_t leaves);

}  // namespace braze::spmd
