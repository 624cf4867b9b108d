// SPDX-License-Identifier: Apache-2.0
// HLO modules as protobufs: HloModuleProto, HloProto and HloSnapshot of xla/service/hlo.proto.
//
// Interface: the functions below. Reading accepts any bytes: it returns an error, bounds recursion
// and takes memory in proportion to the input. Buffer assignments, profiles and other facts that
// are no part of the program are dropped.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/module.h"

namespace braze {

struct ProtoReadOptions {
  bool check = true;  // check each shape by its op's rules
};

// A module with arguments it was run on and what it gave.
struct HloSnapshot {
  std::unique_ptr<Module> module;
  std::vector<Literal> arguments;
  std::optional<Literal> result;
  std::string platform;
};

Result<std::unique_ptr<Module>> read_hlo_module_proto(std::string_view bytes,
                                                      const ProtoReadOptions& options = {});
Result<std::unique_ptr<Module>> read_hlo_proto(std::string_view bytes,
                                               const ProtoReadOptions& options = {});
Result<HloSnapshot> read_hlo_snapshot(std::string_view bytes, const ProtoReadOptions& options = {});
// Whichever of the three it is.
Result<HloSnapshot> read_any_hlo(std::string_view bytes, const ProtoReadOptions& options = {});

Result<std::string> write_hlo_module_proto(const Module& m);
Result<std::string> write_hlo_proto(const Module& m);
Result<std::string> write_hlo_snapshot(const HloSnapshot& s);

// The messages ShapeProto, LiteralProto and ProgramShapeProto alone.
Result<Shape> read_shape_proto(std::string_view bytes);
Result<std::string> write_shape_proto(const Shape& s);
Result<Literal> read_literal_proto(std::string_view bytes);
Result<std::string> write_literal_proto(const Literal& l);

}  // namespace braze
