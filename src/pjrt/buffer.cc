// SPDX-License-Identifier: Apache-2.0
#include "pjrt/buffer.h"

#include "pjrt/element_type.h"
#include "pjrt/host_pattern.h"
#include "pjrt/slots.h"

namespace braze::pjrt {

Result<Hold> hold(PJRT_Buffer& b, std::string_view what) {
  std::lock_guard<std::mutex> lock(b.mutex);
  if (!b.storage) return invalid(what, ": the buffer has been deleted or donated");
  return Hold{b.storage, b.ready};
}

PJRT_Buffer* new_buffer(PJRT_Memory* memory, Dtype dtype, DimSpan dims, StorageRef storage,
                        CompletionRef ready) {
  auto* b = new PJRT_Buffer;
  b->memory = memory;
  b->dtype = dtype;
  b->dims.assign(dims.begin(), dims.end());
  b->storage = std::move(storage);
  b->ready = std::move(ready);
  return b;
}

Status Buffer_Destroy(PJRT_Buffer_Destroy_Args& a) {
  delete a.buffer;
  return absl::OkStatus();
}
Status Buffer_ElementType(PJRT_Buffer_ElementType_Args& a) {
  a.type = to_buffer_type(a.buffer->dtype);
  return absl::OkStatus();
}
Status Buffer_Dimensions(PJRT_Buffer_Dimensions_Args& a) {
  a.dims = a.buffer->dims.data();
  a.num_dims = a.buffer->dims.size();
  return absl::OkStatus();
}
Status Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& a) {
  a.unpadded_dims = a.buffer->dims.data();
  a.num_dims = a.buffer->dims.size();
  return absl::OkStatus();
}
Status Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& a) {
  a.dynamic_dim_indices = nullptr;
  a.num_dynamic_dims = 0;
  return absl::OkStatus();
}
Status Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& a) {
  a.on_device_size_in_bytes = a.buffer->bytes();
  return absl::OkStatus();
}
Status Buffer_Device(PJRT_Buffer_Device_Args& a) {
  a.device = a.buffer->device();
  return absl::OkStatus();
}
Status Buffer_Memory(PJRT_Buffer_Memory_Args& a) {
  a.memory = a.buffer->memory;
  return absl::OkStatus();
}
Status Buffer_Delete(PJRT_Buffer_Delete_Args& a) {
  StorageRef gone;  // freed after the lock
  std::lock_guard<std::mutex> lock(a.buffer->mutex);
  gone = std::move(a.buffer->storage);
  return absl::OkStatus();
}
Status Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args& a) {
  std::lock_guard<std::mutex> lock(a.buffer->mutex);
  a.is_deleted = !a.buffer->storage;
  return absl::OkStatus();
}
Status Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args& a) {
  a.is_on_cpu = true;
  return absl::OkStatus();
}
Status Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args& a) {
  HostPattern::waits();
  std::lock_guard<std::mutex> lock(a.buffer->mutex);
  a.event = new_event(a.buffer->ready);
  return absl::OkStatus();
}

namespace {

// The address for use outside of the API. A host that does not run asynchronously may read at once.
Status address(PJRT_Buffer& b, std::string_view what, char** out) {
  ASSIGN(Hold h, hold(b, what));
  if (!b.memory->device->client->asynchronous) TRY(wait_for(h.ready));
  *out = h.storage->data();
  return absl::OkStatus();
}

}  // namespace

Status Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args& a) {
  char* p = nullptr;
  TRY(address(*a.buffer, "unsafe_pointer", &p));
  a.buffer_pointer = reinterpret_cast<uintptr_t>(p);
  return absl::OkStatus();
}
Status Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& a) {
  char* p = nullptr;
  TRY(address(*a.buffer, "data pointer", &p));
  a.device_memory_ptr = p;
  return absl::OkStatus();
}
Status Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args& a) {
  std::lock_guard<std::mutex> lock(a.buffer->mutex);
  if (!a.buffer->storage) return invalid("external reference: the buffer has been deleted or donated");
  a.buffer->external.push_back(a.buffer->storage);
  return absl::OkStatus();
}
Status Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args& a) {
  StorageRef gone;
  std::lock_guard<std::mutex> lock(a.buffer->mutex);
  if (a.buffer->external.empty()) return invalid("the buffer has no external reference to give back");
  gone = std::move(a.buffer->external.back());
  a.buffer->external.pop_back();
  return absl::OkStatus();
}

}  // namespace braze::pjrt
