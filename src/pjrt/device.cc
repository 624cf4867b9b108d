// SPDX-License-Identifier: Apache-2.0
// Slots of devices, their descriptions and memories, and of the topology.
#include <unistd.h>

#include "pjrt/client.h"
#include "pjrt/slots.h"

namespace braze::pjrt {
namespace {

void put(const std::string& s, const char** text, size_t* size) {
  *text = s.data();
  *size = s.size();
}

}  // namespace

Status DeviceDescription_Id(PJRT_DeviceDescription_Id_Args& a) {
  a.id = a.device_description->id;
  return absl::OkStatus();
}
Status DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& a) {
  a.process_index = 0;
  return absl::OkStatus();
}
Status DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args& a) {
  a.attributes = nullptr;
  a.num_attributes = 0;
  return absl::OkStatus();
}
Status DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args& a) {
  put(a.device_description->kind, &a.device_kind, &a.device_kind_size);
  return absl::OkStatus();
}
Status DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args& a) {
  put(a.device_description->debug, &a.debug_string, &a.debug_string_size);
  return absl::OkStatus();
}
Status DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args& a) {
  put(a.device_description->text, &a.to_string, &a.to_string_size);
  return absl::OkStatus();
}

Status Device_GetDescription(PJRT_Device_GetDescription_Args& a) {
  a.device_description = &a.device->description;
  return absl::OkStatus();
}
Status Device_IsAddressable(PJRT_Device_IsAddressable_Args& a) {
  a.is_addressable = true;
  return absl::OkStatus();
}
Status Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args& a) {
  a.local_hardware_id = a.device->index;
  return absl::OkStatus();
}
Status Device_AddressableMemories(PJRT_Device_AddressableMemories_Args& a) {
  a.memories = a.device->memory_list.data();
  a.num_memories = a.device->memory_list.size();
  return absl::OkStatus();
}
Status Device_DefaultMemory(PJRT_Device_DefaultMemory_Args& a) {
  a.memory = a.device->memory_list[0];
  return absl::OkStatus();
}
Status Device_MemoryStats(PJRT_Device_MemoryStats_Args& a) {
  const MemoryUse& u = *a.device->use;
  a.bytes_in_use = u.bytes;
  a.peak_bytes_in_use = u.peak;
  a.num_allocs = u.allocations;
  a.largest_alloc_size = u.largest;
  a.bytes_limit = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  a.peak_bytes_in_use_is_set = a.num_allocs_is_set = a.largest_alloc_size_is_set = true;
  a.bytes_limit_is_set = true;
  a.bytes_reserved_is_set = a.peak_bytes_reserved_is_set = a.bytes_reservable_limit_is_set = false;
  a.largest_free_block_bytes_is_set = a.pool_bytes_is_set = a.peak_pool_bytes_is_set = false;
  return absl::OkStatus();
}
Status Device_GetAttributes(PJRT_Device_GetAttributes_Args& a) {
  a.attributes = nullptr;
  a.num_attributes = 0;
  a.device_attributes = nullptr;
  a.attributes_deleter = [](PJRT_Device_Attributes*) {};
  return absl::OkStatus();
}

Status Memory_Id(PJRT_Memory_Id_Args& a) {
  a.id = a.memory->id;
  return absl::OkStatus();
}
Status Memory_Kind(PJRT_Memory_Kind_Args& a) {
  put(a.memory->kind, &a.kind, &a.kind_size);
  return absl::OkStatus();
}
Status Memory_Kind_Id(PJRT_Memory_Kind_Id_Args& a) {
  a.kind_id = a.memory->kind_id;
  return absl::OkStatus();
}
Status Memory_DebugString(PJRT_Memory_DebugString_Args& a) {
  put(a.memory->debug, &a.debug_string, &a.debug_string_size);
  return absl::OkStatus();
}
Status Memory_ToString(PJRT_Memory_ToString_Args& a) {
  put(a.memory->text, &a.to_string, &a.to_string_size);
  return absl::OkStatus();
}
Status Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args& a) {
  a.devices = &a.memory->device;
  a.num_devices = 1;
  return absl::OkStatus();
}

Status TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args&) {
  return absl::OkStatus();  // it belongs to the client
}
Status TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args& a) {
  a.platform_name = kPlatformName;
  a.platform_name_size = sizeof(kPlatformName) - 1;
  return absl::OkStatus();
}
Status TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args& a) {
  a.platform_version = kPlatformVersion;
  a.platform_version_size = sizeof(kPlatformVersion) - 1;
  return absl::OkStatus();
}
Status TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args& a) {
  a.descriptions = a.topology->descriptions.data();
  a.num_descriptions = a.topology->descriptions.size();
  return absl::OkStatus();
}
Status TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args& a) {
  a.attributes = nullptr;
  a.num_attributes = 0;
  return absl::OkStatus();
}
Status TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args& a) {
  a.fingerprint = 0x6272617a65ull * 1000003 + a.topology->descriptions.size();
  return absl::OkStatus();
}

}  // namespace braze::pjrt
