// SPDX-License-Identifier: Apache-2.0
// PJRT_Executable and PJRT_LoadedExecutable: a program, and a program with the devices it runs on.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pjrt/client.h"
#include "pjrt/host_pattern.h"
#include "pjrt/program.h"

namespace braze::pjrt {

struct Compiled {
  std::unique_ptr<Program> program;
  ProgramOptions options;
  std::string code, option_bytes;  // as the host gave them
  // Measured time of a call, in nanoseconds: says whether running one is worth a hand-over.
  std::atomic<int64_t> call_ns{-1};
  std::shared_ptr<HostPattern> host = std::make_shared<HostPattern>();

  // Arrays that slots hand out.
  std::vector<PJRT_Buffer_Type> result_types;
  std::vector<int64_t> result_dims;
  std::vector<size_t> result_ranks;
  std::vector<const char*> result_kinds, argument_kinds;
  std::vector<size_t> result_kind_sizes, argument_kind_sizes;
  std::vector<const char*> argument_shardings, result_shardings;  // empty: none stated
  std::vector<size_t> argument_sharding_sizes, result_sharding_sizes;
  std::vector<PJRT_NamedValue> costs;
  std::mutex mutex;                                      // of the lists below, made when asked for
  std::vector<void*> argument_layouts, result_layouts;
};
using CompiledRef = std::shared_ptr<Compiled>;

}  // namespace braze::pjrt

struct PJRT_Executable {
  braze::pjrt::CompiledRef compiled;
};

struct PJRT_LoadedExecutable {
  PJRT_Client* client = nullptr;
  braze::pjrt::CompiledRef compiled;
  std::vector<PJRT_Device*> devices;  // [replica][partition]; empty: portable
  std::vector<PJRT_LogicalDeviceIds> logical_ids;
  std::atomic<bool> deleted{false};
};

namespace braze::pjrt {

// `live`: the program comes from the host itself, now. `image`: its compiled code, or empty.
Result<PJRT_LoadedExecutable*> load(PJRT_Client* client, std::string_view code,
                                    std::string_view option_bytes, bool live = false,
                                    std::string_view image = {});

}  // namespace braze::pjrt
