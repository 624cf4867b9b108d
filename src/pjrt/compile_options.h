// SPDX-License-Identifier: Apache-2.0
// What a host asks of a compilation: the fields of CompileOptionsProto that change what Braze does.
//
// Options by name ("compiler_options" of jax.jit) are checked: names and types that XLA would refuse
// are refused here too. XLA's own tuning flags are accepted and have no effect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace braze::pjrt {

struct ProgramOptions {
  int64_t replicas = 1, partitions = 1;
  std::vector<int64_t> devices;  // device ids, [replica][partition]; empty: the first ones
  bool live = false;             // the host that made the program waits: its pointers hold
  bool portable = false;         // runs on whatever device a call names
  bool check = false;            // braze_check: verify the module after each pass
  std::string backend = "cpu";   // braze_backend: cpu or reference
  bool dump_proto = false;       // xla_dump_hlo_as_proto: as proto, too
  std::string dump_dir;          // xla_dump_to: where this program's text goes; empty: nowhere
};

Result<ProgramOptions> parse_compile_options(std::string_view bytes);

// DeviceAssignmentProto of the options' devices.
std::string device_assignment_proto(const ProgramOptions& o);

// HloModuleProtoWithConfig around a serialized HloModuleProto.
Result<std::string> module_with_config_proto(std::string_view module, const ProgramOptions& o);

}  // namespace braze::pjrt
