// SPDX-License-Identifier: Apache-2.0
// The objects a host sees of a client: devices, their memories, descriptions, the topology. A client is
// one process's CPU as `cpu_device_count` devices that share cores and address space.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pjrt/c_api.h"
#include "pjrt/queue.h"
#include "pjrt/storage.h"

struct PJRT_DeviceDescription {
  int id = 0;
  std::string kind, debug, text;
};

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable* table = nullptr;
  PJRT_Device* device = nullptr;
  int id = 0, kind_id = 0;
  std::string kind, debug, text;

  struct UserData {
    void* data;
    void (*destroy)(void*);
  };
  std::mutex mutex;
  std::map<const void*, UserData> user_data;
  ~PJRT_Memory();
};

struct PJRT_Device {
  PJRT_Client* client = nullptr;
  int index = 0;  // in the client's list
  PJRT_DeviceDescription description;
  std::vector<std::unique_ptr<PJRT_Memory>> memories;
  std::vector<PJRT_Memory*> memory_list;  // the default one first
  braze::pjrt::MemoryUse* use = nullptr;
  braze::pjrt::Queue queue;
};

struct PJRT_TopologyDescription {
  std::vector<PJRT_DeviceDescription*> descriptions;
};

struct PJRT_Client {
  std::vector<std::unique_ptr<PJRT_Device>> devices;
  std::vector<PJRT_Device*> device_list;
  std::vector<PJRT_Memory*> memory_list;
  PJRT_TopologyDescription topology;
  // Long programs run while the host goes on. Off unless asked for: some hosts read results without
  // waiting for them.
  bool asynchronous = false;
  // An argument of another shape or element type but of as many bytes is read as the program's. Hosts whose
  // arrays share memory as views (TensorFlow's reshape and bitcast) ask for it.
  bool arguments_by_size = false;

  PJRT_Device* device_of_id(int64_t id) const {
    return id >= 0 && id < static_cast<int64_t>(device_list.size()) ? device_list[id] : nullptr;
  }
};

namespace braze::pjrt {

inline constexpr char kPlatformName[] = "cpu";
inline constexpr char kPlatformVersion[] = "braze 0.1.0";

}  // namespace braze::pjrt
