// SPDX-License-Identifier: Apache-2.0
#include "pjrt/client.h"

#include <algorithm>
#include <deque>

#include "pjrt/slots.h"

PJRT_Memory::~PJRT_Memory() {
  for (auto& [key, u] : user_data)
    if (u.destroy) u.destroy(u.data);
}

namespace braze::pjrt {
namespace {

void* get_user_data(PJRT_Memory* m, const void* key) {
  std::lock_guard<std::mutex> lock(m->mutex);
  auto at = m->user_data.find(key);
  return at == m->user_data.end() ? nullptr : at->second.data;
}
void set_user_data(PJRT_Memory* m, const void* key, void* data, void (*destroy)(void*)) {
  PJRT_Memory::UserData old{nullptr, nullptr};
  {
    std::lock_guard<std::mutex> lock(m->mutex);
    PJRT_Memory::UserData& at = m->user_data[key];
    std::swap(old, at);
    at = {data, destroy};
  }
  if (old.destroy) old.destroy(old.data);
}
constexpr PJRT_Memory_FunctionTable kMemoryTable = {
    sizeof(PJRT_Memory_FunctionTable), nullptr, sizeof(PJRT_Memory), get_user_data, set_user_data};

// The memories of a CPU device; all are the process's memory. The first is the default.
struct MemoryKind {
  const char *kind, *debug, *text;
};
constexpr MemoryKind kMemoryKinds[] = {
    {"device", "CpuDeviceMemory", "CPU_DEVICE_"},
    {"pinned_host", "PinnedHostMemory", "PINNED_HOST_"},
    {"unpinned_host", "UnpinnedHostMemorySpace", "UNPINNED_HOST_"},
};

// Kept for ever, as storage may outlive its client; a few bytes a device.
MemoryUse* new_memory_use() {
  static std::mutex mutex;
  static auto* all = new std::deque<MemoryUse>;
  std::lock_guard<std::mutex> lock(mutex);
  return &all->emplace_back();
}

std::unique_ptr<PJRT_Device> make_device(PJRT_Client* client, int index) {
  auto d = std::make_unique<PJRT_Device>();
  d->client = client;
  d->index = index;
  d->use = new_memory_use();
  d->description.id = index;
  d->description.kind = kPlatformName;
  d->description.debug = str_cat(kPlatformName, ":", index);  // str() in Python; text is repr()
  d->description.text = str_cat("CpuDevice(id=", index, ")");
  for (int k = 0; k < static_cast<int>(std::size(kMemoryKinds)); ++k) {
    auto m = std::make_unique<PJRT_Memory>();
    m->table = &kMemoryTable;
    m->device = d.get();
    m->id = index * static_cast<int>(std::size(kMemoryKinds)) + k;
    m->kind_id = k + 1;
    m->kind = kMemoryKinds[k].kind;
    m->debug = str_cat(kMemoryKinds[k].debug, "(id=", m->id, ", process_index=0, client=cpu)");
    m->text = str_cat(kMemoryKinds[k].text, m->id);
    d->memory_list.push_back(m.get());
    d->memories.push_back(std::move(m));
  }
  return d;
}

std::string_view text(const char* p, size_t n) { return {p, n}; }

}  // namespace

Status Client_Create(PJRT_Client_Create_Args& a) {
  auto c = std::make_unique<PJRT_Client>();
  int64_t devices = 1;
  for (size_t i = 0; i < a.num_options; ++i) {
    const PJRT_NamedValue& v = a.create_options[i];
    const std::string_view name = text(v.name, v.name_size);
    if (name == "cpu_device_count" && v.type == PJRT_NamedValue_kInt64) devices = v.int64_value;
    else if (name == "asynchronous" && v.type == PJRT_NamedValue_kBool) c->asynchronous = v.bool_value;
    else if (name == "arguments_by_size" && v.type == PJRT_NamedValue_kBool)
      c->arguments_by_size = v.bool_value;
    else if (name == "num_nodes" && v.type == PJRT_NamedValue_kInt64 && v.int64_value > 1)
      return unimplemented("jobs of several processes");
  }
  if (devices < 1 || devices > 4096)
    return invalid("cpu_device_count must be from 1 to 4096, got ", devices);
  for (int i = 0; i < devices; ++i) {
    c->devices.push_back(make_device(c.get(), i));
    PJRT_Device* d = c->devices.back().get();
    c->device_list.push_back(d);
    c->topology.descriptions.push_back(&d->description);
    for (PJRT_Memory* m : d->memory_list) c->memory_list.push_back(m);
  }
  a.client = c.release();
  return absl::OkStatus();
}
Status Client_Destroy(PJRT_Client_Destroy_Args& a) {
  delete a.client;
  return absl::OkStatus();
}
Status Client_PlatformName(PJRT_Client_PlatformName_Args& a) {
  a.platform_name = kPlatformName;
  a.platform_name_size = sizeof(kPlatformName) - 1;
  return absl::OkStatus();
}
Status Client_ProcessIndex(PJRT_Client_ProcessIndex_Args& a) {
  a.process_index = 0;
  return absl::OkStatus();
}
Status Client_PlatformVersion(PJRT_Client_PlatformVersion_Args& a) {
  a.platform_version = kPlatformVersion;
  a.platform_version_size = sizeof(kPlatformVersion) - 1;
  return absl::OkStatus();
}
Status Client_Devices(PJRT_Client_Devices_Args& a) {
  a.devices = a.client->device_list.data();
  a.num_devices = a.client->device_list.size();
  return absl::OkStatus();
}
Status Client_AddressableDevices(PJRT_Client_AddressableDevices_Args& a) {
  a.addressable_devices = a.client->device_list.data();
  a.num_addressable_devices = a.client->device_list.size();
  return absl::OkStatus();
}
Status Client_LookupDevice(PJRT_Client_LookupDevice_Args& a) {
  a.device = a.client->device_of_id(a.id);
  return a.device ? absl::OkStatus() : invalid("no device has id ", a.id);
}
Status Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& a) {
  a.addressable_device = a.client->device_of_id(a.local_hardware_id);
  return a.addressable_device ? absl::OkStatus()
                              : invalid("no device has local hardware id ", a.local_hardware_id);
}
Status Client_AddressableMemories(PJRT_Client_AddressableMemories_Args& a) {
  a.addressable_memories = a.client->memory_list.data();
  a.num_addressable_memories = a.client->memory_list.size();
  return absl::OkStatus();
}
Status Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& a) {
  const int64_t n = int64_t{a.num_replicas} * a.num_partitions;
  const int64_t devices = static_cast<int64_t>(a.client->device_list.size());
  if (a.num_replicas < 1 || a.num_partitions < 1 || n > devices)
    return invalid(a.num_replicas, " replicas of ", a.num_partitions, " partitions need ", n,
                   " devices; there are ", devices);
  if (a.default_assignment_size < static_cast<size_t>(n))
    return invalid("default_assignment has room for ", a.default_assignment_size, " of ", n, " ids");
  for (int64_t i = 0; i < n; ++i) a.default_assignment[i] = static_cast<int>(i);
  return absl::OkStatus();
}
Status Client_TopologyDescription(PJRT_Client_TopologyDescription_Args& a) {
  a.topology = &a.client->topology;
  return absl::OkStatus();
}

}  // namespace braze::pjrt
