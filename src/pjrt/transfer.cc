// SPDX-License-Identifier: Apache-2.0
// Slots that bring data into buffers, out of them, and from one to another.
//
// A host array that the host will not change while the buffer lives is used in place if it is row-major
// and 64-byte aligned; others are copied within the call. The bound is the one XLA:CPU has: programs
// written for it do change arrays that it happens to copy.
#include <cstring>

#include "pjrt/buffer.h"
#include "pjrt/element_type.h"
#include "pjrt/error.h"
#include "pjrt/host_pattern.h"
#include "pjrt/slots.h"
#include "pjrt/strided.h"

namespace braze::pjrt {
namespace {

constexpr uintptr_t kZeroCopyAlign = 64;
constexpr int64_t kZeroCopyBytes = 4096;  // below, copying costs less than keeping track

Result<PJRT_Memory*> target_memory(PJRT_Memory* memory, PJRT_Device* device) {
  if (memory) return memory;
  if (device) return device->memory_list[0];
  return invalid("neither a memory nor a device is given");
}

Status check_dims(const int64_t* dims, size_t n, Dtype t) {
  if (n > 64) return invalid("an array of rank ", n);
  int64_t bytes = std::max(byte_size(t), 1);
  for (size_t i = 0; i < n; ++i) {
    if (dims[i] < 0) return invalid("dimension ", i, " is negative: ", dims[i]);
    if (dims[i] != 0 && __builtin_mul_overflow(bytes, dims[i], &bytes))
      return exhausted("an array of dimensions ", join({dims, n}), " has no size");
  }
  return absl::OkStatus();
}

// The order of `layout` if it is one that buffers can have; empty: row-major.
Result<Dims> device_order(const PJRT_Buffer_MemoryLayout* layout, DimSpan dims, int64_t item) {
  if (!layout) return Dims();
  TRY(strides_of(layout, dims, item).status());
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    // Only dense orders have a name; equal strides of row-major order are the common case.
    if (DimSpan(layout->strides.byte_strides, dims.size()) == DimSpan(byte_strides(dims, {}, item)))
      return Dims();
    return unimplemented("device layouts given as strides");
  }
  const DimSpan order(layout->tiled.minor_to_major, layout->tiled.minor_to_major_size);
  return is_row_major_order(order) ? Dims() : Dims(order.begin(), order.end());
}

}  // namespace

Status Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& a) {
  ASSIGN(PJRT_Memory* memory, target_memory(a.memory, a.device));
  ASSIGN(const Dtype type, to_dtype(a.type));
  TRY(check_dims(a.dims, a.num_dims, type));
  const DimSpan dims(a.dims, a.num_dims);
  const int64_t item = byte_size(type), bytes = product(dims) * item;
  ASSIGN(Dims order, device_order(a.device_layout, dims, item));
  const Dims to = byte_strides(dims, order, item);
  Dims from = byte_strides(dims, {}, item);
  if (a.num_byte_strides) {
    if (a.num_byte_strides != a.num_dims)
      return invalid(a.num_byte_strides, " byte strides for an array of rank ", a.num_dims);
    from.assign(a.byte_strides, a.byte_strides + a.num_byte_strides);
  }
  bool dense = true;  // from is like to, but for dimensions of one element
  for (size_t i = 0; i < dims.size(); ++i) dense &= dims[i] == 1 || from[i] == to[i];
  const bool lendable =
      a.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
      a.host_buffer_semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
  const bool aligned = reinterpret_cast<uintptr_t>(a.data) % kZeroCopyAlign == 0;
  if (lendable && dense && aligned && bytes >= kZeroCopyBytes && bit_size(type) >= 8) {
    auto freed = std::make_shared<Completion>();
    StorageRef s = Storage::lend(const_cast<void*>(a.data), bytes,
                                 [freed] { freed->set(absl::OkStatus()); });
    a.buffer = new_buffer(memory, type, dims, std::move(s));
    a.done_with_host_buffer = new_event(freed);
  } else {
    ASSIGN(StorageRef s, Storage::allocate(bytes, memory->device->use));
    if (bytes > 0) {
      if (dense) std::memcpy(s->data(), a.data, bytes);
      else copy_strided(s->data(), to, static_cast<const char*>(a.data), from, dims, item);
      normalize_small(s->data(), bytes, type);
    }
    a.buffer = new_buffer(memory, type, dims, std::move(s));
    a.done_with_host_buffer = ready_event();
  }
  a.buffer->layout = std::move(order);
  return absl::OkStatus();
}

Status Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args& a) {
  ASSIGN(PJRT_Memory* memory, target_memory(a.memory, a.device));
  ASSIGN(const Dtype type, to_dtype(a.element_type));
  TRY(check_dims(a.dims, a.num_dims, type));
  const DimSpan dims(a.dims, a.num_dims);
  ASSIGN(Dims order, device_order(a.layout, dims, byte_size(type)));
  std::function<void()> on_free;
  if (a.on_delete_callback)
    on_free = [f = a.on_delete_callback, p = a.device_buffer_ptr, arg = a.on_delete_callback_arg] {
      f(p, arg);
    };
  a.buffer = new_buffer(memory, type, dims,
                        Storage::lend(a.device_buffer_ptr, product(dims) * byte_size(type),
                                      std::move(on_free)));
  a.buffer->layout = std::move(order);
  return absl::OkStatus();
}

