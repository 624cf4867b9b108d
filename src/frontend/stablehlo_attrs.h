// SPDX-License-Identifier: Apache-2.0
// StableHLO attributes → the attribute structs of the IR.
//
// Interface: the functions below; each reads what it needs from the op and reports errors through
// OpImport.
#pragma once

#include <map>
#include <string>

#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {

// A list of integers of any spelling; an error for anything else.
Dims read_dims(OpImport& c, const mlir::Attr* a);
// Field of a struct as a list or as an integer; absent: empty, 0.
Dims field_dims(OpImport& c, const mlir::Attr& a, std::string_view name);
int64_t field_int(const mlir::Attr& a, std::string_view name, int64_t absent = 0);

DotAttrs read_dot(OpImport& c, const mlir::Attr& numbers);      // dimension numbers
std::vector<Precision> read_precision(OpImport& c);             // precision_config
std::string read_dot_algorithm(OpImport& c);                    // algorithm, as HLO spells it
ConvAttrs read_conv(OpImport& c);                               // all but the padding if dynamic
GatherAttrs read_gather(OpImport& c);
ScatterAttrs read_scatter(OpImport& c);
// window_dimensions, window_strides, base_dilations, window_dilations, padding.
Window read_window(OpImport& c, int64_t rank);
ReplicaGroups read_groups(OpImport& c);                         // replica_groups
int64_t read_channel(OpImport& c);                              // channel_handle
std::vector<std::pair<int64_t, int64_t>> read_pairs(OpImport& c, std::string_view name);
CompareAttrs read_compare(OpImport& c);

// {name = "value", ..} of strings; other values as MLIR text.
std::map<std::string, std::string> read_string_map(const mlir::Attr& dict);
// Sharding as the input spells it: the string of mhlo.sharding, the text of sdy.sharding.
std::string read_sharding(const mlir::Attr& a);

}  // namespace braze::stablehlo