Status Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& a) {
  ASSIGN(PJRT_Memory* memory, target_memory(a.memory, a.device));
  ASSIGN(const Dtype type, to_dtype(a.shape_element_type));
  TRY(check_dims(a.shape_dims, a.shape_num_dims, type));
  const DimSpan dims(a.shape_dims, a.shape_num_dims);
  ASSIGN(Dims order, device_order(a.shape_layout, dims, byte_size(type)));
  const int64_t bytes = product(dims) * byte_size(type);
  ASSIGN(StorageRef s, Storage::allocate(bytes, memory->device->use));
  if (bytes > 0) std::memset(s->data(), 0, bytes);  // no bytes of earlier values
  a.buffer = new_buffer(memory, type, dims, std::move(s));
  a.buffer->layout = std::move(order);
  return absl::OkStatus();
}

Status Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args& a) {
  ASSIGN(PJRT_Memory* memory, target_memory(a.memory, nullptr));
  ASSIGN(const Dtype type, to_dtype(a.shape_element_type));
  TRY(check_dims(a.shape_dims, a.shape_num_dims, type));
  auto failed = std::make_shared<Completion>();
  failed->set(from_code(a.error_code, {a.error_message, a.error_message_size}));
  ASSIGN(StorageRef s, Storage::allocate(0, memory->device->use));
  a.buffer = new_buffer(memory, type, {a.shape_dims, a.shape_num_dims}, std::move(s), failed);
  return absl::OkStatus();
}

Status Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& a) {
  PJRT_Buffer& b = *a.buffer;
  std::lock_guard<std::mutex> lock(b.mutex);
  if (b.order.size() != b.dims.size()) {
    b.order = b.layout;
    if (b.order.empty())
      for (int64_t i = b.dims.size(); i-- > 0;) b.order.push_back(i);
  }
  a.layout = {};
  a.layout.struct_size = sizeof(PJRT_Buffer_MemoryLayout);
  a.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  a.layout.tiled.struct_size = sizeof(PJRT_Buffer_MemoryLayout_Tiled);
  a.layout.tiled.minor_to_major = b.order.data();
  a.layout.tiled.minor_to_major_size = b.order.size();
  return absl::OkStatus();
}

Status Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& a) {
  PJRT_Buffer& b = *a.src;
  const int64_t item = byte_size(b.dtype), bytes = b.bytes();
  if (!a.dst) {
    a.dst_size = bytes;
    return absl::OkStatus();
  }
  if (static_cast<int64_t>(a.dst_size) < bytes)
    return invalid("the host's memory of ", a.dst_size, " bytes is too small for ", bytes);
  HostPattern::waits();
  ASSIGN(Dims to, strides_of(a.host_layout, b.dims, item));
  ASSIGN(Hold h, hold(b, "to_host_buffer"));
  auto copy = [h, to, from = byte_strides(b.dims, b.layout, item), dims = b.dims, item, bytes,
               dst = static_cast<char*>(a.dst)] {
    if (bytes == 0) return;
    if (to == from) std::memcpy(dst, h.storage->data(), bytes);
    else copy_strided(dst, to, h.storage->data(), from, dims, item);
  };
  if (is_done(h.ready)) {
    TRY(wait_for(h.ready));
    copy();
    a.event = ready_event();
    return absl::OkStatus();
  }
  auto done = std::make_shared<Completion>();
  h.ready->on_done([copy, done](const Status& s) {
    if (s.ok()) copy();
    done->set(s);
  });
  a.event = new_event(done);
  return absl::OkStatus();
}

Status Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& a) {
  PJRT_Buffer& b = *a.buffer;
  if (a.offset < 0 || a.transfer_size < 0 || a.offset > b.bytes() ||
      a.transfer_size > b.bytes() - a.offset)
    return invalid("bytes ", a.offset, " to ", a.offset, " + ", a.transfer_size, " of a buffer of ",
                   b.bytes());
  ASSIGN(Hold h, hold(b, "copy_raw_to_host"));
  auto copy = [h, dst = a.dst, offset = a.offset, n = a.transfer_size] {
    if (n > 0) std::memcpy(dst, h.storage->data() + offset, n);
  };
  auto done = std::make_shared<Completion>();
  if (is_done(h.ready)) {
    TRY(wait_for(h.ready));
    copy();
    a.event = ready_event();
    return absl::OkStatus();
  }
  h.ready->on_done([copy, done](const Status& s) {
    if (s.ok()) copy();
    done->set(s);
  });
  a.event = new_event(done);
  return absl::OkStatus();
}

namespace {

Status copy_to(PJRT_Buffer& b, PJRT_Memory* memory, PJRT_Buffer** out) {
  ASSIGN(Hold h, hold(b, "copy"));
  if (is_done(h.ready)) TRY(wait_for(h.ready));
  ASSIGN(StorageRef to, Storage::allocate(h.storage->bytes(), memory->device->use));
  auto copy = [h, to] {
    if (to->bytes() > 0) std::memcpy(to->data(), h.storage->data(), to->bytes());
  };
  CompletionRef ready;
  if (is_done(h.ready)) {
    copy();
  } else {
    ready = std::make_shared<Completion>();
    h.ready->on_done([copy, ready](const Status& s) {
      if (s.ok()) copy();
      ready->set(s);
    });
  }
  *out = new_buffer(memory, b.dtype, b.dims, std::move(to), std::move(ready));
  (*out)->layout = b.layout;
  return absl::OkStatus();
}

}  // namespace

Status Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args& a) {
  return copy_to(*a.buffer, a.dst_device->memory_list[0], &a.dst_buffer);
}
Status Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args& a) {
  return copy_to(*a.buffer, a.dst_memory, &a.dst_buffer);
}

}  // namespace braze::pjrt
